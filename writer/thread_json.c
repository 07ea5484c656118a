#include "thread_json.h"

#include "cells.h"
#include "libconvert/base/cursor.h"
#include "libconvert/format/common_format.h"

enum { EXACT_DIGITS_MAX = 15 };

void thread_json_id(struct json *json, struct text id) {
    uint64_t number;
    bool is_exact = id.bytes_count <= EXACT_DIGITS_MAX && (id.bytes_count == 1 || !text_starts_with(id, TEXT("0")));
    if (is_exact && cursor_parse_number(id, 10, &number))
        json_int(json, (int64_t)number);
    else
        json_text(json, id);
}

void thread_json_tid_value(struct json *json, const struct thread *thread) {
    if (thread->tid_text.bytes_count)
        json_text(json, thread->tid_text);
    else
        json_int(json, thread->tid);
}

void thread_json_tid(struct json *json, const struct thread *thread) {
    json_key(json, "tid");
    thread_json_tid_value(json, thread);
}

/* The viewer puts a process of the type "default" before all others. It treats some types specially, and shows the
 * others in tooltips, where the name of the process says more than a type. */
static struct text process_type(const struct profile *profile, const struct process *process) {
    static const struct text special[] = {TEXT("comparison"), TEXT("gpu"), TEXT("plugin"), TEXT("tab")};
    if (process->type.bytes_count) return process->type;
    bool is_parent = process->has_children && !profile_shows_parent(profile, process);
    if (is_parent || !process->name.bytes_count) return TEXT("default");
    if (process_command(process).bytes_count) return process_command(process);
    if (TEXT_IS_IN(process->name, special)) return TEXT("default");
    return process->name;
}

void thread_json_process_type(struct json *json, const struct profile *profile, const struct process *process) {
    json_key_value_text(json, "processType", process_type(profile, process));
}

void thread_json_paused_ranges(struct json *json, const struct profile *profile, process_id process) {
    size_t count, first = profile_rows_of_process(&profile->paused_ranges, process, &count);
    json_key_array_begin(json, "pausedRanges");
    for (size_t i = first; i < first + count; i++) {
        json_object_begin(json);
        members_write(json, &paused_range_shape, column_at(&profile->paused_ranges, i));
        json_object_end(json);
    }
    json_array_end(json);
}
