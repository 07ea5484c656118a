#include "result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libconvert/base/memory.h"
#include "libconvert/base/regular_file.h"
#include "libconvert/profile/cut_stacks.h"
#include "libconvert/profile/nameless.h"
#include "libconvert/profile/profile.h"
#include "libconvert/profile/runtimes.h"
#include "libconvert/profile/weighed_sample.h"

static const struct text kernel_name = {"[kernel.kallsyms]", sizeof "[kernel.kallsyms]" - 1};

/* ---- Why functions have no names. ---- */

static const char unmapped_reason[] = "the trace does not tell where it was mapped";

/* Returns whether the notes of the running kernel have that build id, which is hexadecimal. */
static bool is_running_kernel(struct text build_id) {
    char notes[4096], digits[2 * sizeof notes + 1];
    struct text start = regular_file_start("/sys/kernel/notes", notes, sizeof notes);
    return build_id.bytes_count && text_has(text_hex(start, digits), build_id);
}

/* The kernel shows every address as 0 to users who are not allowed to see addresses. */
static bool can_read_kernel_symbols(void) {
    char line[16];
    struct text start = regular_file_start("/proc/kallsyms", line, sizeof line);
    for (size_t i = 0; i < start.bytes_count; i++)
        if (start.bytes[i] != '0') return true;
    return false;
}

static const char *kernel_reason(const struct lib *lib) {
    if (!lib->code_id.bytes_count) return "the trace has neither its names nor its build id";
    if (is_running_kernel(lib->code_id) && !can_read_kernel_symbols())
        return "/proc/kallsyms is not readable for this user";
    return "no file with its build id; try --debug-dir";
}

/* Returns what the symbolizer has noted about the library; NULL: nothing. */
static const char *noted_reason(const struct profile *profile, const struct lib *lib) {
    COLUMN_EACH(const struct lib_trouble, trouble, &profile->lib_troubles)
        if (text_equal(trouble->path, lib->path) && text_equal(trouble->code_id, lib->code_id)) return trouble->reason;
    return NULL;
}

static const char *reason_of(const struct profile *profile, const struct lib *lib, bool looks_up) {
    const char *noted = noted_reason(profile, lib);
    if (!looks_up) return "--symbols none";
    if (noted) return noted;
    if (text_equal(lib->name, kernel_name)) return kernel_reason(lib);
    if (lib->code_id.bytes_count) return "no file with its build id; try --debug-dir";
    return text_starts_with(lib->name, TEXT("[")) ? "the trace has neither its names nor its build id"
                                                  : "its file was not found; try --debug-dir or --sysroot";
}

/* ---- The share of samples in functions without names. ---- */

/* A library with samples whose innermost frame has no name. */
struct missing_name {
    struct text library; /* borrowed from the profile, or static */
    double weight;
    const char *reason; /* static */
};

/* The weights of samples without a name: one for each library; one for each resource, for code whose place in its file
 * is unknown; one for code outside of files; and one for kernel code that the trace has no mapping of. */
struct counting {
    const struct profile *profile;
    double *weights;
    double weight; /* sum of the samples with a stack whose threads do not wait */
};

/* Returns whether a mapping of that name is not of a file, like those of generated code. */
static bool is_outside_of_files(struct text name) {
    static const struct text starts[] = {{"[JIT", 4}, {"[anon", 5}, {"[heap]", 6}, {"[stack", 6}};
    return TEXT_STARTS_IN(name, starts) || text_equal(name, TEXT("anon")) || text_equal(name, TEXT("anon_hugepage"));
}

static uint32_t count_row(const struct profile *profile, const struct frame *frame) {
    if (!lib_is_none(frame->lib)) return frame->lib.index;
    resource_id resource = profile_func_at(profile, frame->func)->resource;
    uint32_t first = libs_count(&profile->libs), nowhere = first + row_table_count(&profile->resources);
    if (!resource_is_none(resource)) {
        struct text name = strings_text(&profile->strings, profile_resource_at(profile, resource)->name);
        return is_outside_of_files(name) ? nowhere : first + resource.index;
    }
    struct text category = categories_at(&profile->categories, frame->category)->name;
    return text_equal(category, TEXT("Kernel")) ? nowhere + 1 : nowhere;
}

/* Returns the row of each frame, of which there are far fewer than stacks; ID_NONE for one with a name. NULL if memory
 * ran out (latched). */
static uint32_t *find_rows(const struct profile *profile) {
    uint32_t count = row_table_count(&profile->frames);
    uint32_t *rows = memory_allocate(profile->failure, count * sizeof *rows);
    for (uint32_t i = 0; rows && i < count; i++) {
        const struct frame *frame = profile_frame_at(profile, (frame_id){i});
        rows[i] = frame_is_nameless(profile, frame) ? count_row(profile, frame) : ID_NONE;
    }
    return rows;
}

/* Counts the samples of each stack, unless their thread waits: the frame that stands for the wait always has a name. */
static void count_stacks(struct counting *counting, const double *stack_weights) {
    const struct profile *profile = counting->profile;
    uint32_t *rows = find_rows(profile);
    struct weighing weighing;
    weighing_init(&weighing, profile);
    for (uint32_t i = 0; rows && i < stack_table_count(&profile->stacks); i++) {
        if (stack_weights[i] == 0 || weighing_is_resting(&weighing, (stack_id){i})) continue;
        uint32_t row = rows[profile_stack_at(profile, (stack_id){i})->frame.index];
        counting->weight += stack_weights[i];
        if (row != ID_NONE) counting->weights[row] += stack_weights[i];
    }
    weighing_fini(&weighing);
    memory_free(rows);
}

static int compare_rows(const void *left, const void *right) {
    const struct missing_name *a = left, *b = right;
    return ORDER(b->weight, a->weight) ?: text_compare(a->library, b->library);
}

static uint32_t count_rows(const struct profile *profile) {
    return libs_count(&profile->libs) + row_table_count(&profile->resources) + 2;
}

static bool takes_perf_maps(const struct result_sources *sources) {
    for (size_t i = 0; i < sources->loader_count; i++) {
        const struct reader *reader = sources->loaders[i].reader;
        if (reader && reader->takes_perf_maps) return true;
    }
    return false;
}

static const char *unmapped_code_reason(const struct result_sources *sources) {
    const struct runtime *runtime = runtime_of_profile(sources->profile);
    if (runtime) return runtime->lacks_names;
    return takes_perf_maps(sources) ? "in no map of generated code; try --perf-map" : "in no map of generated code";
}

static const char *named_map_reason(const struct result_sources *sources) {
    return takes_perf_maps(sources) ? "the map has no names there; try --perf-map" : "the map has no names there";
}

static struct text shown_name(struct text name) { return text_equal(name, kernel_name) ? TEXT("kernel") : name; }

/* Returns the name and the reason of a row of the counts. */
static struct missing_name describe(const struct result_sources *sources, uint32_t number) {
    const struct profile *profile = sources->profile;
    uint32_t lib_count = libs_count(&profile->libs), resource_count = row_table_count(&profile->resources);
    if (number == lib_count + resource_count)
        return (struct missing_name){.library = TEXT("code outside of files"),
                                     .reason = number ? unmapped_code_reason(sources) : "the trace names no files"};
    if (number > lib_count + resource_count)
        return (struct missing_name){.library = shown_name(kernel_name), .reason = unmapped_reason};
    if (number >= lib_count) {
        const struct resource *resource = profile_resource_at(profile, (resource_id){number - lib_count});
        struct text name = strings_text(&profile->strings, resource->name);
        const char *reason = text_ends_with(name, TEXT(".map")) ? named_map_reason(sources) : unmapped_reason;
        return (struct missing_name){.library = shown_name(name), .reason = reason};
    }
    const struct lib *lib = libs_at(&profile->libs, (lib_id){number});
    return (struct missing_name){.library = shown_name(lib->name),
                                 .reason = reason_of(profile, lib, sources->looks_up)};
}

/* Returns the rows in order: struct missing_name. */
static struct column list_rows(const struct counting *counting, const struct result_sources *sources) {
    struct column rows;
    column_init(&rows, sizeof(struct missing_name), counting->profile->failure);
    for (uint32_t i = 0; i < count_rows(counting->profile); i++) {
        struct missing_name *row = counting->weights[i] > 0 ? column_push(&rows) : NULL;
        if (!row) continue;
        *row = describe(sources, i);
        row->weight = counting->weights[i];
    }
    column_sort(&rows, compare_rows);
    return rows;
}

static void copy_rows(struct gecko_convert_result *result, const struct column *rows, double weight,
                      struct arena *memory) {
    struct gecko_convert_missing_names *copies = arena_take_aligned(memory, rows->count * sizeof *copies);
    for (size_t i = 0; copies && i < rows->count; i++) {
        const struct missing_name *row = column_at(rows, i);
        const char *library = arena_copy_terminated(memory, row->library);
        copies[i] = (struct gecko_convert_missing_names){library ? library : "", row->weight / weight, row->reason};
    }
    result->missing_names = copies;
    result->missing_name_count = copies ? rows->count : 0;
}

/* Sets the missing names in the result. The rows are taken from `memory`, whose latch tells if it ran out. Running out
 * of other memory is latched in the profile's failure. */
static void missing_names_find(struct gecko_convert_result *result, const struct result_sources *sources,
                               const double *stack_weights, struct arena *memory) {
    const struct profile *profile = sources->profile;
    struct counting counting = {.profile = profile};
    counting.weights = memory_allocate_zeroed(profile->failure, count_rows(profile), sizeof *counting.weights);
    if (counting.weights) {
        count_stacks(&counting, stack_weights);
        struct column rows = list_rows(&counting, sources);
        copy_rows(result, &rows, counting.weight, memory);
        column_fini(&rows);
    }
    memory_free(counting.weights);
}

/* ---- The whole result. ---- */

/* Returns the absolute weights of the samples of each stack, and adds up those of all samples. NULL after a failure. */
static double *sum_up(const struct profile *profile, double *all_weight) {
    double *sums = NULL;
    if (!failure_is_set(profile->failure))
        sums = memory_allocate_zeroed(profile->failure, stack_table_count(&profile->stacks), sizeof *sums);
    for (size_t i = 0; i < profile->thread_order.count; i++) {
        const struct thread *thread = profile_ordered_thread(profile, i);
        if (thread_is_track(thread)) continue;
        COLUMN_EACH(const struct sample, sample, &thread->samples.rows) {
            double weight = fabs(profile_weight_of(profile, sample->weight));
            *all_weight += weight;
            if (sums && !stack_is_none(sample->stack)) sums[sample->stack.index] += weight;
        }
    }
    return sums;
}

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

/* Early ends can be counted only in recordings of perf: stacks of other formats always look as if they ended early. */
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
    if (profile->cut_stack_share > 0) return profile->cut_stack_share;
    for (size_t i = 0; i < ledger->entries.count; i++) {
        struct text cause = ledger_at(ledger, i)->cause;
        if (!text_starts_with(cause, TEXT(CUT_STACKS_CAUSE)) || !are_all_of_perf(sources)) continue;
        struct cut_stacks sum = cut_stacks_count(profile, !text_starts_with(cause, TEXT(CUT_STACKS_WITHOUT_COPIES)));
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
    double *stack_weights = sum_up(sources->profile, &result->weight);
    if (stack_weights) missing_names_find(result, sources, stack_weights, memory);
    memory_free(stack_weights);
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
