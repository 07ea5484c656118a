/* Merges what describes recordings: their weights, and the machine and program. */
#include "libconvert/base/cursor.h"
#include "merge_steps.h"

static const int64_t DEFAULT_INTERVAL_NS = 1000000;

static bool has_samples(const struct merge_input *input) {
    for (size_t i = 0; i < input->profile.threads.count; i++)
        if (samples_count(&((const struct thread *)column_at(&input->profile.threads, i))->samples)) return true;
    return false;
}

/* ---- Weights. ---- */

/* Returns the type of weights that all inputs can have, which is that of the only input with another one than
 * WEIGHT_ONE. Latches a failure if two inputs count different things. */
static enum weight_type find_weight_type(const struct merge *merge, struct profile_meta *whole) {
    const struct merge_input *weighing = NULL;
    for (size_t i = 0; i < merge->input_count; i++) {
        const struct merge_input *input = &merge->inputs[i];
        const struct profile_meta *meta = &input->profile.meta;
        if (meta->weight_type == WEIGHT_ONE || !has_samples(input)) continue;
        bool is_same = !weighing || (weighing->profile.meta.weight_type == meta->weight_type &&
                                     text_equal(weighing->profile.meta.weight_unit, meta->weight_unit));
        if (!is_same)
            failure_set(merge->failure, FAILURE_INPUT,
                        "the weights of samples in %.*s and %.*s count different things: convert them one by one",
                        (int)weighing->name.bytes_count, weighing->name.bytes, (int)input->name.bytes_count,
                        input->name.bytes);
        weighing = input;
        whole->weight_unit = meta->weight_unit;
    }
    return weighing ? weighing->profile.meta.weight_type : WEIGHT_ONE;
}

static void set_weights(struct merge_input *input, enum weight_type type) {
    const struct profile_meta *meta = &input->profile.meta;
    int64_t interval_ns = meta->interval_ns ? meta->interval_ns : DEFAULT_INTERVAL_NS;
    uint32_t weight = 1;
    if (type == WEIGHT_TRACING_MS)
        weight = profile_weight_encode(&input->profile, (struct decimal){.mantissa = interval_ns});
    for (size_t i = 0; i < input->profile.threads.count; i++) {
        struct thread *thread = column_at(&input->profile.threads, i);
        uint32_t count = thread_is_track(thread) ? 0 : samples_count(&thread->samples);
        for (uint32_t j = 0; j < count; j++) samples_at(&thread->samples, j)->weight = weight;
    }
}

/* ---- Processor time. ---- */

/* A profile has one unit of CPU time for all threads. So cycles are dropped if another input has times. */
static void lose_cycles(struct merge_input *input) {
    struct profile *profile = &input->profile;
    ledger_read(&profile->ledger, LEDGER_VALUES, 1);
    ledger_enter(&profile->ledger, LEDGER_VALUES, LEDGER_LOST,
                 TEXT("processor use in cycles, while another input has it in time"), 1, NULL);
    for (size_t i = 0; i < profile->threads.count; i++)
        samples_forget_cpu(&((struct thread *)column_at(&profile->threads, i))->samples);
}

static bool is_any_apart(const struct merge *merge) {
    for (size_t i = 0; i < merge->input_count; i++)
        if (merge->inputs[i].profile.meta.has_cpu_apart) return true;
    return false;
}

/* Returns whether all inputs with samples have their weights as processor time in this unit. */
static bool have_all(const struct merge *merge, enum cpu_delta_unit unit) {
    for (size_t i = 0; i < merge->input_count; i++) {
        const struct merge_input *input = &merge->inputs[i];
        if (input->profile.meta.cpu_delta_unit != unit && has_samples(input)) return false;
    }
    return true;
}

static void merge_cpu_times(struct merge *merge, struct profile *whole) {
    enum cpu_delta_unit common = have_all(merge, CPU_DELTA_NS)       ? CPU_DELTA_NS
                                 : have_all(merge, CPU_DELTA_CYCLES) ? CPU_DELTA_CYCLES
                                                                     : CPU_DELTA_NONE;
    whole->meta.cpu_delta_unit = common;
    whole->meta.has_cpu_apart = common != CPU_DELTA_NONE && is_any_apart(merge);
    for (size_t i = 0; i < merge->input_count; i++) {
        struct merge_input *input = &merge->inputs[i];
        bool is_lost = common == CPU_DELTA_NONE && input->profile.meta.cpu_delta_unit == CPU_DELTA_CYCLES;
        bool is_apart = common == CPU_DELTA_NONE || whole->meta.has_cpu_apart;
        if (is_apart && !is_lost && profile_are_weights_cpu(&input->profile)) profile_spread_cpu_times(&input->profile);
        if (is_lost && has_samples(input)) lose_cycles(input);
    }
}

static bool have_every_state(const struct merge *merge) {
    for (size_t i = 0; i < merge->input_count; i++) {
        const struct merge_input *input = &merge->inputs[i];
        if (!input->profile.meta.has_every_state && has_samples(input)) return false;
    }
    return true;
}

void merge_weights(struct merge *merge, struct profile *whole) {
    if (failure_is_set(merge->failure)) return;
    whole->meta.has_every_state = have_every_state(merge);
    merge_cpu_times(merge, whole);
    whole->meta.weight_type = find_weight_type(merge, &whole->meta);
    for (size_t i = 0; i < merge->input_count; i++) {
        struct merge_input *input = &merge->inputs[i];
        if (input->profile.meta.weight_type == WEIGHT_ONE && whole->meta.weight_type != WEIGHT_ONE)
            set_weights(input, whole->meta.weight_type);
    }
}

/* ---- The rest. ---- */

static void take_text(struct text *whole, struct text part) {
    if (!whole->bytes_count) *whole = part;
}

/* Facts about the machine and the program. Each comes from the first input that has it. */
static void take_facts(struct profile_meta *whole, const struct profile_meta *part) {
    take_text(&whole->product, part->product);
    take_text(&whole->version, part->version);
    take_text(&whole->build_id, part->build_id);
    take_text(&whole->source_url, part->source_url);
    take_text(&whole->arguments, part->arguments);
    take_text(&whole->cpu_name, part->cpu_name);
    take_text(&whole->os_cpu, part->os_cpu);
    take_text(&whole->platform, part->platform);
    take_text(&whole->abi, part->abi);
    take_text(&whole->device, part->device);
    if (!whole->configuration.is_known) whole->configuration = part->configuration;
    if (!whole->logical_cpu_count) whole->logical_cpu_count = part->logical_cpu_count;
    if (!whole->physical_cpu_count) whole->physical_cpu_count = part->physical_cpu_count;
    if (!whole->main_memory_bytes) whole->main_memory_bytes = part->main_memory_bytes;
    if (!whole->interval_ns) whole->interval_ns = part->interval_ns;
    whole->has_stacks |= part->has_stacks;
    whole->has_times |= part->has_times;
    whole->has_waits |= part->has_waits;
}

/* The recording began with the first of the inputs, and ended with the last one. */
static void join_recordings(struct recording_times *whole, const struct recording_times *part) {
    whole->program_start_ns = time_earlier(whole->program_start_ns, part->program_start_ns);
    whole->start_ns = time_earlier(whole->start_ns, part->start_ns);
    whole->end_ns = time_later(whole->end_ns, part->end_ns);
}

/* Adds the program that wrote an input to the text that the front-end shows as the origin of the profile. */
static void join_importers(struct profile *whole, struct text importer) {
    struct text *all = &whole->meta.imported_from;
    if (!all->bytes_count)
        *all = importer;
    else if (importer.bytes_count && !text_equal(*all, importer) && !text_ends_with(*all, importer))
        *all = profile_text_format(whole, "%.*s, %.*s", (int)all->bytes_count, all->bytes, (int)importer.bytes_count,
                                   importer.bytes);
}

static void add_events(struct profile *whole, const struct merge_input *input) {
    const struct column *events = &input->profile.events;
    for (size_t i = 0; i < events->count; i++) {
        struct profile_event *added = column_push(&whole->events);
        if (added) *added = *(const struct profile_event *)column_at(events, i);
    }
}

static void add_extras(struct profile *whole, const struct merge_input *input) {
    const struct column *extra = &input->profile.meta.extra;
    for (size_t i = 0; i < extra->count; i++) {
        const struct extra_entry *entry = column_at(extra, i);
        struct text section =
            profile_text_format(whole, "%.*s (%.*s)", (int)entry->section.bytes_count, entry->section.bytes,
                                (int)input->name.bytes_count, input->name.bytes);
        profile_add_extra(whole, section, entry->label, entry->value);
    }
}

/* ---- Runs. ---- */

static const struct text RUNS_SECTION = TEXT("Merge"), RUNS_LABEL = TEXT("runs");

/* Returns the input's value of that line; NULL if it has none. */
static const struct extra_entry *find_extra(const struct merge_input *input, struct text section, struct text label) {
    const struct column *extra = &input->profile.meta.extra;
    for (size_t i = 0; i < extra->count; i++) {
        const struct extra_entry *entry = column_at(extra, i);
        if (text_equal(entry->section, section) && text_equal(entry->label, label)) return entry;
    }
    return NULL;
}

/* An input that was merged itself tells how many runs it has. */
static uint64_t run_count_of(const struct merge_input *input) {
    const struct extra_entry *entry = find_extra(input, RUNS_SECTION, RUNS_LABEL);
    uint64_t count;
    return entry && cursor_parse_number(entry->value, 10, &count) ? count : 1;
}

static bool is_of_all_runs(const struct merge *merge, const struct extra_entry *entry) {
    for (size_t i = 0; i < merge->input_count; i++) {
        const struct extra_entry *other = find_extra(&merge->inputs[i], entry->section, entry->label);
        if (!other || !text_equal(other->value, entry->value)) return false;
    }
    return true;
}

/* Adds the number of runs, and the lines that all runs have: what differs would say of one run what holds for another.
 */
static void add_extras_of_runs(const struct merge *merge, struct profile *whole) {
    const struct column *extra = &merge->inputs[0].profile.meta.extra;
    uint64_t run_count = 0;
    for (size_t i = 0; i < extra->count; i++) {
        const struct extra_entry *entry = column_at(extra, i);
        bool is_count = text_equal(entry->section, RUNS_SECTION) && text_equal(entry->label, RUNS_LABEL);
        if (!is_count && is_of_all_runs(merge, entry))
            profile_add_extra(whole, entry->section, entry->label, entry->value);
    }
    for (size_t i = 0; i < merge->input_count; i++) run_count += run_count_of(&merge->inputs[i]);
    profile_add_extra(whole, RUNS_SECTION, RUNS_LABEL,
                      profile_text_format(whole, "%llu", (unsigned long long)run_count));
}

void merge_meta(struct merge *merge, struct profile *whole) {
    const struct merge_input *first = merge->runs ? &merge->inputs[0] : merge_reference(merge);
    const struct profile_meta *reference = &first->profile.meta;
    struct profile_meta *meta = &whole->meta;
    meta->has_times = false;
    take_facts(meta, reference);
    for (size_t i = 0; i < merge->input_count; i++) {
        const struct merge_input *input = &merge->inputs[i];
        take_facts(meta, &input->profile.meta);
        join_recordings(&whole->recording, &input->profile.recording);
        join_importers(whole, input->profile.meta.imported_from);
        if (!merge->runs) add_extras(whole, input);
        add_events(whole, input);
    }
    if (merge->runs) add_extras_of_runs(merge, whole);
    meta->is_clock_monotonic = reference->is_clock_monotonic;
    meta->epoch_offset_ns = reference->epoch_offset_ns;
    meta->start_time_ms = reference->start_time_ms;
    meta->captured_at_ms = reference->captured_at_ms;
}
