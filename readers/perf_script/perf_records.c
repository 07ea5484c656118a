/* Records that perf script --show-task-events, --show-mmap-events and the like print between samples. No blank line
 * follows a record. Layout: Linux tools/perf/util/event.c, perf_event__fprintf_*. */
#include <stdio.h>

#include "libconvert/base/cursor.h"
#include "perf_script_internal.h"
#include "readers/perf/perf_programs.h"

static const struct text record_start = TEXT("PERF_RECORD_");

struct text perf_record_of(const struct perf_event_line *event_line, struct text line) {
    struct text start = text_starts_with(event_line->event, record_start) ? event_line->event : event_line->rest;
    if (!text_starts_with(start, record_start)) return (struct text){0};
    return text_trim_end(text_from(line, (size_t)(start.bytes - line.bytes)));
}

/* Takes "(12:34)". */
static bool take_ids(struct text *text, int64_t *pid, int64_t *tid) {
    return cursor_take(text, TEXT("(")) && cursor_take_id(text, pid) && cursor_take(text, TEXT(":")) &&
           cursor_take_id(text, tid) && cursor_take(text, TEXT(")"));
}

/* Parses "(12:34):(5:6)", a task and its parent. */
static bool parse_task_and_parent(struct text payload, int64_t *pid, int64_t *tid, int64_t *parent_pid,
                                  int64_t *parent_tid) {
    return take_ids(&payload, pid, tid) && cursor_take(&payload, TEXT(":")) &&
           take_ids(&payload, parent_pid, parent_tid);
}

/* Reads the payload, which follows the record's name. Returns false if it is malformed. */
typedef bool record_reader(struct perf_script *script, const struct perf_event_line *line, struct text payload);

/* Reads " exec: app:12/34" or ": app:12/34". The comm may contain colons and slashes, so the ids are found from the
 * end. */
static bool read_comm(struct perf_script *script, const struct perf_event_line *line, struct text payload) {
    size_t start = text_find(payload, ':');
    struct text named = text_trim_start(text_from(payload, start == payload.bytes_count ? start : start + 1));
    size_t colon = text_find_last(named, ':');
    if (colon == named.bytes_count) return false;
    struct text ids = text_from(named, colon + 1);
    int64_t pid, tid;
    if (!cursor_take_id(&ids, &pid) || !cursor_take(&ids, TEXT("/")) || !cursor_take_id(&ids, &tid)) return false;
    struct perf_task *task = perf_tasks_find(&script->recording.tasks, line->machine, pid, tid);
    script->recording.tasks.has_records = true;
    if (!task) return true;
    if (text_starts_with(payload, TEXT(" exec")))
        perf_programs_execute(&script->recording.tasks, task, text_slice(named, 0, colon), line->time_ns);
    else
        perf_tasks_rename(&script->recording.tasks, task, text_slice(named, 0, colon), line->time_ns);
    return true;
}

static bool read_fork(struct perf_script *script, const struct perf_event_line *line, struct text payload) {
    int64_t pid, tid, parent_pid, parent_tid;
    if (!parse_task_and_parent(payload, &pid, &tid, &parent_pid, &parent_tid)) return false;
    struct perf_tasks *tasks = &script->recording.tasks;
    const struct perf_task *parent = perf_tasks_find(tasks, line->machine, parent_pid, parent_tid);
    /* perf has made the record for a task that ran before the recording began. The kernel may report its start again.
     */
    if (line->has_time && !line->time_ns) {
        tasks->has_records = true;
        perf_tasks_adopt(tasks, line->machine, pid, tid, parent);
    } else {
        perf_tasks_fork(tasks, line->machine, pid, tid, parent, line->time_ns);
    }
    return true;
}

static bool read_exit(struct perf_script *script, const struct perf_event_line *line, struct text payload) {
    int64_t pid, tid, parent_pid, parent_tid;
    if (!parse_task_and_parent(payload, &pid, &tid, &parent_pid, &parent_tid)) return false;
    perf_tasks_exit(&script->recording.tasks, line->machine, pid, tid, line->time_ns);
    return true;
}

/* The mappings of a guest are not used, so its addresses stay absolute: its pids are not the host's. */
static bool read_mmap(struct perf_script *script, const struct perf_event_line *line, struct text payload) {
    struct perf_map_record record;
    if (!perf_map_record_parse(payload, &record)) return false;
    if (!line->machine) perf_maps_add(&script->stack.maps, &record);
    if (record.pid != PERF_PID_KERNEL) perf_tasks_find(&script->recording.tasks, line->machine, record.pid, record.tid);
    return true;
}

/* Reads " IN", " OUT" or " OUT preempt", perhaps with the other thread. */
static bool read_switch(struct perf_script *script, const struct perf_event_line *line, struct text payload) {
    struct text text = text_trim_start(payload);
    bool is_out = text_starts_with(text, TEXT("OUT"));
    if (!line->has_time || !(is_out || text_starts_with(text, TEXT("IN")))) return false;
    if (!perf_activity_has_switches(line->tid)) return true;
    struct perf_task *task = perf_tasks_find(&script->recording.tasks, line->machine, line->pid, line->tid);
    if (!task) return true;
    script->last_time_ns = line->time_ns;
    struct text how = text_trim_start(text_from(text, 3));
    if (is_out)
        perf_activity_switch_out(task, text_starts_with(how, TEXT("preempt")), line->time_ns);
    else
        perf_activity_switch_in(&script->recording.activity, task, line->time_ns);
    return true;
}

/* Reads " lost 123". */
static bool read_lost(struct perf_script *script, const struct perf_event_line *line, struct text payload) {
    (void)line;
    struct text text = text_trim(payload);
    int64_t count;
    if (!text_starts_with(text, TEXT("lost "))) return false;
    text = text_trim_start(text_from(text, 5));
    if (!cursor_take_id(&text, &count) || count < 0) return false;
    perf_tally(script, TALLY_LOST_BY_PERF, (uint64_t)count);
    return true;
}

/* Readers of records, by the name after "PERF_RECORD_". Other records are counted as lost under their names. */
static const struct {
    struct text name;
    record_reader *read;
    struct text cause;
} record_readers[] = {
    {TEXT("COMM"), read_comm, TEXT("COMM record")},
    {TEXT("FORK"), read_fork, TEXT("FORK record")},
    {TEXT("EXIT"), read_exit, TEXT("EXIT record")},
    {TEXT("MMAP"), read_mmap, TEXT("MMAP record")},
    {TEXT("MMAP2"), read_mmap, TEXT("MMAP record")},
    {TEXT("LOST"), read_lost, TEXT("LOST record")},
    {TEXT("LOST_SAMPLES"), read_lost, TEXT("LOST record")},
    {TEXT("SWITCH"), read_switch, TEXT("SWITCH record")},
    {TEXT("SWITCH_CPU_WIDE"), read_switch, TEXT("SWITCH record")},
};

static struct text record_name(struct text record) {
    struct text name = text_from(record, record_start.bytes_count);
    size_t count = 0;
    while (count < name.bytes_count &&
           ((name.bytes[count] >= 'A' && name.bytes[count] <= 'Z') || name.bytes[count] == '_' ||
            (name.bytes[count] >= '0' && name.bytes[count] <= '9')))
        count++;
    return text_slice(name, 0, count);
}

/* Bounds how many record names the ledger has. perf has about fifty; names after this many are counted as "other". */
enum { RECORD_NAMES_MAX = 128 };

static void lose(struct perf_script *script, struct text name, const char *what) {
    string_id id = strings_intern(&script->record_names, name);
    if (id.index >= RECORD_NAMES_MAX) name = TEXT("other");
    char cause[128];
    int wanted = snprintf(cause, sizeof cause, "%s%.*s record", what, (int)name.bytes_count, name.bytes);
    struct text text = {cause, (size_t)wanted < sizeof cause ? (size_t)wanted : sizeof cause - 1};
    ledger_enter(&script->profile->ledger, LEDGER_RECORDS, LEDGER_LOST, text, 1, &script->scan.position);
}

void perf_records_read(struct perf_script *script, const struct perf_event_line *event_line, struct text record) {
    struct ledger *ledger = &script->profile->ledger;
    struct text name = record_name(record);
    struct text payload = text_from(record, record_start.bytes_count + name.bytes_count);
    ledger_read(ledger, LEDGER_RECORDS, 1);
    for (size_t i = 0; i < sizeof record_readers / sizeof *record_readers; i++) {
        if (!text_equal(name, record_readers[i].name)) continue;
        if (record_readers[i].read(script, event_line, payload))
            ledger_enter(ledger, LEDGER_RECORDS, LEDGER_KEPT, record_readers[i].cause, 1, &script->scan.position);
        else
            lose(script, name, "malformed ");
        return;
    }
    lose(script, name, "");
}
