/* Layout: Linux tools/perf/util/event.c, perf_event__fprintf_*. */
#include "script_records.h"

#include <stdio.h>

#include "libconvert/base/cursor.h"

static const struct text record_start = TEXT("PERF_RECORD_");

struct text script_record_of(const struct script_event_line *event_line, struct text line) {
    struct text start = text_starts_with(event_line->event, record_start) ? event_line->event : event_line->rest;
    if (!text_starts_with(start, record_start)) return (struct text){0};
    return text_trim_end(text_from(line, (size_t)(start.bytes - line.bytes)));
}

bool script_record_is_bare(struct text line) { return text_starts_with(line, record_start); }

/* ---- Payloads. ---- */

/* Parses the payload, which follows the record's name, into *out, whose task and time are those of the line. Returns
 * false if it is malformed. */
typedef bool payload_parser(struct text payload, struct perf_record *out);

/* Takes "(12:34)". */
static bool take_ids(struct text *text, int64_t *pid, int64_t *tid) {
    return cursor_take(text, TEXT("(")) && cursor_take_id(text, pid) && cursor_take(text, TEXT(":")) &&
           cursor_take_id(text, tid) && cursor_take(text, TEXT(")"));
}

/* Parses "(12:34):(5:6)", a task and its parent. */
static bool parse_task(struct text payload, struct perf_record *out) {
    struct perf_fork *fork = &out->fork;
    return take_ids(&payload, &out->pid, &out->tid) && cursor_take(&payload, TEXT(":")) &&
           take_ids(&payload, &fork->parent_pid, &fork->parent_tid);
}

/* perf has made the record of a task that ran before the recording began, and gives it the time 0. */
static bool parse_fork(struct text payload, struct perf_record *out) {
    out->type = PERF_FORK;
    out->fork.is_before = out->fork.is_synthesized = !out->time_ns;
    return parse_task(payload, out);
}

static bool parse_exit(struct text payload, struct perf_record *out) {
    out->type = PERF_EXIT;
    return parse_task(payload, out);
}

/* Parses " exec: app:12/34" or ": app:12/34". The comm may contain colons and slashes, so the ids are found from the
 * end. */
static bool parse_comm(struct text payload, struct perf_record *out) {
    size_t start = text_find(payload, ':');
    struct text named = text_trim_start(text_from(payload, start == payload.bytes_count ? start : start + 1));
    size_t colon = text_find_last(named, ':');
    if (colon == named.bytes_count) return false;
    struct text ids = text_from(named, colon + 1);
    out->type = PERF_COMM;
    out->name = text_slice(named, 0, colon);
    out->is_exec = text_starts_with(payload, TEXT(" exec"));
    return cursor_take_id(&ids, &out->pid) && cursor_take(&ids, TEXT("/")) && cursor_take_id(&ids, &out->tid);
}

/* Takes "0x12". perf prints zero as "0". */
static bool take_hex(struct text *text, uint64_t *out) {
    cursor_take(text, TEXT("0x"));
    return cursor_take_number(text, 16, out);
}

/* Parses " 12/34: [0x400000(0x1000) @ 0x2000 fe:00 12 34]: r-xp /bin/app". A build id in angle brackets may take the
 * place of the device. */
static bool parse_mapping(struct text payload, struct perf_record *out) {
    static const struct text deleted = TEXT(" (deleted)");
    struct text left = text_trim_start(payload);
    struct perf_mapping *mapping = &out->mapping;
    out->type = PERF_MAPPING;
    if (!cursor_take_id(&left, &out->pid) || !cursor_take(&left, TEXT("/")) || !cursor_take_id(&left, &out->tid))
        return false;
    if (!cursor_take(&left, TEXT(": [")) || !take_hex(&left, &mapping->start)) return false;
    if (!cursor_take(&left, TEXT("(")) || !take_hex(&left, &mapping->size_bytes)) return false;
    if (!cursor_take(&left, TEXT(") @ ")) || !take_hex(&left, &mapping->file_offset)) return false;
    size_t close = text_find(left, ']');
    if (close == left.bytes_count) return false;
    struct text origin = text_trim(text_slice(left, 0, close));
    left = text_from(left, close + 1);
    if (!cursor_take(&left, TEXT(": "))) return false;
    out->name = text_trim(text_from(left, text_find(left, ' ')));
    if (text_ends_with(out->name, deleted)) out->name.bytes_count -= deleted.bytes_count;
    if (text_starts_with(origin, TEXT("<")) && text_ends_with(origin, TEXT(">")))
        out->text = text_slice(origin, 1, origin.bytes_count - 1);
    return out->name.bytes_count > 0;
}

/* Parses " IN", " OUT" or " OUT preempt", for whole processors with the other thread: "next pid/tid: 5/6". */
static bool parse_switch(struct text payload, struct perf_record *out) {
    struct text text = text_trim_start(payload);
    out->type = PERF_SWITCH;
    out->running.is_out = text_starts_with(text, TEXT("OUT"));
    out->running.is_preempted = text_starts_with(text_trim_start(text_from(text, 3)), TEXT("preempt"));
    out->running.is_of_processor = text_find(text, ':') < text.bytes_count;
    return out->time_ns != TIME_NONE && (out->running.is_out || text_starts_with(text, TEXT("IN")));
}

/* Parses " lost 123". */
static bool parse_loss(struct text payload, struct perf_record *out) {
    struct text text = text_trim(payload);
    int64_t count;
    if (!cursor_take(&text, TEXT("lost "))) return false;
    text = text_trim_start(text);
    if (!cursor_take_id(&text, &count) || count < 0) return false;
    out->type = PERF_LOSS;
    out->loss.count = (uint64_t)count;
    return true;
}

static bool parse_loss_of_samples(struct text payload, struct perf_record *out) {
    out->loss.is_of_samples = true;
    return parse_loss(payload, out);
}

/* Parses " 12/34 - nr_namespaces: 7". The namespaces are on the next lines. perf gives the record of a task that ran
 * before the recording began the time 0. */
static bool parse_namespaces(struct text payload, struct perf_record *out) {
    uint64_t count;
    payload = text_trim_start(payload);
    out->type = PERF_NAMESPACES;
    if (!out->time_ns) out->time_ns = TIME_NONE;
    if (!cursor_take_id(&payload, &out->pid) || !cursor_take(&payload, TEXT("/")) ||
        !cursor_take_id(&payload, &out->tid) || !cursor_take(&payload, TEXT(" - nr_namespaces: ")) ||
        !cursor_take_number(&payload, 10, &count) || !count || count > PERF_NAMESPACES_MAX)
        return false;
    out->namespaces.count = (uint32_t)count;
    return true;
}

/* Takes "3/pid: 4/0xeffffffc" and what is between it and the next one. */
static bool take_namespace(struct text *text, struct perf_namespace *out) {
    uint64_t number;
    if (!cursor_take_number(text, 10, &number) || !cursor_take(text, TEXT("/"))) return false;
    *text = text_from(*text, text_find(*text, ':'));
    if (!cursor_take(text, TEXT(": ")) || !cursor_take_number(text, 10, &out->device)) return false;
    if (!cursor_take(text, TEXT("/")) || !take_hex(text, &out->inode)) return false;
    *text = cursor_take(text, TEXT(",")) || cursor_take(text, TEXT("]")) ? text_trim_start(*text) : *text;
    return true;
}

/* Names after "PERF_RECORD_". What a record without a parser tells is also told elsewhere in a text: frames have the
 * names of code that the kernel generated. Other records are counted as lost under their names. */
static const struct {
    struct text name;
    payload_parser *parse;
    enum perf_tally tally;
} known_records[] = {
    {TEXT("NAMESPACES"), parse_namespaces, TALLY_NAMESPACES_RECORD},
    {TEXT("CGROUP"), NULL, TALLY_CGROUP_RECORD},
    {TEXT("KSYMBOL"), NULL, TALLY_KSYMBOL_RECORD},
    {TEXT("BPF_EVENT"), NULL, TALLY_BPF_EVENT_RECORD},
    {TEXT("FINISHED_ROUND"), NULL, TALLY_FINISHED_ROUND_RECORD},
    {TEXT("COMM"), parse_comm, TALLY_COMM_RECORD},
    {TEXT("FORK"), parse_fork, TALLY_FORK_RECORD},
    {TEXT("EXIT"), parse_exit, TALLY_EXIT_RECORD},
    {TEXT("MMAP"), parse_mapping, TALLY_MMAP_RECORD},
    {TEXT("MMAP2"), parse_mapping, TALLY_MMAP_RECORD},
    {TEXT("LOST"), parse_loss, TALLY_LOST_RECORD},
    {TEXT("LOST_SAMPLES"), parse_loss_of_samples, TALLY_LOST_RECORD},
    {TEXT("SWITCH"), parse_switch, TALLY_SWITCH_RECORD},
    {TEXT("SWITCH_CPU_WIDE"), parse_switch, TALLY_SWITCH_RECORD},
};

/* ---- Records. ---- */

/* Bounds how many causes of losses there are, and how long each is. perf has about fifty records; those of further
 * names are "other". */
enum { LOSSES_MAX = 128, LOST_NAME_BYTES_MAX = 100 };

static struct text name_of(struct text record) {
    struct text name = text_from(record, record_start.bytes_count);
    return cursor_take_word(&name);
}

/* Returns the text from the list of causes, in which only so many have room. */
static struct text known_cause(struct strings *losses, struct text cause) {
    for (uint32_t i = 0; i < strings_count(losses); i++)
        if (text_equal(strings_text(losses, (string_id){i}), cause)) return strings_text(losses, (string_id){i});
    return strings_count(losses) < LOSSES_MAX ? strings_copy(losses, cause) : TEXT("other record");
}

static void lose(struct script_records *records, struct text name, const char *what, struct position position) {
    char cause[LOST_NAME_BYTES_MAX + 32];
    name = text_slice(name, 0, LOST_NAME_BYTES_MAX);
    snprintf(cause, sizeof cause, "%s%.*s record", what, TEXT_ARGS(name));
    const struct perf_record record = {.type = PERF_COUNT,
                                       .time_ns = TIME_NONE,
                                       .position = position,
                                       .name = known_cause(&records->losses, text_of(cause)),
                                       .count = {LEDGER_RECORDS, LEDGER_LOST, 1}};
    perf_emit(records->sink, &record);
}

void script_records_read(struct script_records *records, const struct script_event_line *event_line, struct text record,
                         struct position position) {
    struct text name = name_of(record);
    struct text payload = text_from(record, record_start.bytes_count + name.bytes_count);
    struct perf_record out = {.machine = event_line->machine,
                              .pid = event_line->pid,
                              .tid = event_line->tid,
                              .time_ns = event_line->has_time ? event_line->time_ns : TIME_NONE,
                              .position = position};
    for (size_t i = 0; i < sizeof known_records / sizeof *known_records; i++) {
        if (!text_equal(name, known_records[i].name)) continue;
        if (known_records[i].parse && !known_records[i].parse(payload, &out)) {
            lose(records, name, "malformed ", position);
            return;
        }
        if (known_records[i].parse == parse_namespaces) {
            records->open = out;
            records->namespaces_left = out.namespaces.count;
            return;
        }
        if (out.type == PERF_SWITCH) out.running.processor = event_line->cpu;
        perf_tally(records->tallies, known_records[i].tally, 1, position);
        if (known_records[i].parse) perf_emit(records->sink, &out);
        return;
    }
    records->has_bytes = text_equal(name, TEXT("TEXT_POKE"));
    lose(records, name, "", position);
}

static bool is_of_bytes(struct text trimmed) {
    return text_starts_with(trimmed, TEXT("Old bytes:")) || text_starts_with(trimmed, TEXT("New bytes:"));
}

/* Reads a line of namespaces: "[0/net: 4/0xeffffff9, 1/uts: 4/0xeffffffe,". Returns false if it is malformed. */
static bool read_namespaces(struct script_records *records, struct text line) {
    struct perf_record *open = &records->open;
    cursor_take(&line, TEXT("["));
    while (line.bytes_count && records->namespaces_left) {
        uint32_t row = open->namespaces.count - records->namespaces_left;
        if (!take_namespace(&line, &records->namespaces[row])) return false;
        records->namespaces_left--;
    }
    if (records->namespaces_left) return true;
    open->namespaces.kinds = records->namespaces;
    perf_tally(records->tallies, TALLY_NAMESPACES_RECORD, 1, open->position);
    perf_emit(records->sink, open);
    return true;
}

bool script_records_read_more(struct script_records *records, struct text trimmed) {
    if (records->has_bytes && is_of_bytes(trimmed)) return true;
    if (records->namespaces_left && trimmed.bytes_count && read_namespaces(records, trimmed)) return true;
    script_records_end(records);
    return false;
}

void script_records_end(struct script_records *records) {
    if (records->namespaces_left) lose(records, TEXT("NAMESPACES"), "malformed ", records->open.position);
    records->namespaces_left = 0;
    records->has_bytes = false;
}
