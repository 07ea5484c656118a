/* Writes the report about a whole recorder trace: the recorder's messages (profilingLog), this reader's
 * (profileGatheringLog), the panel and the ledger. */
#include <inttypes.h>
#include <string.h>

#include "trace_reader_internal.h"

/* The header's hash does not cover its counts. A count above this is damaged. */
static const uint64_t COUNT_MAX = (uint64_t)1 << 48;

static uint64_t believable(uint64_t count) { return count <= COUNT_MAX ? count : 0; }

static void log_number(struct trace_reader *trace, struct column *log, const char *key, uint64_t number) {
    int64_t shown = number <= INT64_MAX ? (int64_t)number : INT64_MAX;
    profile_log_number(trace->profile, log, process_none(), text_of(key), shown);
}

/* ---- The recorder's report. ---- */

static const struct header_count {
    const char *key;
    size_t member;          /* offset of a uint64_t in struct trace_header */
    enum trace_cause cause; /* TRACE_CAUSE_COUNT if there is none */
    bool is_always_logged;
} HEADER_COUNTS[] = {
    {"chunksGivenOut", offsetof(struct trace_header, next_global_index), TRACE_CAUSE_COUNT, true},
    {"chunksRecycled", offsetof(struct trace_header, recycled_chunk_count), TRACE_NOTE_RECYCLED, true},
    {"eventsLost", offsetof(struct trace_header, lost_event_count), TRACE_LOST_BY_RECORDER, true},
    {"markersStale", offsetof(struct trace_header, stale_marker_count), TRACE_LOST_STALE_MARKER, false},
    {"processesSilent", offsetof(struct trace_header, silent_process_count), TRACE_NOTE_SILENT, false},
    {"definitionsLost", offsetof(struct trace_header, lost_definition_count), TRACE_LOST_DEFINITION_BY_RECORDER, false},
    {"valuesMismatched", offsetof(struct trace_header, mismatched_value_count), TRACE_LOST_VALUE_BY_RECORDER, false},
    {"textsCut", offsetof(struct trace_header, cut_text_count), TRACE_NOTE_CUT_TEXT, false},
    {"limitBytes", offsetof(struct trace_header, limit_bytes), TRACE_CAUSE_COUNT, false},
};

static void log_header_counts(struct trace_reader *trace) {
    struct column *log = &trace->profile->profiling_log;
    for (size_t i = 0; i < sizeof HEADER_COUNTS / sizeof *HEADER_COUNTS; i++) {
        const struct header_count *known = &HEADER_COUNTS[i];
        uint64_t count;
        memcpy(&count, (const char *)&trace->header + known->member, sizeof count);
        count = believable(count);
        if (known->cause != TRACE_CAUSE_COUNT) trace_ledger_count_placeless(&trace->ledger, known->cause, count);
        if (count || known->is_always_logged) log_number(trace, log, known->key, count);
    }
    uint64_t next_uid = believable(trace->header.next_thread_uid);
    log_number(trace, log, "threadsSeen", next_uid ? next_uid - 1 : 0);
    log_number(trace, log, "processesSeen", trace->tasks.processes.count);
}

/* Returns a text like "1.234567890 s after the start of the recording". */
static struct text since_start(struct trace_reader *trace, int64_t ticks) {
    static const int64_t NS_PER_SECOND = 1000000000;
    int64_t ns = trace_clock_convert(&trace->clock, ticks) - trace_clock_convert(&trace->clock, 0);
    return profile_text_format(trace->profile, "%" PRId64 ".%09" PRId64 " s after the start of the recording",
                               ns / NS_PER_SECOND, ns % NS_PER_SECOND);
}

/* Sets *relative_ticks. Returns false if the time is impossible. */
static bool is_time_of_trace(const struct trace_reader *trace, uint64_t ticks, int64_t *relative_ticks) {
    return trace_clock_relative(&trace->clock, ticks, relative_ticks) && *relative_ticks >= 0;
}

static void log_complete_from(struct trace_reader *trace) {
    struct profile *profile = trace->profile;
    uint64_t recycled_count = believable(trace->header.recycled_chunk_count);
    int64_t ticks;
    if (!recycled_count || !is_time_of_trace(trace, trace->header.complete_from_ticks, &ticks)) return;
    profile_log_line(profile, &profile->profiling_log, process_none(), ticks,
                     TEXT("complete from here on: chunks with older events were recycled"));
    profile_add_extra(profile, TEXT("Recorder"), TEXT("Complete from"), since_start(trace, ticks));
    profile_add_extra(profile, TEXT("Recorder"), TEXT("Chunks recycled"),
                      profile_text_format(profile, "%" PRIu64, recycled_count));
}

static void log_stop(struct trace_reader *trace) {
    struct profile *profile = trace->profile;
    const struct trace_header *header = &trace->header;
    int64_t ticks;
    if (header->stop_reason == TRACE_STOP_NONE) return;
    const char *error = header->stop_errno ? strerrordesc_np((int)header->stop_errno) : NULL;
    struct text reason =
        header->stop_reason == TRACE_STOP_STORAGE
            ? profile_text_format(profile, "the file could not grow: %s", error ? error : "for an unknown reason")
            : profile_text_format(profile, "for reason %" PRIu32, header->stop_reason);
    struct text line = profile_text_format(profile, "recording stopped: %.*s", TEXT_ARGS(reason));
    bool has_time = is_time_of_trace(trace, header->stop_ticks, &ticks);
    if (has_time)
        profile_log_line(profile, &profile->profiling_log, process_none(), ticks, line);
    else
        profile_log_text(profile, &profile->profiling_log, process_none(), TEXT("stopped"), reason);
    profile_add_extra(profile, TEXT("Recorder"), TEXT("Stopped by itself"), reason);
    if (has_time) profile_add_extra(profile, TEXT("Recorder"), TEXT("Stopped"), since_start(trace, ticks));
    trace_ledger_count_placeless(&trace->ledger, TRACE_NOTE_STOPPED, 1);
}

/* ---- This reader's report. ---- */

static uint64_t unended_process_count(const struct trace_reader *trace) {
    uint64_t count = 0;
    COLUMN_EACH(const struct trace_process, process, &trace->tasks.processes)
        count += process->has_live_chunk && !process->has_ended;
    return count;
}

static void log_unknown_kinds(struct trace_reader *trace) {
    for (size_t kind = 0; kind < sizeof trace->counts.unknown_kinds / sizeof *trace->counts.unknown_kinds; kind++) {
        if (!trace->counts.unknown_kinds[kind]) continue;
        struct text key = profile_text_format(trace->profile, "entriesOfUnknownKind%zu", kind);
        profile_log_number(trace->profile, &trace->profile->gathering_log, process_none(), key,
                           (int64_t)trace->counts.unknown_kinds[kind]);
    }
}

static void log_gathering(struct trace_reader *trace) {
    struct column *log = &trace->profile->gathering_log;
    const struct trace_counts *counts = &trace->counts;
    const struct {
        const char *key;
        uint64_t count;
    } lines[] = {
        {"chunksRead", counts->chunk_count},
        {"chunksUnsealed", counts->live_chunk_count},
        {"chunksFree", counts->free_chunk_count},
        {"chunksWithWrongHash", counts->wrong_hash_count},
        {"chunksSetAside", counts->set_aside_count},
        {"bytesSkipped", counts->skipped_bytes},
        {"definitionsRead", trace->ledger.tallies[TRACE_KEPT_DEFINITION].count},
        {"processesWithoutEnd", unended_process_count(trace)},
        {"calibrationsMet", trace->clock.offered.count},
        {"calibrationsUsed", trace->clock.kept_count},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) log_number(trace, log, lines[i].key, lines[i].count);
    log_unknown_kinds(trace);
}

/* Returns how the process ended, as far as the trace says. */
static struct text end_of(const struct trace_process *process) {
    static const struct text ends[] = {
        [TRACE_END_UNKNOWN] = TEXT("stopped or exited"),
        [TRACE_END_STOPPED] = TEXT("stopped recording"),
        [TRACE_END_EXITED] = TEXT("exited"),
        [TRACE_END_TOLD] = TEXT("was stopped by another process"),
    };
    static const struct text fates[] = {
        [TRACE_FATE_UNKNOWN] = TEXT("unknown"),
        [TRACE_FATE_STILL_RECORDING] = TEXT("still recording"),
        [TRACE_FATE_KILLED] = TEXT("was killed, or ended by _exit"),
        [TRACE_FATE_REPLACED] = TEXT("was killed, or executed another program"),
    };
    return process->has_ended ? ends[process->end] : fates[process->fate];
}

static void count_fate(struct trace_reader *trace, const struct trace_process *process) {
    bool is_killed = process->fate == TRACE_FATE_KILLED, still_records = process->fate == TRACE_FATE_STILL_RECORDING;
    if (is_killed) trace_ledger_count_placeless(&trace->ledger, TRACE_NOTE_KILLED, 1);
    if (still_records) trace_ledger_count_placeless(&trace->ledger, TRACE_NOTE_STILL_RECORDING, 1);
}

static void count_skipped(struct trace_reader *trace) {
    COLUMN_EACH(const struct trace_skipped, chunk, &trace->skipped) {
        struct trace_process *process = trace_tasks_find_process(&trace->tasks, chunk->pid, chunk->base_ns);
        if (process) process->skipped_count++;
    }
}

static void log_processes(struct trace_reader *trace) {
    struct profile *profile = trace->profile;
    struct column *log = &profile->gathering_log;
    count_skipped(trace);
    COLUMN_EACH(const struct trace_process, process, &trace->tasks.processes) {
        uint64_t present_count = process->chunk_count + process->skipped_count;
        uint64_t taken_count = process->taken_count > present_count ? process->taken_count : present_count;
        if (!present_count) continue;
        profile_log_number(profile, log, process->id, TEXT("chunks"), (int64_t)process->chunk_count);
        if (process->taken_count)
            profile_log_number(profile, log, process->id, TEXT("chunksRecycled"),
                               (int64_t)believable(taken_count - present_count));
        profile_log_number(profile, log, process->id, TEXT("chunksSkipped"), (int64_t)process->skipped_count);
        profile_log_text(profile, log, process->id, TEXT("ended"), end_of(process));
        count_fate(trace, process);
    }
}

void trace_log_write(struct trace_reader *trace) {
    log_header_counts(trace);
    log_complete_from(trace);
    log_stop(trace);
    log_gathering(trace);
    log_processes(trace);
}
