#include "sampler.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "libc_thread.h"
#include "libraries.h"
#include "own_signal.h"
#include "own_thread.h"
#include "process_counters.h"
#include "recorder/pool/chunk_pool.h"
#include "recorder/pool/pool_file.h"
#include "recorder/state/clock.h"
#include "recorder/state/process.h"
#include "recorder/state/recording_state.h"
#include "recorder/trace_format.h"
#include "recorder/unwind/mappings.h"
#include "recorder/unwind/unwind_table.h"
#include "recorder/write/counters.h"
#include "recorder/write/definitions.h"
#include "recorder/write/writer.h"
#include "sampled_thread.h"
#include "task_list.h"
#include "thread_observer.h"
#include "thread_signal.h"
#include "told_time.h"
#include "unsampled.h"
#include "work_alarm.h"

enum {
    SLOW_PERIOD_NS = 1000000000, /* between two rounds that also do the work that costs more and is needed less often */
    /* At intervals below a millisecond: the times between two rounds of programs that use much processor time, and
     * little of it. */
    STEP_NS_MIN = 500000,
    STEP_NS_MAX = 1000000,
    /* If no thread has run for this long, the sampler stops making regular rounds. */
    QUIET_AFTER_NS = 50000000,
    QUIET_ROUND_NS = 1000000000, /* the longest time between two rounds while no thread runs */
    QUIET_CPU_NS = 3000,         /* less than a thread uses to wake up and go to sleep again */
    /* A child of a recorded process is sampled once it has used this much processor time or is this old. */
    LATE_CPU_NS = 5000000,
    LATE_AGE_NS = 100000000,
    LATE_CHECK_NS = 10000000,
    TEXT_BYTES = 160,
    THREAD_FLAGS = GREC_SAMPLER | GREC_ALL_THREADS,
};

enum sampler_phase { SAMPLER_WAITS = 0, SAMPLER_HAS_BEGUN, SAMPLER_NEVER_BEGINS };

static struct {
    struct own_thread thread;
    uint32_t phase;                /* enum sampler_phase */
    uint32_t end_word;             /* not 0: the thread must end */
    uint32_t wake_word;            /* a futex; it changes when the thread must end, or when a round is demanded */
    uint32_t demand_count;         /* threads that wait for a round */
    uint32_t started_count;        /* rounds that have begun; only the sampler's thread changes it */
    uint32_t ended_count;          /* rounds that have ended; a futex; only the sampler's thread changes it */
    bool has_trace_file;           /* open in the thread's own table */
    uint32_t makes_rounds;         /* 1 while the sampler's thread makes rounds */
    struct sampler_settings asked; /* the settings for the next round; other threads change the members */
    uint64_t interval_ns;
    uint64_t next_slow_ns;
    uint64_t next_list_ns;
    uint64_t list_period_ns;
    uint32_t flags; /* what the sampler does now: those of THREAD_FLAGS that were asked for */
    bool begins_late;
    bool begins_alone; /* the thread that started the sampler was the only one then */
    struct thread_observer_starter starter;
    bool is_prepared; /* prepare has been called since the start */
    bool can_be_quiet;
    bool was_quiet;     /* no regular rounds were made before this one, which is due because a thread has run */
    bool knows_threads; /* the last round has found all threads of that time */
    void (*callback)(void *context); /* called after each round; NULL: none */
    void *callback_context;
    uint64_t tick_count;
    uint64_t late_tick_count;
    uint64_t worked_ns;    /* when a thread was last found to have run */
    uint64_t round_ns;     /* when the last round was, for next_step_ns */
    uint64_t round_cpu_ns; /* processor time of the program at the last round, for take_program_cpu_ns */
} sampler;

/* The process has just been forked, and the sampler was neither started nor changed since. The sampler's thread does
 * not use it. */
static bool is_of_child;

static long futex(uint32_t *word, int operation, uint32_t value, const struct timespec *timeout) {
    return syscall(SYS_futex, word, operation, value, timeout, NULL, FUTEX_BITSET_MATCH_ANY);
}

/* ---- Rounds. ---- */

static void write_tick(struct recording *recording, const uint64_t ns[3]) {
    if (!recording_reserve(recording, 2 + 4 * LEB128_BYTES_MAX)) return;
    uint64_t time = recording_time(recording->writer);
    unsigned char *at = leb128_write(short_block_begin(recording->writer, TRACE_TICK), time);
    for (int i = 0; i < 3; i++) at = leb128_write(at, ns[i]);
    short_block_end(recording->writer, at);
}

/* Programs prepare generated code when they start, so that the first periods are short. */
static void read_list(uint64_t now_ns) {
    if (now_ns < sampler.next_list_ns) return;
    sampler.next_list_ns = now_ns + sampler.list_period_ns;
    sampler.list_period_ns *= 2;
    if (sampler.list_period_ns > SLOW_PERIOD_NS) sampler.list_period_ns = SLOW_PERIOD_NS;
    libraries_read_list();
}

static void do_slow_work(uint64_t now_ns) {
    if (now_ns < sampler.next_slow_ns) return;
    sampler.next_slow_ns = now_ns + SLOW_PERIOD_NS;
    pool_drop_old(&recording_pool);
    thread_observer_refresh_names();
}

static void leave_threads(void) {
    sampler.knows_threads = false;
    thread_observer_pause();
}

static void prepare_threads(uint64_t now_ns) {
    if (!sampler.knows_threads) task_list_forget_times();
    thread_signal_refresh();
    libraries_refresh(false);
    mappings_read_wanted(now_ns);
    task_list_refresh(now_ns);
    read_list(now_ns);
    do_slow_work(now_ns);
}

static uint32_t asked_flags(void) { return __atomic_load_n(&sampler.asked.flags, __ATOMIC_RELAXED); }

static bool is_demanded(void) { return __atomic_load_n(&sampler.demand_count, __ATOMIC_SEQ_CST) != 0; }

static void prepare_chunks(void) {
    if (pool_is_low(&recording_pool)) pool_reserve_ahead(&recording_pool);
}

static void make_round(uint64_t now_ns) {
    uint64_t times_ns[4] = {now_ns};
    if (recording_has_command()) recording_obey();
    if (!recording_is_on()) {
        sampler.worked_ns = now_ns;
        leave_threads();
        return;
    }
    sampler.interval_ns = (uint64_t)__atomic_load_n(&sampler.asked.interval_us, __ATOMIC_RELAXED) * 1000;
    uint32_t flags = asked_flags();
    bool is_paused = __atomic_load_n(&sampler.asked.is_paused, __ATOMIC_RELAXED);
    bool samples_threads = !is_paused || is_demanded();
    const struct thread_observer_rules rules = {.interval_ns = sampler.interval_ns,
                                                .finds_new_threads = sampler.knows_threads && !is_paused,
                                                .looks_at_all = sampler.was_quiet || is_demanded(),
                                                .takes_no_stacks = flags & GREC_NO_STACKS,
                                                .takes_demanded_alone = is_paused};
    thread_observer_limit(&rules);
    if (samples_threads)
        prepare_threads(now_ns);
    else
        leave_threads();
    times_ns[1] = clock_ns_of(CLOCK_MONOTONIC);
    process_counters_sample(now_ns, flags);
    counters_sample();
    times_ns[2] = clock_ns_of(CLOCK_MONOTONIC);
    uint32_t running_count = samples_threads ? thread_observer_round() : 0;
    sampler.knows_threads = !is_paused;
    if (running_count) sampler.worked_ns = clock_ns_of(CLOCK_MONOTONIC);
    times_ns[3] = clock_ns_of(CLOCK_MONOTONIC);
    struct recording recording = recording_enter();
    if (!recording.thread) return;
    const uint64_t spent_ns[] = {times_ns[1] - times_ns[0], times_ns[2] - times_ns[1], times_ns[3] - times_ns[2]};
    write_tick(&recording, spent_ns);
    recording_leave(&recording);
    prepare_chunks();
    libraries_reclaim();
}

/* Reports how many of the rounds that were asked for were made. */
static void report_rounds(void) {
    char text[TEXT_BYTES];
    snprintf(text, sizeof text, "sampler: %llu rounds, every %llu µs asked for, %llu left out",
             (unsigned long long)sampler.tick_count, (unsigned long long)sampler.interval_ns / 1000,
             (unsigned long long)sampler.late_tick_count);
    recording_write_message(text);
}

static void wake_up(void) {
    __atomic_fetch_add(&sampler.wake_word, 1, __ATOMIC_SEQ_CST);
    futex(&sampler.wake_word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT_MAX, NULL);
    work_alarm_ring();
}

/* Sleeps until the deadline. If a round is demanded, sleeps only as long as threads need to answer the previous round.
 * Returns false if the thread must end. */
static bool sleep_until(uint64_t deadline_ns) {
    enum { DEMANDED_STEP_NS = 200000 };
    uint64_t start_ns = clock_ns_of(CLOCK_MONOTONIC);
    for (;;) {
        uint32_t seen = __atomic_load_n(&sampler.wake_word, __ATOMIC_SEQ_CST);
        if (is_demanded() && deadline_ns > start_ns + DEMANDED_STEP_NS) deadline_ns = start_ns + DEMANDED_STEP_NS;
        uint64_t now_ns = clock_ns_of(CLOCK_MONOTONIC), check_ns = now_ns + OWN_THREAD_CHECK_NS;
        if (__atomic_load_n(&sampler.end_word, __ATOMIC_ACQUIRE)) return false;
        if (own_thread_is_alone(&sampler.thread, now_ns)) return false;
        if (now_ns >= deadline_ns) return true;
        struct timespec until = clock_timespec(deadline_ns < check_ns ? deadline_ns : check_ns);
        futex(&sampler.wake_word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, seen, &until);
    }
}

/* Returns the processor time that the process has used since the last call, without that of this thread. */
static uint64_t take_program_cpu_ns(void) {
    uint64_t own_ns = clock_ns_of(CLOCK_THREAD_CPUTIME_ID), cpu_ns = clock_ns_of(CLOCK_PROCESS_CPUTIME_ID) - own_ns;
    uint64_t used_ns = cpu_ns - sampler.round_cpu_ns;
    sampler.round_cpu_ns = cpu_ns;
    return used_ns;
}

/* Threads leave their stacks without the sampler. With an interval below a millisecond, it takes several at once, but
 * no more than a thread has room for. The samplers of many processes that share the processors make no more rounds
 * together than that of one busy program. */
static uint64_t next_step_ns(uint64_t now_ns) {
    if (sampler.interval_ns >= STEP_NS_MAX) return sampler.interval_ns;
    uint64_t passed_ns = now_ns - sampler.round_ns, used_ns = take_program_cpu_ns();
    sampler.round_ns = now_ns;
    return used_ns >= passed_ns / 2 ? STEP_NS_MIN : STEP_NS_MAX;
}

/* Skips rounds that were missed: otherwise they would come in a burst. */
static uint64_t next_deadline(uint64_t deadline_ns) {
    uint64_t now_ns = clock_ns_of(CLOCK_MONOTONIC);
    deadline_ns += next_step_ns(now_ns);
    if (deadline_ns <= now_ns) {
        uint64_t missed = (now_ns - deadline_ns) / sampler.interval_ns + 1;
        sampler.late_tick_count += missed;
        deadline_ns += missed * sampler.interval_ns;
    }
    return deadline_ns;
}

/* If all processors are busy, the kernel lets a thread that wakes up wait for a few milliseconds, unless its time
 * slices are shorter than those of other threads. Has an effect since Linux 6.12. */
static void ask_for_short_slices(void) {
    enum { SLICE_NS = 100000 };
    struct {
        uint32_t bytes_count;
        uint32_t policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime_ns;
        uint64_t deadline_ns;
        uint64_t period_ns;
    } attributes = {.bytes_count = 0};
    attributes.bytes_count = sizeof attributes;
    if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
    attributes.runtime_ns = SLICE_NS;
    syscall(SYS_sched_setattr, 0, &attributes, 0);
}

static bool is_quiet(uint64_t now_ns) {
    uint64_t after_ns = sampler.interval_ns > QUIET_AFTER_NS / 2 ? 2 * sampler.interval_ns : QUIET_AFTER_NS;
    return !is_demanded() && sampler.can_be_quiet && sampler.interval_ns < OWN_THREAD_CHECK_NS &&
           now_ns > sampler.worked_ns + after_ns;
}

/* Sleeps until the program has used some processor time, or a round is due anyway. Returns false if the thread must
 * end.
 */
static bool sleep_quietly(uint64_t now_ns) {
    uint64_t end_ns = now_ns + QUIET_ROUND_NS;
    take_program_cpu_ns();
    if (own_thread_is_alone(&sampler.thread, now_ns)) return false;
    do {
        work_alarm_wait(sampler.interval_ns, OWN_THREAD_CHECK_NS, &sampler.end_word);
        if (__atomic_load_n(&sampler.end_word, __ATOMIC_ACQUIRE)) return false;
        now_ns = clock_ns_of(CLOCK_MONOTONIC);
    } while (take_program_cpu_ns() < QUIET_CPU_NS && now_ns < end_ns && !recording_has_command() && !is_demanded());
    sampler.round_ns = now_ns;
    return true;
}

/* ---- Which threads are sampled, and whether any are. ---- */

static void leave_off(void) {
    __atomic_store_n(&sampler.makes_rounds, 0, __ATOMIC_SEQ_CST);
    thread_observer_finish();
    task_list_close(clock_ns_of(CLOCK_MONOTONIC));
}

static void describe_interval(void) {
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)sampler.interval_ns);
    definition_add_meta("samplingInterval", text);
}

static void prepare(void) {
    sampler.is_prepared = true;
    describe_interval();
    sampler.can_be_quiet = work_alarm_open();
    process_counters_open();
    sampled_threads_begin();
    thread_signal_begin();
    thread_observer_open();
}

/* Learning where the program's code is takes milliseconds. The threads' clocks run from before that, so the processor
 * time until the first stacks can be taken is counted. On a busy machine, this thread may have waited for a processor:
 * if all threads have begun since the start, their time is known. So is that of a child, whose sampler begins late. */
static void find_threads(uint64_t now_ns) {
    const struct thread_observer_rules rules = {
        .interval_ns = sampler.interval_ns,
        .finds_new_threads = sampler.begins_late || sampler.begins_alone,
        .only_opens_clocks = true,
        .writes_rest = sampler.begins_alone,
        .takes_no_stacks = asked_flags() & GREC_NO_STACKS,
        .takes_demanded_alone = __atomic_load_n(&sampler.asked.is_paused, __ATOMIC_RELAXED)};
    thread_observer_begin(&sampler.starter);
    thread_observer_limit(&rules);
    task_list_open(sampler.flags & GREC_ALL_THREADS);
    task_list_refresh(now_ns);
    thread_observer_round();
    sampler.knows_threads = true;
    sampler.begins_alone = false;
}

static void take_up(void) {
    uint64_t now_ns = clock_ns_of(CLOCK_MONOTONIC);
    bool is_first = !sampler.is_prepared;
    if (is_first) prepare();
    find_threads(now_ns);
    if (is_first) libraries_refresh(true);
    if (is_first) mappings_read(NULL);
    sampler.worked_ns = sampler.round_ns = now_ns;
    take_program_cpu_ns();
    __atomic_store_n(&sampler.makes_rounds, 1, __ATOMIC_SEQ_CST);
}

static void follow_flags(void) {
    uint32_t flags = asked_flags() & THREAD_FLAGS;
    if (flags == sampler.flags) return;
    if (sampler.flags & GREC_SAMPLER) leave_off();
    sampler.flags = flags;
    if (flags & GREC_SAMPLER) take_up();
}

/* Prepares chunks and waits for commands while sampling is not asked for. Counters leave out what happens meanwhile.
 * Returns false if the thread must end. */
static bool serve_unasked(uint64_t *deadline_ns) {
    while (!(asked_flags() & GREC_SAMPLER)) {
        uint32_t seen = __atomic_load_n(&recording_pool.shared->helper_word, __ATOMIC_ACQUIRE);
        __atomic_store_n(&sampler.makes_rounds, 0, __ATOMIC_SEQ_CST);
        *deadline_ns = clock_ns_of(CLOCK_MONOTONIC);
        if (__atomic_load_n(&sampler.end_word, __ATOMIC_ACQUIRE)) return false;
        if (own_thread_is_alone(&sampler.thread, *deadline_ns)) return false;
        if (recording_has_command()) recording_obey();
        if (__atomic_load_n(&grec_recording_, __ATOMIC_RELAXED) == RECORDING_OFF) return false;
        if (sampler.is_prepared)
            process_counters_sample(*deadline_ns, GREC_NO_PROCESS_CPU | GREC_NO_MEMORY | GREC_NO_POWER);
        pool_drop_old(&recording_pool);
        prepare_chunks();
        pool_wait_for_wake(&recording_pool, seen, OWN_THREAD_CHECK_NS);
    }
    return true;
}

/* Returns false if the thread must end. */
static bool await_round(uint64_t *deadline_ns) {
    follow_flags();
    if (!serve_unasked(deadline_ns)) return false;
    follow_flags();
    uint64_t now_ns = clock_ns_of(CLOCK_MONOTONIC);
    sampler.was_quiet = is_quiet(now_ns);
    if (!sampler.was_quiet) return sleep_until(*deadline_ns);
    bool is_due = sleep_quietly(now_ns);
    *deadline_ns = clock_ns_of(CLOCK_MONOTONIC);
    return is_due;
}

static bool runs_long_enough(uint64_t start_ns) {
    return clock_ns_of(CLOCK_PROCESS_CPUTIME_ID) >= LATE_CPU_NS ||
           clock_ns_of(CLOCK_MONOTONIC) - start_ns >= LATE_AGE_NS;
}

/* Waits, if the sampler begins late, until the process has run long enough or a round is demanded. Returns false if the
 * thread must end. */
static bool begin(void) {
    uint64_t start_ns = clock_ns_of(CLOCK_MONOTONIC);
    uint32_t phase = SAMPLER_WAITS;
    while (sampler.begins_late && !is_demanded() && !runs_long_enough(start_ns))
        if (!sleep_until(clock_ns_of(CLOCK_MONOTONIC) + LATE_CHECK_NS)) return false;
    return __atomic_compare_exchange_n(&sampler.phase, &phase, (uint32_t)SAMPLER_HAS_BEGUN, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED);
}

static void call_back(void) {
    void (*callback)(void *) = __atomic_load_n(&sampler.callback, __ATOMIC_ACQUIRE);
    if (callback) callback(__atomic_load_n(&sampler.callback_context, __ATOMIC_RELAXED));
}

static void run(void) {
    if (!begin()) return;
    prctl(PR_SET_TIMERSLACK, 1);
    ask_for_short_slices();
    if (own_files_are_private())
        __atomic_store_n(&sampler.has_trace_file, pool_restore_file(&recording_pool), __ATOMIC_RELAXED);
    uint64_t deadline_ns = clock_ns_of(CLOCK_MONOTONIC) + sampler.interval_ns;
    while (await_round(&deadline_ns)) {
        __atomic_fetch_add(&sampler.started_count, 1, __ATOMIC_SEQ_CST);
        make_round(clock_ns_of(CLOCK_MONOTONIC));
        __atomic_fetch_add(&sampler.ended_count, 1, __ATOMIC_SEQ_CST);
        if (is_demanded()) futex(&sampler.ended_count, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT_MAX, NULL);
        if (__atomic_load_n(&grec_recording_, __ATOMIC_RELAXED) == RECORDING_OFF) break;
        sampler.tick_count++;
        call_back();
        deadline_ns = next_deadline(deadline_ns);
    }
    if (sampler.flags & GREC_SAMPLER) leave_off();
    if (!sampler.is_prepared) return;
    report_rounds();
    work_alarm_close();
}

static bool start_thread(bool begins_late) {
    return own_thread_start(&sampler.thread, SAMPLER_THREAD_NAME, run, recording_pool.file, begins_late);
}

/* The program waits for this before it uses the sampler's signal itself. If a clock still sent that signal when the
 * program blocks it, the kernel would merge the program's own signal with it. The sampler needs more than a tenth of a
 * second if it reads the tables of a large program, or if the processors are busy. The limit is for a caller that has
 * interrupted a function whose lock the sampler waits for. */
static void await_new_signal(void) {
    static const uint64_t LIMIT_NS = 2000000000;
    if (sampler_has_begun()) sampler_demand_rounds(LIMIT_NS, NULL, NULL);
}

/* A program that registers its threads may take its own stacks, also right after the start. At long intervals, a stack
 * that reaches a library for the first time, and is asked for again, comes too late: in a short recording never. */
static bool needs_all_tables(const struct sampler_settings *settings) {
    enum { LONG_US = 10000 };
    return !(settings->flags & GREC_ALL_THREADS) || settings->interval_us >= LONG_US;
}

/* A child has only the thread that made it, and no sampler yet. */
static bool is_only_thread(void) {
    enum { LINKS_OF_FOLDER = 2 };
    struct stat status;
    if (is_of_child) return true;
    return stat("/proc/self/task", &status) == 0 && status.st_nlink == LINKS_OF_FOLDER + 1;
}

/* Returns how much processor time of the calling thread this sampler must not count. A program that was executed has
 * the time of the program before it in the same process, and of its own loading. If it is more than LATE_CPU_NS, and
 * nothing is known of the process, the program before it may have been sampled. A silent one has used no more before it
 * than until LATE_AGE_NS. If more was used since the last round of a sampled one, a program that was not recorded was
 * executed in between. */
static uint64_t uncounted_from_ns(const struct sampler_settings *settings) {
    uint64_t used_ns = clock_ns_of(CLOCK_THREAD_CPUTIME_ID), limit_ns = 0;
    uint64_t told_ns = settings->past == PAST_IS_TOLD ? told_time_load() : 0;
    uint64_t untold_ns_max = LATE_AGE_NS + (uint64_t)settings->interval_us * 1000;
    if (told_ns && told_ns < used_ns && used_ns - told_ns < untold_ns_max) return told_ns;
    if (settings->past == PAST_IS_UNKNOWN) limit_ns = LATE_CPU_NS;
    if (settings->past == PAST_IS_SILENT) limit_ns = LATE_AGE_NS;
    return used_ns < limit_ns ? 0 : used_ns;
}

bool sampler_start(const struct sampler_settings *settings, bool begins_late) {
    if (settings->flags & GREC_SAMPLER) unsampled_define();
    thread_signal_take(await_new_signal);
    thread_observer_drop_records();
    sampler.end_word = 0;
    sampler.flags = 0;
    sampler.started_count = sampler.ended_count = 0;
    __atomic_store_n(&sampler.makes_rounds, 1, __ATOMIC_SEQ_CST);
    sampler.phase = SAMPLER_WAITS;
    sampler.begins_late = begins_late;
    sampler.begins_alone = settings->flags & GREC_SAMPLER && !settings->is_paused && is_only_thread();
    sampler.starter = (struct thread_observer_starter){.tid = process_own_tid(), .cpu_ns = uncounted_from_ns(settings)};
    if (sampler.begins_alone && settings->past == PAST_IS_TOLD) told_time_store(sampler.starter.cpu_ns);
    sampler.is_prepared = sampler.has_trace_file = false;
    sampler.tick_count = sampler.late_tick_count = 0;
    sampler.next_slow_ns = sampler.next_list_ns = 0;
    sampler.list_period_ns = SLOW_PERIOD_NS / 16;
    sampler_change(settings);
    sampler.interval_ns = (uint64_t)settings->interval_us * 1000;
    if (needs_all_tables(settings)) unwind_snapshot_want_all();
    libc_thread_init();
    return start_thread(begins_late);
}

bool sampler_has_begun(void) { return __atomic_load_n(&sampler.phase, __ATOMIC_ACQUIRE) == SAMPLER_HAS_BEGUN; }

bool sampler_samples_threads(void) { return own_thread_count() && asked_flags() & GREC_SAMPLER; }

bool sampler_has_trace_file(void) {
    return own_thread_count() && __atomic_load_n(&sampler.has_trace_file, __ATOMIC_RELAXED);
}

bool sampler_is_started(void) { return sampler.thread.is_running; }

void sampler_await_begin(void) {
    if (!own_thread_count()) return;
    int saved_errno = errno;
    own_thread_await_begin(&sampler.thread);
    errno = saved_errno;
}

void sampler_change(const struct sampler_settings *settings) {
    is_of_child = false;
    __atomic_store_n(&sampler.asked.interval_us, settings->interval_us, __ATOMIC_RELAXED);
    __atomic_store_n(&sampler.asked.flags, settings->flags, __ATOMIC_RELAXED);
    __atomic_store_n(&sampler.asked.is_paused, settings->is_paused, __ATOMIC_RELAXED);
}

/* Returns false if the sampler has not begun to make rounds, and so never will. */
static bool has_begun_at_end(void) {
    uint32_t phase = SAMPLER_WAITS;
    __atomic_compare_exchange_n(&sampler.phase, &phase, (uint32_t)SAMPLER_NEVER_BEGINS, false, __ATOMIC_ACQ_REL,
                                __ATOMIC_RELAXED);
    __atomic_store_n(&sampler.end_word, 1, __ATOMIC_SEQ_CST);
    return phase == SAMPLER_HAS_BEGUN;
}

static void tell_to_end(void) {
    wake_up();
    pool_wake_all_helpers(&recording_pool);
}

void sampler_stop(bool is_process_ending) {
    is_of_child = false;
    if (!sampler.thread.is_running) return;
    if (!has_begun_at_end() && is_process_ending) return;
    tell_to_end();
    own_thread_join(&sampler.thread);
    __atomic_store_n(&sampler.makes_rounds, 0, __ATOMIC_SEQ_CST);
    own_signal_end();
}

bool sampler_finish(uint64_t limit_ns) {
    if (!sampler.thread.is_running || !has_begun_at_end()) return true;
    tell_to_end();
    return own_thread_await_end(&sampler.thread, limit_ns);
}

void sampler_write_unsampled(void) {
    const struct thread_observer_rules rules = {.interval_ns = sampler.interval_ns,
                                                .finds_new_threads = true,
                                                .takes_no_stacks = asked_flags() & GREC_NO_STACKS};
    bool is_due = __atomic_load_n(&sampler.phase, __ATOMIC_ACQUIRE) == SAMPLER_NEVER_BEGINS && sampler.begins_alone;
    if (!is_due) return;
    uint64_t used_ns = clock_ns_of(CLOCK_PROCESS_CPUTIME_ID) - sampler.starter.cpu_ns;
    uint64_t all_ns = thread_observer_gather_unseen(used_ns, sampler.interval_ns);
    if (!all_ns || all_ns < used_ns) return;
    sampler.starter.unseen_ns = all_ns - used_ns;
    sampled_threads_begin();
    thread_observer_begin(&sampler.starter);
    thread_observer_limit(&rules);
    thread_observer_write_rests();
}

static bool makes_rounds(void) { return __atomic_load_n(&sampler.makes_rounds, __ATOMIC_SEQ_CST) && recording_is_on(); }

/* Waits for the end of one more round, or a tenth of a second. */
static void await_end(uint32_t ended_count) {
    enum { LOOK_NS = 100000000 };
    struct timespec until = clock_timespec(clock_ns_of(CLOCK_MONOTONIC) + LOOK_NS);
    futex(&sampler.ended_count, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, ended_count, &until);
}

bool sampler_demand_rounds(uint64_t limit_ns, bool (*is_done)(void *context), void *context) {
    uint64_t end_ns = clock_ns_of(CLOCK_MONOTONIC) + limit_ns;
    uint32_t started_count = __atomic_load_n(&sampler.started_count, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&sampler.demand_count, 1, __ATOMIC_SEQ_CST);
    wake_up();
    bool is_over = false;
    while (!is_over && makes_rounds() && clock_ns_of(CLOCK_MONOTONIC) < end_ns) {
        uint32_t ended_count = __atomic_load_n(&sampler.ended_count, __ATOMIC_SEQ_CST);
        is_over = is_done ? is_done(context) : (int32_t)(ended_count - started_count) >= 2;
        if (!is_over) await_end(ended_count);
    }
    __atomic_fetch_sub(&sampler.demand_count, 1, __ATOMIC_SEQ_CST);
    return is_over;
}

void sampler_call_after_rounds(void (*callback)(void *context), void *context) {
    __atomic_store_n(&sampler.callback_context, context, __ATOMIC_RELAXED);
    __atomic_store_n(&sampler.callback, callback, __ATOMIC_RELEASE);
}

void sampler_forget(void) {
    if (thread_observer_has_stuck_handler()) return;
    libraries_forget();
    unwind_snapshot_forget();
    mappings_forget();
}

/* A child that is made by clone has no sampler: its end tells what it has used. */
void sampler_leave_parent(void) {
    own_signal_enter_child();
    sampler.phase = SAMPLER_NEVER_BEGINS;
    is_of_child = true;
    sampler.begins_alone = !sampler.asked.is_paused && recording_is_on();
    sampler.starter = (struct thread_observer_starter){.tid = process_own_tid()};
    sampler.makes_rounds = sampler.demand_count = 0;
    own_thread_forget(&sampler.thread);
}
