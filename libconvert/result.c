#include "result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libconvert/profile/cut_stacks.h"
#include "missing_names.h"

static void count_contents(const struct profile *profile, struct gecko_convert_result *result) {
    struct gecko_convert_counts *counts = &result->counts;
    const struct process *last_process = NULL;
    COLUMN_EACH(const thread_id, id, &profile->thread_order) {
        const struct thread *thread = profile_thread_at(profile, *id);
        const struct process *process = profile_process_at(profile, thread->process);
        if (process != last_process) counts->processes += 1 + process->merged_count;
        last_process = process;
        counts->threads += 1 + thread->merged_count;
        if (!profile_is_processor(profile, thread)) counts->samples += samples_count(&thread->samples);
        for (uint32_t j = 0; j < samples_count(&thread->samples) && !thread_is_track(thread); j++)
            result->weight += fabs(profile_weight_of(profile, samples_at(&thread->samples, j)->weight));
        counts->markers += thread->markers.count;
    }
    counts->samples -= profile->drawn_sample_count;
    counts->stacks = stack_table_count(&profile->stacks);
    counts->frames = row_table_count(&profile->frames);
    counts->funcs = row_table_count(&profile->funcs);
    counts->strings = strings_count(&profile->strings);
    counts->libs = libs_count(&profile->libs);
}

/* Returns a copy, NUL-terminated. It is empty if memory ran out (latched). */
static const char *copy_text(struct arena *memory, struct text text) {
    const char *copy = arena_copy_terminated(memory, text);
    return copy ? copy : "";
}

static void copy_entries(struct gecko_convert_result *result, const struct ledger *ledger, struct arena *memory) {
    struct gecko_convert_entry *entries = arena_take_aligned(memory, ledger->entries.count * sizeof *entries);
    if (!entries) return;
    for (size_t i = 0; i < ledger->entries.count; i++) {
        const struct ledger_entry *entry = ledger_at(ledger, i);
        entries[i] = (struct gecko_convert_entry){
            .unit = entry->unit,
            .fate = entry->fate,
            .cause = copy_text(memory, entry->cause),
            .count = entry->count,
            .has_first = entry->has_first,
            .first_line = entry->has_first ? entry->first.line : 0,
            .first_offset = entry->has_first ? entry->first.offset : 0,
        };
    }
    result->entries = entries;
    result->entry_count = ledger->entries.count;
}

static void copy_inputs(struct gecko_convert_result *result, const struct result_sources *sources,
                        struct arena *memory) {
    size_t count = sources->merge->input_count;
    struct gecko_convert_input *inputs = count ? arena_take_aligned(memory, count * sizeof *inputs) : NULL;
    if (!inputs) return;
    for (size_t i = 0; i < count; i++) {
        const struct input_loader *loader = &sources->loaders[i];
        const struct merge_input *part = &sources->merge->inputs[i];
        const struct reader *reader = loader->reader;
        inputs[i] = (struct gecko_convert_input){.name = loader->name,
                                                 .format = reader ? reader->name : "",
                                                 .title = reader ? reader->title : "",
                                                 .wrapping = copy_text(memory, loader->wrapping),
                                                 .bytes = loader->bytes_count,
                                                 .timeline = part->timeline,
                                                 .offset_ns = part->offset_ns,
                                                 .remark = copy_text(memory, text_of(part->remark))};
    }
    result->inputs = inputs;
    result->input_count = count;
}

static void copy_events(struct gecko_convert_result *result, const struct column *told, struct arena *memory) {
    struct gecko_convert_event *events = arena_take_aligned(memory, told->count * sizeof *events);
    if (!events) return;
    for (size_t i = 0; i < told->count; i++) {
        const struct profile_event *event = column_at(told, i);
        events[i] = (struct gecko_convert_event){copy_text(memory, event->name), event->treatment, event->sample_count};
    }
    result->events = events;
    result->event_count = told->count;
}

static struct text weight_unit_of(const struct profile *profile) {
    return profile->meta.weight_type == WEIGHT_ONE ? TEXT("") : profile_weight_unit(&profile->meta);
}

/* Stacks of other formats look as if they ended early, whatever they are. */
static bool are_all_of_perf(const struct result_sources *sources) {
    for (size_t i = 0; i < sources->loader_count; i++) {
        const struct reader *reader = sources->loaders[i].reader;
        if (!reader || !text_starts_with(text_of(reader->name), TEXT("perf-"))) return false;
    }
    return true;
}

/* Returns 0 if no note says that many stacks end early, or if it is not known how many of all inputs do. */
static double cut_stack_share(const struct result_sources *sources) {
    const struct profile *profile = sources->profile;
    const struct ledger *ledger = &profile->ledger;
    for (size_t i = 0; i < ledger->entries.count; i++) {
        struct text cause = ledger_at(ledger, i)->cause;
        if (!text_starts_with(cause, TEXT(CUT_STACKS_CAUSE)) || !are_all_of_perf(sources)) continue;
        struct cut_stacks sum = cut_stacks_count(profile, !text_equal(cause, TEXT(CUT_STACKS_WITHOUT_COPIES)));
        return sum.cut_weight > 0 ? sum.cut_weight / sum.stack_weight : 0;
    }
    return 0;
}

bool result_fill(struct gecko_convert_result *result, const struct result_sources *sources) {
    const struct ledger *ledger = &sources->profile->ledger;
    const struct input_loader *first = sources->loaders;
    if (first) result->input_bytes = first->bytes_count;
    if (first && first->reader) {
        result->input_format = first->reader->name;
        result->input_title = first->reader->title;
    }
    count_contents(sources->profile, result);
    for (enum gecko_convert_unit unit = 0; unit < LEDGER_UNIT_COUNT; unit++)
        result->sums[unit] = (struct gecko_convert_unit_sums){ledger->read[unit], ledger_sum(ledger, unit, LEDGER_KEPT),
                                                              ledger_sum(ledger, unit, LEDGER_LOST),
                                                              ledger_sum(ledger, unit, LEDGER_FILTERED)};
    result->is_balanced = ledger_is_balanced(ledger);
    struct failure failure = {0};
    struct arena *memory = result->owned = malloc(sizeof *memory);
    if (!memory) return false;
    arena_init(memory, &failure);
    result->wrapping = copy_text(memory, first ? first->wrapping : TEXT(""));
    result->weight_unit = copy_text(memory, weight_unit_of(sources->profile));
    copy_entries(result, ledger, memory);
    result->cut_stack_share = cut_stack_share(sources);
    copy_inputs(result, sources, memory);
    copy_events(result, &sources->profile->events, memory);
    missing_names_find(result, sources->profile, sources->looks_up, memory);
    return !failure_is_set(&failure);
}

void gecko_convert_result_fini(struct gecko_convert_result *result) {
    if (result->owned) arena_fini(result->owned);
    free(result->owned);
    free((void *)(uintptr_t)result->output_data);
    result->owned = NULL;
    result->output_data = NULL;
    result->entries = NULL;
    result->entry_count = 0;
    result->inputs = NULL;
    result->input_count = 0;
    result->missing_names = NULL;
    result->missing_name_count = 0;
    result->events = NULL;
    result->event_count = 0;
    result->wrapping = result->weight_unit = "";
}
