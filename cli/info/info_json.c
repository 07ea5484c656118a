/* Writes the facts as JSON, as described in docs/info.md. */
#include <math.h>

#include "cli/command.h"
#include "info_subject.h"
#include "libconvert/base/memory.h"
#include "libconvert/report.h"

static void write_counts(struct json *json, const struct info *info) {
    json_key_object_begin(json, "counts");
    json_key_count(json, "processes", info->processes.count);
    json_key_count(json, "threads", info->threads.count);
    json_key_count(json, "samples", info->sample_count);
    json_key_count(json, "samplesWithoutStack", info->stackless_count);
    json_key_count(json, "markers", info->marker_count);
    json_key_count(json, "counters", info->counters.count);
    json_key_count(json, "allocations", info->allocation_count);
    json_key_count(json, "functions", info->function_count);
    json_key_count(json, "stacks", info->stack_count);
    json_key_count(json, "frames", info->frame_count);
    json_key_count(json, "libs", info->lib_count);
    json_object_end(json);
}

static void write_cpu(struct json *json, const struct info *info, const char *key, double cpu) {
    json_key_double(json, key, info->cpu_unit.bytes_count ? cpu : (double)NAN);
}

static void write_allocated(struct json *json, const struct info *info, const char *key, double bytes) {
    json_key_double(json, key, info->allocation_count ? bytes : (double)NAN);
}

static void write_thread(struct json *json, const struct info *info, const struct info_thread *thread) {
    json_object_begin(json);
    json_key_value_text(json, "tid", thread->tid);
    json_key_value_text(json, "name", thread->name);
    json_key_bool(json, "isMain", thread->is_main);
    json_key_double(json, "startMs", thread->start_ms);
    json_key_double(json, "endMs", thread->end_ms);
    json_key_count(json, "samples", thread->sample_count);
    json_key_double(json, "weight", thread->weight);
    write_cpu(json, info, "cpu", thread->cpu);
    json_key_count(json, "markers", thread->marker_count);
    json_key_count(json, "allocations", thread->allocation_count);
    json_object_end(json);
}

static void write_processes(struct json *json, const struct info *info) {
    size_t next_thread = 0;
    json_key_array_begin(json, "processes");
    COLUMN_EACH(const struct info_process, process, &info->processes) {
        json_object_begin(json);
        json_key_value_text(json, "pid", process->pid);
        json_key_value_text(json, "name", process->name);
        json_key_count(json, "samples", process->sample_count);
        json_key_double(json, "weight", process->weight);
        write_cpu(json, info, "cpu", process->cpu);
        json_key_array_begin(json, "threads");
        for (size_t end = next_thread + process->thread_count; next_thread < end; next_thread++)
            write_thread(json, info, column_at(&info->threads, next_thread));
        json_array_end(json);
        json_object_end(json);
    }
    json_array_end(json);
}

static void write_counters(struct json *json, const struct info *info) {
    json_key_array_begin(json, "counters");
    COLUMN_EACH(const struct info_counter, counter, &info->counters) {
        json_object_begin(json);
        json_key_value_text(json, "pid", counter->pid);
        json_key_value_text(json, "name", counter->name);
        json_key_value_text(json, "category", counter->category);
        json_key_text_or_null(json, "unit", counter->unit);
        json_key_count(json, "samples", counter->sample_count);
        bool is_share = info_counter_is_share(counter);
        double factor = is_share ? 100 / counter->highest : 1;
        json_key_string(json, "graph", counter->is_rate ? "rate" : "accumulated");
        json_key_double(json, "sum", is_share ? (double)NAN : counter->change);
        json_key_double(json, "minimum", counter->lowest * factor);
        json_key_double(json, "maximum", counter->highest * factor);
        json_object_end(json);
    }
    json_array_end(json);
}

static void write_wait(struct json *json, const struct info_function *function) {
    json_object_begin(json);
    json_key_value_text(json, "name", function->name);
    json_key_text_or_null(json, "library", function->library);
    json_key_double(json, "self", function->wait);
    json_object_end(json);
}

static void write_function(struct json *json, const struct info *info, const struct info_function *function) {
    const struct function_weights *weights = &function->sums[INFO_WEIGHT], *cpu = &function->sums[INFO_CPU];
    const struct function_weights *allocated = &function->sums[INFO_ALLOCATED];
    json_object_begin(json);
    json_key_value_text(json, "name", function->name);
    json_key_text_or_null(json, "library", function->library);
    json_key_text_or_null(json, "file", function->file);
    json_key_double(json, "self", weights->self);
    json_key_double(json, "total", weights->total);
    write_cpu(json, info, "cpuSelf", cpu->self);
    write_cpu(json, info, "cpuTotal", cpu->total);
    write_allocated(json, info, "allocatedSelf", allocated->self);
    write_allocated(json, info, "allocatedTotal", allocated->total);
    json_object_end(json);
}

static void write_marker(struct json *json, const struct info_marker *marker) {
    json_object_begin(json);
    json_key_value_text(json, "name", marker->name);
    json_key_count(json, "count", marker->count);
    json_key_object_begin(json, "durations");
    json_key_count(json, "count", marker->duration_count);
    json_key_double(json, "sumMs", marker->sum_ms);
    json_key_double(json, "medianMs", marker->median_ms);
    json_key_double(json, "p95Ms", marker->p95_ms);
    json_object_end(json);
    json_object_end(json);
}

static void write_list(struct json *json, const char *key, const struct info *info, enum info_order order) {
    const struct info_list *list = &info->lists[order];
    json_key_array_begin(json, key);
    for (size_t i = 0; i < list->count; i++) {
        if (order == INFO_MARKERS)
            write_marker(json, column_at(&info->markers, list->rows[i]));
        else if (order == INFO_WAITS)
            write_wait(json, column_at(&info->functions, list->rows[i]));
        else
            write_function(json, info, column_at(&info->functions, list->rows[i]));
    }
    json_array_end(json);
}

static void write_facts(struct json *json, const struct info *info) {
    json_key_array_begin(json, "facts");
    COLUMN_EACH(const struct info_fact, fact, &info->facts) {
        json_object_begin(json);
        json_key_value_text(json, "section", fact->section);
        json_key_value_text(json, "label", fact->label);
        json_key_value_text(json, "value", fact->value);
        json_object_end(json);
    }
    json_array_end(json);
}

static void write_events(struct json *json, const struct gecko_convert_result *result) {
    json_key_array_begin(json, "events");
    for (size_t i = 0; i < result->event_count; i++) {
        const struct gecko_convert_event *event = &result->events[i];
        json_object_begin(json);
        json_key_string(json, "name", event->name);
        json_key_count(json, "samples", event->sample_count);
        json_key_string(json, "treatment", event->treatment);
        json_object_end(json);
    }
    json_array_end(json);
}

static void write_contents(struct json *json, const struct info_subject *subject) {
    const struct info *info = subject->info;
    report_write_inputs(json, subject->result);
    json_key_text_or_null(json, "product", info->product);
    json_key_double(json, "durationMs", info->has_times ? info->duration_ms : (double)NAN);
    json_key_double(json, "intervalMs", info->has_times && info->interval_ms > 0 ? info->interval_ms : (double)NAN);
    json_key(json, "startTimeMs");
    json_int_or_null(json, info->start_time_ms, info->start_time_ms != 0);
    json_key_object_begin(json, "weight");
    json_key_text_or_null(json, "unit", info->weight_unit);
    json_key_double(json, "sum", info->weight);
    json_object_end(json);
    json_key_object_begin(json, "cpu");
    json_key_text_or_null(json, "unit", info->cpu_unit);
    write_cpu(json, info, "sum", info->cpu);
    json_object_end(json);
    json_key_object_begin(json, "allocated");
    write_allocated(json, info, "sum", info->allocated);
    write_allocated(json, info, "sumWithoutStack", info->stackless_bytes);
    json_object_end(json);
    write_counts(json, info);
    write_events(json, subject->result);
    write_processes(json, info);
    write_counters(json, info);
    write_list(json, "markers", info, INFO_MARKERS);
    write_list(json, "functionsBySelf", info, INFO_FUNCTIONS_BY_SELF);
    write_list(json, "functionsByTotal", info, INFO_FUNCTIONS_BY_TOTAL);
    write_list(json, "functionsByCpuSelf", info, INFO_FUNCTIONS_BY_CPU_SELF);
    write_list(json, "functionsByCpuTotal", info, INFO_FUNCTIONS_BY_CPU_TOTAL);
    write_list(json, "functionsByAllocated", info, INFO_ALLOCATORS);
    write_list(json, "waits", info, INFO_WAITS);
    write_facts(json, info);
    report_write_missing_names(json, subject->result);
    if (subject->result->cut_stack_share > 0) json_key_double(json, "cutStackShare", subject->result->cut_stack_share);
    report_write_ledger(json, subject->result);
}

void info_write_json(struct json *json, const struct info_subject *subject) {
    json_object_begin(json);
    json_key_string(json, "name", subject->path);
    json_key_text_or_null(json, "format", subject->format);
    json_key_text_or_null(json, "wrapping", subject->wrapping);
    json_key_count(json, "bytes", subject->bytes_count);
    if (!failure_is_set(subject->failure)) write_contents(json, subject);
    report_write_error(json, subject->failure);
    json_object_end(json);
}
