/* The messages of the command when a recording ends. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/console.h"
#include "libconvert/base/monotonic_clock.h"
#include "record.h"

void record_print(struct record *record, const char *format, ...) {
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (!record->options->is_quiet) console_print_message("%s", message);
}

/* The first PID namespace has the same number on all machines. */
static bool sees_all_processes(void) {
    static const char first[] = "pid:[4026531836]";
    char name[sizeof first] = {0};
    return readlink("/proc/self/ns/pid", name, sizeof name - 1) <= 0 || strcmp(name, first) == 0;
}

/* Returns the processor time that the samples stand for, including lost samples. */
static uint64_t sampled_ns(const struct record *record) {
    uint64_t sample_count = record->recording.sample_count + record->recording.lost_count;
    return sample_count * (RECORD_NS_PER_S / record->options->frequency_hz);
}

/* Returns whether the threads mostly waited, and the stacks in which they did could have been recorded. */
static bool lacks_wait_stacks(const struct record *record) {
    const struct options *options = record->options;
    if (options->recorded_events.count || options->is_system_wide || record->recording.lacks_kernel) return false;
    uint64_t passed_ns = monotonic_now_ns() - record->begin_ns;
    return passed_ns >= RECORD_NS_PER_S && sampled_ns(record) < passed_ns / 2;
}

static uint64_t timeval_ns(struct timeval time) {
    return (uint64_t)time.tv_sec * RECORD_NS_PER_S + (uint64_t)time.tv_usec * 1000;
}

/* Returns the processor time of the program's processes if most of it is missing from the samples, otherwise 0. The
 * clock of an event starts at 0 in each process, so a process that ends before its first sample is due has no samples.
 */
static uint64_t unsampled_ns(const struct record *record) {
    enum { USED_NS_MIN = RECORD_NS_PER_S / 10 };
    struct rusage used;
    if (!record->command || record->options->recorded_events.count || record->is_cut) return 0;
    if (getrusage(RUSAGE_CHILDREN, &used)) return 0;
    uint64_t used_ns = timeval_ns(used.ru_utime) + (record->recording.lacks_kernel ? 0 : timeval_ns(used.ru_stime));
    return used_ns >= USED_NS_MIN && sampled_ns(record) < used_ns / 2 ? used_ns : 0;
}

static const char *no_samples_reason(const struct record *record) {
    if (record->options->recorded_events.count)
        return "no event that --event names happened often enough to be sampled";
    if (!record->command) return "nothing of what was observed computed for long enough to be sampled";
    return "the program computed for less than the time between two samples: a higher --frequency, or --iterations, "
           "may help";
}

/* Omits the counts if the recording was cut, because only the conversion finds out how many samples it has. The profile
 * may have more samples: those of waits. */
static void print_counts(struct record *record) {
    const struct kernel_recording *recording = &record->recording;
    bool adds_waits =
        recording->sample_count && !record->is_cut && record->options->convert.off_cpu != GECKO_CONVERT_OFF_CPU_NO;
    struct report_text size = {.bytes_count = 0};
    char counts[96] = "";
    report_append_bytes(&size, recording->stream.written_bytes);
    if (!record->is_cut)
        snprintf(counts, sizeof counts, "%llu sample%s, %llu lost, ", (unsigned long long)recording->sample_count,
                 recording->sample_count == 1 ? "" : "s", (unsigned long long)recording->lost_count);
    record_print(record, "recorded %.1f s of %s%s: %s%.*s%s", (double)(monotonic_now_ns() - record->begin_ns) / 1e9,
                 recording->events.rows[0].name, recording->events.count > 1 ? " and other events" : "", counts,
                 TEXT_ARGS(size), adds_waits ? "; the times in which threads did not run become samples, too" : "");
}

void record_print_summary(struct record *record) {
    const struct kernel_recording *recording = &record->recording;
    bool runs_on = record->command && record->program.pid <= 0 && kernel_events_are_alive(&recording->events);
    uint64_t used_ns = unsampled_ns(record);
    print_counts(record);
    if (recording->rings.data_bytes < KERNEL_RING_BYTES_MIN)
        record_print(
            record, "little memory may be locked (sysctl kernel.perf_event_mlock_kb), so samples are lost more easily");
    if (recording->events.left_out_count)
        record_print(
            record,
            "%zu of %zu threads were not recorded: each needs a file for each event and processor, and no more may be "
            "open (ulimit -n)",
            recording->events.left_out_count, record->targets.count);
    if (recording->refused_count)
        record_print(
            record,
            "the kernel records no program that changes its user (setuid) or whose file its user may not read: %llu "
            "of what was executed; record such a program as the user that it becomes",
            (unsigned long long)recording->refused_count);
    else if (used_ns)
        record_print(
            record,
            "the samples stand for %llu of %llu ms of processor time: most processes probably ended before their first "
            "sample was due; a higher --frequency, or --all, also shows those",
            (unsigned long long)(sampled_ns(record) / 1000000), (unsigned long long)(used_ns / 1000000));
    else if (lacks_wait_stacks(record))
        record_print(record,
                     "most of the time, no thread ran: they waited, or other programs had the processors; -e "
                     "cycles,context-switches also records the stacks in which they waited");
    else if (!recording->sample_count && !runs_on)
        record_print(record, "%s", no_samples_reason(record));
    if (recording->hidden_count)
        record_print(
            record,
            "the code of %llu process%s has no names: seeing that of other users, or of more rights, needs root or "
            "CAP_SYS_PTRACE",
            (unsigned long long)recording->hidden_count, recording->hidden_count == 1 ? "" : "es");
    if (record->options->is_system_wide && !sees_all_processes())
        record_print(
            record,
            "processes outside of this container have no numbers and no files here, so that their code has no names: "
            "record outside of it");
    if (recording->lacks_kernel)
        record_print(record,
                     "the kernel's own code was not recorded: that needs CAP_PERFMON, or sysctl "
                     "kernel.perf_event_paranoid=1");
    else if (recording->nameless_reason)
        record_print(record, "the kernel's functions have no names: %s", recording->nameless_reason);
    if (runs_on) record_print(record, "processes that the program has started run on, and are no longer recorded");
}
