/* Processes fork while threads record. All processes record into one trace. The trace must have each process's
 * events, whatever happens to the other processes. */
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "tests/support/crash_events.h"
#include "tests/support/freezer.h"
#include "tests/support/random_numbers.h"
#include "tests/support/temp_folder.h"
#include "tests/support/unit_test.h"

enum {
    THREAD_COUNT = 4,
    CHILD_COUNT = CRASH_IS_SANITIZED ? 90 : 500,
    RELATIVE_COUNT_MAX = 2 * CHILD_COUNT, /* a grandchild's number is its parent's number plus CHILD_COUNT */
    CHILD_EVENT_COUNT_MAX = 40,
    UNWANTED_EVENT = 63, /* an event that must not be in the trace */
    LIVING_COUNT_MAX = 8,
    SMALL_CHUNK_BYTES = 4096,
    PAGE_BYTES = 4096,
    FAULT_BYTES = 256,
};

/* Memory that all processes share. */
struct family {
    struct crash_log log; /* log of the parent's threads, in pages of its own */
    _Alignas(PAGE_BYTES) char path[PATH_MAX / 2 + 32];
    uint32_t is_over;
    uint32_t within_call_count; /* forks inside a recording call */
    struct relative {
        int32_t pid;
        uint32_t returned_count; /* events whose recording call has returned */
    } relatives[RELATIVE_COUNT_MAX];
};

static const struct grec_field child_fields[] = {GREC_FIELD("relative", NULL, GREC_FORMAT_INTEGER),
                                                 GREC_FIELD("event", NULL, GREC_FORMAT_INTEGER)};
static struct grec_marker_type child_type = GREC_MARKER_TYPE("Child", child_fields);
static struct grec_marker child_marker = GREC_MARKER("child", NULL, &child_type);

/* Forks a child that is killed when its parent ends. */
static pid_t fork_child(void) {
    pid_t pid = fork();
    if (pid == 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
    return pid;
}

static void record_child_event(unsigned number, uint32_t event) {
    const struct grec_value values[] = {GREC_INT(number), GREC_INT(event)};
    grec_instant(&child_marker, values, 2);
}

static void record_child_events(struct family *family, unsigned number, uint32_t count) {
    struct relative *relative = &family->relatives[number];
    relative->pid = (int32_t)syscall(SYS_getpid);
    for (uint32_t i = 0; i < count; i++) {
        record_child_event(number, relative->returned_count);
        __atomic_fetch_add(&relative->returned_count, 1, __ATOMIC_RELEASE);
    }
}

/* ---- The events of children in the trace. ---- */

static void tally_child(uint64_t *seen, const struct family *family, int64_t pid, const struct profile *profile,
                        const struct marker *marker, char fault[FAULT_BYTES]) {
    const struct marker_schema *schema = column_at(&profile->marker_schemas, marker->schema);
    if (!text_equal(schema->name, TEXT("Child"))) return;
    int64_t number = crash_marker_integer(profile, marker, 0), event = crash_marker_integer(profile, marker, 1);
    bool is_known = number >= 0 && number < RELATIVE_COUNT_MAX && event >= 0 && event < 64;
    if (!is_known || family->relatives[number].pid != pid || seen[number] >> event & 1)
        snprintf(fault, FAULT_BYTES, "event %d of relative %d in process %d", (int)event, (int)number, (int)pid);
    else
        seen[number] |= (uint64_t)1 << event;
}

static void check_children(const struct family *family, const struct profile *profile, char fault[FAULT_BYTES]) {
    static uint64_t seen[RELATIVE_COUNT_MAX];
    memset(seen, 0, sizeof seen);
    for (size_t i = 0; i < profile->threads.count; i++) {
        const struct thread *thread = profile_thread_at(profile, (thread_id){(uint32_t)i});
        int64_t pid = profile_process_at(profile, thread->process)->pid;
        for (size_t j = 0; j < thread->markers.count; j++) {
            const struct marker *marker = column_at(&thread->markers, j);
            if (marker->schema != MARKER_SCHEMA_NONE) tally_child(seen, family, pid, profile, marker, fault);
        }
    }
    for (unsigned i = 0; i < RELATIVE_COUNT_MAX && !*fault; i++) {
        uint64_t expected = ((uint64_t)1 << family->relatives[i].returned_count) - 1;
        if (seen[i] != expected)
            snprintf(fault, FAULT_BYTES, "relative %u has events %llx, not %llx", i, (unsigned long long)seen[i],
                     (unsigned long long)expected);
    }
}

static void assert_family(const struct family *family) {
    char fault[FAULT_BYTES] = "";
    struct crash_trace trace;
    assert_true(crash_check_file(family->path, &family->log, 1, false, fault, sizeof fault));
    if (*fault) fail_msg("%s", fault);
    assert_true(crash_trace_read(&trace, family->path));
    check_children(family, &trace.profile, fault);
    if (*fault) fail_msg("%s", fault);
    crash_trace_fini(&trace);
}

/* ---- The parent. ---- */

static void *record_until_over(void *context) {
    struct worker {
        struct family *family;
        unsigned slot;
    } *worker = context;
    enum { BURST_COUNT = CRASH_IS_SANITIZED ? 8 : 64 };
    while (!__atomic_load_n(&worker->family->is_over, __ATOMIC_ACQUIRE)) {
        for (int i = 0; i < BURST_COUNT; i++) crash_record(&worker->family->log, worker->slot);
        crash_sleep_us(CRASH_IS_SANITIZED ? 2000 : 300);
    }
    return NULL;
}

struct parent {
    struct worker {
        struct family *family;
        unsigned slot;
    } workers[THREAD_COUNT];
    pthread_t threads[THREAD_COUNT];
};

static void parent_start(struct parent *parent, struct family *family, struct grec_options options) {
    options.path = family->path;
    if (!options.chunk_bytes) options.chunk_bytes = SMALL_CHUNK_BYTES;
    if (!options.limit_bytes) options.limit_bytes = GREC_UNLIMITED;
    CRASH_CHECK(grec_start(&options) == GREC_OK);
    crash_log_open(&family->log, 1);
    for (unsigned i = 0; i < CRASH_SLOT_COUNT; i++) family->log.slots[i].pid = (int32_t)getpid();
    for (unsigned i = 0; i < THREAD_COUNT; i++) {
        parent->workers[i] = (struct worker){family, i};
        CRASH_CHECK(pthread_create(&parent->threads[i], NULL, record_until_over, &parent->workers[i]) == 0);
    }
}

static void parent_stop(struct parent *parent) {
    struct grec_status status;
    __atomic_store_n(&parent->workers[0].family->is_over, 1, __ATOMIC_RELEASE);
    for (unsigned i = 0; i < THREAD_COUNT; i++) pthread_join(parent->threads[i], NULL);
    grec_get_status(&status);
    CRASH_CHECK(status.events_lost == 0 && status.definitions_lost == 0 && status.stop_errno == 0);
    grec_stop();
}

/* Returns memory that all processes of a scenario share; free it with end_family. */
static struct family *make_family(const char *name, struct temp_folder *folder) {
    struct family *family = crash_share(sizeof *family);
    assert_true(temp_folder_init(folder));
    snprintf(family->path, sizeof family->path, "%s/%s", folder->path, name);
    return family;
}

/* Makes a family and runs a scenario in a child process. The test fails if the child fails. */
static struct family *run_family(void (*scenario)(void *), const char *name, struct temp_folder *folder) {
    struct family *family = make_family(name, folder);
    int status = crash_run(scenario, family);
    if (status != 0) fail_msg("status %d (%s)", status, folder->path);
    return family;
}

static void end_family(struct family *family, struct temp_folder *folder) {
    munmap(family, sizeof *family);
    temp_folder_fini(folder);
}

/* ---- Children of all kinds. ---- */

enum child_kind {
    RECORDS,
    STOPS,
    EXECUTES,
    EXITS,
    HAS_CHILD,
    HAS_THREAD,
    PAUSES,
    IS_CLONED,
    EXECUTES_AT_ONCE, /* calls vfork and execve */
    IS_KILLED,
    CHILD_KIND_COUNT
};

static char *const no_texts[] = {NULL};

static void execute(void) {
    char *arguments[] = {(char *)(uintptr_t) "true", NULL};
    execve("/bin/true", arguments, no_texts);
    _exit(127);
}

struct child_thread {
    struct family *family;
    unsigned number;
};

static void *record_in_thread(void *context) {
    struct child_thread *child = context;
    record_child_events(child->family, child->number, 7);
    return NULL;
}

static void live(struct family *family, unsigned number, enum child_kind kind) {
    uint32_t count = 1 + number % (CHILD_EVENT_COUNT_MAX - 8);
    struct child_thread child = {family, number};
    pthread_t thread;
    pid_t pid;
    if (kind == EXITS) _exit(0);
    record_child_events(family, number, count);
    switch (kind) {
        case STOPS:
            grec_stop();
            record_child_event(number, UNWANTED_EVENT);
            break;
        case EXECUTES: execute(); break;
        case HAS_CHILD:
            pid = fork_child();
            if (pid == 0) {
                record_child_events(family, number + CHILD_COUNT, count);
                _exit(0);
            }
            record_child_events(family, number, 1);
            CRASH_CHECK(pid > 0 && crash_wait(pid) == 0);
            record_child_events(family, number, 1);
            break;
        case HAS_THREAD:
            CRASH_CHECK(pthread_create(&thread, NULL, record_in_thread, &child) == 0);
            pthread_join(thread, NULL);
            break;
        case PAUSES:
            grec_pause();
            record_child_event(number, UNWANTED_EVENT);
            grec_resume();
            record_child_events(family, number, 1);
            break;
        case IS_KILLED: syscall(SYS_kill, syscall(SYS_getpid), SIGKILL); break;
        default: break;
    }
    syscall(SYS_exit_group, 0);
}

static pid_t bear(struct family *family, unsigned number) {
    enum child_kind kind = (enum child_kind)(number % CHILD_KIND_COUNT);
    /* Avoid cases that the sanitizers do not support. The thread sanitizer's runtime has to see each fork, and does
     * not allow new threads after a fork. The address sanitizer's allocator may deadlock in a new thread if another
     * thread held a lock of the allocator at the fork. */
    if (kind == IS_CLONED && CRASH_IS_TSAN) kind = RECORDS;
    if (kind == HAS_THREAD && CRASH_IS_SANITIZED) kind = RECORDS;
    pid_t pid;
    if (kind == EXECUTES_AT_ONCE) {
        char *arguments[] = {(char *)(uintptr_t) "true", NULL};
        pid = vfork();
        if (pid == 0) {
            execve("/bin/true", arguments, no_texts);
            _exit(127);
        }
        return pid;
    }
    /* A clone by system call does not run the handlers of pthread_atfork. */
    pid = kind == IS_CLONED ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork_child();
    if (pid == 0) live(family, number, kind);
    return pid;
}

static void await_child(unsigned *living_count) {
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, 0)) < 0 && errno == EINTR) {
    }
    CRASH_CHECK(pid > 0);
    CRASH_CHECK(WIFEXITED(status) ? WEXITSTATUS(status) == 0 : WTERMSIG(status) == SIGKILL);
    --*living_count;
}

static void fork_many(void *context) {
    struct family *family = context;
    struct parent parent;
    unsigned living_count = 0;
    parent_start(&parent, family, (struct grec_options){0});
    for (unsigned i = 0; i < CHILD_COUNT; i++) {
        CRASH_CHECK(bear(family, i) > 0);
        crash_record(&family->log, THREAD_COUNT);
        if (++living_count == LIVING_COUNT_MAX) await_child(&living_count);
    }
    while (living_count) await_child(&living_count);
    parent_stop(&parent);
}

TEST(test_children_of_all_kinds) {
    struct temp_folder folder;
    struct family *family = run_family(fork_many, "many.trace", &folder);
    assert_family(family);
    unsigned with_events_count = 0;
    for (unsigned i = 0; i < RELATIVE_COUNT_MAX; i++) with_events_count += family->relatives[i].returned_count > 0;
    /* Of each ten kinds, two record no events and one has a grandchild that records. */
    assert_int_equal(with_events_count, CHILD_COUNT / 10 * 9);
    end_family(family, &folder);
}

/* ---- Forks in signal handlers. ---- */

enum { HANDLER_FORK_COUNT = CRASH_IS_SANITIZED ? 30 : 150 };

static struct family *handler_family;
static volatile unsigned fork_count;
static volatile int born = -1; /* number of the child in the child; -1 in the parent */

static timer_t handler_timer;

/* Sets the timer again with a random delay. With a periodic timer, a signal that comes while its handler runs would
 * next come at the same instruction again. */
static void set_handler_timer(void) {
    static struct random_numbers numbers = {7};
    struct itimerspec time = {.it_value.tv_nsec = (long)(50000 + random_below(&numbers, 400000))};
    CRASH_CHECK(timer_settime(handler_timer, 0, &time, NULL) == 0);
}

static void fork_in_handler(int signal_number) {
    int saved_errno = errno;
    if (born >= 0 || fork_count == HANDLER_FORK_COUNT) return;
    unsigned number = fork_count;
    pid_t pid = fork_child();
    CRASH_CHECK(pid >= 0);
    if (pid > 0) {
        fork_count = number + 1;
        CRASH_CHECK(crash_wait(pid) == 0);
        set_handler_timer();
    } else {
        /* The child continues the recording call that the fork interrupted. Map private memory over the log, so that
         * the child does not change the parent's log. */
        void *log = mmap(&handler_family->log, offsetof(struct family, path), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        CRASH_CHECK(log == &handler_family->log);
        born = (int)number;
        if (grec_is_recording())
            record_child_events(handler_family, number, 5);
        else
            record_child_event(number, UNWANTED_EVENT);
    }
    errno = saved_errno;
}

static void end_child_of_handler(struct family *family) {
    unsigned number = (unsigned)born;
    if (grec_is_recording()) {
        record_child_events(family, number, 5);
        if (number % 2) grec_stop();
        _exit(0);
    }
    __atomic_fetch_add(&family->within_call_count, 1, __ATOMIC_RELAXED);
    record_child_event(number, UNWANTED_EVENT);
    CRASH_CHECK(grec_now() == 0);
    grec_stop();
    _exit(0);
}

static void fork_in_handlers(void *context) {
    struct family *family = context;
    struct parent parent;
    struct sigaction action = {.sa_handler = fork_in_handler, .sa_flags = SA_RESTART};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
    handler_family = family;
    CRASH_CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    parent_start(&parent, family, (struct grec_options){0});
    event._sigev_un._tid = (int)syscall(SYS_gettid);
    CRASH_CHECK(timer_create(CLOCK_MONOTONIC, &event, &handler_timer) == 0);
    set_handler_timer();
    struct random_numbers numbers = {7};
    while (fork_count < HANDLER_FORK_COUNT) {
        if (!crash_record(&family->log, THREAD_COUNT)) GREC_INSTANT("beyond the log", GREC_OTHER);
        for (volatile uint32_t i = random_below(&numbers, CRASH_IS_SANITIZED ? 4096 : 64); i; i--) {
        }
        if (born >= 0) end_child_of_handler(family);
    }
    timer_delete(handler_timer);
    parent_stop(&parent);
}

TEST(test_forks_in_signal_handlers) {
    struct temp_folder folder;
    struct family *family = run_family(fork_in_handlers, "handlers.trace", &folder);
    family->log.continued_count_max = HANDLER_FORK_COUNT - family->within_call_count;
    assert_family(family);
    print_message("%u of %u forks within a recording call\n", family->within_call_count, HANDLER_FORK_COUNT);
    /* Sanitized runs make few children, so possibly none is forked inside a recording call. */
    if (!CRASH_IS_SANITIZED) assert_int_not_equal(family->within_call_count, 0);
    end_family(family, &folder);
}

/* ---- Children under a limit. ---- */

enum { LIMIT_CHUNK_COUNT = 64, KILLED_COUNT = CRASH_IS_SANITIZED ? 120 : 200, LAST_EVENT_COUNT = 30 };

/* Forks many children and kills them. Each child leaves three chunks, so all children together use the whole limit
 * many times over. */
static void fork_and_kill(void *context) {
    struct family *family = context;
    struct grec_options options = {
        .path = family->path, .limit_bytes = LIMIT_CHUNK_COUNT * SMALL_CHUNK_BYTES, .chunk_bytes = SMALL_CHUNK_BYTES};
    struct grec_status status;
    CRASH_CHECK(grec_start(&options) == GREC_OK);
    for (unsigned i = 0; i < KILLED_COUNT; i++) {
        pid_t pid = fork_child();
        if (pid == 0) {
            enum { FILLING_COUNT = 900 };
            for (int j = 0; j < FILLING_COUNT; j++) GREC_INSTANT("filling", GREC_OTHER);
            record_child_events(family, i, LAST_EVENT_COUNT);
            kill(getpid(), SIGKILL);
        }
        CRASH_CHECK(pid > 0 && crash_wait(pid) == -SIGKILL);
        grec_get_status(&status);
        CRASH_CHECK(status.events_lost == 0);
        CRASH_CHECK(status.size_bytes <= options.limit_bytes);
    }
    CRASH_CHECK(status.chunks_recycled > KILLED_COUNT);
    grec_stop();
}

TEST(test_chunks_of_killed_children_are_recycled) {
    enum { CERTAIN_COUNT = 5 };
    struct temp_folder folder;
    struct crash_trace trace;
    char fault[FAULT_BYTES] = "";
    struct family *family = run_family(fork_and_kill, "killed.trace", &folder);
    assert_true(crash_trace_read(&trace, family->path));
    char *why = crash_trace_fault(&trace);
    if (why) fail_msg("%s", why);
    assert_true(trace.bytes_count <= LIMIT_CHUNK_COUNT * SMALL_CHUNK_BYTES);
    /* The last children must be complete. All other children have at most their first chunk. */
    size_t there_count[RELATIVE_COUNT_MAX] = {0};
    for (size_t i = 0; i < trace.profile.threads.count; i++) {
        const struct thread *thread = profile_thread_at(&trace.profile, (thread_id){(uint32_t)i});
        for (size_t j = 0; j < thread->markers.count; j++) {
            const struct marker *marker = column_at(&thread->markers, j);
            if (marker->schema != MARKER_SCHEMA_NONE) there_count[crash_marker_integer(&trace.profile, marker, 0)]++;
        }
    }
    for (unsigned i = 0; i < KILLED_COUNT - CERTAIN_COUNT; i++)
        if (there_count[i] < LAST_EVENT_COUNT) family->relatives[i].returned_count = (uint32_t)there_count[i];
    assert_int_equal(there_count[0], 0);
    check_children(family, &trace.profile, fault);
    if (*fault) fail_msg("%s", fault);
    crash_trace_fini(&trace);
    end_family(family, &folder);
}

/* ---- A stopped process, and a frozen one. ---- */

/* A child that is kept from running. */
struct halt {
    struct family *family;
    const struct freezer *freezer; /* NULL: a signal stops the child */
};

static void stop_process(const struct halt *halt, pid_t pid) {
    int status;
    if (halt->freezer)
        CRASH_CHECK(freezer_freeze(halt->freezer, pid));
    else
        CRASH_CHECK(kill(pid, SIGSTOP) == 0 && waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
}

static void continue_process(const struct halt *halt, pid_t pid) {
    CRASH_CHECK(halt->freezer ? freezer_thaw(halt->freezer) : kill(pid, SIGCONT) == 0);
}

static void await_word(const uint32_t *word, uint32_t value) {
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value) usleep(1000);
}

static void record_while_one_is_stopped(void *context) {
    const struct halt *halt = context;
    struct family *family = halt->family;
    struct grec_options options = {
        .path = family->path, .limit_bytes = LIMIT_CHUNK_COUNT * SMALL_CHUNK_BYTES, .chunk_bytes = SMALL_CHUNK_BYTES};
    struct grec_status status;
    char fault[FAULT_BYTES] = "";
    struct crash_trace trace;
    CRASH_CHECK(grec_start(&options) == GREC_OK);
    pid_t pid = fork_child();
    if (pid == 0) {
        record_child_events(family, 0, 10);
        await_word(&family->is_over, 1);
        record_child_events(family, 0, 10);
        _exit(0);
    }
    CRASH_CHECK(pid > 0);
    await_word(&family->relatives[0].returned_count, 10);
    stop_process(halt, pid);
    enum { FILLING_COUNT = 150000 };
    for (int i = 0; i < FILLING_COUNT; i++) GREC_INSTANT("filling", GREC_OTHER);
    record_child_events(family, 1, 10);
    grec_get_status(&status);
    CRASH_CHECK(status.events_lost == 0 && status.chunks_recycled > LIMIT_CHUNK_COUNT);
    /* Stopping must not wait for the stopped child. */
    struct rusage before, after;
    getrusage(RUSAGE_THREAD, &before);
    grec_control(GREC_STOP, GREC_PROCESS);
    getrusage(RUSAGE_THREAD, &after);
    CRASH_CHECK(after.ru_nvcsw - before.ru_nvcsw < 100);
    CRASH_CHECK(crash_trace_read(&trace, family->path));
    char *why = crash_trace_fault(&trace);
    CRASH_CHECK(!why);
    check_children(family, &trace.profile, fault);
    if (*fault) fprintf(stderr, "while it is stopped: %s\n", fault);
    CRASH_CHECK(!*fault);
    crash_trace_fini(&trace);
    __atomic_store_n(&family->is_over, 1, __ATOMIC_RELEASE);
    continue_process(halt, pid);
    CRASH_CHECK(crash_wait(pid) == 0);
}

/* All events must be in the trace: those of the child from before and after the halt, and those of its parent. */
static void run_with_halt(const struct freezer *freezer) {
    struct temp_folder folder;
    struct crash_trace trace;
    char fault[FAULT_BYTES] = "";
    struct family *family = make_family("stopped.trace", &folder);
    struct halt halt = {family, freezer};
    int status = crash_run(record_while_one_is_stopped, &halt);
    if (freezer) freezer_fini(freezer);
    assert_int_equal(status, 0);
    assert_int_equal(family->relatives[0].returned_count, 20);
    assert_true(crash_trace_read(&trace, family->path));
    char *why = crash_trace_fault(&trace);
    if (why) fail_msg("%s", why);
    check_children(family, &trace.profile, fault);
    if (*fault) fail_msg("%s", fault);
    crash_trace_fini(&trace);
    end_family(family, &folder);
}

TEST(test_stopped_child) { run_with_halt(NULL); }

TEST(test_frozen_child) {
    struct freezer freezer;
    if (!freezer_init(&freezer)) {
        print_message("not possible here: making a control group that can be frozen\n");
        skip();
    }
    run_with_halt(&freezer);
}

/* ---- Children that do not record. ---- */

static void fork_without_recording(void *context) {
    struct family *family = context;
    struct parent parent;
    parent_start(&parent, family, (struct grec_options){.flags = GREC_NO_CHILDREN});
    for (unsigned i = 0; i < 40; i++) {
        bool is_cloned = i % 2 && !CRASH_IS_TSAN;
        pid_t pid = is_cloned ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork_child();
        if (pid == 0) {
            struct grec_status status;
            if (!is_cloned) CRASH_CHECK(!grec_is_recording());
            for (uint32_t event = 0; event < 10; event++) record_child_event(i, event);
            CRASH_CHECK(!grec_is_recording());
            grec_get_status(&status);
            CRASH_CHECK(!status.is_recording);
            syscall(SYS_exit_group, 0);
        }
        CRASH_CHECK(pid > 0 && crash_wait(pid) == 0);
        crash_record(&family->log, THREAD_COUNT);
    }
    parent_stop(&parent);
}

TEST(test_no_children) {
    struct temp_folder folder;
    struct crash_trace trace;
    struct family *family = run_family(fork_without_recording, "alone.trace", &folder);
    assert_family(family);
    assert_true(crash_trace_read(&trace, family->path));
    assert_int_equal(trace.profile.processes.count, 1);
    crash_trace_fini(&trace);
    end_family(family, &folder);
}

/* ---- A child that is made by system call during a pause. ---- */

/* The child does not wait for the threads of its parent, which it does not have. Under the thread sanitizer, it is made
 * by fork, and there is no sampler: see bear. */
static void clone_in_pause(void *context) {
    enum { LIMIT_S = 60, FLAGS = CRASH_IS_TSAN ? 0 : GREC_SAMPLER | GREC_ALL_THREADS };
    struct family *family = context;
    struct parent parent;
    parent_start(&parent, family, (struct grec_options){.flags = FLAGS});
    while (!CRASH_IS_TSAN && grec_wait_for_sampling() != GREC_OK) {
    }
    grec_pause();
    pid_t pid = CRASH_IS_TSAN ? fork_child() : (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) {
        struct grec_status status;
        alarm(LIMIT_S);
        grec_get_status(&status);
        CRASH_CHECK(status.is_recording && status.is_paused);
        grec_stop();
        grec_get_status(&status);
        CRASH_CHECK(!status.is_recording);
        syscall(SYS_exit_group, 0);
    }
    CRASH_CHECK(pid > 0 && crash_wait(pid) == 0);
    grec_resume();
    parent_stop(&parent);
}

TEST(test_child_made_in_pause) {
    struct temp_folder folder;
    struct family *family = run_family(clone_in_pause, "pause.trace", &folder);
    end_family(family, &folder);
}

/* ---- A child with a recording of its own. ---- */

static void fork_and_start_anew(void *context) {
    struct family *family = context;
    struct parent parent;
    char path[sizeof family->path + 8];
    parent_start(&parent, family, (struct grec_options){0});
    pid_t pid = fork_child();
    if (pid == 0) {
        record_child_events(family, 0, 10);
        grec_stop();
        snprintf(path, sizeof path, "%s.own", family->path);
        CRASH_CHECK(grec_start(&(struct grec_options){.path = path}) == GREC_OK);
        for (int i = 0; i < 10; i++) GREC_INSTANT("own", GREC_OTHER);
        grec_stop();
        _exit(0);
    }
    CRASH_CHECK(pid > 0 && crash_wait(pid) == 0);
    parent_stop(&parent);
}

TEST(test_child_starts_anew) {
    struct temp_folder folder;
    struct crash_trace trace;
    char path[PATH_MAX];
    struct family *family = run_family(fork_and_start_anew, "first.trace", &folder);
    assert_family(family);
    snprintf(path, sizeof path, "%s.own", family->path);
    assert_true(crash_trace_read(&trace, path));
    char *why = crash_trace_fault(&trace);
    if (why) fail_msg("%s", why);
    assert_int_equal(trace.profile.threads.count, 1);
    const struct thread *thread = profile_thread_at(&trace.profile, (thread_id){0});
    assert_int_equal(thread->markers.count, 10);
    assert_int_equal(profile_process_at(&trace.profile, thread->process)->pid, family->relatives[0].pid);
    crash_trace_fini(&trace);
    end_family(family, &folder);
}

int main(void) {
    crash_events_init();
    return unit_tests_run(NULL, NULL);
}
