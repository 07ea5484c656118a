/* Tells traces of several runs of a program apart from recordings of one session. */
#include <stdlib.h>

#include "libconvert/base/memory.h"
#include "merge_steps.h"

/* ---- Runs. ---- */

/* Returns the process that began first, and has recorded the others; NULL if there is none. */
static const struct process *first_process(const struct profile *profile) {
    const struct process *first = NULL;
    COLUMN_EACH(const struct process, process, &profile->processes)
        if (process_is_none(process->parent) && (!first || process->start_ns < first->start_ns)) first = process;
    return first;
}

/* Returns whether both traces began with a process of that name, but not with the same process. */
static bool are_of_one_program(const struct merge_input *a, const struct merge_input *b) {
    const struct process *first = first_process(&a->profile), *second = first_process(&b->profile);
    bool are_by_clock =
        a->alignment.kind == GECKO_CONVERT_ALIGN_BY_CLOCK && b->alignment.kind == GECKO_CONVERT_ALIGN_BY_CLOCK;
    if (!a->is_recorder || !b->is_recorder || !are_by_clock || !first || !second) return false;
    if (first->pid == second->pid && a->machine == b->machine) return false;
    return first->name.bytes_count && text_equal(first->name, second->name);
}

/* ---- Sessions: inputs that overlap, directly or by way of others. ---- */

struct span {
    struct time_range events;
    const struct merge_input *input;
    size_t session; /* sessions are numbered in the order of time */
};

static int compare_spans(const void *a, const void *b) { return ORDER_BY(struct span, events.first_ns, a, b); }

static void find_sessions(struct span *spans, const struct merge *merge) {
    for (size_t i = 0; i < merge->input_count; i++)
        spans[i] = (struct span){.events = profile_events(&merge->inputs[i].profile), .input = &merge->inputs[i]};
    qsort(spans, merge->input_count, sizeof *spans, compare_spans);
    int64_t end_ns = spans[0].events.last_ns;
    for (size_t i = 1; i < merge->input_count; i++) {
        const struct time_range *events = &spans[i].events;
        bool is_empty = events->first_ns > events->last_ns;
        spans[i].session = spans[i - 1].session + (!is_empty && events->first_ns > end_ns);
        if (events->last_ns > end_ns) end_ns = events->last_ns;
    }
}

static void refuse(const struct merge *merge, const struct merge_input *first, const struct merge_input *second) {
    struct text program = first_process(&first->profile)->name;
    failure_set(
        merge->failure, FAILURE_USAGE,
        "%.*s is a later run of %.*s than %.*s: name one of them, make a profile of each with --output-dir DIR, "
        "or say where one begins with --align FILE=OFFSET",
        TEXT_ARGS(second->name), TEXT_ARGS(program), TEXT_ARGS(first->name));
}

void merge_refuse_runs(const struct merge *merge) {
    size_t count = merge->input_count;
    struct span *spans = memory_allocate(merge->failure, count * sizeof *spans);
    if (!spans) return;
    find_sessions(spans, merge);
    for (size_t j = 1; j < count && !failure_is_set(merge->failure); j++)
        for (size_t i = 0; i < j && spans[i].session < spans[j].session; i++)
            if (are_of_one_program(spans[i].input, spans[j].input)) refuse(merge, spans[i].input, spans[j].input);
    memory_free(spans);
}
