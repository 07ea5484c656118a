#include "result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "missing_names.h"

static void count_contents(const struct profile *profile, struct gecko_convert_result *result) {
    struct gecko_convert_counts *counts = &result->counts;
    const struct process *last_process = NULL;
    for (size_t i = 0; i < profile->thread_order.count; i++) {
        const thread_id *id = column_at(&profile->thread_order, i);
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
    counts->stacks = stack_table_count(&profile->stacks);
    counts->frames = row_table_count(&profile->frames);
    counts->funcs = row_table_count(&profile->funcs);
    counts->strings = strings_count(&profile->strings);
    counts->libs = libs_count(&profile->libs);
}

/* Copies the text to *next, NUL-terminated, and advances *next past it. Returns the copy. */
static const char *copy_text(char **next, struct text text) {
    char *copy = *next;
    if (text.bytes_count) memcpy(copy, text.bytes, text.bytes_count);
    copy[text.bytes_count] = '\0';
    *next += text.bytes_count + 1;
    return copy;
}

static struct gecko_convert_entry result_entry(const struct ledger_entry *entry, char **next) {
    return (struct gecko_convert_entry){
        .unit = entry->unit,
        .fate = entry->fate,
        .cause = copy_text(next, entry->cause),
        .count = entry->count,
        .has_first = entry->has_first,
        .first_line = entry->has_first ? entry->first.line : 0,
        .first_offset = entry->has_first ? entry->first.offset : 0,
    };
}

/* Describes one of several inputs. */
static struct gecko_convert_input result_input(const struct input_loader *loader, const struct merge_input *part,
                                               char **next) {
    const struct reader *reader = loader->reader;
    return (struct gecko_convert_input){.name = loader->name,
                                        .format = reader ? reader->name : "",
                                        .title = reader ? reader->title : "",
                                        .wrapping = copy_text(next, loader->wrapping),
                                        .bytes = loader->bytes_count,
                                        .timeline = part->timeline,
                                        .offset_ns = part->offset_ns,
                                        .remark = copy_text(next, text_of(part->remark))};
}

/* Copies what describes several inputs. */
static void copy_inputs(struct gecko_convert_result *result, const struct result_sources *sources,
                        struct gecko_convert_input *inputs, char **next) {
    size_t count = sources->merge->input_count;
    if (!count) return;
    for (size_t i = 0; i < count; i++) inputs[i] = result_input(&sources->loaders[i], &sources->merge->inputs[i], next);
    result->inputs = inputs;
    result->input_count = count;
}

static struct text wrapping_of_first(const struct result_sources *sources) {
    return sources->loader_count ? sources->loaders[0].wrapping : TEXT("");
}

static struct text weight_unit_of(const struct profile *profile) {
    return profile->meta.weight_type == WEIGHT_ONE ? TEXT("") : profile_weight_unit(&profile->meta);
}

static void copy_missing_names(struct gecko_convert_result *result, const struct missing_names *missing,
                               struct gecko_convert_missing_names *rows, char **next) {
    for (size_t i = 0; i < missing->rows.count; i++) {
        const struct missing_name *row = column_at(&missing->rows, i);
        rows[i] = (struct gecko_convert_missing_names){copy_text(next, row->library), row->sample_count, row->reason};
    }
    result->missing_names = rows;
    result->missing_name_count = missing->rows.count;
    result->stack_sample_count = missing->sample_count;
}

static void copy_events(struct gecko_convert_result *result, const struct column *told,
                        struct gecko_convert_event *events, char **next) {
    for (size_t i = 0; i < told->count; i++) {
        const struct profile_event *event = column_at(told, i);
        events[i] = (struct gecko_convert_event){copy_text(next, event->name), event->treatment, event->sample_count};
    }
    result->events = events;
    result->event_count = told->count;
}

/* Copies the entries, the inputs, the missing names, the events and their texts into one block. Returns false if memory
 * ran out. */
static bool copy_ledger(struct gecko_convert_result *result, const struct result_sources *sources,
                        const struct missing_names *missing) {
    const struct ledger *ledger = &sources->profile->ledger;
    size_t entry_count = ledger->entries.count;
    struct text weight_unit = weight_unit_of(sources->profile);
    size_t text_bytes = wrapping_of_first(sources).bytes_count + 1 + weight_unit.bytes_count + 1;
    for (size_t i = 0; i < entry_count; i++) text_bytes += ledger_at(ledger, i)->cause.bytes_count + 1;
    size_t input_count = sources->merge->input_count;
    for (size_t i = 0; i < input_count; i++)
        text_bytes += sources->loaders[i].wrapping.bytes_count + 1 + strlen(sources->merge->inputs[i].remark) + 1;
    size_t missing_count = missing->rows.count;
    for (size_t i = 0; i < missing_count; i++)
        text_bytes += ((const struct missing_name *)column_at(&missing->rows, i))->library.bytes_count + 1;
    const struct column *told_events = &sources->profile->events;
    for (size_t i = 0; i < told_events->count; i++)
        text_bytes += ((const struct profile_event *)column_at(told_events, i))->name.bytes_count + 1;
    struct gecko_convert_entry *entries =
        malloc(entry_count * sizeof *entries + input_count * sizeof(struct gecko_convert_input) +
               missing_count * sizeof(struct gecko_convert_missing_names) +
               told_events->count * sizeof(struct gecko_convert_event) + text_bytes);
    if (!entries) return false;
    struct gecko_convert_input *inputs = (struct gecko_convert_input *)(entries + entry_count);
    struct gecko_convert_missing_names *names = (struct gecko_convert_missing_names *)(inputs + input_count);
    struct gecko_convert_event *events = (struct gecko_convert_event *)(names + missing_count);
    char *next = (char *)(events + told_events->count);
    copy_events(result, told_events, events, &next);
    copy_missing_names(result, missing, names, &next);
    copy_inputs(result, sources, inputs, &next);
    for (size_t i = 0; i < entry_count; i++) entries[i] = result_entry(ledger_at(ledger, i), &next);
    result->wrapping = copy_text(&next, wrapping_of_first(sources));
    result->weight_unit = copy_text(&next, weight_unit);
    result->entries = entries;
    result->entry_count = entry_count;
    result->owned = entries;
    return true;
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
    struct missing_names missing;
    missing_names_init(&missing, sources->profile, sources->looks_up);
    bool is_good = copy_ledger(result, sources, &missing);
    missing_names_fini(&missing);
    return is_good;
}

void gecko_convert_result_fini(struct gecko_convert_result *result) {
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
