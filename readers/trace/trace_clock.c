#include "trace_clock.h"

#include "libconvert/base/first_row.h"
#include "libconvert/base/memory.h"

static const int64_t NS_PER_SECOND = 1000000000;
static const int64_t LIMIT_SECONDS = 10 * 366 * 24 * 3600;

/* A point is inexact: two clocks are read one after the other, and the thread may be preempted in between. Between
 * points at least this far apart the error is negligible. */
static const int64_t POINT_DISTANCE_NS = 5000000;

/* Two points agree if their rate is that of the trace's start within this tolerance, for an inexact initial rate, plus
 * MOMENT_NS, for the time between the readings of the two clocks. */
enum { RATE_TOLERANCE_DIVISOR = 100 };
static const int64_t MOMENT_NS = 100000;

void trace_clock_init(struct trace_clock *clock, bool is_monotonic, uint64_t ticks_per_second, uint64_t start_ticks,
                      uint64_t start_ns, struct failure *failure) {
    *clock = (struct trace_clock){.failure = failure,
                                  .is_monotonic = is_monotonic,
                                  .ticks_per_second = is_monotonic ? (uint64_t)NS_PER_SECOND : ticks_per_second,
                                  .start_ticks = start_ticks,
                                  .start_ns = (int64_t)(is_monotonic ? start_ticks : start_ns)};
    int64_t limit_ticks;
    bool is_beyond = __builtin_mul_overflow((int64_t)clock->ticks_per_second, LIMIT_SECONDS, &limit_ticks);
    clock->limit_ticks = is_beyond || limit_ticks > INT64_MAX / 4 ? INT64_MAX / 4 : limit_ticks;
    column_init(&clock->offered, sizeof(struct trace_clock_point), failure);
}

void trace_clock_fini(struct trace_clock *clock) {
    column_fini(&clock->offered);
    MEMORY_FREE_ALL(clock->kept, clock->rates);
    *clock = (struct trace_clock){0};
}

bool trace_clock_relative(const struct trace_clock *clock, uint64_t ticks, int64_t *relative_ticks) {
    *relative_ticks = (int64_t)(ticks - clock->start_ticks);
    return trace_clock_is_within(clock, *relative_ticks);
}

/* Returns value * numerator / denominator, rounded down. The result must fit. */
static int64_t scale(int64_t value, int64_t numerator, int64_t denominator) {
    int64_t product;
    if (!__builtin_mul_overflow(value, numerator, &product)) {
        int64_t quotient = product / denominator;
        return quotient - (quotient * denominator > product);
    }
    __extension__ typedef __int128 wide;
    wide wide_product = (wide)value * numerator;
    wide quotient = wide_product / denominator;
    return (int64_t)(quotient - (quotient * denominator > wide_product));
}

/* Returns how many nanoseconds that many ticks last at the rate of the trace's start. */
static int64_t span_ns(const struct trace_clock *clock, int64_t ticks) {
    return scale(ticks, NS_PER_SECOND, (int64_t)clock->ticks_per_second);
}

void trace_clock_offer(struct trace_clock *clock, int64_t relative_ticks, uint64_t ns) {
    int64_t relative_ns = (int64_t)(ns - (uint64_t)clock->start_ns);
    bool is_far = relative_ns > LIMIT_SECONDS * NS_PER_SECOND;
    if (clock->is_monotonic || relative_ticks <= 0 || relative_ns <= 0 || is_far) return;
    column_add(&clock->offered, &(struct trace_clock_point){relative_ticks, relative_ns});
}

static int compare_points(const void *left, const void *right) {
    const struct trace_clock_point *a = left, *b = right;
    return ORDER(a->ticks, b->ticks) ?: ORDER(a->ns, b->ns);
}

/* True if two points agree on the rate of the trace's start. `b` must be the later one. */
static bool agree(const struct trace_clock *clock, struct trace_clock_point a, struct trace_clock_point b) {
    int64_t expected_ns = span_ns(clock, b.ticks - a.ticks);
    int64_t off_ns = b.ns - a.ns - expected_ns;
    int64_t tolerance_ns = expected_ns / RATE_TOLERANCE_DIVISOR + MOMENT_NS;
    return b.ns >= a.ns && off_ns <= tolerance_ns && off_ns >= -tolerance_ns;
}

static bool is_near(const struct trace_clock *clock, struct trace_clock_point a, struct trace_clock_point b) {
    return span_ns(clock, b.ticks - a.ticks) < POINT_DISTANCE_NS;
}

static void keep(struct trace_clock *clock, struct trace_clock_point point) {
    clock->kept[clock->kept_count++] = point;
}

/* A point that disagrees with earlier ones is kept only if the next point agrees with it: then the machine slept, and
 * one of the clocks stopped. A single such point is damaged. */
static void choose_points(struct trace_clock *clock, const struct trace_clock_point *points, size_t count) {
    const struct trace_clock_point *suspect = NULL;
    for (size_t i = 0; i < count; i++) {
        struct trace_clock_point last = clock->kept[clock->kept_count - 1];
        if (is_near(clock, last, points[i])) continue;
        if (agree(clock, last, points[i])) {
            keep(clock, points[i]);
            suspect = NULL;
        } else if (!suspect) {
            suspect = &points[i];
        } else if (!is_near(clock, *suspect, points[i])) {
            bool is_jump = suspect->ns >= last.ns && agree(clock, *suspect, points[i]);
            if (is_jump) {
                keep(clock, *suspect);
                keep(clock, points[i]);
            }
            suspect = is_jump ? NULL : &points[i];
        }
    }
}

static struct trace_clock_rate rate_between(struct trace_clock_point a, struct trace_clock_point b) {
    return (struct trace_clock_rate){b.ns - a.ns, b.ticks - a.ticks};
}

/* After the last point, the rate before it continues, and before the first point that after it. The nominal rate is
 * used if the machine slept between the two points that such a rate comes from. */
static void set_rates(struct trace_clock *clock) {
    struct trace_clock_rate nominal = {NS_PER_SECOND, (int64_t)clock->ticks_per_second};
    const struct trace_clock_point *kept = clock->kept;
    size_t last = clock->kept_count - 1;
    for (size_t i = 0; i < last; i++) clock->rates[i] = rate_between(kept[i], kept[i + 1]);
    clock->rates[last] = last && agree(clock, kept[last - 1], kept[last]) ? clock->rates[last - 1] : nominal;
    clock->early_rate = last && agree(clock, kept[0], kept[1]) ? clock->rates[0] : nominal;
}

void trace_clock_finish(struct trace_clock *clock) {
    size_t count = clock->offered.count;
    struct trace_clock_point *points = memory_allocate(clock->failure, (count + 1) * sizeof *points);
    clock->kept = memory_allocate(clock->failure, (count + 1) * sizeof *clock->kept);
    clock->rates = memory_allocate(clock->failure, (count + 1) * sizeof *clock->rates);
    if (!points || !clock->kept || !clock->rates) {
        memory_free(points);
        return;
    }
    keep(clock, (struct trace_clock_point){0, 0});
    for (size_t i = 0; i < count; i++) points[i] = *(const struct trace_clock_point *)column_at(&clock->offered, i);
    memory_sort(clock->failure, points, count, sizeof *points, compare_points);
    choose_points(clock, points, count);
    set_rates(clock);
    memory_free(points);
}

/* Returns the last point at or before the time, or the first point if the time is earlier. */
static size_t find_point(const struct trace_clock *clock, int64_t ticks) {
    const struct trace_clock_point *kept = clock->kept;
    size_t near = clock->last_kept;
    bool is_last = near + 1 == clock->kept_count;
    if (kept[near].ticks <= ticks && (is_last || ticks < kept[near + 1].ticks)) return near;
    size_t next = FIRST_ROW(i, clock->kept_count, kept[i].ticks > ticks);
    return next ? next - 1 : 0;
}

int64_t trace_clock_convert(struct trace_clock *clock, int64_t relative_ticks) {
    if (clock->is_monotonic) return clock->start_ns + relative_ticks;
    if (!clock->kept_count) return clock->start_ns;
    size_t at = find_point(clock, relative_ticks);
    clock->last_kept = at;
    struct trace_clock_point from = clock->kept[at];
    struct trace_clock_rate rate = relative_ticks < 0 ? clock->early_rate : clock->rates[at];
    return clock->start_ns + from.ns + scale(relative_ticks - from.ticks, rate.ns, rate.ticks);
}
