/* Puts the inputs on one timeline, which is the clock of one of them: the reference. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "libconvert/base/memory.h"
#include "merge_steps.h"

/* Within a boot, the time of day less CLOCK_MONOTONIC changes only if somebody sets the time or the machine sleeps. A
 * larger difference means another boot. */
static const int64_t SAME_BOOT_NS = 2000000000;

/* Bounds that cross by more than this contradict each other; if they are further apart, the place is vague. */
static const int64_t CONTRADICTION_NS = 2000000;
static const int64_t VAGUE_NS = 10000000;

static bool is_by_clock(const struct merge_input *input) {
    return input->alignment.kind != GECKO_CONVERT_ALIGN_BY_OFFSET;
}

/* Returns TIME_NONE if the input has no events. */
static int64_t first_time_ns(const struct profile *profile) {
    struct time_range events = profile_events(profile);
    return events.first_ns > events.last_ns ? TIME_NONE : events.first_ns;
}

static bool knows_time_of_day(const struct merge_input *input) { return input->profile.meta.epoch_offset_ns != 0; }

struct merge_input *merge_reference(const struct merge *merge) {
    struct merge_input *best = &merge->inputs[0];
    unsigned best_rank = 0;
    for (size_t i = 0; i < merge->input_count; i++) {
        struct merge_input *input = &merge->inputs[i];
        const struct profile_meta *meta = &input->profile.meta;
        unsigned rank = !is_by_clock(input) ? 0 : meta->is_clock_monotonic ? 3 : knows_time_of_day(input) ? 2 : 1;
        if (rank <= best_rank) continue;
        best = input;
        best_rank = rank;
    }
    return best;
}

void merge_remark(struct merge_input *input, const char *format, ...) {
    if (*input->remark) return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(input->remark, sizeof input->remark, format, arguments);
    va_end(arguments);
}

/* ---- Machines. ---- */

static bool differ(struct text a, struct text b) { return a.bytes_count && b.bytes_count && !text_equal(a, b); }

static bool are_on_other_machines(const struct merge_input *a, const struct merge_input *b) {
    const struct profile_meta *first = &a->profile.meta, *second = &b->profile.meta;
    if (differ(first->boot_id, second->boot_id)) return true;
    return !(first->boot_id.bytes_count && second->boot_id.bytes_count) && differ(first->device, second->device);
}

/* Returns whether both have CLOCK_MONOTONIC of the same boot. */
static bool share_clock(const struct merge_input *a, struct merge_input *b) {
    const struct profile_meta *first = &a->profile.meta, *second = &b->profile.meta;
    if (!first->is_clock_monotonic || !second->is_clock_monotonic) return false;
    if (are_on_other_machines(a, b)) return false;
    bool have_boot_ids = first->boot_id.bytes_count && second->boot_id.bytes_count;
    if (have_boot_ids || !knows_time_of_day(a) || !knows_time_of_day(b)) return true;
    int64_t distance_ns = first->epoch_offset_ns - second->epoch_offset_ns;
    if (distance_ns <= SAME_BOOT_NS && distance_ns >= -SAME_BOOT_NS) return true;
    merge_remark(b,
                 "its clock disagrees with that of %.*s by %" PRId64 " s: taken for another boot, by the time of day",
                 TEXT_ARGS(a->name), (distance_ns < 0 ? -distance_ns : distance_ns) / 1000000000);
    return false;
}

/* ---- The processor's counter. ---- */

/* Stores the time on the input's clock at which the counter had that value. Returns false if that is not a time. */
static bool time_of_ticks(const struct tick_relation *relation, uint64_t ticks, int64_t *time_ns) {
    __extension__ typedef __int128 wide;
    static const int64_t LIMIT_NS = INT64_MAX / 4;
    wide since_base = (wide)(int64_t)(ticks - relation->base_ticks);
    wide sum_ns = relation->base_ns + ((since_base * relation->multiplier) >> relation->shift);
    *time_ns = (int64_t)sum_ns;
    return sum_ns >= 0 && sum_ns <= LIMIT_NS;
}

/* Places a recording with perf's own clock by a trace of the recorder that knows an instant in ticks. */
static bool place_by_ticks(struct merge_input *loose, const struct merge_input *placed) {
    const struct tick_relation *known = &placed->profile.meta.tick_relation, *own = &loose->profile.meta.tick_relation;
    int64_t time_ns;
    if (!known->is_known || !placed->profile.meta.is_clock_monotonic || !own->is_known || !own->multiplier)
        return false;
    if (!time_of_ticks(own, known->base_ticks, &time_ns)) return false;
    loose->offset_ns = merge_difference(merge_sum(known->base_ns, placed->offset_ns), time_ns);
    loose->machine = placed->machine;
    loose->timeline = GECKO_CONVERT_TIMELINE_TICKS;
    return true;
}

/* ---- Events that two inputs have. ---- */

/* A process or thread that only one task of its input can be. */
struct landmark {
    int64_t pid;
    int64_t tid;
    int64_t start_ns;
    int64_t end_ns;
    bool is_repeated;
};

static int compare_landmarks(const void *left, const void *right) {
    const struct landmark *a = left, *b = right;
    return ORDER(a->pid, b->pid) ?: ORDER(a->tid, b->tid);
}

/* Returns the threads of the input, sorted; free it with memory_free. NULL if memory ran out (latched). */
static struct landmark *list_landmarks(const struct merge_input *input) {
    const struct profile *profile = &input->profile;
    size_t count = profile->threads.count;
    struct landmark *landmarks = memory_allocate(profile->failure, (count + 1) * sizeof *landmarks);
    if (!landmarks) return NULL;
    for (size_t i = 0; i < count; i++) {
        const struct thread *thread = column_at(&profile->threads, i);
        const struct process *process = profile_process_at(profile, thread->process);
        bool is_main = thread->tid == process->pid;
        int64_t thread_start_ns = profile->meta.are_starts_guessed ? TIME_NONE : thread->start_ns;
        int64_t process_start_ns = is_main ? process->start_ns : TIME_NONE;
        landmarks[i] = (struct landmark){.pid = process->pid,
                                         .tid = thread->tid,
                                         .start_ns = process_start_ns != TIME_NONE ? process_start_ns : thread_start_ns,
                                         .end_ns = is_main ? process->end_ns : TIME_NONE};
    }
    memory_sort(profile->failure, landmarks, count, sizeof *landmarks, compare_landmarks);
    for (size_t i = 1; i < count; i++)
        if (compare_landmarks(&landmarks[i - 1], &landmarks[i]) == 0)
            landmarks[i - 1].is_repeated = landmarks[i].is_repeated = true;
    return landmarks;
}

/* What must be added to an input's times lies between these. */
struct bounds {
    int64_t least_ns; /* INT64_MIN: unknown */
    int64_t most_ns;  /* INT64_MAX: unknown */
};

/* The recorder notices a thread shortly after its start, and stops recording shortly before the end of the process.
 * perf reports both exactly. */
static void narrow(struct bounds *bounds, const struct landmark *placed, bool is_placed_recorder,
                   const struct landmark *loose, bool is_loose_recorder) {
    if (placed->start_ns != TIME_NONE && loose->start_ns != TIME_NONE && loose->start_ns > 0) {
        int64_t difference_ns = merge_difference(placed->start_ns, loose->start_ns);
        if (!is_loose_recorder && difference_ns < bounds->most_ns) bounds->most_ns = difference_ns;
        if (!is_placed_recorder && difference_ns > bounds->least_ns) bounds->least_ns = difference_ns;
    }
    if (placed->end_ns != TIME_NONE && loose->end_ns != TIME_NONE) {
        int64_t difference_ns = merge_difference(placed->end_ns, loose->end_ns);
        if (!is_loose_recorder && difference_ns > bounds->least_ns) bounds->least_ns = difference_ns;
        if (!is_placed_recorder && difference_ns < bounds->most_ns) bounds->most_ns = difference_ns;
    }
}

static struct bounds find_bounds(const struct merge_input *placed, const struct merge_input *loose) {
    struct bounds bounds = {INT64_MIN, INT64_MAX};
    struct landmark *a = list_landmarks(placed), *b = list_landmarks(loose);
    size_t a_count = placed->profile.threads.count, b_count = loose->profile.threads.count;
    for (size_t i = 0, j = 0; a && b && i < a_count && j < b_count;) {
        int order = compare_landmarks(&a[i], &b[j]);
        if (order == 0 && a[i].pid > 0 && !a[i].is_repeated && !b[j].is_repeated)
            narrow(&bounds, &a[i], placed->is_recorder, &b[j], loose->is_recorder);
        i += order <= 0;
        j += order >= 0;
    }
    MEMORY_FREE_ALL(a, b);
    return bounds;
}

/* Places an input by the starts and ends of tasks that another input has as well. Returns false if there are none
 * or if they contradict each other. */
static bool place_by_events(struct merge_input *loose, const struct merge_input *placed) {
    struct bounds bounds = find_bounds(placed, loose);
    bool has_least = bounds.least_ns != INT64_MIN, has_most = bounds.most_ns != INT64_MAX;
    if (!has_least && !has_most) return false;
    int64_t width_ns = has_least && has_most ? merge_difference(bounds.most_ns, bounds.least_ns) : 0;
    if (width_ns < -CONTRADICTION_NS) {
        merge_remark(loose, "starts and ends of tasks contradict those in %.*s by %" PRId64 " ms",
                     TEXT_ARGS(placed->name), -width_ns / 1000000);
        return false;
    }
    if (width_ns > VAGUE_NS) merge_remark(loose, "its times may be wrong by %" PRId64 " ms", width_ns / 2000000);
    loose->offset_ns = has_least && has_most ? merge_sum(bounds.least_ns, width_ns / 2)
                       : has_most            ? bounds.most_ns
                                             : bounds.least_ns;
    loose->machine = placed->machine;
    loose->timeline = GECKO_CONVERT_TIMELINE_EVENTS;
    return true;
}

/* ---- Placing. ---- */

static void place_reference(struct merge_input *reference) {
    const struct profile_meta *meta = &reference->profile.meta;
    if (!is_by_clock(reference))
        reference->timeline = GECKO_CONVERT_TIMELINE_GIVEN;
    else if (meta->is_clock_monotonic || knows_time_of_day(reference))
        reference->timeline = GECKO_CONVERT_TIMELINE_CLOCK;
}

/* Places the input by clocks alone. */
static void place_by_clock(struct merge_input *input, const struct merge_input *reference) {
    if (share_clock(reference, input)) {
        input->timeline = GECKO_CONVERT_TIMELINE_CLOCK;
        input->machine = reference->machine;
    } else if (knows_time_of_day(input) && knows_time_of_day(reference)) {
        input->timeline = GECKO_CONVERT_TIMELINE_TIME_OF_DAY;
        input->offset_ns = input->profile.meta.epoch_offset_ns - reference->profile.meta.epoch_offset_ns;
    }
}

/* Inputs of another machine than the reference's may share a machine. */
static void share_machines(struct merge *merge) {
    for (size_t i = 0; i < merge->input_count; i++) {
        struct merge_input *input = &merge->inputs[i];
        if (input->timeline != GECKO_CONVERT_TIMELINE_TIME_OF_DAY) continue;
        for (size_t j = 0; j < i && input->machine == i; j++) {
            struct merge_input *other = &merge->inputs[j];
            bool is_other_clock = other->profile.meta.is_clock_monotonic != input->profile.meta.is_clock_monotonic;
            bool is_apart = other->timeline == GECKO_CONVERT_TIMELINE_APART || are_on_other_machines(other, input);
            if (!is_apart && (is_other_clock || share_clock(other, input))) input->machine = other->machine;
        }
    }
}

static void place_rest(struct merge *merge, struct merge_input *input) {
    for (size_t i = 0; i < merge->input_count; i++) {
        const struct merge_input *other = &merge->inputs[i];
        bool is_placed = other->timeline != GECKO_CONVERT_TIMELINE_APART && is_by_clock(other);
        if (other == input || !is_placed || are_on_other_machines(other, input)) continue;
        if (place_by_ticks(input, other) || place_by_events(input, other)) return;
    }
}

/* Whether the input is placed relative to the start of the timeline. */
static bool is_placed_from_start(const struct merge *merge, const struct merge_input *input) {
    bool is_apart = input->timeline == GECKO_CONVERT_TIMELINE_APART && input != merge_reference(merge);
    return is_apart || !is_by_clock(input);
}

/* Returns when the first event of all inputs with a place of their own comes; if there are none, of the reference. */
static int64_t timeline_start_ns(const struct merge *merge) {
    const struct merge_input *reference = merge_reference(merge);
    int64_t start_ns = INT64_MAX;
    for (size_t i = 0; i < merge->input_count; i++) {
        const struct merge_input *input = &merge->inputs[i];
        bool is_placed = input->timeline != GECKO_CONVERT_TIMELINE_APART && is_by_clock(input);
        int64_t first_ns = is_placed || input == reference ? first_time_ns(&input->profile) : TIME_NONE;
        if (first_ns == TIME_NONE) continue;
        int64_t placed_ns = merge_sum(first_ns, input->offset_ns);
        if (placed_ns < start_ns) start_ns = placed_ns;
    }
    return start_ns == INT64_MAX ? 0 : start_ns;
}

/* Moves an input that has no place of its own. */
static void place_from_start(const struct merge *merge, struct merge_input *input, int64_t start_ns) {
    const struct merge_input *reference = merge_reference(merge);
    int64_t first_ns = first_time_ns(&input->profile);
    bool is_given = !is_by_clock(input);
    if (is_given) {
        input->timeline = GECKO_CONVERT_TIMELINE_GIVEN;
        bool has_times = input->profile.meta.has_times && reference->profile.meta.has_times;
        if (has_times && !are_on_other_machines(reference, input)) input->machine = reference->machine;
    }
    if (first_ns == TIME_NONE) return;
    input->offset_ns = merge_sum(merge_difference(start_ns, first_ns), is_given ? input->alignment.offset_ns : 0);
}

/* Finding the first event takes a look at all rows, so it is done only if an input needs it. */
static void place_those_from_start(struct merge *merge) {
    int64_t start_ns = TIME_NONE;
    for (size_t i = 0; i < merge->input_count; i++) {
        struct merge_input *input = &merge->inputs[i];
        if (!is_placed_from_start(merge, input)) continue;
        if (start_ns == TIME_NONE) start_ns = timeline_start_ns(merge);
        place_from_start(merge, input, start_ns);
    }
}

void merge_align(struct merge *merge) {
    for (uint32_t i = 0; i < merge->input_count; i++) {
        struct merge_input *input = &merge->inputs[i];
        input->timeline = GECKO_CONVERT_TIMELINE_APART;
        input->machine = i;
        if (input->alignment.kind == GECKO_CONVERT_ALIGN_MONOTONIC) input->profile.meta.is_clock_monotonic = true;
    }
    struct merge_input *reference = merge_reference(merge);
    place_reference(reference);
    for (size_t i = 0; i < merge->input_count; i++)
        if (&merge->inputs[i] != reference && is_by_clock(&merge->inputs[i]))
            place_by_clock(&merge->inputs[i], reference);
    share_machines(merge);
    for (size_t i = 0; i < merge->input_count; i++) {
        struct merge_input *input = &merge->inputs[i];
        bool is_loose = input->timeline == GECKO_CONVERT_TIMELINE_APART && is_by_clock(input);
        if (is_loose && input != reference && input->profile.meta.has_times) place_rest(merge, input);
    }
    place_those_from_start(merge);
    for (size_t i = 0; i < merge->input_count; i++)
        profile_shift_times(&merge->inputs[i].profile, merge->inputs[i].offset_ns);
}
