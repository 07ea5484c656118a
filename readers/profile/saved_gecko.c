/* Profiles in the Gecko format: each process has its threads, libraries and sources. Processes other than the first one
 * are its children, and their times begin with them. */

#include "saved_gecko.h"
#include "libconvert/base/cursor.h"
#include "libconvert/format/common_format.h"
#include "libconvert/format/gecko_format.h"

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
    saved_read_each(reader, "threads", saved_gecko_thread_read, context);
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
        {TEXT("meta"), read_meta, 0, true},
        {TEXT("libs"), read_libs, 0, true},
        {TEXT("sources"), read_sources, NEEDS_META, false},
        {TEXT("threads"), read_threads, NEEDS_META | NEEDS_LIBS | NEEDS_SOURCES, true},
        {TEXT("processes"), read_children, NEEDS_THREADS, false},
        {TEXT("pausedRanges"), read_pauses, NEEDS_META, false},
        {TEXT("counters"), read_counters, NEEDS_THREADS, false},
        {TEXT("profilerOverhead"), read_overhead, NEEDS_THREADS, false},
        {TEXT("profileGatheringLog"), saved_gathering_log_read, NEEDS_CHILDREN, false},
        {TEXT("profilingLog"), saved_profiling_log_read, NEEDS_CHILDREN | NEEDS_GATHERING, false},
    };
    struct failure *failure = reader->profile->failure;
    struct gecko_process process = {
        .is_child = parent, .end_ns = TIME_NONE, .first_thread = thread_none(), .main_thread = thread_none()};
    reader->shift_ns = 0;
    column_init(&process.libs, sizeof(struct gecko_lib), failure);
    column_init(&process.sources, sizeof(source_id), failure);
    column_init(&process.pauses, sizeof(struct paused_range), failure);
    saved_read_parts(reader, parts, sizeof parts / sizeof *parts, NULL, &process);
    finish_process(reader, &process);
    COLUMNS_FINI(&process.libs, &process.sources, &process.pauses);
}

void saved_gecko_read(struct saved_reader *reader) { read_process(reader, NULL); }
