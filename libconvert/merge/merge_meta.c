/* Merges what describes recordings: their weights, and the machine and program. */
#include <inttypes.h>

#include "libconvert/base/byte_buffer.h"
#include "libconvert/base/cursor.h"
#include "merge_steps.h"

static const int64_t DEFAULT_INTERVAL_NS = 1000000;

static bool has_samples(const struct merge_input *input) {
    COLUMN_EACH(const struct thread, thread, &input->profile.threads)
        if (samples_count(&thread->samples)) return true;
    return false;
}

/* ---- Intervals. ---- */

/* A sample whose interval is unknown, such as one of an event that is no clock, stands for no time. */
static bool knows_interval(const struct merge_input *input) {
    return input->profile.meta.has_times && input->profile.meta.interval_ns > 0 && has_samples(input);
}

/* Returns the shortest known interval of samples; 0 if there is none. */
static int64_t shortest_interval_ns(const struct merge *merge) {
    int64_t shortest_ns = 0;
    for (size_t i = 0; i < merge->input_count; i++) {
        int64_t interval_ns = merge->inputs[i].profile.meta.interval_ns;
        bool is_shorter = !shortest_ns || interval_ns < shortest_ns;
        if (knows_interval(&merge->inputs[i]) && is_shorter) shortest_ns = interval_ns;
    }
    return shortest_ns;
}

/* Returns how many samples of the shortest interval a sample of the input stands for, times 10. If that is within a
 * twentieth of a whole number, as for 999 Hz and 250 Hz, it is that number. Estimates of one interval differ by less
 * than a tenth. */
static int64_t tenths_of(const struct merge_input *input, int64_t shortest_ns) {
    static const double TENTHS_MAX = 1e9; /* only damaged profiles have more */
    if (!knows_interval(input)) return 10;
    double ratio = 10.0 * (double)input->profile.meta.interval_ns / (double)shortest_ns;
    int64_t tenths = (int64_t)((ratio < TENTHS_MAX ? ratio : TENTHS_MAX) + 0.5), whole = (tenths + 5) / 10 * 10;
    int64_t rest = tenths < whole ? whole - tenths : tenths - whole;
    return tenths <= 11 || rest * 20 <= tenths ? whole : tenths;
}

static bool counts_samples(const struct profile_meta *whole) {
    bool is_of_samples = whole->weight_type == WEIGHT_ONE || whole->weight_type == WEIGHT_SAMPLES;
    return is_of_samples && !whole->weight_unit.bytes_count;
}

/* Returns whether samples are weighed by the shortest interval. Runs keep their samples as they are. */
static bool counts_intervals(const struct merge *merge, const struct profile_meta *whole) {
    return !merge->runs && counts_samples(whole);
}

static bool intervals_differ(const struct merge *merge, int64_t shortest_ns) {
    for (size_t i = 0; i < merge->input_count; i++)
        if (tenths_of(&merge->inputs[i], shortest_ns) != 10) return true;
    return false;
}

/* Estimates of one interval differ by less than a tenth. */
static bool are_alike(int64_t interval_ns, int64_t other_ns) {
    double ratio = (double)interval_ns / (double)other_ns;
    return ratio < 1.1 && ratio > 1 / 1.1;
}

/* Merged runs have the interval of the first one, and samples that stand for another time show wrong times. Runs
 * without samples count too: the interval of what was merged before may be theirs. */
static void compare_intervals(struct merge *merge) {
    const struct merge_input *first = NULL;
    for (size_t i = 0; i < merge->input_count; i++) {
        struct merge_input *input = &merge->inputs[i];
        int64_t interval_ns = input->profile.meta.interval_ns;
        char own[DECIMAL_TEXT_BYTES], others[DECIMAL_TEXT_BYTES];
        if (interval_ns <= 0) continue;
        if (!first) first = input;
        if (are_alike(interval_ns, first->profile.meta.interval_ns)) continue;
        merge->have_other_intervals = true;
        decimal_print(decimal_shift((struct decimal){.mantissa = interval_ns}, -6), own);
        decimal_print(decimal_shift((struct decimal){.mantissa = first->profile.meta.interval_ns}, -6), others);
        if (has_samples(input))
            merge_remark(input,
                         "its samples stand for %s ms each, but the profile shows them as %s ms, as those of %.*s", own,
                         others, TEXT_ARGS(first->name));
    }
}

/* ---- Weights. ---- */

/* Returns whether the samples of an input cannot have weights of that type. On a timeline, samples stand for time. */
static bool counts_other(const struct merge *merge, const struct profile_meta *meta, enum weight_type type,
                         struct text unit) {
    if (meta->weight_type != WEIGHT_ONE) return meta->weight_type != type || !text_equal(meta->weight_unit, unit);
    return merge->runs && (type != WEIGHT_SAMPLES || unit.bytes_count);
}

/* Returns the type of weights that all inputs can have, which is that of the only input with another one than
 * WEIGHT_ONE. Latches a failure if two inputs count different things. */
static enum weight_type find_weight_type(const struct merge *merge, struct profile_meta *whole) {
    const struct merge_input *weighing = NULL;
    for (size_t i = 0; i < merge->input_count && !weighing; i++) {
        const struct merge_input *input = &merge->inputs[i];
        if (input->profile.meta.weight_type != WEIGHT_ONE && has_samples(input)) weighing = input;
    }
    if (!weighing) return WEIGHT_ONE;
    whole->weight_unit = weighing->profile.meta.weight_unit;
    for (size_t i = 0; i < merge->input_count; i++) {
        const struct merge_input *input = &merge->inputs[i];
        const struct merge_input *first = input < weighing ? input : weighing,
                                 *second = input < weighing ? weighing : input;
        if (has_samples(input) &&
            counts_other(merge, &input->profile.meta, weighing->profile.meta.weight_type, whole->weight_unit))
            failure_set(merge->failure, FAILURE_INPUT,
                        "the weights of samples in %.*s and %.*s count different things: %s", TEXT_ARGS(first->name),
                        TEXT_ARGS(second->name),
                        merge->runs ? "merge only runs that count the same" : "convert them one by one");
    }
    return weighing->profile.meta.weight_type;
}

/* Multiplies all weights by the factor. */
static void scale_weights(struct profile *profile, struct decimal factor) {
    COLUMN_EACH(struct thread, thread, &profile->threads) {
        uint32_t count = thread_is_track(thread) ? 0 : samples_count(&thread->samples);
        for (uint32_t j = 0; j < count; j++) {
            uint32_t *weight = &samples_at(&thread->samples, j)->weight;
            struct decimal scaled = profile_weight_decode(profile, *weight);
            /* Only damaged profiles have weights that are too large for the product. */
            if (__builtin_mul_overflow(scaled.mantissa, factor.mantissa, &scaled.mantissa)) continue;
            *weight = profile_weight_encode(profile, decimal_shift(scaled, -(int)factor.scale));
        }
    }
}

/* Makes the weights of an input, which has some, comparable with those of the others. */
static void equalize_weights(const struct merge *merge, struct merge_input *input, const struct profile_meta *whole,
                             int64_t shortest_ns) {
    struct profile_meta *meta = &input->profile.meta;
    int64_t interval_ns = meta->interval_ns ? meta->interval_ns : DEFAULT_INTERVAL_NS;
    int64_t tenths = counts_intervals(merge, whole) ? tenths_of(input, shortest_ns) : 10;
    if (meta->weight_type == WEIGHT_SAMPLES && whole->weight_type == WEIGHT_TRACING_MS)
        scale_weights(&input->profile, (struct decimal){.mantissa = interval_ns});
    else if (tenths != 10)
        scale_weights(&input->profile, decimal_make(tenths, 1));
}

/* ---- Processor time. ---- */

/* A profile has one unit of CPU time for all threads. So cycles are dropped if another input has times. */
static void lose_cycles(struct merge_input *input) {
    struct profile *profile = &input->profile;
    ledger_account(&profile->ledger, LEDGER_VALUES, LEDGER_LOST,
                   TEXT("processor use in cycles, while another input has it in time"), 1, NULL);
    COLUMN_EACH(struct thread, thread, &profile->threads) samples_forget_cpu(&thread->samples);
}

static bool is_any_apart(const struct merge *merge) {
    for (size_t i = 0; i < merge->input_count; i++)
        if (merge->inputs[i].profile.meta.has_cpu_apart) return true;
    return false;
}

/* Returns whether there are inputs with samples, and all of them know the processor use in this unit. */
static bool have_all(const struct merge *merge, enum cpu_delta_unit unit) {
    size_t count = 0;
    for (size_t i = 0; i < merge->input_count; i++) {
        const struct merge_input *input = &merge->inputs[i];
        if (!has_samples(input)) continue;
        if (input->profile.meta.cpu_delta_unit != unit) return false;
        count++;
    }
    return count > 0;
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
    int64_t shortest_ns = shortest_interval_ns(merge);
    if (!merge->runs) whole->meta.interval_ns = shortest_ns;
    whole->meta.weight_type = find_weight_type(merge, &whole->meta);
    if (counts_intervals(merge, &whole->meta) && intervals_differ(merge, shortest_ns))
        whole->meta.weight_type = WEIGHT_SAMPLES;
    for (size_t i = 0; i < merge->input_count && whole->meta.weight_type != WEIGHT_ONE; i++)
        profile_give_weights(&merge->inputs[i].profile);
    if (merge->runs && counts_samples(&whole->meta)) compare_intervals(merge);
    merge_cpu_times(merge, whole);
    for (size_t i = 0; i < merge->input_count && whole->meta.weight_type != WEIGHT_ONE; i++)
        equalize_weights(merge, &merge->inputs[i], &whole->meta, shortest_ns);
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

/* Takes the part before the next comma and blank off the list. */
static struct text take_from_list(struct text *list) {
    static const struct text separator = TEXT(", ");
    size_t end = 0;
    while (end < list->bytes_count && !text_starts_with(text_from(*list, end), separator)) end++;
    struct text first = text_slice(*list, 0, end);
    *list = end < list->bytes_count ? text_from(*list, end + separator.bytes_count) : (struct text){0};
    return first;
}

/* The front-end shows the programs that wrote the inputs, each once, as the origin of the profile. */
static void join_importers(const struct merge *merge, struct profile *whole) {
    struct byte_buffer all = {.failure = whole->failure};
    struct strings known;
    strings_init(&known, whole->failure);
    for (size_t i = 0; i < merge->input_count; i++) {
        for (struct text rest = merge->inputs[i].profile.meta.imported_from; rest.bytes_count;) {
            struct text importer = take_from_list(&rest);
            uint32_t known_count = strings_count(&known);
            if (strings_intern(&known, importer).index != known_count) continue;
            if (all.bytes_count) byte_buffer_append(&all, TEXT(", "));
            byte_buffer_append(&all, importer);
        }
    }
    if (all.bytes_count) whole->meta.imported_from = profile_text(whole, byte_buffer_text(&all));
    strings_fini(&known);
    byte_buffer_fini(&all);
}

/* Adds the lines of an input, with its name. The line that says what weights count has no name if it holds for all
 * inputs, because a reader of the profile looks for it there. */
static void add_extras(struct profile *whole, const struct merge_input *input) {
    const struct column *extra = &input->profile.meta.extra;
    COLUMN_EACH(const struct extra_entry, entry, extra) {
        struct text section = entry->section;
        bool is_of_weights = text_equal(section, TEXT(WEIGHT_SECTION)) && text_equal(entry->label, TEXT(WEIGHT_LABEL));
        struct text known = is_of_weights ? profile_extra(whole, section, entry->label) : (struct text){0};
        if (known.bytes_count && text_equal(known, entry->value)) continue;
        if (!is_of_weights || known.bytes_count)
            section = profile_text_format(whole, "%.*s (%.*s)", TEXT_ARGS(section), TEXT_ARGS(input->name));
        profile_add_extra(whole, section, entry->label, entry->value);
    }
}

/* ---- Runs. ---- */

/* An input that is a merge itself states its number of runs. */
static uint64_t run_count_of(const struct merge_input *input) {
    uint64_t count;
    struct text stated = profile_extra(&input->profile, TEXT(RUNS_SECTION), TEXT(RUNS_LABEL));
    return cursor_parse_number(stated, 10, &count) ? count : 1;
}

static bool is_of_all_runs(const struct merge *merge, const struct extra_entry *entry) {
    for (size_t i = 0; i < merge->input_count; i++)
        if (!text_equal(profile_extra(&merge->inputs[i].profile, entry->section, entry->label), entry->value))
            return false;
    return true;
}

/* ---- What runs lost. ---- */

/* What the lines of a label count: "20 read, 19 kept, 1 lost", or "39 samples". */
struct told_counts {
    struct text label;
    struct text words[GECKO_CONVERT_FATE_FILTERED + 2];
    uint64_t counts[GECKO_CONVERT_FATE_FILTERED + 2];
};
enum { TOLD_WORDS_MAX = sizeof((struct told_counts *)NULL)->words / sizeof(struct text) };

/* The label's number among all labels is that of its row. */
static struct told_counts *counts_of_label(struct column *all, struct strings *labels, struct text label) {
    string_id id = strings_intern(labels, label);
    if (id.index == all->count) column_add(all, &(struct told_counts){.label = label});
    return id.index < all->count ? column_at(all, id.index) : NULL;
}

/* Adds "39 samples" to the counts. What else a line says, such as the place of the first, holds for one run. */
static void add_count(struct told_counts *counts, struct text part) {
    size_t blank = text_find(part, ' '), i = 0;
    struct text word = text_from(part, blank + 1);
    uint64_t count;
    if (!cursor_parse_number(text_slice(part, 0, blank), 10, &count) || !word.bytes_count) return;
    while (i < TOLD_WORDS_MAX && counts->words[i].bytes_count && !text_equal(counts->words[i], word)) i++;
    if (i == TOLD_WORDS_MAX) return;
    counts->words[i] = word;
    counts->counts[i] += count;
}

/* Sums come first, in the order of their units, and then what was lost or is remarkable. */
static int compare_labels(const void *left, const void *right) {
    struct text labels[] = {((const struct told_counts *)left)->label, ((const struct told_counts *)right)->label};
    size_t ranks[2];
    for (size_t i = 0; i < 2; i++) {
        ranks[i] = 0;
        while (ranks[i] < LEDGER_UNIT_COUNT &&
               !text_equal(labels[i], text_of(gecko_convert_unit_name((enum gecko_convert_unit)ranks[i]))))
            ranks[i]++;
    }
    return ORDER(ranks[0], ranks[1]) ?: text_compare(labels[0], labels[1]);
}

static void add_lines(struct column *all, struct strings *labels, const struct column *extra) {
    COLUMN_EACH(const struct extra_entry, entry, extra) {
        if (!text_equal(entry->section, TEXT(LEDGER_SECTION))) continue;
        struct told_counts *counts = counts_of_label(all, labels, entry->label);
        for (struct text rest = entry->value; counts && rest.bytes_count;) add_count(counts, take_from_list(&rest));
    }
}

/* Adds up what the runs report about their conversions and what the ledger says that this merge has lost. */
static void show_ledgers_of_runs(const struct merge *merge, struct profile *whole) {
    struct column all, *extra = &whole->meta.extra;
    struct strings labels;
    uint32_t first = extra->count;
    column_init(&all, sizeof(struct told_counts), whole->failure);
    strings_init(&labels, whole->failure);
    profile_show_sums(whole);
    profile_show_ledger(whole, 0);
    add_lines(&all, &labels, extra);
    extra->count = first;
    for (size_t i = 0; i < merge->input_count; i++) add_lines(&all, &labels, &merge->inputs[i].profile.meta.extra);
    column_sort(&all, compare_labels);
    for (size_t i = 0; i < all.count && !failure_is_set(whole->failure); i++) {
        const struct told_counts *counts = column_at(&all, i);
        struct text value = TEXT("");
        for (size_t j = 0; j < TOLD_WORDS_MAX && counts->words[j].bytes_count; j++)
            value = profile_text_format(whole, "%.*s%s%" PRIu64 " %.*s", TEXT_ARGS(value), j ? ", " : "",
                                        counts->counts[j], TEXT_ARGS(counts->words[j]));
        profile_add_extra(whole, TEXT(LEDGER_SECTION), counts->label, value);
    }
    column_fini(&all);
    strings_fini(&labels);
}

static bool is_told_by_any(const struct merge *merge, struct text label) {
    for (size_t i = 0; i < merge->input_count; i++)
        if (profile_extra(&merge->inputs[i].profile, TEXT(RUNS_SECTION), label).bytes_count) return true;
    return false;
}

/* Notes how runs differ. Gives no counts, which would depend on how nested merges group the runs. */
static void show_differences(const struct merge *merge, struct profile *whole) {
    static const struct text contents =
        TEXT("some differ between runs: the texts are those of the first run that has them");
    static const struct text intervals =
        TEXT("they differ between runs: times of samples are those of the first run's interval");
    bool differ = is_told_by_any(merge, TEXT(CONTENTS_LABEL));
    for (size_t i = 0; i < merge->input_count; i++) differ |= merge->inputs[i].other_content_count > 0;
    if (differ) profile_add_extra(whole, TEXT(RUNS_SECTION), TEXT(CONTENTS_LABEL), contents);
    if (merge->have_other_intervals || is_told_by_any(merge, TEXT(INTERVALS_LABEL)))
        profile_add_extra(whole, TEXT(RUNS_SECTION), TEXT(INTERVALS_LABEL), intervals);
}

static void lose_other_contents(const struct merge_input *input, struct ledger *ledger) {
    ledger_account(ledger, LEDGER_VALUES, LEDGER_LOST,
                   TEXT("text of a source file that has another text in another input"), input->other_content_count,
                   NULL);
}

/* Adds the lines that are the same in all runs, since any other would be wrong for some of them; what the runs lost;
 * and their number. */
static void add_extras_of_runs(const struct merge *merge, struct profile *whole) {
    enum { COMPARED_MAX = 2000 }; /* each with all lines of the other runs */
    const struct column *extra = &merge->inputs[0].profile.meta.extra;
    uint64_t run_count = 0, compared_count = 0, lost_count = 0;
    COLUMN_EACH(const struct extra_entry, entry, extra) {
        bool is_added_up =
            text_equal(entry->section, TEXT(RUNS_SECTION)) || text_equal(entry->section, TEXT(LEDGER_SECTION));
        if (is_added_up) continue;
        if (compared_count++ >= COMPARED_MAX)
            lost_count++;
        else if (is_of_all_runs(merge, entry))
            profile_add_extra(whole, entry->section, entry->label, entry->value);
    }
    ledger_account(&whole->ledger, LEDGER_VALUES, LEDGER_LOST,
                   TEXT("line about the recording after the first 2000 of a run"), lost_count, NULL);
    for (size_t i = 0; i < merge->input_count; i++) run_count += run_count_of(&merge->inputs[i]);
    profile_add_extra(whole, TEXT(RUNS_SECTION), TEXT(RUNS_LABEL), profile_text_format(whole, "%" PRIu64, run_count));
    show_differences(merge, whole);
    show_ledgers_of_runs(merge, whole);
    for (size_t i = 0; i < merge->input_count; i++) ledger_add(&whole->ledger, &merge->inputs[i].profile.ledger);
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
        if (merge->runs && !meta->interval_ns) meta->interval_ns = input->profile.meta.interval_ns;
        join_recordings(&whole->recording, &input->profile.recording);
        if (!merge->runs) add_extras(whole, input);
        if (!merge->runs) lose_other_contents(input, &whole->ledger);
        column_append(&whole->events, &input->profile.events);
    }
    join_importers(merge, whole);
    meta->tells_ledger = meta->was_profile = merge->runs;
    if (merge->runs) add_extras_of_runs(merge, whole);
    meta->is_clock_monotonic = reference->is_clock_monotonic;
    meta->epoch_offset_ns = reference->epoch_offset_ns;
    meta->start_time_ms = reference->start_time_ms;
    meta->captured_at_ms = reference->captured_at_ms;
}
