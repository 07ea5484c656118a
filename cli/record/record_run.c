/* Observes programs while they run. */
#include <poll.h>
#include <sched.h>
#include <stdio.h>

#include "cli/console.h"
#include "libconvert/base/monotonic_clock.h"
#include "record.h"

static void draw_progress(struct record *record) {
    const struct kernel_recording *recording = &record->recording;
    struct report_text size = {.bytes_count = 0};
    char line[160];
    report_append_bytes(&size, recording->stream.written_bytes);
    snprintf(line, sizeof line, "recording %llu s: %llu samples, %llu lost, %.*s; Ctrl-C ends it",
             (unsigned long long)((monotonic_now_ns() - record->begin_ns) / RECORD_NS_PER_S),
             (unsigned long long)recording->sample_count, (unsigned long long)recording->lost_count, TEXT_ARGS(size));
    progress_tty_draw_text(&record->bar, line);
}

/* Returns how long to wait after records were last taken. Taking them may last a good part of the period. */
static int wait_ms(const struct record *record, uint64_t taken_ns) {
    int period_ms = record->is_by_kernel ? record->recording.period_ms : RECORD_CHECK_MS;
    uint64_t past_ms = (monotonic_now_ns() - taken_ns) / (RECORD_NS_PER_S / 1000);
    return past_ms < (uint64_t)period_ms ? period_ms - (int)past_ms : 1;
}

/* Observes until the duration is over, everything that is observed has ended, or a signal arrives. */
static void observe(struct record *record) {
    struct kernel_recording *recording = &record->recording;
    bool is_started = record->command, is_done = false;
    uint64_t taken_ns = record->begin_ns;
    while (!is_done && !failure_is_set(&record->failure)) {
        /* A descriptor below 0 is ignored. */
        struct pollfd polled[] = {{record->signal_fd, POLLIN, 0},
                                  {record->is_by_kernel ? recording->poll_fd : -1, POLLIN, 0}};
        int ready_count = poll(polled, 2, wait_ms(record, taken_ns));
        taken_ns = monotonic_now_ns();
        if (record->is_by_kernel) kernel_recording_take(recording);
        record_keep_new_maps(record, taken_ns);
        if (!is_started) draw_progress(record); /* a program has the terminal to itself */
        if (ready_count) record_signals_handle(record);
        is_done = record_is_over(record);
        if (is_started)
            is_done |= ready_count && record_program_has_ended(record);
        else
            is_done |= record->is_interrupted || (!ready_count && !kernel_events_are_alive(&recording->events));
    }
    progress_tty_clear(&record->bar);
}

/* Executes the programs, or observes running processes, to the end. Returns false if recording could not begin. */
static bool observe_all(struct record *record, const struct proc_ids *processes) {
    if (record->is_by_kernel && record_file_open(record))
        kernel_recording_begin(&record->recording, record->trace, processes, &record->failure);
    if (failure_is_set(&record->failure)) return false;
    record->begin_ns = monotonic_now_ns();
    if (record->command) record_program_execute(record);
    observe(record);
    if (record->is_by_kernel) kernel_recording_end(&record->recording);
    return true;
}

void record_run(struct record *record, const struct proc_ids *processes) {
    record->wants_realtime = record->is_by_kernel && sched_getscheduler(0) == SCHED_OTHER;
    record_schedule(record, SCHED_FIFO);
    bool has_begun = observe_all(record, processes);
    record_schedule(record, SCHED_OTHER);
    if (!has_begun) return;
    record_tell_left_out_maps(record);
    if (failure_is_set(&record->failure) && record->recording.sample_count) {
        console_print_message("%s: what came later is lost", record->failure.message);
        record->is_cut = true;
        record_salvage(record);
    }
    if (record->is_by_kernel && !failure_is_set(&record->failure)) record_print_summary(record);
    record_program_end(record);
}
