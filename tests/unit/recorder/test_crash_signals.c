/* Signal handlers record events and interrupt a recording thread at any instruction. All events of handlers and
 * threads must be in the trace exactly once. */
#include <pthread.h>
#include <sys/syscall.h>

#include "recorder/write/labels.h"
#include "tests/support/crash_events.h"
#include "tests/support/random_numbers.h"
#include "tests/support/temp_folder.h"
#include "tests/support/unit_test.h"

enum {
    THREAD_COUNT = 5,
    LEVEL_COUNT = 2, /* nested handlers that record */
    SMALL_CHUNK_BYTES = 4096,
    FAULT_BYTES = 256,
    HANDLER_EVENT_COUNT_MIN = 100, /* events that handlers must record before a storm may end */
};

static uint64_t duration_us(void) { return crash_setting("CRASH_MILLISECONDS", CRASH_IS_TSAN ? 100 : 250) * 1000; }

/* A storm of signals, and the work that threads repeat meanwhile. */
struct storm {
    struct crash_log *log;
    char folder[PATH_MAX / 2];
    void *(*work)(void *); /* the function of a thread */
    void (*beside)(struct storm *storm);
    uint32_t limit_chunk_count; /* limit in chunks; 0: unlimited */
    bool has_small_stack;       /* handlers run on a small alternate stack */
    bool is_over;
    struct storm_thread {
        struct storm *storm;
        unsigned number;
        pthread_t thread;
        int tid;
        unsigned char *stack;
    } threads[THREAD_COUNT];
};

static __thread struct storm_thread *self;
static __thread volatile int level;

/* Returns a log slot. The first slots are of the threads, the next ones of their handlers of the first level, then
 * those of the second level. */
static unsigned slot_of(unsigned thread_number, unsigned handler_level) {
    return thread_number + handler_level * THREAD_COUNT;
}

static void record_in_handler(int signal_number) {
    int saved_errno = errno;
    if (self && level < LEVEL_COUNT) {
        level++;
        unsigned slot = slot_of(self->number, (unsigned)level);
        if (slot < CRASH_SLOT_COUNT) crash_record(self->storm->log, slot);
        grec_sample();
        level--;
    }
    errno = saved_errno;
}

static bool is_over(const struct storm *storm) { return __atomic_load_n(&storm->is_over, __ATOMIC_ACQUIRE); }

/* Installs a small alternate stack. The page below it is inaccessible, to detect overflows. */
static void use_small_stack(struct storm_thread *thread) {
    enum { PAGE_BYTES = 4096, SMALL_STACK_BYTES = 8192, SANITIZED_STACK_BYTES = 65536, OWN_BYTES = 4096 };
    size_t bytes_count = CRASH_IS_SANITIZED ? SANITIZED_STACK_BYTES : SMALL_STACK_BYTES;
    /* On some processors the saved registers alone fill most of a small stack. */
    size_t least_bytes = (size_t)sysconf(_SC_MINSIGSTKSZ) + OWN_BYTES;
    if (bytes_count < least_bytes) bytes_count = (least_bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    thread->stack = crash_share(PAGE_BYTES + bytes_count);
    CRASH_CHECK(mprotect(thread->stack, PAGE_BYTES, PROT_NONE) == 0);
    stack_t stack = {.ss_sp = thread->stack + PAGE_BYTES, .ss_size = bytes_count};
    CRASH_CHECK(sigaltstack(&stack, NULL) == 0);
}

static void *run_thread(void *context) {
    struct storm_thread *thread = context;
    if (thread->storm->has_small_stack) use_small_stack(thread);
    self = thread;
    __atomic_store_n(&thread->tid, (int)syscall(SYS_gettid), __ATOMIC_RELEASE);
    void *result = thread->storm->work(thread);
    self = NULL;
    return result;
}

static void install_handler(const struct storm *storm) {
    struct sigaction action = {.sa_handler = record_in_handler, .sa_flags = SA_RESTART};
    action.sa_flags |= storm->has_small_stack ? SA_ONSTACK : SA_NODEFER;
    CRASH_CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
}

static void *send_signals(void *context) {
    struct storm *storm = context;
    struct random_numbers numbers = {1};
    while (!is_over(storm)) {
        struct storm_thread *thread = &storm->threads[random_below(&numbers, THREAD_COUNT)];
        int tid = __atomic_load_n(&thread->tid, __ATOMIC_ACQUIRE);
        if (tid > 0) syscall(SYS_tgkill, getpid(), tid, SIGUSR1);
        for (volatile uint32_t i = random_below(&numbers, 2000); i; i--) {
        }
    }
    return NULL;
}

/* Starts a timer that sends SIGUSR1 to the thread every 70 microseconds of CLOCK_MONOTONIC. */
static void start_timer(timer_t *timer, int tid) {
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
    struct itimerspec period = {{0, 70000}, {0, 70000}};
    event._sigev_un._tid = tid;
    CRASH_CHECK(timer_create(CLOCK_MONOTONIC, &event, timer) == 0);
    CRASH_CHECK(timer_settime(*timer, 0, &period, NULL) == 0);
}

static struct grec_options options_of(const struct storm *storm, char path[PATH_MAX], unsigned trace) {
    struct grec_options options = {.path = path, .limit_bytes = GREC_UNLIMITED, .chunk_bytes = SMALL_CHUNK_BYTES};
    if (storm->limit_chunk_count) options.limit_bytes = (uint64_t)storm->limit_chunk_count * SMALL_CHUNK_BYTES;
    snprintf(path, PATH_MAX, "%s/%u.trace", storm->folder, trace);
    return options;
}

static void wait_only(struct storm *storm) { crash_sleep_us(duration_us()); }

/* How often handlers looked at labels. */
static uint64_t label_look_count;

static uint64_t handler_event_count(const struct storm *storm) {
    uint64_t count = __atomic_load_n(&label_look_count, __ATOMIC_RELAXED);
    for (unsigned i = THREAD_COUNT; i < CRASH_SLOT_COUNT; i++)
        count += __atomic_load_n(&storm->log->slots[i].begun_count, __ATOMIC_ACQUIRE);
    return count;
}

static void run_storm(void *context) {
    struct storm *storm = context;
    char path[PATH_MAX];
    struct grec_options options = options_of(storm, path, 1);
    timer_t timers[THREAD_COUNT];
    pthread_t sender;
    for (unsigned i = 0; i < CRASH_SLOT_COUNT; i++) storm->log->slots[i].pid = (int32_t)getpid();
    install_handler(storm);
    CRASH_CHECK(grec_start(&options) == GREC_OK);
    crash_log_open(storm->log, 1);
    for (unsigned i = 0; i < THREAD_COUNT; i++) {
        storm->threads[i].storm = storm;
        storm->threads[i].number = i;
        CRASH_CHECK(pthread_create(&storm->threads[i].thread, NULL, run_thread, &storm->threads[i]) == 0);
        while (!__atomic_load_n(&storm->threads[i].tid, __ATOMIC_ACQUIRE)) crash_sleep_us(10);
        start_timer(&timers[i], storm->threads[i].tid);
    }
    CRASH_CHECK(pthread_create(&sender, NULL, send_signals, storm) == 0);
    storm->beside(storm);
    while (handler_event_count(storm) <= HANDLER_EVENT_COUNT_MIN) crash_sleep_us(1000);
    __atomic_store_n(&storm->is_over, true, __ATOMIC_RELEASE);
    pthread_join(sender, NULL);
    for (unsigned i = 0; i < THREAD_COUNT; i++) timer_delete(timers[i]);
    for (unsigned i = 0; i < THREAD_COUNT; i++) pthread_join(storm->threads[i].thread, NULL);
    crash_log_close(storm->log);
    struct grec_status status;
    grec_get_status(&status);
    CRASH_CHECK(status.events_lost == 0 && status.texts_cut == 0 && status.definitions_lost == 0);
    grec_stop();
}

static void check_storm(struct storm *storm) {
    struct temp_folder folder;
    char fault[FAULT_BYTES];
    assert_true(temp_folder_init(&folder));
    storm->log = crash_share(sizeof *storm->log);
    snprintf(storm->folder, sizeof storm->folder, "%s", folder.path);
    if (!storm->beside) storm->beside = wait_only;
    int status = crash_run(run_storm, storm);
    if (status != 0) fail_msg("status %d (%s)", status, folder.path);
    assert_int_not_equal(crash_check_folder(folder.path, storm->log, storm->limit_chunk_count, fault, sizeof fault), 0);
    if (*fault) fail_msg("%s (%s)", fault, folder.path);
    print_message("%llu events in handlers\n", (unsigned long long)handler_event_count(storm));
    munmap(storm->log, sizeof *storm->log);
    temp_folder_fini(&folder);
}

/* ---- Events in tight loops. ---- */

static void *record_events(void *context) {
    struct storm_thread *thread = context;
    while (!is_over(thread->storm))
        if (!crash_record(thread->storm->log, slot_of(thread->number, 0))) crash_sleep_us(1000);
    return NULL;
}

TEST(test_handlers_record_while_threads_record) {
    struct storm storm = {.work = record_events};
    check_storm(&storm);
}

TEST(test_handlers_on_a_small_stack) {
    struct storm storm = {.work = record_events, .has_small_stack = true};
    check_storm(&storm);
}

TEST(test_handlers_while_chunks_are_recycled) {
    struct storm storm = {.work = record_events, .limit_chunk_count = 96};
    check_storm(&storm);
}

/* ---- Registration. ---- */

static void *register_again_and_again(void *context) {
    struct storm_thread *thread = context;
    unsigned slot = slot_of(thread->number, 0);
    for (uint32_t i = 0; !is_over(thread->storm); i++) {
        if (i % 3) grec_thread_register(i % 2 ? "one name" : NULL);
        for (uint32_t j = 0; j < i % 4; j++) crash_record(thread->storm->log, slot);
        if (i % 5 == 1) grec_thread_register("another name");
        grec_thread_unregister();
    }
    return NULL;
}

TEST(test_handlers_interrupt_registration) {
    struct storm storm = {.work = register_again_and_again};
    check_storm(&storm);
}

TEST(test_handlers_interrupt_registration_within_a_limit) {
    struct storm storm = {.work = register_again_and_again, .limit_chunk_count = 96};
    check_storm(&storm);
}

/* ---- Starting, stopping, pausing and moving a recording. ---- */

static void start_and_stop(struct storm *storm) {
    char path[PATH_MAX];
    uint64_t end_us = crash_now_us() + duration_us();
    for (uint8_t trace = 1; crash_now_us() < end_us && trace < UINT8_MAX - 1; trace++) {
        crash_sleep_us(2000);
        crash_log_close(storm->log);
        grec_stop();
        struct grec_options options = options_of(storm, path, trace + 1u);
        CRASH_CHECK(grec_start(&options) == GREC_OK);
        crash_log_open(storm->log, (uint8_t)(trace + 1));
    }
}

TEST(test_handlers_while_recording_starts_and_stops) {
    struct storm storm = {.work = record_events, .beside = start_and_stop};
    check_storm(&storm);
}

TEST(test_registration_while_recording_starts_and_stops) {
    struct storm storm = {.work = register_again_and_again, .beside = start_and_stop};
    check_storm(&storm);
}

static void pause_resume_and_move(struct storm *storm) {
    char path[PATH_MAX];
    struct random_numbers numbers = {2};
    uint64_t end_us = crash_now_us() + duration_us();
    while (crash_now_us() < end_us) {
        struct grec_options options = options_of(storm, path, 1);
        options.limit_bytes = random_below(&numbers, 2) ? GREC_UNLIMITED : (uint64_t)64 << 20;
        crash_sleep_us(1000);
        crash_log_close(storm->log);
        grec_pause();
        if (random_below(&numbers, 2)) CRASH_CHECK(grec_start(&options) == GREC_OK);
        crash_sleep_us(200);
        grec_resume();
        crash_log_open(storm->log, 1);
    }
}

TEST(test_handlers_while_recording_pauses_and_moves) {
    struct storm storm = {.work = record_events, .beside = pause_resume_and_move};
    check_storm(&storm);
}

TEST(test_registration_while_recording_pauses_and_moves) {
    struct storm storm = {.work = register_again_and_again, .beside = pause_resume_and_move};
    check_storm(&storm);
}

/* ---- Nested events. ---- */

enum { NEST_COUNT = 6, RECORDED_NEST_COUNT = 4, NEST_BYTES = 4096 };

static unsigned char *nest_pages;

/* Records an event whose text is on an inaccessible page. Reading the text faults in the middle of the recording
 * call, and the handler records the next event. */
static void record_nest(unsigned number) {
    struct grec_value values[] = {GREC_TEXT_OF(nest_pages + number * NEST_BYTES, 5)};
    static const struct grec_field fields[] = {GREC_FIELD("text", NULL, GREC_FORMAT_STRING)};
    static struct grec_marker_type type = GREC_MARKER_TYPE("Nest", fields);
    static struct grec_marker marker = GREC_MARKER("nest", NULL, &type);
    grec_instant(&marker, values, 1);
}

static void open_page(int signal_number, siginfo_t *information, void *unused) {
    size_t number = (size_t)((unsigned char *)information->si_addr - nest_pages) / NEST_BYTES;
    sigset_t next;
    /* Unblock SIGSEGV for the next fault. The thread sanitizer's own handler runs with all signals blocked. */
    sigemptyset(&next);
    sigaddset(&next, SIGSEGV);
    pthread_sigmask(SIG_UNBLOCK, &next, NULL);
    CRASH_CHECK(number < NEST_COUNT);
    if (number + 1 < NEST_COUNT) record_nest((unsigned)number + 1);
    mprotect(nest_pages + number * NEST_BYTES, NEST_BYTES, PROT_READ);
}

static void nest(void *path) {
    struct sigaction action = {.sa_sigaction = open_page, .sa_flags = SA_SIGINFO | SA_NODEFER};
    struct grec_options options = {.path = path, .chunk_bytes = SMALL_CHUNK_BYTES};
    struct grec_status status;
    CRASH_CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
    nest_pages = crash_share(NEST_COUNT * NEST_BYTES);
    for (unsigned i = 0; i < NEST_COUNT; i++) snprintf((char *)nest_pages + i * NEST_BYTES, 8, "nest%u", i);
    CRASH_CHECK(grec_start(&options) == GREC_OK);
    for (unsigned round = 0; round < 3; round++) {
        mprotect(nest_pages, NEST_COUNT * NEST_BYTES, PROT_NONE);
        record_nest(0);
    }
    grec_get_status(&status);
    CRASH_CHECK(status.events_lost == 3);
    grec_stop();
}

TEST(test_three_handlers_deep) {
    struct temp_folder folder;
    struct crash_trace trace;
    unsigned counts[NEST_COUNT] = {0};
    assert_true(temp_folder_init(&folder));
    const char *path = temp_folder_file(&folder, "nest.trace");
    assert_int_equal(crash_run(nest, (void *)(uintptr_t)path), 0);
    assert_true(crash_trace_read(&trace, path));
    char *fault = crash_trace_fault(&trace);
    assert_string_equal(fault, "3 event that the recorder had no room for\n");
    free(fault);
    const struct thread *thread = profile_thread_at(&trace.profile, (thread_id){0});
    assert_int_equal(thread->markers.count, 3 * RECORDED_NEST_COUNT);
    for (size_t i = 0; i < thread->markers.count; i++) {
        struct text text = crash_marker_text(&trace.profile, column_at(&thread->markers, i), 0);
        assert_int_equal(text.bytes_count, 5);
        assert_memory_equal(text.bytes, "nest", 4);
        counts[text.bytes[4] - '0']++;
    }
    for (unsigned i = 0; i < RECORDED_NEST_COUNT; i++) assert_int_equal(counts[i], 3);
    crash_trace_fini(&trace);
    temp_folder_fini(&folder);
}

/* ---- Labels. ---- */

enum { LABEL_COUNT = 8, LABEL_DEPTH_MAX = 24 };

static struct grec_label labels[LABEL_COUNT];
static char label_texts[LABEL_COUNT][8];

static void push_some(uint32_t count, struct random_numbers *numbers);

/* Checks in a signal handler that every label was pushed, and is unchanged. */
static void check_label(const struct label_view *view) {
    ptrdiff_t number = view->label - labels;
    CRASH_CHECK(number >= 0 && number < LABEL_COUNT);
    CRASH_CHECK(view->text == label_texts[number]);
    CRASH_CHECK((view->file != NULL) == (number % 2));
    CRASH_CHECK(!view->file || view->file == label_texts[number]);
}

static void check_labels(int signal_number) {
    int saved_errno = errno;
    const struct grec_label_stack *stack = grec_label_stack_;
    struct stack_part part = {.low = (uint64_t)(uintptr_t)__builtin_frame_address(0)};
    if (self && stack && level < LEVEL_COUNT) {
        level++;
        uint8_t places[GREC_LABEL_DEPTH_MAX];
        uint32_t count = labels_find(stack, part, NULL, places);
        struct random_numbers numbers = {count + __atomic_load_n(&label_look_count, __ATOMIC_RELAXED)};
        CRASH_CHECK(count <= (LEVEL_COUNT + 1) * LABEL_DEPTH_MAX);
        for (uint32_t i = 0; i < count; i++) {
            const struct label_view view = labels_view(stack, places[i]);
            check_label(&view);
        }
        __atomic_fetch_add(&label_look_count, 1, __ATOMIC_RELAXED);
        grec_sample();
        push_some(1 + random_below(&numbers, 3), &numbers);
        level--;
    }
    errno = saved_errno;
}

static void push_some(uint32_t count, struct random_numbers *numbers) {
    uint32_t number = random_below(numbers, LABEL_COUNT);
    grec_label_place pushed = number % 2
                                  ? grec_script_push(&labels[number], label_texts[number], label_texts[number], 1, 1)
                                  : grec_label_push(&labels[number], label_texts[number]);
    if (count > 1) push_some(count - 1, numbers);
    grec_label_pop(pushed);
}

static void *push_and_pop(void *context) {
    struct storm_thread *thread = context;
    struct random_numbers numbers = {thread->number};
    struct sigaction action = {.sa_handler = check_labels, .sa_flags = SA_RESTART | SA_NODEFER};
    CRASH_CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    while (!is_over(thread->storm)) {
        push_some(1 + random_below(&numbers, LABEL_DEPTH_MAX), &numbers);
        CRASH_CHECK(grec_label_stack_->depth == 0);
    }
    return NULL;
}

TEST(test_labels_are_whole_at_any_instant) {
    struct storm storm = {.work = push_and_pop};
    for (unsigned i = 0; i < LABEL_COUNT; i++) {
        snprintf(label_texts[i], sizeof label_texts[i], "text%u", i);
        labels[i] = (struct grec_label)GREC_LABEL_AT("label", NULL, NULL, 0);
    }
    check_storm(&storm);
}

int main(void) {
    crash_events_init();
    return unit_tests_run(NULL, NULL);
}
