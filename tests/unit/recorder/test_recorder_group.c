/* One process tells all processes of its recording to pause, to resume and to stop, and to sample. Most of the others
 * have no thread of the recorder, so they notice it at their next event. A sampler or a helper notices it by itself. */
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/support/recorder_team.h"
#include "tests/support/recorder_trace.h"
#include "tests/support/sanitizers.h"
#include "tests/support/unit_test.h"

static const struct grec_options no_options = {0};

static void assert_counts(const struct recorded *recorded, const char *const recorded_once[],
                          const char *const left_out[]) {
    for (size_t i = 0; recorded_once[i]; i++)
        if (count_markers(&recorded->profile, recorded_once[i]) != 1) fail_msg("no \"%s\"", recorded_once[i]);
    for (size_t i = 0; left_out[i]; i++)
        if (count_markers(&recorded->profile, left_out[i])) fail_msg("there is \"%s\"", left_out[i]);
}
#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

static size_t count_paused_ranges(const struct recorded *recorded, const char *marker) {
    const struct thread *owner = NULL;
    size_t count = 0;
    find_marker(&recorded->profile, marker, &owner);
    for (size_t i = 0; i < recorded->profile.paused_ranges.count; i++) {
        const struct paused_range *range = column_at(&recorded->profile.paused_ranges, i);
        count += range->process.index == owner->process.index;
    }
    return count;
}

/* The process that has started the recording pauses all of them. */
TEST(test_pause, set_up_folder_and_alarm, tear_down_folder) {
    start_recording(*state, "group.trace", no_options);
    struct member worker = member_fork(), idle = member_fork();
    order_mark("first");
    member_run(&worker, order_mark, "worker");
    member_run(&idle, order_mark, "idle");
    grec_pause();
    assert_int_equal(grec_is_recording(), 0);
    member_run(&worker, order_mark, "in the pause");
    assert_int_equal(member_run(&worker, order_tell_recording, NULL), 0);
    member_run(&worker, order_mark, "in the pause");
    grec_resume();
    assert_int_equal(grec_is_recording(), 1);
    member_run(&worker, order_mark, "worker again");
    assert_int_equal(member_run(&worker, order_tell_recording, NULL), 1);
    order_mark("first again");
    /* This process has seen neither the pause nor its end. */
    member_run(&idle, order_mark, "idle again");
    assert_int_equal(member_end(&worker), 0);
    assert_int_equal(member_end(&idle), 0);
    const struct recorded *recorded = stop_and_read_whole(*state, "group.trace");
    assert_counts(recorded, NAMES("first", "worker", "idle", "worker again", "first again", "idle again"),
                  NAMES("in the pause"));
    assert_int_equal(count_paused_ranges(recorded, "first"), 1);
    assert_int_equal(count_paused_ranges(recorded, "worker"), 1);
    assert_int_equal(count_paused_ranges(recorded, "idle"), 0);
}

/* Other processes pause themselves, unless they name the group. */
TEST(test_scopes, set_up_folder_and_alarm, tear_down_folder) {
    start_recording(*state, "group.trace", no_options);
    struct member one = member_fork(), other = member_fork();
    assert_int_equal(member_run(&one, order_pause, NULL), 0);
    order_mark("while one is paused");
    assert_int_equal(member_run(&other, order_tell_recording, NULL), 1);
    assert_int_equal(member_run(&other, order_pause_all, NULL), 0);
    order_mark("while all are paused");
    assert_int_equal(grec_is_recording(), 0);
    /* The latest call decides. */
    assert_int_equal(member_run(&one, order_resume, NULL), 1);
    member_run(&one, order_mark, "in one alone");
    order_mark("while all are paused");
    assert_int_equal(member_run(&one, order_pause, NULL), 0);
    assert_int_equal(member_run(&other, order_resume_all, NULL), 1);
    member_run(&one, order_mark, "in one again");
    order_mark("in the first again");
    grec_control(GREC_PAUSE, GREC_PROCESS);
    member_run(&one, order_mark, "while the first is paused");
    order_mark("while all are paused");
    assert_int_equal(member_end(&one), 0);
    assert_int_equal(member_end(&other), 0);
    grec_control((enum grec_action)77, GREC_GROUP);
    const struct recorded *recorded = stop_and_read_whole(*state, "group.trace");
    assert_counts(
        recorded,
        NAMES("while one is paused", "in one alone", "in one again", "in the first again", "while the first is paused"),
        NAMES("while all are paused"));
}

/* Who joins in a pause is paused too. A forked child goes on with its parent's pause. */
TEST(test_join_in_a_pause, set_up_folder_and_alarm, tear_down_folder) {
    char location[GREC_LOCATION_BYTES];
    struct member worker = member_fork();
    start_recording(*state, "group.trace", no_options);
    assert_int_equal(grec_location(location), GREC_OK);
    grec_pause();
    struct member child = member_fork();
    assert_int_equal(member_run(&worker, order_join, location), GREC_OK);
    assert_int_equal(member_run(&worker, order_tell_recording, NULL), 0);
    member_run(&worker, order_mark, "in the pause");
    member_run(&child, order_mark, "in the pause");
    grec_resume();
    member_run(&worker, order_mark, "worker");
    member_run(&child, order_mark, "child");
    assert_int_equal(member_end(&worker), 0);
    assert_int_equal(member_end(&child), 0);
    const struct recorded *recorded = stop_and_read(*state, "group.trace");
    assert_counts(recorded, NAMES("worker", "child"), NAMES("in the pause"));
}

static void assert_process_ended(const struct recorded *recorded, const char *marker) {
    const struct thread *owner = NULL;
    find_marker(&recorded->profile, marker, &owner);
    assert_true(profile_process_at(&recorded->profile, owner->process)->end_ns != TIME_NONE);
}

/* After a stop of all, the next recording may have the same path when all others have left the last one. */
TEST(test_stop, set_up_folder_and_alarm, tear_down_folder) {
    char location[GREC_LOCATION_BYTES];
    start_recording(*state, "group.trace", no_options);
    assert_int_equal(grec_location(location), GREC_OK);
    struct member worker = member_fork(), idle = member_fork();
    member_run(&worker, order_mark, "worker");
    member_run(&idle, order_mark, "idle");
    grec_stop();
    member_run(&worker, order_mark, "after the stop");
    assert_int_equal(member_run(&worker, order_tell_recording, NULL), 0);
    assert_int_equal(member_run(&worker, order_join, location), GREC_ERROR_STATE);
    const struct recorded *recorded = recorded_read(temp_folder_file(*state, "group.trace"));
    assert_nothing_lost(recorded);
    assert_counts(recorded, NAMES("worker", "idle"), NAMES("after the stop"));
    assert_process_ended(recorded, "worker");
    assert_int_equal(order_start(temp_folder_file(*state, "group.trace")), GREC_ERROR_STORAGE);
    assert_int_equal(errno, EBUSY);
    assert_int_equal(member_run(&idle, order_stop, NULL), 0);
    start_recording(*state, "group.trace", no_options);
    assert_int_equal(grec_location(location), GREC_OK);
    assert_int_equal(member_run(&worker, order_join, location), GREC_OK);
    member_run(&worker, order_mark, "worker in the next one");
    member_run(&idle, order_mark, "after the stop");
    assert_int_equal(member_run(&idle, order_tell_recording, NULL), 0);
    assert_int_equal(member_run(&worker, order_stop_all, NULL), 0);
    order_mark("after the stop");
    assert_int_equal(grec_is_recording(), 0);
    assert_int_equal(member_end(&worker), 0);
    assert_int_equal(member_end(&idle), 0);
    recorded = stop_and_read_whole(*state, "group.trace");
    assert_counts(recorded, NAMES("worker in the next one"), NAMES("after the stop", "worker"));
}

static int order_exit(const char *unused) { exit(0); }

/* Reads the trace after the process that has joined has ended, and the first one has stopped. */
static const struct recorded *end_and_read(const struct member *first, const struct member *joined, const char *path) {
    member_run(joined, order_exit, NULL);
    assert_int_equal(member_end(joined), 0);
    assert_int_equal(member_run(first, order_stop, NULL), 0);
    assert_int_equal(member_end(first), 0);
    const struct recorded *recorded = recorded_read(path);
    assert_nothing_lost(recorded);
    return recorded;
}

/* The end of the process that has started the recording stops no other one. */
TEST(test_end_of_the_first, set_up_folder_and_alarm, tear_down_folder) {
    struct member first = member_fork(), other = member_fork();
    const char *path = temp_folder_file(*state, "group.trace");
    assert_int_equal(member_run(&first, order_start, path), GREC_OK);
    assert_int_equal(member_run(&other, order_join, path), GREC_OK);
    member_run(&first, order_exit, NULL);
    assert_int_equal(member_end(&first), 0);
    member_run(&other, order_mark, "other");
    assert_int_equal(member_run(&other, order_tell_recording, NULL), 1);
    assert_int_equal(member_end(&other), 0);
    const struct recorded *recorded = recorded_read(path);
    assert_nothing_lost(recorded);
    assert_counts(recorded, NAMES("other"), NAMES(""));
}

/* ---- What the log says of each process. ---- */

static const struct log_line *find_fact(const struct recorded *recorded, const char *marker, const char *key) {
    const struct column *log = &recorded->profile.gathering_log;
    const struct thread *owner = NULL;
    find_marker(&recorded->profile, marker, &owner);
    for (size_t i = 0; i < log->count; i++) {
        const struct log_line *line = column_at(log, i);
        if (line->process.index == owner->process.index && text_equal(line->key, text_of(key))) return line;
    }
    fail_msg("the log has no %s of the process with \"%s\"", key, marker);
    return NULL;
}

/* is_over: the process has ended, as far as the profile says. */
static void assert_ended(const struct recorded *recorded, const char *marker, const char *how, bool is_over) {
    const struct log_line *line = find_fact(recorded, marker, "ended");
    const struct process *process = profile_process_at(&recorded->profile, line->process);
    assert_int_equal(process_shutdown_ns(process) != TIME_NONE, is_over);
    if (!text_equal(line->text, text_of(how)))
        fail_msg("\"%s\": %.*s", marker, (int)line->text.bytes_count, line->text.bytes);
    assert_true(find_fact(recorded, marker, "chunks")->number >= 1);
    assert_int_equal(find_fact(recorded, marker, "chunksRecycled")->number, 0);
    assert_int_equal(find_fact(recorded, marker, "chunksSkipped")->number, 0);
}

/* How the process ended, as the profile's marker "Process" tells it. */
static void assert_ending(const struct recorded *recorded, const char *marker, const char *ending) {
    const struct log_line *line = find_fact(recorded, marker, "ended");
    assert_true(text_equal(profile_process_at(&recorded->profile, line->process)->ending, text_of(ending)));
}

TEST(test_ends, set_up_folder_and_alarm, tear_down_folder) {
    start_recording(*state, "group.trace", no_options);
    struct member exits = member_fork(), stops = member_fork(), dies = member_fork(), waits = member_fork();
    order_mark("the first");
    member_run(&exits, order_mark, "exits");
    member_run(&stops, order_mark, "stops");
    member_run(&dies, order_mark, "dies");
    member_run(&waits, order_mark, "is told");
    member_run(&exits, order_exit, NULL);
    member_run(&stops, order_stop, NULL);
    assert_int_equal(member_kill(&dies), 128 + SIGKILL);
    grec_stop();
    member_run(&waits, order_mark, "not recorded");
    assert_int_equal(member_end(&exits) | member_end(&stops) | member_end(&waits), 0);
    const struct recorded *recorded = recorded_read(temp_folder_file(*state, "group.trace"));
    assert_nothing_lost(recorded);
    assert_ended(recorded, "the first", "stopped recording", false);
    assert_ended(recorded, "exits", "exited", true);
    assert_ending(recorded, "exits", "exited");
    assert_ended(recorded, "stops", "stopped recording", false);
    assert_ended(recorded, "dies", "was killed, or ended by _exit", true);
    assert_ending(recorded, "dies", "killed, or ended by _exit");
    assert_ended(recorded, "is told", "was stopped by another process", false);
}

/* The kernel shows which processes without an end still record, if the trace is a file of this machine. */
TEST(test_unfinished, set_up_folder_and_alarm, tear_down_folder) {
    const char *path = temp_folder_file(*state, "group.trace");
    struct member first = member_fork(), dies = member_fork(), lives = member_fork();
    assert_int_equal(member_run(&first, order_start, path), GREC_OK);
    assert_int_equal(member_run(&dies, order_join, path), GREC_OK);
    assert_int_equal(member_run(&lives, order_join, path), GREC_OK);
    member_run(&dies, order_mark, "dies");
    member_run(&lives, order_mark, "lives");
    assert_int_equal(member_kill(&dies), 128 + SIGKILL);
    const struct recorded *recorded = recorded_read_in_place(path);
    assert_ended(recorded, "dies", "was killed, or ended by _exit", true);
    assert_ended(recorded, "lives", "still recording", false);
    assert_int_equal(ledger_sum(&recorded->profile.ledger, LEDGER_RECORDS, LEDGER_NOTED), 2);
    /* Bytes alone do not show whether a process that exists still records. */
    recorded = recorded_read(path);
    assert_ended(recorded, "lives", "unknown", true);
    assert_int_equal(member_end(&lives), 0);
    recorded = recorded_read_in_place(path);
    assert_ended(recorded, "lives", "was killed, or ended by _exit", true);
    assert_int_equal(member_end(&first), 0);
}

static int order_fill(const char *name) {
    for (int i = 0; i < 40000; i++) order_mark(name);
    return 0;
}

/* A process whose last chunk was recycled is not in the profile. Of others, the log says how many were. */
TEST(test_recycled, set_up_folder_and_alarm, tear_down_folder) {
    start_recording(*state, "group.trace", (struct grec_options){.limit_bytes = 128 << 10, .chunk_bytes = 4096});
    struct member gone = member_fork(), filler = member_fork();
    member_run(&gone, order_mark, "gone");
    member_run(&gone, order_exit, NULL);
    assert_int_equal(member_end(&gone), 0);
    member_run(&filler, order_fill, "filling");
    assert_int_equal(member_end(&filler), 0);
    const struct recorded *recorded = stop_and_read(*state, "group.trace");
    assert_int_equal(count_markers(&recorded->profile, "gone"), 0);
    for (size_t i = 0; i < recorded->profile.processes.count; i++)
        assert_int_not_equal(((const struct process *)column_at(&recorded->profile.processes, i))->pid, gone.pid);
    int64_t recycled_count = find_fact(recorded, "filling", "chunksRecycled")->number;
    assert_true(recycled_count > 0 && recycled_count <= (int64_t)recorded->header.recycled_chunk_count);
}

/* ---- Many short children. ---- */

/* Sanitizers map memory of their own now and then, so only mappings of the trace count with them. */
static size_t count_mappings(void) {
    FILE *file = fopen("/proc/self/maps", "r");
    char line[PATH_MAX + 128];
    size_t count = 0;
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) count += !IS_SANITIZED || strstr(line, "group.trace");
    fclose(file);
    return count;
}

struct sizes {
    uint64_t trace_bytes;
    size_t mapping_count;
    int lowest_free_file;
};

static struct sizes sizes_now(void) {
    struct grec_status status;
    grec_get_status(&status);
    assert_int_equal(status.events_lost + status.definitions_lost, 0);
    struct sizes sizes = {.trace_bytes = status.size_bytes, .mapping_count = count_mappings()};
    sizes.lowest_free_file = dup(STDERR_FILENO);
    close(sizes.lowest_free_file);
    return sizes;
}

static void run_short_child(int number) {
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        order_mark("child");
        if (number % 3 == 0) exit(0);
        if (number % 3 == 1) kill(getpid(), SIGKILL);
        _exit(0);
    }
    int status = wait_for_child(pid);
    assert_int_equal(status, number % 3 == 1 ? 128 + SIGKILL : 0);
}

/* Children that exit, are killed or end at once leave nothing but chunks, which are used again. */
TEST(test_many_children, set_up_folder_and_alarm, tear_down_folder) {
    /* Sanitizers make forks slow. 200 children have used each chunk of the trace several times. */
    enum { CHILD_COUNT = IS_SANITIZED ? 300 : 600, EARLY_COUNT = 200, LIMIT_BYTES = 256 << 10 };
    struct sizes early = {0}, late;
    start_recording(*state, "group.trace", (struct grec_options){.limit_bytes = LIMIT_BYTES, .chunk_bytes = 4096});
    order_mark("the first");
    for (int i = 0; i < CHILD_COUNT; i++) {
        run_short_child(i);
        if (i == EARLY_COUNT) early = sizes_now();
    }
    late = sizes_now();
    assert_int_equal(late.trace_bytes, early.trace_bytes);
    assert_true(late.trace_bytes <= LIMIT_BYTES);
    assert_int_equal(late.mapping_count, early.mapping_count);
    assert_int_equal(late.lowest_free_file, early.lowest_free_file);
    const struct recorded *recorded = stop_and_read_whole(*state, "group.trace");
    assert_int_equal(count_markers(&recorded->profile, "the first"), 1);
    assert_true(count_markers(&recorded->profile, "child") > 10);
}

enum { EXITS = 0, IS_KILLED = 1 };

/* A child that ends leaves the rest of its chunk to the next one. The chunk of a child that is killed stays with it. */
TEST(test_children_share_chunks, set_up_folder_and_alarm, tear_down_folder) {
    enum { CHILD_COUNT = IS_SANITIZED ? 30 : 100 };
    start_recording(*state, "group.trace", no_options);
    order_mark("the first");
    struct grec_status before;
    grec_get_status(&before);
    for (int i = 0; i < CHILD_COUNT; i++) run_short_child(EXITS);
    for (int i = 0; i < 3; i++) run_short_child(IS_KILLED);
    for (int i = 0; i < CHILD_COUNT; i++) run_short_child(EXITS);
    const struct recorded *recorded = stop_and_read_whole(*state, "group.trace");
    /* The first child that was killed had the chunk of those before it. */
    uint64_t chunk_count = (before.size_bytes - recorded->header.chunks_offset) / recorded->header.chunk_bytes;
    assert_int_equal(recorded->header.chunk_count, chunk_count + 3 + 1);
    assert_int_equal(count_markers(&recorded->profile, "child"), 2 * CHILD_COUNT + 3);
    assert_int_equal(recorded->profile.processes.count, 2 * CHILD_COUNT + 3 + 1);
    size_t killed_count = 0;
    const struct column *log = &recorded->profile.gathering_log;
    for (size_t i = 0; i < log->count; i++) {
        const struct log_line *line = column_at(log, i);
        if (process_is_none(line->process)) continue;
        if (text_equal(line->key, TEXT("chunks"))) assert_int_equal(line->number, 1);
        if (text_equal(line->key, TEXT("chunksRecycled"))) assert_int_equal(line->number, 0);
        killed_count += text_equal(line->text, TEXT("was killed, or ended by _exit"));
    }
    assert_int_equal(killed_count, 3);
}

/* A chunk that a child takes over while it is being copied is copied again. */
TEST(test_saved_while_children_share_chunks, set_up_folder_and_alarm, tear_down_folder) {
    enum { CHILD_COUNT = IS_SANITIZED ? 60 : 300 };
    size_t last_count = 0;
    start_recording(*state, "group.trace", no_options);
    pid_t storm = fork();
    assert_true(storm >= 0);
    if (!storm) {
        for (int i = 0; i < CHILD_COUNT; i++) run_short_child(EXITS);
        _exit(0);
    }
    for (bool is_over = false; !is_over;) {
        is_over = waitpid(storm, NULL, WNOHANG) == storm;
        assert_int_equal(grec_save(temp_folder_file(*state, "copy.trace")), GREC_OK);
        const struct recorded *recorded = recorded_read(temp_folder_file(*state, "copy.trace"));
        assert_nothing_lost(recorded);
        size_t count = count_markers(&recorded->profile, "child");
        assert_true(count >= last_count);
        last_count = count;
    }
    assert_int_equal(last_count, CHILD_COUNT);
}

/* ---- Many processes with threads, at the limit. ---- */

enum { CROWD_COUNT = 64, CROWD_THREAD_COUNT = 4, CROWD_MARKER_COUNT = 5000, CROWD_LIMIT_BYTES = 4 << 20 };

static void *crowd_record(void *unused) {
    for (int i = 0; i < CROWD_MARKER_COUNT; i++) order_mark("crowd");
    return unused;
}

static _Noreturn void crowd_run(void) {
    pthread_t threads[CROWD_THREAD_COUNT];
    for (int i = 0; i < CROWD_THREAD_COUNT; i++)
        if (pthread_create(&threads[i], NULL, crowd_record, NULL) != 0) _exit(1);
    for (int i = 0; i < CROWD_THREAD_COUNT; i++) pthread_join(threads[i], NULL);
    exit(0);
}

static bool is_written(const struct profile *profile, uint32_t pid) {
    for (size_t i = 0; i < profile->processes.count; i++) {
        const struct process *process = column_at(&profile->processes, i);
        if (process->pid == (int64_t)pid && process->place != ID_NONE) return true;
    }
    return false;
}

/* Returns how many chunks of the trace have events. Fails if the process of one is not in the profile. */
static size_t assert_owners_are_written(const struct recorded *recorded, const char *path) {
    size_t bytes_count = 0, used_count = 0;
    char *bytes = file_read(path, &bytes_count);
    assert_non_null(bytes);
    const struct trace_header *header = &recorded->header;
    for (size_t at = header->chunks_offset; at + header->chunk_bytes <= bytes_count; at += header->chunk_bytes) {
        struct trace_chunk_header chunk;
        memcpy(&chunk, bytes + at, sizeof chunk);
        if (chunk.state == TRACE_CHUNK_FREE || chunk.kind != TRACE_CHUNK_EVENTS) continue;
        used_count++;
        if (!is_written(&recorded->profile, chunk.pid)) fail_msg("%u has a chunk and no track", chunk.pid);
    }
    free(bytes);
    return used_count;
}

/* The trace never exceeds its limit, and every process that still has a chunk is in the profile. */
TEST(test_crowd, set_up_folder_and_alarm, tear_down_folder) {
    if (HAS_THREAD_SANITIZER) skip();
    const char *path = temp_folder_file(*state, "group.trace");
    pid_t pids[CROWD_COUNT];
    start_recording(
        *state, "group.trace",
        (struct grec_options){.limit_bytes = CROWD_LIMIT_BYTES, .chunk_bytes = 4096, .flags = GREC_SAMPLER});
    for (int i = 0; i < CROWD_COUNT; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (!pids[i]) crowd_run();
        assert_true(file_size_of(path) <= CROWD_LIMIT_BYTES);
    }
    for (int i = 0; i < CROWD_COUNT; i++) {
        assert_int_equal(wait_for_child(pids[i]), 0);
        assert_true(file_size_of(path) <= CROWD_LIMIT_BYTES);
    }
    const struct recorded *recorded = stop_and_read(*state, "group.trace");
    assert_int_equal(recorded->header.lost_event_count, 0);
    assert_true(recorded->header.recycled_chunk_count > 0);
    assert_true(assert_owners_are_written(recorded, path) > CROWD_COUNT);
}

/* ---- Processes with a sampler. ---- */

static int await_recording(const char *is_awaited) {
    const struct timespec nap = {0, 1000000};
    while (grec_is_recording() != (*is_awaited == '1')) nanosleep(&nap, NULL);
    return 0;
}

static int start_with_sampler(const char *path) {
    return (int)grec_start(&(struct grec_options){.path = path, .flags = GREC_SAMPLER});
}

/* A sampler notices commands although its process sleeps. */
TEST(test_samplers, set_up_folder_and_alarm, tear_down_folder) {
    if (HAS_THREAD_SANITIZER) skip();
    const char *path = temp_folder_file(*state, "group.trace");
    struct member first = member_fork(), other = member_fork();
    assert_int_equal(member_run(&first, start_with_sampler, path), GREC_OK);
    assert_int_equal(member_run(&other, order_join, path), GREC_OK);
    member_run(&other, order_mark, "other");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(member_run(&first, order_pause, NULL), 0);
        assert_int_equal(member_run(&other, await_recording, "0"), 0);
        assert_int_equal(member_run(&first, order_resume, NULL), 1);
        assert_int_equal(member_run(&other, await_recording, "1"), 0);
    }
    assert_int_equal(member_run(&first, order_stop, NULL), 0);
    assert_int_equal(member_run(&other, await_recording, "0"), 0);
    member_run(&other, order_mark, "after the stop");
    member_run(&other, order_exit, NULL);
    assert_int_equal(member_end(&other), 0);
    assert_int_equal(member_end(&first), 0);
    const struct recorded *recorded = recorded_read(path);
    assert_nothing_lost(recorded);
    assert_counts(recorded, NAMES("other"), NAMES("after the stop"));
    assert_int_equal(count_paused_ranges(recorded, "other"), 2);
}

/* ---- Options. ---- */

static int mark_as(const char *name) {
    grec_thread_register(name);
    order_mark(name);
    return 0;
}

static int leave_out_all_but_pid(const char *pid) {
    char words[64];
    snprintf(words, sizeof words, "pid:%s", pid);
    struct grec_options options = {.threads = words, .flags = GREC_GROUP, .interval_us = 5000};
    return (int)grec_start(&options);
}

static int tell_interval(const char *unused) {
    struct grec_status status;
    grec_get_status(&status);
    return (int)status.interval_us;
}

/* The process that has started the recording changes the options of all; others do that if they name the group. */
TEST(test_options, set_up_folder_and_alarm, tear_down_folder) {
    char pid[16];
    start_recording(*state, "group.trace", no_options);
    struct member one = member_fork(), other = member_fork();
    member_run(&one, mark_as, "worker a");
    member_run(&other, mark_as, "worker b");
    grec_start(&(struct grec_options){.threads = "worker,-B", .interval_us = 2000});
    member_run(&one, order_mark, "a is wanted");
    member_run(&other, order_mark, "b is not");
    member_run(&other, order_mark, "b is not");
    assert_int_equal(member_run(&other, tell_interval, NULL), 2000);
    /* A change in one process alone. */
    grec_start(&(struct grec_options){.threads = "nobody", .flags = GREC_PROCESS});
    member_run(&one, order_mark, "a is wanted still");
    snprintf(pid, sizeof pid, "%d", other.pid);
    assert_int_equal(member_run(&one, leave_out_all_but_pid, pid), GREC_OK);
    member_run(&one, order_mark, "a is not");
    member_run(&other, order_mark, "b is wanted");
    assert_int_equal(member_run(&other, tell_interval, NULL), 5000);
    order_mark("the first is not");
    assert_int_equal(member_end(&one), 0);
    assert_int_equal(member_end(&other), 0);
    const struct recorded *recorded = stop_and_read_whole(*state, "group.trace");
    assert_counts(recorded, NAMES("worker a", "worker b", "a is wanted", "a is wanted still", "b is wanted"),
                  NAMES("b is not", "a is not", "the first is not"));
}

/* ---- Sampling alone is paused. ---- */

static size_t count_samples_after(const struct recorded *recorded, const char *marker) {
    int64_t marked_ns = find_marker(&recorded->profile, marker, NULL)->start_ns;
    size_t count = 0;
    for (size_t i = 0; i < recorded->profile.threads.count; i++) {
        const struct column *rows = &((const struct thread *)column_at(&recorded->profile.threads, i))->samples.rows;
        for (uint32_t k = 0; k < rows->count; k++)
            count += ((const struct sample *)column_at(rows, k))->time_ns > marked_ns;
    }
    return count;
}

/* Waits until the sampler has made rounds, which may take a while on a busy machine. */
static int await_rounds(const char *unused) {
    static struct grec_counter counter =
        GREC_COUNTER("work", "work", NULL, NULL, GREC_COUNTER_RATE, GREC_GRAPH_RED, GREC_COUNTER_SAMPLED);
    grec_counter_add(&counter, 1);
    while (grec_wait_for_sampling() != GREC_OK) continue;
    return 0;
}

static int pause_sampling(const char *unused) {
    grec_pause_sampling();
    return grec_is_recording();
}

TEST(test_sampling_paused, set_up_folder_and_alarm, tear_down_folder) {
    if (HAS_THREAD_SANITIZER) skip();
    const char *path = temp_folder_file(*state, "group.trace");
    struct member first = member_fork(), other = member_fork();
    assert_int_equal(member_run(&first, start_with_sampler, path), GREC_OK);
    assert_int_equal(member_run(&first, pause_sampling, NULL), 1);
    /* The sampler may have made rounds before the pause, and may be making one now. */
    member_run(&first, await_rounds, NULL);
    member_run(&first, order_mark, "paused");
    assert_int_equal(member_run(&other, order_join, path), GREC_OK);
    member_run(&first, await_rounds, NULL);
    member_run(&other, order_mark, "other");
    member_run(&other, await_rounds, NULL);
    const struct recorded *recorded = end_and_read(&first, &other, path);
    assert_int_equal(count_samples_after(recorded, "paused"), 0);
    assert_int_equal(count_markers(&recorded->profile, "other"), 1);
    assert_true(recorded->profile.counters.count >= 2);
    assert_int_equal(recorded->profile.paused_ranges.count, 0);
}

/* ---- Sampling begins and ends in all processes. ---- */

static int start_with_flags(const char *path_and_flags) {
    char path[PATH_MAX];
    unsigned flags = 0;
    if (sscanf(path_and_flags, "%u %4095s", &flags, path) != 2) return -1;
    return (int)grec_start(&(struct grec_options){.path = path, .flags = flags});
}

static int change_flags(const char *flags) {
    return (int)grec_start(&(struct grec_options){.flags = (uint32_t)strtoul(flags, NULL, 10)});
}

static int run_with_flags(const struct member *member, int (*run)(const char *text), uint32_t flags, const char *path) {
    char text[PATH_MAX];
    snprintf(text, sizeof text, "%u %s", flags, path);
    return member_run(member, run, text);
}

static int tell_sampling(const char *unused) { return grec_wait_for_sampling() == GREC_OK; }

/* Makes no call that could start a sampler. */
static int await_sampling(const char *is_awaited) {
    const struct timespec nap = {0, 1000000};
    while ((grec_wait_for_sampling() == GREC_OK) != (*is_awaited == '1')) nanosleep(&nap, NULL);
    return 0;
}

static int tell_flags(const char *unused) {
    struct grec_status status;
    grec_get_status(&status);
    return (int)status.flags;
}

/* The helpers of all processes notice at once that sampling begins. */
TEST(test_sampling_begins, set_up_folder_and_alarm, tear_down_folder) {
    if (HAS_THREAD_SANITIZER) skip();
    const char *path = temp_folder_file(*state, "group.trace");
    struct member first = member_fork(), joined = member_fork();
    assert_int_equal(run_with_flags(&first, start_with_flags, GREC_HELPER, path), GREC_OK);
    assert_int_equal(member_run(&joined, order_join, path), GREC_OK);
    assert_int_equal(member_run(&joined, tell_sampling, NULL), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(run_with_flags(&first, change_flags, GREC_HELPER | GREC_SAMPLER, ""), GREC_OK);
        assert_int_equal(member_run(&joined, await_sampling, "1"), 0);
        assert_int_equal(run_with_flags(&first, change_flags, GREC_HELPER, ""), GREC_OK);
        assert_int_equal(member_run(&joined, await_sampling, "0"), 0);
    }
    /* A process that has joined can change the options of the group, too. */
    assert_int_equal(run_with_flags(&joined, change_flags, GREC_HELPER | GREC_SAMPLER | GREC_GROUP, ""), GREC_OK);
    assert_int_equal(member_run(&first, await_sampling, "1"), 0);
    assert_int_equal(member_run(&joined, await_sampling, "1"), 0);
    member_run(&joined, order_mark, "joined");
    const struct recorded *recorded = end_and_read(&first, &joined, path);
    assert_counts(recorded, NAMES("joined"), NAMES(""));
}

static struct member forked;

static int fork_member(const char *unused) {
    forked = member_fork();
    return forked.pid > 0 ? 0 : -1;
}
static int run_await_in_forked(const char *is_awaited) { return member_run(&forked, await_sampling, is_awaited); }
static int run_tell_in_forked(const char *unused) { return member_run(&forked, tell_sampling, unused); }
static int run_mark_in_forked(const char *name) { return member_run(&forked, order_mark, name); }
static int run_status_in_forked(const char *unused) { return member_run(&forked, tell_flags, unused); }
static int end_forked(const char *unused) { return member_end(&forked); }

TEST(test_sampling_begins_in_a_forked_child, set_up_folder_and_alarm, tear_down_folder) {
    if (HAS_THREAD_SANITIZER) skip();
    const char *path = temp_folder_file(*state, "group.trace");
    struct member first = member_fork();
    assert_int_equal(run_with_flags(&first, start_with_flags, GREC_HELPER, path), GREC_OK);
    assert_int_equal(member_run(&first, fork_member, NULL), 0);
    assert_int_equal(member_run(&first, run_tell_in_forked, NULL), 0);
    assert_int_equal(run_with_flags(&first, change_flags, GREC_SAMPLER, ""), GREC_OK);
    assert_int_equal(member_run(&first, run_await_in_forked, "1"), 0);
    assert_int_equal(member_run(&first, end_forked, NULL), 0);
    assert_int_equal(member_run(&first, order_stop, NULL), 0);
    assert_int_equal(member_end(&first), 0);
}

/* Without a helper, the command is noticed at the next event, and the sampler starts in the next call that may start
 * it. */
TEST(test_sampling_begins_without_a_helper, set_up_folder_and_alarm, tear_down_folder) {
    if (HAS_THREAD_SANITIZER) skip();
    const char *path = temp_folder_file(*state, "group.trace");
    struct member first = member_fork();
    assert_int_equal(run_with_flags(&first, start_with_flags, 0, path), GREC_OK);
    assert_int_equal(member_run(&first, fork_member, NULL), 0);
    assert_int_equal(run_with_flags(&first, change_flags, GREC_SAMPLER, ""), GREC_OK);
    assert_int_equal(member_run(&first, run_mark_in_forked, "notices"), 0);
    assert_int_equal(member_run(&first, run_tell_in_forked, NULL), 0);
    assert_int_equal(member_run(&first, run_status_in_forked, NULL), GREC_SAMPLER);
    assert_int_equal(member_run(&first, run_await_in_forked, "1"), 0);
    assert_int_equal(member_run(&first, end_forked, NULL), 0);
    assert_int_equal(member_run(&first, order_stop, NULL), 0);
    assert_int_equal(member_end(&first), 0);
}

static void *live_unregistered(void *words) {
    uint32_t *tid_and_end = words;
    __atomic_store_n(&tid_and_end[0], (uint32_t)gettid(), __ATOMIC_RELAXED);
    while (!__atomic_load_n(&tid_and_end[1], __ATOMIC_RELAXED)) usleep(1000);
    return NULL;
}

/* Returns the thread's id. The kernel's list of threads is read every 10 ms, and a thread that was found is sampled in
 * the next rounds. */
static int sample_with_a_stranger(const char *unused) {
    const struct timespec nap = {0, 10000000};
    pthread_t thread;
    uint32_t tid_and_end[2] = {0};
    if (pthread_create(&thread, NULL, live_unregistered, tid_and_end) != 0) return -1;
    for (int i = 0; i < 50; i++) {
        nanosleep(&nap, NULL);
        while (grec_wait_for_sampling() != GREC_OK) continue;
    }
    __atomic_store_n(&tid_and_end[1], 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    return (int)tid_and_end[0];
}

static const struct thread *find_tid(const struct profile *profile, int tid) {
    for (size_t i = 0; i < profile->threads.count; i++) {
        const struct thread *thread = column_at(&profile->threads, i);
        if (thread->tid == tid) return thread;
    }
    return NULL;
}

/* A sampler that runs takes up other threads. */
TEST(test_all_threads, set_up_folder_and_alarm, tear_down_folder) {
    if (HAS_THREAD_SANITIZER) skip();
    const char *path = temp_folder_file(*state, "group.trace");
    struct member first = member_fork(), joined = member_fork();
    assert_int_equal(run_with_flags(&first, start_with_flags, GREC_SAMPLER, path), GREC_OK);
    assert_int_equal(member_run(&joined, order_join, path), GREC_OK);
    assert_int_equal(member_run(&joined, await_sampling, "1"), 0);
    assert_int_equal(run_with_flags(&first, change_flags, GREC_SAMPLER | GREC_ALL_THREADS, ""), GREC_OK);
    while (!(member_run(&joined, tell_flags, NULL) & GREC_ALL_THREADS)) continue;
    int tid = member_run(&joined, sample_with_a_stranger, NULL);
    const struct recorded *recorded = end_and_read(&first, &joined, path);
    const struct thread *stranger = find_tid(&recorded->profile, tid);
    assert_non_null(stranger);
    assert_true(samples_count(&stranger->samples) > 0);
}

/* ---- A command that is noticed in a signal handler. ---- */

static void mark_in_handler(int number) { GREC_INSTANT("in a handler", NULL); }

/* Signals arrive while this process records, pauses and resumes. */
static int record_with_signals(const char *unused) {
    struct sigaction action = {.sa_handler = mark_in_handler, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    const struct itimerspec often = {{0, 50000}, {0, 50000}};
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) return 1;
    timer_settime(timer, 0, &often, NULL);
    for (int i = 0; i < 300; i++) {
        grec_control(GREC_PAUSE, GREC_GROUP);
        GREC_INSTANT("in the pause", NULL);
        grec_control(GREC_RESUME, GREC_GROUP);
        for (int j = 0; j < 20; j++) GREC_INSTANT("outside", NULL);
    }
    timer_delete(timer);
    return 0;
}

TEST(test_signals, set_up_folder_and_alarm, tear_down_folder) {
    start_recording(*state, "group.trace", no_options);
    struct member one = member_fork();
    struct order order = {.run = record_with_signals};
    assert_int_equal(send(one.socket, &order, sizeof order, 0), sizeof order);
    int result = -1;
    while (recv(one.socket, &result, sizeof result, MSG_DONTWAIT) != (ssize_t)sizeof result) {
        for (int j = 0; j < 20; j++) GREC_INSTANT("of the first", NULL);
        grec_control(GREC_PAUSE, GREC_PROCESS);
        grec_control(GREC_RESUME, GREC_PROCESS);
    }
    assert_int_equal(result, 0);
    assert_int_equal(member_end(&one), 0);
    const struct recorded *recorded = stop_and_read_whole(*state, "group.trace");
    assert_true(count_markers(&recorded->profile, "outside") > 0);
}

/* For the address sanitizer: forked processes exit in the middle of a test, which would free its memory later. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "detect_leaks=0"; }

int main(void) { return unit_tests_run(NULL, NULL); }
