#include "thin.h"

#include <inttypes.h>

#include "libconvert/base/memory.h"
#include "profile_finish.h"

void thinning_init(struct thinning *thinning, struct profile *profile) {
    size_t count = profile->marker_schemas.count;
    *thinning = (struct thinning){.profile = profile};
    thinning->left_out = memory_allocate_zeroed(profile->failure, count + 1, sizeof *thinning->left_out);
}

void thinning_fini(struct thinning *thinning) { memory_free(thinning->left_out); }

/* ---- Samples. ---- */

/* Samples of one stack within a part of the time. */
struct pile {
    uint32_t first; /* the row of the first one, by which piles are ordered */
    uint32_t row;   /* row of this sample; later, the number of samples */
    stack_id stack;
    struct decimal weight;
    int64_t cpu_ns;
    int64_t delay_ns;
};

static int compare_stacks(const void *left, const void *right) {
    const struct pile *a = left, *b = right;
    return ORDER(a->stack.index, b->stack.index) ?: ORDER(a->row, b->row);
}

static int compare_firsts(const void *a, const void *b) { return ORDER_BY(struct pile, first, a, b); }

static int64_t sum_of_known(int64_t a, int64_t b) {
    int64_t sum;
    if (a == TIME_NONE || b == TIME_NONE) return a == TIME_NONE ? b : a;
    return __builtin_add_overflow(a, b, &sum) ? a : sum;
}

/* Adds the sample to the pile. Returns false if it has another stack or the sum does not fit. */
static bool join(struct pile *pile, const struct pile *sample) {
    if (pile->stack.index != sample->stack.index || !decimal_add(pile->weight, sample->weight, &pile->weight))
        return false;
    pile->cpu_ns = sum_of_known(pile->cpu_ns, sample->cpu_ns);
    pile->delay_ns = time_later(pile->delay_ns, sample->delay_ns);
    pile->row++;
    return true;
}

/* Makes piles of samples that are ordered by stack. Returns how many there are. */
static size_t pile_up(struct pile *samples, size_t count) {
    size_t pile_count = 0;
    for (size_t i = 0; i < count; i++) {
        struct pile sample = samples[i];
        if (pile_count && join(&samples[pile_count - 1], &sample)) continue;
        sample.first = sample.row;
        sample.row = 1;
        samples[pile_count++] = sample;
    }
    return pile_count;
}

static void push_piles(struct profile *profile, const struct pile *piles, size_t count, int64_t first_ns,
                       int64_t last_ns, struct samples *out) {
    uint64_t total = 0, done = 0;
    for (size_t i = 0; i < count; i++) total += piles[i].row;
    for (size_t i = 0; i < count && !failure_is_set(profile->failure); i++) {
        double share = (double)done / (double)total * (double)(last_ns - first_ns);
        samples_add(out, first_ns + (int64_t)share, piles[i].stack, profile_weight_encode(profile, piles[i].weight));
        if (piles[i].cpu_ns != TIME_NONE || piles[i].delay_ns != TIME_NONE)
            samples_set_details(out, piles[i].cpu_ns, piles[i].delay_ns);
        done += piles[i].row;
    }
}

static void thin_thread_samples(struct thinning *thinning, struct samples *samples, struct pile *piles) {
    struct profile *profile = thinning->profile;
    struct samples thin;
    uint32_t count = samples_count(samples);
    samples_init(&thin, profile->failure);
    for (uint32_t row = 0; row < count && !failure_is_set(profile->failure);) {
        uint32_t first = row;
        int64_t part = samples_at(samples, row)->time_ns / thinning->window_ns;
        /* The front-end ignores the processor time of a thread's first sample, so that sample stays alone. */
        uint32_t end = first == 0 && samples_have_cpu(samples) ? 1 : count;
        for (; row < end && samples_at(samples, row)->time_ns / thinning->window_ns == part; row++) {
            const struct sample *sample = samples_at(samples, row);
            piles[row - first] = (struct pile){.row = row,
                                               .stack = sample->stack,
                                               .weight = profile_weight_decode(profile, sample->weight),
                                               .cpu_ns = samples_cpu_ns(samples, row),
                                               .delay_ns = samples_delay_ns(samples, row)};
        }
        memory_sort(profile->failure, piles, row - first, sizeof *piles, compare_stacks);
        size_t pile_count = pile_up(piles, row - first);
        memory_sort(profile->failure, piles, pile_count, sizeof *piles, compare_firsts);
        push_piles(profile, piles, pile_count, samples_at(samples, first)->time_ns,
                   samples_at(samples, row - 1)->time_ns, &thin);
    }
    if (failure_is_set(profile->failure)) {
        samples_fini(&thin);
        return;
    }
    thinning->joined_samples += count - samples_count(&thin);
    samples_fini(samples);
    *samples = thin;
}

static uint32_t most_samples(const struct profile *profile) {
    uint32_t most = 0;
    for (size_t i = 0; i < profile->threads.count; i++) {
        uint32_t count = samples_count(&((const struct thread *)column_at(&profile->threads, i))->samples);
        if (count > most) most = count;
    }
    return most;
}

void thin_samples(struct thinning *thinning, uint32_t level) {
    struct profile *profile = thinning->profile;
    uint32_t most = most_samples(profile);
    if (!profile->meta.has_times || !most) return;
    struct pile *piles = memory_allocate(profile->failure, most * sizeof *piles);
    if (!piles) return;
    profile_give_weights(profile);
    thinning->window_ns = profile->end_ns / level + 1;
    for (size_t i = 0; i < profile->threads.count && !failure_is_set(profile->failure); i++)
        thin_thread_samples(thinning, &((struct thread *)column_at(&profile->threads, i))->samples, piles);
    memory_free(piles);
}

/* ---- Threads. ---- */

static void mark_owners(const struct profile *profile, bool *are_owners) {
    COLUMN_EACH(const struct thread, thread, &profile->threads)
        if (thread_is_track(thread)) are_owners[profile_track_of(profile, thread)->owner.index] = true;
}

/* The state of joining small threads. */
struct joining {
    bool *are_owners;
    uint32_t *heads;     /* the thread that has the rows of each thread */
    uint32_t kept_count; /* places kept, in the order of threads */
};

static bool is_small(const struct thread *thread, uint32_t level) {
    return !thread->is_main && !thread_is_track(thread) && !thread->allocations.count &&
           samples_count(&thread->samples) <= level && thread->markers.count <= level;
}

static int64_t time_if_both(int64_t a, int64_t b, int64_t time_ns) {
    return a == TIME_NONE || b == TIME_NONE ? TIME_NONE : time_ns;
}

static void join_thread(struct thread *head, struct thread *thread) {
    head->start_ns = time_if_both(head->start_ns, thread->start_ns, time_earlier(head->start_ns, thread->start_ns));
    head->end_ns = time_if_both(head->end_ns, thread->end_ns, time_later(head->end_ns, thread->end_ns));
    head->merged_count += 1 + thread->merged_count;
    head->is_visible |= thread->is_visible;
    samples_take(&head->samples, &thread->samples);
    column_take(&head->markers, &thread->markers);
}

/* Sorts the rows of a thread that others were joined to, and renames it. */
static void finish_head(struct profile *profile, struct thread *head) {
    samples_sort(&head->samples, profile->failure);
    profile_order_markers(head);
    head->name = profile_text_format(profile, "%u threads with little in them", head->merged_count + 1);
}

/* Joins the small threads of a process, which begin at that place in the order. Returns where those of the next process
 * begin. Threads that stay move to the first places. */
static size_t join_process(struct thinning *thinning, struct joining *joining, size_t at, uint32_t level) {
    struct profile *profile = thinning->profile;
    struct column *order = &profile->thread_order;
    process_id process = profile_ordered_thread(profile, at)->process;
    thread_id head = thread_none();
    uint64_t joined_before = thinning->joined_threads;
    profile_process_at(profile, process)->place = joining->kept_count;
    for (; at < order->count; at++) {
        thread_id id = *(const thread_id *)column_at(order, at);
        struct thread *thread = profile_thread_at(profile, id);
        if (thread->process.index != process.index) break;
        bool is_joined = is_small(thread, level) && !joining->are_owners[id.index];
        if (is_joined && !thread_is_none(head)) {
            join_thread(profile_thread_at(profile, head), thread);
            joining->heads[id.index] = head.index;
            thinning->joined_threads++;
            continue;
        }
        if (is_joined) head = id;
        *(thread_id *)column_at(order, joining->kept_count++) = id;
    }
    if (thinning->joined_threads > joined_before) finish_head(profile, profile_thread_at(profile, head));
    return at;
}

static void join_threads(struct thinning *thinning, struct joining *joining, uint32_t level) {
    struct profile *profile = thinning->profile;
    mark_owners(profile, joining->are_owners);
    for (uint32_t i = 0; i < profile->threads.count; i++) joining->heads[i] = i;
    for (size_t at = 0; at < profile->thread_order.count && !failure_is_set(profile->failure);)
        at = join_process(thinning, joining, at, level);
    profile->thread_order.count = joining->kept_count;
    profile_renumber_threads(profile, joining->heads);
}

void thin_threads(struct thinning *thinning, uint32_t level) {
    struct failure *failure = thinning->profile->failure;
    size_t count = thinning->profile->threads.count + 1;
    struct joining joining = {0};
    joining.are_owners = memory_allocate_zeroed(failure, count, sizeof *joining.are_owners);
    joining.heads = memory_allocate_zeroed(failure, count, sizeof *joining.heads);
    if (!failure_is_set(failure)) join_threads(thinning, &joining, level);
    MEMORY_FREE_ALL(joining.are_owners, joining.heads);
}

/* ---- Markers. ---- */

/* The markers of a type, as they are counted. */
struct marker_type {
    uint64_t count;
    uint64_t seen;
};

static bool can_leave_out(const struct marker *marker) {
    return marker->phase == MARKER_INSTANT || marker->phase == MARKER_INTERVAL;
}

/* Markers without a payload have the row after the schemas. */
static size_t type_of(const struct profile *profile, const struct marker *marker) {
    return marker->schema == MARKER_SCHEMA_NONE ? profile->marker_schemas.count : marker->schema;
}

static void count_markers(const struct profile *profile, struct marker_type *types) {
    for (size_t i = 0; i < profile->thread_order.count; i++) {
        const struct column *markers = &profile_ordered_thread(profile, i)->markers;
        COLUMN_EACH(const struct marker, marker, markers)
            types[type_of(profile, marker)].count += can_leave_out(marker);
    }
}

/* Returns whether the next marker of the type is one of `level` at equal distances. */
static bool is_kept(struct marker_type *type, uint32_t level) {
    uint64_t number = type->seen++;
    if (type->count <= level) return true;
    return (number * level) / type->count != ((number + 1) * level) / type->count;
}

static void filter_markers(struct thinning *thinning, struct column *markers, struct marker_type *types,
                           uint32_t level) {
    uint32_t kept_count = 0;
    COLUMN_EACH(const struct marker, marker, markers) {
        size_t type = type_of(thinning->profile, marker);
        if (!can_leave_out(marker) || is_kept(&types[type], level))
            *(struct marker *)column_at(markers, kept_count++) = *marker;
        else
            thinning->left_out[type]++;
    }
    thinning->left_out_markers += markers->count - kept_count;
    markers->count = kept_count;
}

void thin_markers(struct thinning *thinning, uint32_t level) {
    struct profile *profile = thinning->profile;
    struct marker_type *types =
        memory_allocate_zeroed(profile->failure, profile->marker_schemas.count + 1, sizeof *types);
    if (!types) return;
    count_markers(profile, types);
    for (size_t i = 0; i < profile->thread_order.count; i++) {
        thread_id id = *(const thread_id *)column_at(&profile->thread_order, i);
        filter_markers(thinning, &profile_thread_at(profile, id)->markers, types, level);
    }
    memory_free(types);
}

/* ---- The ledger. ---- */

static struct text name_of_type(const struct profile *profile, size_t type) {
    if (type == profile->marker_schemas.count) return TEXT("(none)");
    return ((const struct marker_schema *)column_at(&profile->marker_schemas, type))->name;
}

void thinning_enter(const struct thinning *thinning) {
    struct profile *profile = thinning->profile;
    struct ledger *ledger = &profile->ledger;
    struct text cause = profile_text_format(profile, "sample added to another of its stack within %" PRId64 " us",
                                            thinning->window_ns / 1000);
    ledger_enter(ledger, LEDGER_SAMPLES, LEDGER_NOTED, cause, thinning->joined_samples, NULL);
    ledger_enter(ledger, LEDGER_RECORDS, LEDGER_NOTED, TEXT("thread in the track of another with little in it"),
                 thinning->joined_threads, NULL);
    ledger_read(ledger, LEDGER_VALUES, thinning->left_out_markers);
    for (size_t type = 0; type <= profile->marker_schemas.count; type++) {
        struct text name = name_of_type(profile, type);
        cause = profile_text_format(profile, "marker of the type %.*s", TEXT_ARGS(name));
        ledger_enter(ledger, LEDGER_VALUES, LEDGER_FILTERED, cause, thinning->left_out[type], NULL);
    }
}
