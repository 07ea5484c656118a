/* Checks that recording an event makes no system call. After a warm-up, a thread records under a filter that kills
 * the process on any system call except exit_group. */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "tests/support/crash_events.h"
#include "tests/support/temp_folder.h"
#include "tests/support/unit_test.h"

enum {
    ROUND_COUNT = CRASH_IS_SANITIZED ? 10000 : 100000,
    KIND_COUNT = 19, /* kinds of record_one */
    WARM_ROUND_COUNT = 50,
};

static struct grec_category inner = GREC_SUBCATEGORY("Inner", &crash_category);
static const struct grec_field all_fields[] = {
    GREC_FIELD("text", NULL, GREC_FORMAT_STRING),        GREC_FIELD("url", NULL, GREC_FORMAT_URL),
    GREC_FIELD("same", NULL, GREC_FORMAT_UNIQUE_STRING), GREC_FIELD("flow", NULL, GREC_FORMAT_FLOW_ID),
    GREC_FIELD("time", NULL, GREC_FORMAT_TIME),          GREC_FIELD("real", NULL, GREC_FORMAT_DECIMAL),
    GREC_FIELD("list", NULL, GREC_FORMAT_LIST),          GREC_FIELD("number", NULL, GREC_FORMAT_INTEGER)};
static struct grec_marker_type all_type = GREC_MARKER_TYPE("All", all_fields);
static struct grec_marker all_marker = GREC_MARKER("all", &inner, &all_type);
static struct grec_string same = GREC_STRING_OF("the same");
static struct grec_counter counter =
    GREC_COUNTER("counter", "Accidents", "", NULL, GREC_COUNTER_ACCUMULATED, GREC_GRAPH_RED, 0);
static struct grec_counter summed =
    GREC_COUNTER("summed", "Accidents", "", NULL, GREC_COUNTER_ACCUMULATED, GREC_GRAPH_RED, GREC_COUNTER_SAMPLED);
static struct grec_backtrace backtrace;

static void record_with_all_values(grec_time start) {
    const char *const texts[] = {"one", "two"};
    const struct grec_value values[] = {GREC_TEXT("text"), GREC_TEXT_OF("https", 3), GREC_STRING(&same),  GREC_FLOW(77),
                                        GREC_TIME(start),  GREC_REAL(0.5),           GREC_LIST(texts, 2), GREC_INT(-3)};
    grec_instant(&all_marker, values, 8);
}

static void record_with_options(grec_time start) {
    struct grec_marker_options options = {
        .phase = GREC_PHASE_INTERVAL, .with_stack = 1, .start = start, .thread = grec_thread_self()};
    const struct grec_value values[] = {GREC_INT(1)};
    grec_add_marker(&all_marker, &options, values, 1);
    options = (struct grec_marker_options){.backtrace = &backtrace};
    grec_add_marker(&all_marker, &options, NULL, 0);
}

static void record_one(unsigned kind) {
    grec_time start = grec_now();
    GREC_LABEL_TEXT("label", &inner, "text");
    switch (kind) {
        case 0: GREC_INSTANT("instant", &inner); return;
        case 1: GREC_INTERVAL("interval", &inner, start); return;
        case 2: grec_interval_start(&crash_marker, NULL, 0); return;
        case 3: grec_interval_end(&crash_marker, NULL, 0); return;
        case 4: record_with_all_values(start); return;
        case 5: record_with_options(start); return;
        case 6: grec_add_named_marker("named", &inner, NULL, NULL, NULL, 0); return;
        case 7: grec_text_marker("text", &inner, "some text"); return;
        case 8: grec_log(GREC_LOG_INFO, "module", "a line"); return;
        case 9: grec_counter_add(&counter, 3); return;
        case 10: grec_counter_set(&counter, 5); return;
        case 11: grec_counter_add(&summed, 1); return;
        case 12: grec_sample(); return;
        case 13: grec_take_backtrace(&backtrace); return;
        case 14: grec_thread_register("renamed"); return;
        case 15: grec_time_from_clock_ns(0); return;
        case 16: {
            GREC_INTERVAL_SCOPE("scope", &inner);
            return;
        }
        case 17: {
            static struct grec_label script = GREC_LABEL_AT("script", &inner, NULL, 0);
            grec_label_place pushed = grec_script_push(&script, "function", "file", 1, 2);
            grec_script_line(pushed, 3, 4);
            grec_sample();
            grec_label_pop(pushed);
            return;
        }
        default: GREC_INSTANT_WITH("with", &inner, &crash_type, GREC_INT(1), GREC_INT(2), GREC_INT(3)); return;
    }
}

/* After this call any system call except exit_group kills the process by SIGSYS. Reading the clock is a system call
 * on machines where the kernel does not map the clock into the process. */
static void forbid_calls(void) {
#define LOAD(member)  BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, member))
#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
    struct sock_filter filter[] = {LOAD(nr), ALLOW(SYS_exit_group),
                                   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    CRASH_CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CRASH_CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

/* ---- Within a chunk. ---- */

struct scenario {
    const char *path;
    bool is_recycled;
    uint32_t round_count;
    bool calls; /* makes a system call on purpose, to check that the filter kills the process */
};

static void start_warm(const struct scenario *scenario) {
    struct grec_options options = {.path = scenario->path, .chunk_bytes = 1048576};
    if (scenario->is_recycled) {
        options.chunk_bytes = 4096;
        options.limit_bytes = 20 * 4096;
    }
    CRASH_CHECK(grec_start(&options) == GREC_OK);
    for (uint32_t i = 0; i < WARM_ROUND_COUNT * KIND_COUNT; i++) record_one(i % KIND_COUNT);
    if (!scenario->is_recycled) return;
    struct grec_status status;
    do {
        for (uint32_t i = 0; i < 64 * KIND_COUNT; i++) record_one(i % KIND_COUNT);
        grec_get_status(&status);
    } while (status.chunks_recycled < 64);
}

static void record_without_calls(void *context) {
    const struct scenario *scenario = context;
    start_warm(scenario);
    forbid_calls();
    for (uint32_t i = 0; i < scenario->round_count; i++) record_one(i % KIND_COUNT);
    if (scenario->calls) syscall(SYS_getppid);
    syscall(SYS_exit_group, 0);
}

static uint64_t sum_of_markers(const struct profile *profile) {
    uint64_t count = 0;
    for (size_t i = 0; i < profile->threads.count; i++)
        count += profile_thread_at(profile, (thread_id){(uint32_t)i})->markers.count;
    return count;
}

/* The number of markers in one round of all kinds of events. */
enum { MARKERS_OF_ALL_KINDS = 12 };

static void read_trace(struct crash_trace *trace, const char *path) {
    assert_true(crash_trace_read(trace, path));
    char *why = crash_trace_fault(trace);
    if (why) fail_msg("%s", why);
}

TEST(test_within_a_chunk) {
    struct temp_folder folder;
    struct crash_trace trace;
    assert_true(temp_folder_init(&folder));
    /* Records as many rounds as fit into one chunk. */
    struct scenario scenario = {.path = temp_folder_file(&folder, "chunk.trace"), .round_count = 1000 * KIND_COUNT};
    assert_int_equal(crash_run(record_without_calls, &scenario), 0);
    read_trace(&trace, scenario.path);
    assert_int_equal(sum_of_markers(&trace.profile), MARKERS_OF_ALL_KINDS * (1000 + WARM_ROUND_COUNT));
    crash_trace_fini(&trace);
    temp_folder_fini(&folder);
}

/* ---- From chunk to chunk, each used many times. ---- */

TEST(test_from_chunk_to_chunk) {
    struct temp_folder folder;
    struct crash_trace trace;
    assert_true(temp_folder_init(&folder));
    struct scenario scenario = {.path = temp_folder_file(&folder, "chunks.trace"),
                                .is_recycled = true,
                                .round_count = ROUND_COUNT * KIND_COUNT};
    assert_int_equal(crash_run(record_without_calls, &scenario), 0);
    read_trace(&trace, scenario.path);
    assert_true(crash_trace_header(&trace)->recycled_chunk_count > ROUND_COUNT / 20);
    assert_int_equal(crash_trace_header(&trace)->lost_event_count, 0);
    crash_trace_fini(&trace);
    temp_folder_fini(&folder);
}

/* ---- The filter kills a process that makes a system call. ---- */

TEST(test_filter_ends_what_calls) {
    struct temp_folder folder;
    assert_true(temp_folder_init(&folder));
    struct scenario scenario = {.path = temp_folder_file(&folder, "calls.trace"), .calls = true};
    assert_int_equal(crash_run(record_without_calls, &scenario), -SIGSYS);
    temp_folder_fini(&folder);
}

/* ---- Recording off. ---- */

static void call_while_off(void *unused) {
    /* Warms up: some of the calls register the thread. */
    for (unsigned i = 0; i < KIND_COUNT; i++) record_one(i);
    forbid_calls();
    for (uint32_t i = 0; i < ROUND_COUNT * KIND_COUNT; i++) record_one(i % KIND_COUNT);
    syscall(SYS_exit_group, 0);
}

TEST(test_recording_off) { assert_int_equal(crash_run(call_while_off, NULL), 0); }

int main(void) {
    crash_events_init();
    return unit_tests_run(NULL, NULL);
}
