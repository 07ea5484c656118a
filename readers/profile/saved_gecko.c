/* Profiles in the Gecko format: each process has its threads, libraries and sources. Processes other than the first one
 * are its children, and their times begin with them. Each thread has its own strings, frames and stacks. A frame's
 * location is a text that names the function, by the front-end's rules. */

#include <inttypes.h>

#include "libconvert/base/cursor.h"
#include "libconvert/base/id_column.h"
#include "libconvert/format/common_format.h"
#include "libconvert/format/gecko_format.h"
#include "libconvert/format/gecko_location.h"
#include "readers/code/code_spaces.h"
#include "saved_thread.h"

/* A library, and where the process has mapped it. */
struct gecko_lib {
    struct lib lib;
    uint64_t start; /* the first address; `end` is after the last one */
    uint64_t end;
    uint64_t offset; /* where `start` is in the library */
};

struct gecko_process {
    bool is_child;
    struct column libs; /* struct gecko_lib */
    struct code_spaces spaces;
    struct code_space space; /* where they are; their library_id is the row in `libs`, plus 1 */
    struct column sources;   /* source_id, by the number in locations */
    struct column pauses;    /* struct paused_range */
    int64_t end_ns;          /* TIME_NONE: it ended after the profile */
    thread_id first_thread;  /* none: it has no threads */
    thread_id main_thread;
    struct text title; /* what the main thread calls the process */
    struct text name;  /* what another thread calls it; empty: there is none */
};

struct gecko_thread {
    struct saved_thread saved;
    struct gecko_process *process;
    struct saved_table *table; /* the one that is read */
    struct column is_relevant; /* bool by frame: it is shown with JavaScript */
    struct column allocations; /* struct pending_allocation */
};

/* An allocation, which is written as a marker. */
struct pending_allocation {
    struct saved_allocation saved; /* without its time */
    uint32_t marker;
};

static uint32_t current_row(const struct gecko_thread *thread) { return thread->table->rows->count - 1; }

/* Reads a table of the thread. */
static void read_rows(struct saved_reader *reader, struct gecko_thread *thread, struct saved_table *table) {
    table->context = thread;
    thread->table = table;
    saved_read_rows(reader, table);
}

/* ---- Functions. ---- */

static const struct gecko_lib *find_lib(const struct gecko_process *process, uint64_t address) {
    const struct code_mapping *mapping = code_space_find(&process->spaces, process->space, address);
    return mapping ? column_at(&process->libs, (uint32_t)mapping->library_id - 1) : NULL;
}

/* Returns whether the location is an address in a library, and then sets the frame's address and library, and the
 * function's resource. */
static bool locate(struct saved_reader *reader, const struct gecko_process *process, struct text location,
                   struct frame *frame, struct func *func) {
    uint64_t address;
    if (!cursor_take(&location, TEXT("0x")) || !cursor_parse_number(location, 16, &address)) return false;
    const struct gecko_lib *lib = find_lib(process, address);
    if (!lib || address - lib->start + lib->offset > INT32_MAX) return false;
    frame->address = (int32_t)(address - lib->start + lib->offset);
    frame->lib = libs_take(&reader->profile->libs, &lib->lib);
    func->resource =
        profile_resource(reader->profile, profile_string(reader->profile, lib->lib.name), RESOURCE_LIBRARY);
    return true;
}

static void set_script(struct saved_reader *reader, const struct gecko_process *process,
                       const struct location_parts *parts, struct func *func) {
    struct source source = {.filename = profile_string(reader->profile, parts->container)};
    if (parts->has_source && parts->source < process->sources.count)
        func->source = *(const source_id *)column_at(&process->sources, parts->source);
    if (source_is_none(func->source)) func->source.index = row_table_intern(&reader->profile->sources, &source);
    func->flags = FUNC_IS_JS;
    func->line = parts->line;
    func->column = parts->column;
}

/* Sets the frame's function. Its number is that of the location, which is a string of the profile. */
static void set_func(struct saved_reader *reader, const struct gecko_process *process, struct frame *frame,
                     bool is_relevant) {
    struct profile *profile = reader->profile;
    struct func func = {.name = {frame->func.index}, .resource = resource_none(), .source = source_none(), .flags = 0};
    struct text location = strings_text(&profile->strings, func.name);
    if (!locate(reader, process, location, frame, &func)) {
        struct location_parts parts = location_read(location);
        bool is_root_scope = parts.kind == LOCATION_MALFORMED && parts.container.bytes_count;
        if (parts.kind == LOCATION_LIBRARY)
            func.resource = profile_resource(profile, profile_string(profile, parts.container), RESOURCE_LIBRARY);
        if (parts.kind == LOCATION_SCRIPT || is_root_scope) set_script(reader, process, &parts, &func);
        if (parts.kind == LOCATION_LABEL && is_relevant) saved_lose(reader, TEXT("relevantForJS"), 1);
        if (is_root_scope) parts.name = profile_text_format(profile, "(root scope) %.*s", TEXT_ARGS(parts.container));
        if (parts.kind != LOCATION_LABEL && parts.name.bytes_count) func.name = profile_string(profile, parts.name);
    }
    frame->func = profile_func(profile, &func);
}

/* ---- Frames and stacks. ---- */

static bool read_frame_part(struct saved_reader *reader, struct text key, void *context) {
    struct gecko_thread *thread = context;
    int64_t number;
    if (text_equal(key, TEXT("relevantForJS"))) {
        bool *is_relevant = id_column_at(&thread->is_relevant, current_row(thread));
        return is_relevant && json_take_bool(reader->json, is_relevant);
    }
    if (!text_equal(key, TEXT("innerWindowID")) || json_peek_kind(reader->json) != JSON_NUMBER) return false;
    if (json_take_int(reader->json, &number) && number) saved_lose(reader, key, 1);
    return true;
}

static void add_frame(struct saved_reader *reader, struct gecko_thread *thread, uint32_t row, struct frame *frame) {
    const bool *is_relevant = row < thread->is_relevant.count ? column_at(&thread->is_relevant, row) : NULL;
    if (frame->func.index == ID_NONE) {
        json_stream_fail(reader->json, "frame %" PRIu32 " has no location", row);
        return;
    }
    set_func(reader, thread->process, frame, is_relevant && *is_relevant);
    saved_frame_settle_category(reader, frame);
    saved_map_push(reader, TABLE_FRAMES, profile_frame(reader->profile, frame).index);
}

static void read_frames(struct saved_reader *reader, void *context) {
    struct gecko_thread *thread = context;
    struct column rows;
    column_init(&rows, sizeof(struct frame), reader->profile->failure);
    read_rows(reader, thread,
              &(struct saved_table){
                  .shape = &gecko_frame_table, .rows = &rows, .blank = &saved_blank_frame, .part = read_frame_part});
    for (uint32_t i = 0; i < rows.count && saved_is_good(reader); i++)
        add_frame(reader, thread, i, column_at(&rows, i));
    column_fini(&rows);
}

/* Adds the stack as that of a sample, and as that of a caller, whose address is that of the next instruction. */
static void add_stack(struct saved_reader *reader, const struct stack *row, uint32_t number) {
    struct profile *profile = reader->profile;
    stack_id prefix = stack_none();
    if (!stack_is_none(row->prefix)) {
        if (row->prefix.index >= number) {
            json_stream_fail(reader->json, "stack %" PRIu32 " has prefix %" PRIu32 ", which is not an earlier row",
                             number, row->prefix.index);
            return;
        }
        prefix.index = saved_map_at(&reader->caller_stacks, row->prefix.index);
    }
    frame_id frame = {
        saved_map_row(reader, TABLE_FRAMES, row->frame.index == ID_NONE ? -1 : (int64_t)row->frame.index)};
    if (!saved_is_good(reader)) return;
    stack_id stack = profile_stack(profile, prefix, frame);
    saved_map_push(reader, TABLE_STACKS, stack.index);
    struct frame caller = *profile_frame_at(profile, frame);
    if (caller.address > 0) {
        caller.address--;
        stack = profile_stack(profile, prefix, profile_frame(profile, &caller));
    }
    saved_map_add(&reader->caller_stacks, stack.index);
}

static void read_stacks(struct saved_reader *reader, void *context) {
    struct column rows;
    column_init(&rows, sizeof(struct stack), reader->profile->failure);
    read_rows(
        reader, context,
        &(struct saved_table){.shape = &gecko_stack_table, .rows = &rows, .blank = &saved_blank_stack, .is_raw = true});
    for (uint32_t i = 0; i < rows.count && saved_is_good(reader); i++) add_stack(reader, column_at(&rows, i), i);
    column_fini(&rows);
}

/* ---- Samples. ---- */

/* Sets the value of the row that is read. Rows before it without a value are unknown. */
static void set_detail(struct column *column, uint32_t row, int64_t value) {
    while (column->count <= row)
        if (!column_add(column, &(int64_t){TIME_NONE})) return;
    *(int64_t *)column_at(column, row) = value;
}

static bool read_sample_part(struct saved_reader *reader, struct text key, void *context) {
    struct gecko_thread *thread = context;
    if (text_equal(key, TEXT("threadCPUDelta")) && reader->cpu_unit != CPU_DELTA_NONE)
        set_detail(&thread->saved.cpu_ns, current_row(thread), saved_cpu_ns(reader, &thread->saved));
    else if (text_equal(key, TEXT("eventDelay")))
        set_detail(&thread->saved.delays_ns, current_row(thread), saved_ns_of_ms(reader));
    else
        return false;
    return true;
}

static void pad_details(struct column *column, uint32_t row_count) {
    if (column->count && column->count < row_count) set_detail(column, row_count - 1, TIME_NONE);
}

static void read_samples(struct saved_reader *reader, void *context) {
    struct gecko_thread *thread = context;
    struct samples *samples = &thread->saved.thread->samples;
    read_rows(reader, thread,
              &(struct saved_table){.shape = &gecko_sample_table,
                                    .rows = &samples->rows,
                                    .blank = &saved_blank_sample,
                                    .part = read_sample_part});
    saved_samples_check_times(reader, samples);
    pad_details(&thread->saved.cpu_ns, samples_count(samples));
    pad_details(&thread->saved.delays_ns, samples_count(samples));
    if (saved_is_good(reader)) saved_thread_set_details(reader, &thread->saved);
}

/* ---- Markers and allocations. ---- */

static bool read_marker_part(struct saved_reader *reader, struct text key, void *context) {
    struct gecko_thread *thread = context;
    if (!text_equal(key, TEXT("data"))) return false;
    reader->allocation = (struct saved_allocation){.allocation = {.stack = {ID_NONE}, .thread = {ID_NONE}}};
    saved_payload_read(reader, thread->table->row);
    if (!reader->allocation.is_one) return true;
    column_add(&thread->allocations, &(struct pending_allocation){reader->allocation, current_row(thread)});
    return true;
}

/* Moves allocations to where the profile has them. */
static void take_allocations(struct gecko_thread *thread) {
    struct column *markers = &thread->saved.thread->markers;
    uint32_t kept_count = 0, next = 0;
    for (uint32_t i = 0; i < markers->count; i++) {
        struct marker *marker = column_at(markers, i);
        const struct pending_allocation *pending =
            next < thread->allocations.count ? column_at(&thread->allocations, next) : NULL;
        if (!pending || pending->marker != i) {
            *(struct marker *)column_at(markers, kept_count++) = *marker;
            continue;
        }
        next++;
        if (pending->saved.is_js) continue;
        struct allocation *allocation = column_push(&thread->saved.thread->allocations);
        if (!allocation) return;
        *allocation = pending->saved.allocation;
        allocation->time_ns = marker->start_ns == TIME_NONE ? marker->end_ns : marker->start_ns;
        if (allocation->time_ns == TIME_NONE) allocation->time_ns = 0;
    }
    markers->count = kept_count;
}

static void read_markers(struct saved_reader *reader, void *context) {
    struct gecko_thread *thread = context;
    struct column *markers = &thread->saved.thread->markers;
    read_rows(
        reader, thread,
        &(struct saved_table){
            .shape = &common_marker_table, .rows = markers, .blank = &saved_blank_marker, .part = read_marker_part});
    if (saved_is_good(reader)) take_allocations(thread);
    for (uint32_t i = 0; i < markers->count && saved_is_good(reader); i++)
        saved_marker_settle(reader, column_at(markers, i), i);
}

/* ---- The thread. ---- */

static bool read_other_member(struct saved_reader *reader, struct text key, void *context) {
    return saved_thread_read_member(reader, key, &((struct gecko_thread *)context)->saved);
}

static void forget_tables(struct saved_reader *reader) {
    saved_map_clear(&reader->maps[TABLE_STRINGS]);
    saved_map_clear(&reader->maps[TABLE_FRAMES]);
    saved_map_clear(&reader->maps[TABLE_STACKS]);
    saved_map_clear(&reader->caller_stacks);
}

/* A process is what its first thread says it is. */
static void describe_process(struct gecko_process *process, struct saved_thread *saved) {
    saved->is_main = text_equal(saved->thread->name, TEXT(GECKO_MAIN_THREAD_NAME));
    if (thread_is_none(process->first_thread)) process->first_thread = saved->id;
    if (saved->is_main && thread_is_none(process->main_thread)) {
        process->main_thread = saved->id;
        process->title = saved->process_name;
    } else if (!process->name.bytes_count) {
        process->name = saved->process_name;
    }
}

/* Reads a thread of the process, a struct gecko_process. */
static void read_thread(struct saved_reader *reader, void *process) {
    enum { NEEDS_STRINGS = 1, NEEDS_FRAMES = 2, NEEDS_STACKS = 4 };
    static const struct saved_part parts[] = {
        {TEXT("stringTable"), saved_strings_read, 0, true, 0},
        {TEXT("frameTable"), read_frames, NEEDS_STRINGS, true, 0},
        {TEXT("stackTable"), read_stacks, NEEDS_FRAMES, true, 0},
        {TEXT("samples"), read_samples, NEEDS_STACKS, true, 0},
        {TEXT("markers"), read_markers, NEEDS_STRINGS | NEEDS_STACKS, true, 0},
    };
    struct gecko_thread thread = {.process = process};
    if (!saved_thread_begin(reader, &thread.saved)) return;
    column_init(&thread.is_relevant, sizeof(bool), reader->profile->failure);
    column_init(&thread.allocations, sizeof(struct pending_allocation), reader->profile->failure);
    forget_tables(reader);
    saved_read_parts(reader, parts, sizeof parts / sizeof *parts, read_other_member, &thread);
    describe_process(process, &thread.saved);
    if (reader->shift_ns) thread.saved.process_start_ns = reader->shift_ns;
    saved_thread_end(reader, &thread.saved);
    COLUMNS_FINI(&thread.is_relevant, &thread.allocations);
    saved_thread_fini(&thread.saved);
}

/* ---- Meta of a child. ---- */

static bool read_child_meta_part(struct saved_reader *reader, struct text key, void *context) {
    struct gecko_process *process = context;
    if (text_equal(key, TEXT("startTime"))) {
        int64_t start_ns = saved_ns_of_ms(reader);
        if (start_ns == TIME_NONE) return true;
        if (__builtin_sub_overflow(start_ns, reader->profile->meta.epoch_offset_ns, &reader->shift_ns))
            json_stream_fail(reader->json, "the time is too large");
    } else if (text_equal(key, TEXT("shutdownTime"))) {
        process->end_ns = saved_ns_of_ms(reader);
    } else if (text_equal(key, TEXT("markerSchema"))) {
        saved_schemas_read(reader);
    } else {
        json_skip(reader->json); /* the front-end takes the rest from the first process */
    }
    return true;
}

static void read_child_meta(struct saved_reader *reader, struct gecko_process *process) {
    saved_read_object(reader, read_child_meta_part, process);
    if (process->end_ns != TIME_NONE && __builtin_add_overflow(process->end_ns, reader->shift_ns, &process->end_ns))
        json_stream_fail(reader->json, "the time is too large");
}

/* ---- Libraries and sources. ---- */

static uint64_t take_address(struct saved_reader *reader) {
    struct text text;
    uint64_t address = 0;
    if (!json_take_number_text(reader->json, &text) || cursor_parse_number(text, 10, &address)) return address;
    json_stream_fail(reader->json, "this is no address");
    return 0;
}

static bool read_lib_part(struct saved_reader *reader, struct text key, void *context) {
    struct gecko_lib *lib = context;
    if (text_equal(key, TEXT("start")))
        lib->start = take_address(reader);
    else if (text_equal(key, TEXT("end")))
        lib->end = take_address(reader);
    else if (text_equal(key, TEXT("offset")))
        lib->offset = take_address(reader);
    else
        return false;
    return true;
}

static void read_libs(struct saved_reader *reader, void *context) {
    struct gecko_process *process = context;
    JSON_EACH(reader->json) {
        struct gecko_lib *lib = column_push(&process->libs);
        if (!lib) return;
        *lib = (struct gecko_lib){.lib = {.is_from_profile = true}};
        saved_read_members(reader, &gecko_lib_shape, &lib->lib, read_lib_part, lib);
    }
    /* Where libraries overlap, the first one counts. */
    for (uint32_t row = process->libs.count; row > 0; row--) {
        const struct gecko_lib *lib = column_at(&process->libs, row - 1);
        if (lib->end <= lib->start) continue;
        const struct code_mapping mapping = {
            .address = lib->start, .size_bytes = lib->end - lib->start, .library_id = row};
        code_space_map(&process->spaces, &process->space, &mapping);
    }
}

/* The texts of a source, and the numbers that say where in its file it begins. */
static bool read_source_part(struct saved_reader *reader, struct text key, void *context) {
    source_id *source = ((struct saved_table *)context)->row;
    struct text text;
    int64_t number;
    if (text_equal(key, TEXT("filename"))) {
        struct source row = {.filename = profile_string(reader->profile, saved_text(reader))};
        source->index = row_table_intern(&reader->profile->sources, &row);
    } else if (text_equal(key, TEXT("startLine")) || text_equal(key, TEXT("startColumn"))) {
        if (json_take_int(reader->json, &number) && number != 1) saved_lose(reader, key, 1);
    } else if (text_equal(key, TEXT("id")) || text_equal(key, TEXT("uuid"))) {
        /* Firefox can give the source of its own ids; those that are written here are only numbers. */
        if (json_take_text(reader->json, &text) && !text_starts_with(text, TEXT("source-"))) saved_lose(reader, key, 1);
    } else {
        return false;
    }
    return true;
}

static void read_sources(struct saved_reader *reader, void *context) {
    static const source_id blank = {ID_NONE};
    struct gecko_process *process = context;
    struct saved_table table = {
        .shape = &gecko_source_table, .rows = &process->sources, .blank = &blank, .part = read_source_part};
    table.context = &table;
    if (!json_take_null(reader->json)) saved_read_rows(reader, &table);
}

/* ---- Threads, and what is known of a process when all were read. ---- */

static void read_threads(struct saved_reader *reader, void *context) {
    saved_read_each(reader, "threads", read_thread, context);
}

static process_id process_of(const struct saved_reader *reader, const struct gecko_process *process) {
    if (thread_is_none(process->first_thread)) return process_none();
    return profile_thread_at(reader->profile, process->first_thread)->process;
}

static void read_counters(struct saved_reader *reader, void *context) {
    saved_gecko_counters_read(reader, process_of(reader, context));
}
static void read_overhead(struct saved_reader *reader, void *context) {
    saved_gecko_overhead_read(reader, process_of(reader, context));
}

static void read_pauses(struct saved_reader *reader, void *context) {
    struct gecko_process *process = context;
    saved_pauses_read(reader, &process->pauses);
}

/* Main threads are called GeckoMain, whatever their names were. Unless Firefox has written the profile, what they call
 * their process is their name, and other threads name the process. */
static void name_main_thread(struct saved_reader *reader, const struct gecko_process *process) {
    if (reader->is_firefox || thread_is_none(process->main_thread) || !process->title.bytes_count) return;
    struct thread *thread = profile_thread_at(reader->profile, process->main_thread);
    thread->name = process->title;
    profile_process_at(reader->profile, thread->process)->name =
        process->name.bytes_count ? process->name : process->title;
}

static void finish_process(struct saved_reader *reader, const struct gecko_process *process) {
    process_id id = process_of(reader, process);
    if (process_is_none(id) || !saved_is_good(reader)) return;
    profile_process_at(reader->profile, id)->end_ns = process->end_ns;
    COLUMN_EACH(const struct paused_range, pause, &process->pauses)
        profile_add_paused_range(reader->profile, id, pause->start_ns, pause->end_ns);
    name_main_thread(reader, process);
}

/* ---- Processes. ---- */

static void read_meta(struct saved_reader *reader, void *context) {
    struct gecko_process *process = context;
    if (process->is_child) {
        read_child_meta(reader, process);
        return;
    }
    saved_meta_read(reader, &gecko_meta);
    process->end_ns = reader->shutdown_ns;
}

static void read_process(struct saved_reader *reader, void *parent);

/* The processes of a child are lost: the front-end does not read them either. */
static void read_children(struct saved_reader *reader, void *context) {
    if (((const struct gecko_process *)context)->is_child) {
        saved_lose(reader, TEXT(""), json_skip_counting(reader->json));
        return;
    }
    saved_read_each(reader, "processes", read_process, context);
    reader->shift_ns = 0;
}

/* The parent is NULL for the first process. */
static void read_process(struct saved_reader *reader, void *parent) {
    enum {
        NEEDS_META = 1,
        NEEDS_LIBS = 2,
        NEEDS_SOURCES = 4,
        NEEDS_THREADS = 8,
        NEEDS_CHILDREN = 16,
        NEEDS_GATHERING = 256
    };
    static const struct saved_part parts[] = {
        {TEXT("meta"), read_meta, 0, true, 0},
        {TEXT("libs"), read_libs, 0, true, 0},
        {TEXT("sources"), read_sources, NEEDS_META, false, 0},
        {TEXT("threads"), read_threads, NEEDS_META | NEEDS_LIBS | NEEDS_SOURCES, true, 0},
        {TEXT("processes"), read_children, NEEDS_THREADS, false, 0},
        {TEXT("pausedRanges"), read_pauses, NEEDS_META, false, 0},
        {TEXT("counters"), read_counters, NEEDS_THREADS, false, 0},
        {TEXT("profilerOverhead"), read_overhead, NEEDS_THREADS, false, 0},
        {TEXT("profileGatheringLog"), saved_gathering_log_read, NEEDS_CHILDREN, false, 0},
        {TEXT("profilingLog"), saved_profiling_log_read, NEEDS_CHILDREN | NEEDS_GATHERING, false, 0},
    };
    struct failure *failure = reader->profile->failure;
    struct gecko_process process = {
        .is_child = parent, .end_ns = TIME_NONE, .first_thread = thread_none(), .main_thread = thread_none()};
    reader->shift_ns = 0;
    column_init(&process.libs, sizeof(struct gecko_lib), failure);
    code_spaces_init(&process.spaces, failure);
    column_init(&process.sources, sizeof(source_id), failure);
    column_init(&process.pauses, sizeof(struct paused_range), failure);
    saved_read_parts(reader, parts, sizeof parts / sizeof *parts, NULL, &process);
    finish_process(reader, &process);
    COLUMNS_FINI(&process.libs, &process.sources, &process.pauses);
    code_spaces_fini(&process.spaces);
}

void saved_gecko_read(struct saved_reader *reader) { read_process(reader, NULL); }
