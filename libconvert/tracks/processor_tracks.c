#include "processor_tracks.h"

#include <inttypes.h>

#include "libconvert/base/memory.h"
#include "libconvert/profile/profile_finish.h"

struct adding {
    struct profile *profile;
    struct row_table numbers; /* int64_t: the processors, in ascending order */
    struct column tracks;     /* thread_id, one for each processor */
    frame_id *frames;         /* frames of one stack, the root first */
    uint32_t capacity;
};

/* ---- Processors. ---- */

static void collect_numbers(struct adding *adding) {
    for (size_t i = 0; i < adding->profile->threads.count; i++) {
        const struct samples *samples = &((const struct thread *)column_at(&adding->profile->threads, i))->samples;
        for (uint32_t row = 0; row < samples_count(samples); row++) {
            int64_t number = samples_processor(samples, row);
            if (number >= 0) row_table_intern(&adding->numbers, &number);
        }
    }
}

static int compare_numbers(const void *a, const void *b) { return ORDER(*(const int64_t *)a, *(const int64_t *)b); }

static void sort_numbers(struct adding *adding) {
    struct failure *failure = adding->profile->failure;
    uint32_t count = row_table_count(&adding->numbers);
    int64_t *sorted = memory_allocate(failure, (count + 1) * sizeof *sorted);
    if (!sorted) return;
    for (uint32_t i = 0; i < count; i++) sorted[i] = *(const int64_t *)row_table_at(&adding->numbers, i);
    memory_sort(failure, sorted, count, sizeof *sorted, compare_numbers);
    row_table_fini(&adding->numbers);
    row_table_init(&adding->numbers, sizeof(int64_t), failure);
    for (uint32_t i = 0; i < count; i++) row_table_intern(&adding->numbers, &sorted[i]);
    memory_free(sorted);
}

/* ---- Tracks. ---- */

/* Returns the thread that tracks of processors belong to, which has the name of their process. */
static thread_id add_owner(struct profile *profile) {
    static const int64_t NO_PID = -2; /* Linux shows -1 as the pid of a process that has ended. */
    process_id id = profile_add_process(profile, NO_PID, 0);
    thread_id owner = process_is_none(id) ? thread_none() : profile_add_thread(profile, id, NO_PID, 0);
    if (thread_is_none(owner)) return owner;
    struct process *process = profile_process_at(profile, id);
    struct thread *thread = profile_thread_at(profile, owner);
    process->name = thread->name = TEXT("Processors");
    process->pid_text = thread->tid_text = TEXT(PROCESSORS_TID);
    return owner;
}

static void add_tracks(struct adding *adding) {
    struct profile *profile = adding->profile;
    thread_id owner = add_owner(profile);
    for (uint32_t i = 0; i < row_table_count(&adding->numbers) && !failure_is_set(profile->failure); i++) {
        int64_t number = *(const int64_t *)row_table_at(&adding->numbers, i);
        const struct event_track track = {.event = profile_text_format(profile, "CPU %" PRId64, number),
                                          .counts_ns = profile->meta.weight_type == WEIGHT_TRACING_MS,
                                          .is_processor = true,
                                          .owner = owner};
        thread_id *added = column_push(&adding->tracks);
        if (added) *added = profile_add_track(profile, &track);
    }
}

/* ---- Samples. ---- */

static frame_id frame_of(struct profile *profile, process_id id) {
    const struct process *process = profile_process_at(profile, id);
    struct text name = process->name, pid = process->pid_text;
    if (!text_equal(name, pid)) name = profile_text_format(profile, "%.*s (%.*s)", TEXT_ARGS(name), TEXT_ARGS(pid));
    return profile_named_frame(profile, name, (struct category_pair){0});
}

static uint32_t depth_of(const struct profile *profile, stack_id stack) {
    uint32_t depth = 0;
    for (; !stack_is_none(stack); stack = profile_stack_at(profile, stack)->prefix) depth++;
    return depth;
}

static stack_id add_root(struct adding *adding, stack_id stack, frame_id root) {
    struct profile *profile = adding->profile;
    uint32_t count = 1 + depth_of(profile, stack);
    if (count > adding->capacity) {
        frame_id *frames = memory_resize(profile->failure, adding->frames, 2 * (size_t)count * sizeof *frames);
        if (!frames) return stack;
        adding->frames = frames;
        adding->capacity = 2 * count;
    }
    adding->frames[0] = root;
    for (uint32_t i = count; --i > 0; stack = profile_stack_at(profile, stack)->prefix)
        adding->frames[i] = profile_stack_at(profile, stack)->frame;
    return profile_stack_of(profile, adding->frames, count);
}

static void add_samples(struct adding *adding, uint32_t thread) {
    struct profile *profile = adding->profile;
    const struct thread *from = column_at(&profile->threads, thread);
    bool weigh_one = profile->meta.weight_type == WEIGHT_ONE;
    frame_id root = frame_none();
    for (uint32_t row = 0; row < samples_count(&from->samples) && !failure_is_set(profile->failure); row++) {
        int64_t number = samples_processor(&from->samples, row);
        uint32_t place = row_table_find(&adding->numbers, &number);
        if (number < 0 || place >= adding->tracks.count) continue;
        if (frame_is_none(root)) root = frame_of(profile, from->process);
        const struct sample *sample = samples_at(&from->samples, row);
        struct thread *track = profile_thread_at(profile, *(const thread_id *)column_at(&adding->tracks, place));
        samples_add(&track->samples, sample->time_ns, add_root(adding, sample->stack, root),
                    weigh_one ? 1 : sample->weight);
    }
}

void profile_add_processors(struct profile *profile) {
    struct adding adding = {.profile = profile};
    uint32_t thread_count = (uint32_t)profile->threads.count;
    if (failure_is_set(profile->failure)) return;
    row_table_init(&adding.numbers, sizeof(int64_t), profile->failure);
    column_init(&adding.tracks, sizeof(thread_id), profile->failure);
    profile_name_tasks(profile);
    collect_numbers(&adding);
    sort_numbers(&adding);
    if (!row_table_count(&adding.numbers))
        failure_set(profile->failure, FAILURE_USAGE,
                    "--per-cpu: the samples do not say their processors; record with perf record -a or --sample-cpu, "
                    "and print them with perf script -F +cpu");
    if (!failure_is_set(profile->failure)) add_tracks(&adding);
    for (uint32_t i = 0; i < thread_count; i++) add_samples(&adding, i);
    row_table_fini(&adding.numbers);
    column_fini(&adding.tracks);
    memory_free(adding.frames);
}
