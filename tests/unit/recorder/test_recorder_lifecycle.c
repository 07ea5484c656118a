/* Tests starting, continuing under other options, pausing, stopping and saving, by the resulting traces. */
#include <stdio.h>
#include <stdlib.h>

#include <errno.h>
#include <fcntl.h>

#include "tests/support/recorder_trace.h"
#include "tests/support/recorder_workers.h"
#include "tests/support/sanitizers.h"
#include "tests/support/unit_test.h"

static struct grec_category io = GREC_CATEGORY("I/O", GREC_COLOR_BLUE);
static struct grec_options no_options;

static struct grec_status status_now(void) {
    struct grec_status status;
    grec_get_status(&status);
    return status;
}

/* ---- Starting and stopping. ---- */

TEST(test_start_and_stop_again_and_again, set_up_folder, tear_down_folder) {
    enum { ROUND_COUNT = 20 };
    for (int round = 0; round < ROUND_COUNT; round++) {
        start_recording(*state, "again.trace", no_options);
        /* Each round after the first one begins with a definition that the previous round did not have. */
        for (int i = 0; i <= round; i++) {
            char name[32];
            snprintf(name, sizeof name, "name %d", round - i);
            grec_add_named_marker(name, &io, NULL, NULL, NULL, 0);
        }
        GREC_INSTANT("static", &io);
        record_number((uint64_t)round);
        GREC_LABEL("label", &io);
        grec_sample();
        const struct recorded *recorded = stop_and_read_whole(*state, "again.trace");
        const struct thread *thread = NULL;
        const struct marker *marker = find_marker(&recorded->profile, "static", &thread);
        assert_true(thread->is_main);
        assert_true(text_equal(categories_at(&recorded->profile.categories, marker->category)->name, TEXT("I/O")));
        struct numbers numbers = collect_numbers(&recorded->profile, thread, "number", ROUND_COUNT);
        assert_int_equal(numbers.found_count, 1);
        assert_int_equal(numbers.counts[round], 1);
        free(numbers.counts);
        assert_int_equal(thread->markers.count, (size_t)round + 3);
        assert_int_equal(samples_count(&thread->samples), 1);
        assert_stack(&recorded->profile, samples_at(&thread->samples, 0)->stack, "label");
    }
}

TEST(test_defaults, set_up_folder, tear_down_folder) {
    struct temp_folder *folder = *state;
    char before[PATH_MAX], name[NAME_MAX];
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(folder->path), 0);
    assert_int_equal(grec_start(NULL), GREC_OK);
    GREC_INSTANT("default", NULL);
    struct grec_status status = status_now();
    assert_int_equal(chdir(before), 0);
    snprintf(name, sizeof name, "%s-%d.trace", program_invocation_short_name, getpid());
    assert_string_equal(status.path, temp_folder_file(folder, name));
    assert_int_equal(status.limit_bytes, 128u << 20);
    const struct recorded *recorded = stop_and_read(folder, name);
    assert_int_equal(recorded->header.chunk_bytes, 65536);
    assert_int_equal(recorded->header.creator_pid, getpid());
    assert_int_equal(count_markers(&recorded->profile, "default"), 1);
    assert_true(text_equal(recorded->profile.meta.product, text_of(program_invocation_short_name)));
}

TEST(test_path_patterns, set_up_folder, tear_down_folder) {
    struct temp_folder *folder = *state;
    char path[PATH_MAX], name[NAME_MAX];
    snprintf(path, sizeof path, "%s/%%%%-%%e-%%p-%%", folder->path);
    assert_int_equal(grec_start(&(struct grec_options){.path = path}), GREC_OK);
    grec_stop();
    snprintf(name, sizeof name, "%%-%s-%d-%%", program_invocation_short_name, getpid());
    assert_int_equal(access(temp_folder_file(folder, name), R_OK), 0);
    assert_int_equal(temp_folder_count(folder), 1);
}

TEST(test_product, set_up_folder, tear_down_folder) {
    start_recording(*state, "p.trace", (struct grec_options){.product = "Darkroom"});
    const struct recorded *recorded = stop_and_read(*state, "p.trace");
    assert_true(text_equal(recorded->profile.meta.product, TEXT("Darkroom")));
}

static bool has_extra(const struct profile *profile, const char *section, const char *label, const char *value) {
    for (size_t i = 0; i < profile->meta.extra.count; i++) {
        const struct extra_entry *entry = column_at(&profile->meta.extra, i);
        if (text_equal(entry->section, text_of(section)) && text_equal(entry->label, text_of(label)) &&
            text_equal(entry->value, text_of(value)))
            return true;
    }
    return false;
}

/* Facts hold for each recording, whether they are set before it or in it. */
TEST(test_facts, set_up_folder, tear_down_folder) {
    const struct recorded *recorded;
    char long_text[600];
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    grec_set_fact(GREC_FACT_VERSION, "1.0");
    grec_set_fact(GREC_FACT_VERSION, "1.2.3");
    for (int i = 0; i < 2; i++) {
        start_recording(*state, "facts.trace", (struct grec_options){.threads = "main,pool", .flags = GREC_SAMPLER});
        grec_set_fact(GREC_FACT_BUILD_ID, "20261122");
        grec_set_fact("branch", "main");
        grec_set_fact(long_text, long_text);
        grec_set_fact(NULL, "ignored");
        for (int j = 0; j < 40; j++) {
            snprintf(long_text, sizeof long_text, "key %d", j);
            grec_set_fact(long_text, "many");
        }
        recorded = stop_and_read(*state, "facts.trace");
        const struct profile_meta *meta = &recorded->profile.meta;
        assert_true(text_equal(meta->version, TEXT("1.2.3")));
        assert_true(text_equal(meta->build_id, TEXT("20261122")));
        assert_true(text_equal(meta->configuration.threads, TEXT("main,pool")));
        assert_true(text_equal(meta->configuration.features, TEXT("stackwalk,cpu")));
        assert_int_equal(meta->configuration.capacity_bytes, 128u << 20);
        assert_true(has_extra(&recorded->profile, "Program", "branch", "main"));
        assert_true(has_extra(&recorded->profile, "Program", "key 27", "many"));
        assert_false(has_extra(&recorded->profile, "Program", "key 28", "many")); /* the 33rd key */
    }
}

TEST(test_chunk_bytes_follow_the_limit, set_up_folder, tear_down_folder) {
    static const struct {
        uint64_t limit_bytes;
        uint32_t chunk_bytes;
    } cases[] = {{64u << 10, 4096}, {256u << 10, 4096}, {1u << 20, 16384}, {4u << 20, 65536}, {GREC_UNLIMITED, 65536}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        start_recording(*state, "c.trace", (struct grec_options){.limit_bytes = cases[i].limit_bytes});
        GREC_INSTANT("one", NULL);
        assert_int_equal(status_now().limit_bytes, cases[i].limit_bytes);
        const struct recorded *recorded = stop_and_read(*state, "c.trace");
        assert_int_equal(recorded->header.chunk_bytes, cases[i].chunk_bytes);
        assert_int_equal(recorded->header.limit_bytes,
                         cases[i].limit_bytes == GREC_UNLIMITED ? 0 : cases[i].limit_bytes);
        assert_int_equal(count_markers(&recorded->profile, "one"), 1);
    }
}

TEST(test_status, set_up_folder, tear_down_folder) {
    struct temp_folder *folder = *state;
    const char *path = temp_folder_file(folder, "s.trace");
    struct grec_status status = status_now();
    assert_int_equal(status.is_recording, 0);
    grec_get_status(NULL);
    start_recording(folder, "s.trace", (struct grec_options){.limit_bytes = 1u << 20, .chunk_bytes = 8192});
    GREC_INSTANT("one", NULL);
    status = status_now();
    assert_int_equal(status.is_recording, 1);
    assert_int_equal(status.is_paused, 0);
    assert_string_equal(status.path, path);
    assert_int_equal(status.limit_bytes, 1u << 20);
    assert_true(status.size_bytes > 2 * 8192 && status.size_bytes <= 1u << 20);
    assert_int_equal(status.chunks_recycled, 0);
    assert_int_equal(status.events_lost, 0);
    assert_int_equal(status.texts_cut, 0);
    assert_int_equal(status.definitions_lost, 0);
    assert_int_equal(status.values_mismatched, 0);
    assert_int_equal(status.stop_errno, 0);
    uint64_t size_bytes = status.size_bytes;
    grec_pause();
    status = status_now();
    assert_int_equal(status.is_recording, 1);
    assert_int_equal(status.is_paused, 1);
    grec_stop();
    status = status_now();
    assert_int_equal(status.is_recording, 0);
    assert_int_equal(status.is_paused, 0);
    assert_int_equal(file_size_of(path), size_bytes);
}

TEST(test_calls_out_of_order, set_up_folder, tear_down_folder) {
    struct temp_folder *folder = *state;
    grec_stop();
    grec_pause();
    grec_resume();
    assert_int_equal(grec_is_recording(), 0);
    assert_int_equal(grec_save(temp_folder_file(folder, "none.trace")), GREC_ERROR_STATE);
    assert_int_equal(grec_save(NULL), GREC_ERROR_STATE);
    assert_int_equal(grec_now(), 0);
    assert_int_equal(grec_thread_self().uid, 0);
    grec_thread_unregister();
    grec_thread_unregister();
    grec_sample();
    GREC_INSTANT("nothing", NULL);
    assert_int_equal(temp_folder_count(folder), 0);

    start_recording(folder, "o.trace", no_options);
    grec_resume();
    GREC_INSTANT("recorded", NULL);
    grec_pause();
    grec_pause();
    GREC_INSTANT("paused", NULL);
    grec_resume();
    GREC_INSTANT("recorded", NULL);
    grec_resume();
    grec_stop();
    grec_stop();
    grec_resume();
    GREC_INSTANT("stopped", NULL);
    const struct recorded *recorded = recorded_read(temp_folder_file(folder, "o.trace"));
    assert_nothing_lost(recorded);
    assert_int_equal(count_markers(&recorded->profile, "recorded"), 2);
    assert_int_equal(count_markers(&recorded->profile, "paused"), 0);
    assert_int_equal(count_markers(&recorded->profile, "stopped"), 0);
    assert_int_equal(recorded->profile.paused_ranges.count, 1);
    assert_int_equal(grec_save(temp_folder_file(folder, "none.trace")), GREC_ERROR_STATE);
    assert_int_equal(temp_folder_count(folder), 1);
}

TEST(test_pause, set_up_folder, tear_down_folder) {
    start_recording(*state, "pause.trace", no_options);
    GREC_INSTANT("before", NULL);
    usleep(2000);
    grec_pause();
    usleep(1000);
    assert_int_equal(grec_is_recording(), 0);
    GREC_INSTANT("within", NULL);
    GREC_LABEL("not pushed", NULL);
    static struct grec_counter counter =
        GREC_COUNTER("counter", "c", "", NULL, GREC_COUNTER_ACCUMULATED, GREC_GRAPH_BLUE, 0);
    grec_counter_add(&counter, 1);
    grec_sample();
    grec_resume();
    usleep(1000);
    GREC_INSTANT("after", NULL);
    grec_pause();
    const struct recorded *recorded = stop_and_read(*state, "pause.trace");
    const struct profile *profile = &recorded->profile;
    assert_nothing_lost(recorded);
    assert_int_equal(count_markers(profile, "within"), 0);
    const struct counter *counted = find_counter(profile, "counter");
    assert_non_null(counted);
    const struct marker *before = find_marker(profile, "before", NULL), *after = find_marker(profile, "after", NULL);
    assert_int_equal(profile->paused_ranges.count, 2);
    const struct paused_range *first = column_at(&profile->paused_ranges, 0);
    const struct paused_range *second = column_at(&profile->paused_ranges, 1);
    assert_true(before->start_ns < first->start_ns);
    assert_true(first->end_ns >= first->start_ns + 1000000);
    assert_true(first->end_ns < after->start_ns);
    assert_true(second->start_ns > after->start_ns);
    assert_true(second->end_ns == TIME_NONE);
    /* Counters also count in the pause. grec_resume records the change. */
    size_t row = counted->samples.count - 1;
    const struct counter_sample *last = column_at(&counted->samples, row);
    if (!last->change) last = column_at(&counted->samples, row - 1); /* the level holds until the end */
    assert_int_equal(last->change, 1);
    assert_true(last->time_ns >= first->end_ns);
}

/* Any thread may pause a recording, even one that is not recorded itself. */
TEST(test_pause_by_a_thread_left_out, set_up_folder, tear_down_folder) {
    struct workers workers;
    start_recording(*state, "left-out.trace", (struct grec_options){.threads = "worker"});
    workers_start(&workers);
    workers_wait(&workers, 10);
    grec_pause();
    usleep(1000);
    grec_resume();
    GREC_INSTANT("left out", NULL);
    workers_wait(&workers, 10);
    workers_end(&workers);
    const struct recorded *recorded = stop_and_read_whole(*state, "left-out.trace");
    assert_int_equal(recorded->profile.paused_ranges.count, 1);
    assert_int_equal(count_markers(&recorded->profile, "left out"), 0);
    assert_int_equal(((struct process *)column_at(&recorded->profile.processes, 0))->end_ns != TIME_NONE, 1);
}

/* ---- Errors. ---- */

TEST(test_options_out_of_range, set_up_folder, tear_down_folder) {
    struct temp_folder *folder = *state;
    static char long_path[2000], long_words[600], long_product[600];
    memset(long_path, 'x', sizeof long_path - 1);
    memset(long_words, 'x', sizeof long_words - 1);
    memset(long_product, 'x', sizeof long_product - 1);
    const struct grec_options cases[] = {
        {.chunk_bytes = 1},
        {.chunk_bytes = 2048},
        {.chunk_bytes = 4097},
        {.chunk_bytes = 12288},
        {.chunk_bytes = 2u << 20},
        {.chunk_bytes = UINT32_MAX},
        {.limit_bytes = 1},
        {.limit_bytes = 65535},
        {.limit_bytes = 16 * 65536 - 1, .chunk_bytes = 65536},
        {.limit_bytes = (16u << 20) - 1, .chunk_bytes = 1u << 20},
        {.storage = 2},
        {.flags = 512},
        {.flags = UINT32_MAX},
        {.flags = GREC_SAMPLER, .interval_us = 99},
        {.flags = GREC_SAMPLER, .interval_us = 1},
        {.path = "%x.trace"},
        {.path = "a%"
                 " b"},
        {.path = ""},
        {.path = long_path},
        {.threads = long_words},
        {.product = long_product},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct grec_options options = cases[i];
        if (!options.path) options.path = temp_folder_file(folder, "never.trace");
        if (grec_start(&options) != GREC_ERROR_OPTIONS) fail_msg("case %zu was accepted", i);
        assert_int_equal(status_now().is_recording, 0);
    }
    assert_int_equal(temp_folder_count(folder), 0);
}

TEST(test_smallest_and_largest, set_up_folder, tear_down_folder) {
    static const struct grec_options cases[] = {
        {.limit_bytes = 65536, .chunk_bytes = 4096},
        {.limit_bytes = 16u << 20, .chunk_bytes = 1u << 20},
        {.limit_bytes = GREC_UNLIMITED, .chunk_bytes = 4096},
        {.limit_bytes = GREC_UNLIMITED, .chunk_bytes = 1u << 20},
        {.limit_bytes = 65536, .chunk_bytes = 4096, .flags = GREC_NO_CHILDREN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        start_recording(*state, "edge.trace", cases[i]);
        record_number(0);
        const struct recorded *recorded = stop_and_read_whole(*state, "edge.trace");
        assert_int_equal(count_markers(&recorded->profile, "number"), 1);
    }
}

TEST(test_paths_that_cannot_be_written, set_up_folder, tear_down_folder) {
    struct temp_folder *folder = *state;
    char below_file[PATH_MAX], below_nothing[PATH_MAX], link[PATH_MAX], fifo[PATH_MAX];
    assert_true(file_write(temp_folder_file(folder, "file"), TEXT("as it was")));
    snprintf(below_file, sizeof below_file, "%s/file/x.trace", folder->path);
    snprintf(below_nothing, sizeof below_nothing, "%s/nothing/x.trace", folder->path);
    snprintf(link, sizeof link, "%s/link", folder->path);
    snprintf(fifo, sizeof fifo, "%s/fifo", folder->path);
    assert_int_equal(symlink("/dev/null", link), 0);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    const struct {
        const char *path;
        int error; /* expected errno; 0: any */
    } cases[] = {{below_file, ENOTDIR}, {below_nothing, ENOENT}, {folder->path, EISDIR}, {"/dev/null", EINVAL},
                 {link, EINVAL},        {fifo, EINVAL},          {"/proc/x.trace", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        errno = 0;
        enum grec_error error = grec_start(&(struct grec_options){.path = cases[i].path});
        int got_errno = errno;
        if (error != GREC_ERROR_STORAGE) fail_msg("%s: %s", cases[i].path, grec_error_text(error));
        if (cases[i].error) assert_int_equal(got_errno, cases[i].error);
        assert_int_not_equal(got_errno, 0);
        assert_int_equal(status_now().is_recording, 0);
    }
    struct stat status;
    assert_int_equal(stat("/dev/null", &status), 0);
    assert_true(S_ISCHR(status.st_mode));
    assert_int_equal(lstat(link, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(stat(fifo, &status), 0);
    assert_true(S_ISFIFO(status.st_mode));
    assert_int_equal(temp_folder_count(folder), 3);
    char *bytes = file_read(temp_folder_file(folder, "file"), NULL);
    assert_string_equal(bytes, "as it was");
    free(bytes);
}

TEST(test_error_texts, set_up_folder, tear_down_folder) {
    for (int error = -1; error <= GREC_ERROR_COUNT; error++) {
        const char *text = grec_error_text((enum grec_error)error);
        assert_non_null(text);
        assert_true(*text != '\0');
    }
    assert_string_equal(grec_error_text((enum grec_error) - 1), grec_error_text(GREC_ERROR_COUNT));
}

/* A recording replaces an existing file of its name, whatever the file contains. */
TEST(test_over_an_existing_file, set_up_folder, tear_down_folder) {
    assert_true(file_write(temp_folder_file(*state, "old.trace"), TEXT("something old")));
    start_recording(*state, "old.trace", no_options);
    GREC_INSTANT("new", NULL);
    const struct recorded *recorded = stop_and_read(*state, "old.trace");
    assert_int_equal(count_markers(&recorded->profile, "new"), 1);
    assert_int_equal(temp_folder_count(*state), 1);
}

static void assert_mode(const char *path, mode_t expected) {
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, expected);
}

/* Only the owner may read a trace or a copy of it. Neither the umask nor an existing file's mode may change this. */
TEST(test_mode_of_traces, set_up_folder, tear_down_folder) {
    const char *traces[] = {"file.trace", "copy.trace", "memory.trace"};
    mode_t mask_before = umask(0);
    assert_true(file_write(temp_folder_file(*state, "file.trace"), TEXT("something old")));
    assert_int_equal(chmod(temp_folder_file(*state, "file.trace"), 0666), 0);
    start_recording(*state, "file.trace", no_options);
    assert_int_equal(grec_save(temp_folder_file(*state, "copy.trace")), GREC_OK);
    grec_stop();
    start_recording(*state, "memory.trace", (struct grec_options){.storage = GREC_STORAGE_MEMORY});
    assert_int_equal(grec_save(NULL), GREC_OK);
    grec_stop();
    umask(mask_before);
    for (size_t i = 0; i < sizeof traces / sizeof *traces; i++)
        assert_mode(temp_folder_file(*state, traces[i]), S_IRUSR | S_IWUSR);
}

/* ---- Continuing under other options. ---- */

/* The options of a recording at its start, and the options under which it continues. */
struct hand_over {
    struct grec_options first, second;
    bool has_new_path;
    bool is_rename; /* only the path changes; no pause is needed */
};

static const struct hand_over hand_overs[] = {
    {{0}, {0}, false, true},
    {{0}, {0}, true, true},
    {{.flags = GREC_HELPER}, {.flags = GREC_HELPER}, true, true},
    {{.limit_bytes = 8u << 20}, {.limit_bytes = 16u << 20}, false, false},
    {{.limit_bytes = 8u << 20}, {.limit_bytes = 4u << 20}, true, false},
    {{.limit_bytes = 8u << 20}, {.limit_bytes = GREC_UNLIMITED}, false, false},
    {{.limit_bytes = GREC_UNLIMITED}, {.limit_bytes = 8u << 20}, true, false},
    {{.storage = GREC_STORAGE_MEMORY}, {.storage = GREC_STORAGE_FILE}, true, false},
    {{.storage = GREC_STORAGE_FILE}, {.storage = GREC_STORAGE_MEMORY}, true, false},
};

static void go_on_with(struct temp_folder *folder, const struct hand_over *hand_over, size_t number) {
    struct grec_options first = hand_over->first, second = hand_over->second;
    struct workers workers;
    first.path = temp_folder_file(folder, "first.trace");
    if (hand_over->has_new_path) second.path = temp_folder_file(folder, "second.trace");
    const char *last_path = hand_over->has_new_path ? second.path : first.path;
    assert_int_equal(grec_start(&first), GREC_OK);
    record_number(0);
    workers_start(&workers);
    workers_wait(&workers, 300);
    struct workers_mark before = workers_mark(&workers);
    if (grec_start(&second) != GREC_OK) fail_msg("case %zu fails", number);
    struct workers_mark after = workers_mark(&workers);
    workers_wait(&workers, 300);
    struct workers_mark end = workers_end(&workers);
    record_number(1);
    if (second.storage == GREC_STORAGE_MEMORY) {
        assert_int_equal(temp_folder_count(folder), 0);
        assert_int_equal(grec_save(NULL), GREC_OK);
    }
    grec_stop();
    assert_int_equal(temp_folder_count(folder), 1);
    const struct recorded *recorded = recorded_read(last_path);
    assert_nothing_lost(recorded);
    assert_workers_but(recorded, before, hand_over->is_rename ? before : after, end);
    struct numbers numbers =
        collect_numbers(&recorded->profile, find_thread(&recorded->profile, "lifecycle"), "number", 2);
    assert_numbers(&numbers, 0, 2);
    free(numbers.counts);
    assert_int_equal(recorded->header.recycled_chunk_count, 0);
    assert_int_equal(recorded->profile.paused_ranges.count, hand_over->is_rename ? 0 : 1);
    for (int i = 0; i < WORKER_COUNT; i++)
        assert_int_equal(count_threads(&recorded->profile, workers.workers[i].name), 1);
    unlink(last_path);
}

TEST(test_going_on_under_other_options, set_up_folder, tear_down_folder) {
    grec_thread_register("lifecycle");
    for (size_t i = 0; i < sizeof hand_overs / sizeof *hand_overs; i++) go_on_with(*state, &hand_overs[i], i);
    grec_thread_unregister();
}

/* A recording continues under a limit that is too low for its events. The oldest events are dropped and counted. */
TEST(test_going_on_with_less, set_up_folder, tear_down_folder) {
    enum { EVENT_COUNT = 200000 };
    start_recording(*state, "less.trace", (struct grec_options){.limit_bytes = 8u << 20, .chunk_bytes = 16384});
    for (uint64_t i = 0; i < EVENT_COUNT; i++) record_number(i);
    uint64_t size_before = status_now().size_bytes;
    struct grec_options less = {.limit_bytes = 256u << 10};
    assert_true(size_before > less.limit_bytes);
    assert_int_equal(grec_start(&less), GREC_OK);
    struct grec_status status = status_now();
    assert_true(status.chunks_recycled > 0);
    assert_int_equal(status.limit_bytes, less.limit_bytes);
    record_number(EVENT_COUNT);
    const struct recorded *recorded = stop_and_read(*state, "less.trace");
    assert_true(file_size_of(temp_folder_file(*state, "less.trace")) <= less.limit_bytes);
    struct numbers numbers = collect_numbers(&recorded->profile, NULL, "number", EVENT_COUNT + 1);
    uint64_t first = first_of_tail(&numbers);
    assert_true(first > 0 && first < EVENT_COUNT);
    assert_int_equal(numbers.found_count, EVENT_COUNT + 1 - first);
    free(numbers.counts);
    assert_true(recorded->header.complete_from_ticks > recorded->header.start_ticks);
}

TEST(test_going_on_that_fails, set_up_folder, tear_down_folder) {
    struct temp_folder *folder = *state;
    const struct grec_options cases[] = {
        {.path = folder->path},
        {.path = "/dev/null"},
        {.path = folder->path, .limit_bytes = 8u << 20},
        {.path = "/proc/nothing/x.trace", .limit_bytes = GREC_UNLIMITED},
        {.path = "%x"},
        {.storage = 7},
        {.limit_bytes = 4096},
        {.flags = 512},
    };
    enum { CASE_COUNT = sizeof cases / sizeof *cases };
    start_recording(folder, "goes-on.trace", no_options);
    for (uint64_t i = 0; i < CASE_COUNT; i++) {
        record_number(2 * i);
        enum grec_error error = grec_start(&cases[i]);
        assert_int_equal(error, i < 4 ? GREC_ERROR_STORAGE : GREC_ERROR_OPTIONS);
        assert_int_equal(status_now().is_recording, 1);
        assert_int_equal(grec_is_recording(), 1);
        record_number(2 * i + 1);
    }
    assert_int_equal(grec_start(NULL), GREC_OK);
    const struct recorded *recorded = stop_and_read_whole(folder, "goes-on.trace");
    struct numbers numbers = collect_numbers(&recorded->profile, NULL, "number", (uint64_t)2 * CASE_COUNT);
    assert_numbers(&numbers, 0, (uint64_t)2 * CASE_COUNT);
    free(numbers.counts);
    assert_int_equal(temp_folder_count(folder), 1);
}

/* A paused recording stays paused when it continues under other options. */
TEST(test_going_on_while_paused, set_up_folder, tear_down_folder) {
    start_recording(*state, "paused.trace", no_options);
    record_number(0);
    grec_pause();
    assert_int_equal(grec_start(&(struct grec_options){.limit_bytes = 8u << 20}), GREC_OK);
    assert_int_equal(grec_is_recording(), 0);
    assert_int_equal(status_now().is_paused, 1);
    record_number(1);
    grec_resume();
    record_number(2);
    const struct recorded *recorded = stop_and_read(*state, "paused.trace");
    struct numbers numbers = collect_numbers(&recorded->profile, NULL, "number", 3);
    assert_int_equal(numbers.counts[0], 1);
    assert_int_equal(numbers.counts[1], 0);
    assert_int_equal(numbers.counts[2], 1);
    free(numbers.counts);
    assert_int_equal(recorded->profile.paused_ranges.count, 1);
}

/* The thread filter is applied again when a recording continues under other options. */
TEST(test_going_on_with_other_threads, set_up_folder, tear_down_folder) {
    grec_thread_register("alpha");
    start_recording(*state, "threads.trace", (struct grec_options){.threads = "beta"});
    record_number(0);
    assert_int_equal(grec_start(&(struct grec_options){.threads = "ALPHA"}), GREC_OK);
    record_number(1);
    assert_int_equal(grec_start(&(struct grec_options){.threads = "gamma,delta"}), GREC_OK);
    record_number(2);
    assert_int_equal(grec_start(&(struct grec_options){.threads = "gamma,pha"}), GREC_OK);
    record_number(3);
    const struct recorded *recorded = stop_and_read(*state, "threads.trace");
    grec_thread_unregister();
    struct numbers numbers = collect_numbers(&recorded->profile, NULL, "number", 4);
    assert_int_equal(numbers.counts[0], 0);
    assert_int_equal(numbers.counts[1], 1);
    assert_int_equal(numbers.counts[2], 0);
    assert_int_equal(numbers.counts[3], 1);
    free(numbers.counts);
}

TEST(test_going_on_under_another_product, set_up_folder, tear_down_folder) {
    start_recording(*state, "product.trace", (struct grec_options){.product = "First"});
    assert_int_equal(grec_start(&(struct grec_options){.product = "Second"}), GREC_OK);
    const struct recorded *recorded = stop_and_read(*state, "product.trace");
    assert_true(text_equal(recorded->profile.meta.product, TEXT("Second")));
}

/* The thread sanitizer sees in few turns what the threads share. */
enum { ALL_AT_ONCE_COUNT = HAS_THREAD_SANITIZER ? 10 : 20, COME_AND_GO_COUNT = HAS_THREAD_SANITIZER ? 10 : 30 };

/* Continues the recording under other options many times while other threads record, pause and save. */
static void *start_and_save(void *argument) {
    struct temp_folder *folder = argument;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/copy.trace", folder->path);
    for (int i = 0; i < ALL_AT_ONCE_COUNT; i++) {
        grec_save(path);
        grec_pause();
        grec_resume();
    }
    return NULL;
}

TEST(test_all_at_once, set_up_folder, tear_down_folder) {
    struct temp_folder *folder = *state;
    struct workers workers;
    pthread_t other;
    start_recording(folder, "all.trace", no_options);
    workers_start(&workers);
    assert_int_equal(pthread_create(&other, NULL, start_and_save, folder), 0);
    for (unsigned i = 0; i < ALL_AT_ONCE_COUNT; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/all-%u.trace", folder->path, i % 3);
        struct grec_options options = {
            .path = path, .limit_bytes = (8u << 20) << (i % 2), .storage = i % 5 == 4 ? GREC_STORAGE_MEMORY : 0};
        assert_int_equal(grec_start(&options), GREC_OK);
    }
    pthread_join(other, NULL);
    workers_end(&workers);
    record_number(7);
    grec_stop();
    recorded_read(temp_folder_file(folder, "copy.trace"));
}

/* Stops a recording while threads record, start and end. Every event whose call had returned must be in the trace. */
static void *record_and_end(void *argument) {
    for (int i = 0; i < 20; i++) record_number((uint64_t)i);
    return NULL;
}

TEST(test_stop_while_threads_come_and_go, set_up_folder, tear_down_folder) {
    for (int round = 0; round < COME_AND_GO_COUNT; round++) {
        enum { COUNT = 8 };
        pthread_t threads[COUNT];
        start_recording(*state, "come-and-go.trace", no_options);
        for (int i = 0; i < COUNT; i++) assert_int_equal(pthread_create(&threads[i], NULL, record_and_end, NULL), 0);
        if (round % 2) grec_pause();
        const struct recorded *recorded = stop_and_read(*state, "come-and-go.trace");
        for (int i = 0; i < COUNT; i++) pthread_join(threads[i], NULL);
        assert_nothing_lost(recorded);
    }
}

/* ---- Saving. ---- */

/* Returns the path to which a saved copy is renamed, so that the next copy does not replace it. The copies are read
 * when no thread records. */
static const char *copy_path(const struct temp_folder *folder, int number) {
    char name[32];
    snprintf(name, sizeof name, "copy %d", number);
    return temp_folder_file(folder, name);
}

static void set_aside(const struct temp_folder *folder, const char *name, int number) {
    assert_int_equal(rename(temp_folder_file(folder, name), copy_path(folder, number)), 0);
}

TEST(test_save_memory_while_others_record, set_up_folder, tear_down_folder) {
    enum { SAVE_COUNT = 10 };
    struct temp_folder *folder = *state;
    struct workers workers;
    struct workers_mark before[SAVE_COUNT], after[SAVE_COUNT];
    start_recording(folder, "memory.trace", (struct grec_options){.storage = GREC_STORAGE_MEMORY, .chunk_bytes = 8192});
    assert_string_equal(status_now().path, "");
    workers_start(&workers);
    for (int i = 0; i < SAVE_COUNT; i++) {
        before[i] = workers_wait(&workers, 100);
        assert_int_equal(grec_save(i % 2 ? NULL : temp_folder_file(folder, "memory.trace")), GREC_OK);
        after[i] = workers_mark(&workers);
        set_aside(folder, "memory.trace", i);
    }
    struct workers_mark end = workers_end(&workers);
    assert_int_equal(temp_folder_count(folder), SAVE_COUNT);
    const struct recorded *recorded;
    for (int i = 0; i < SAVE_COUNT; i++) {
        recorded = recorded_read(copy_path(folder, i));
        assert_nothing_lost(recorded);
        for (int k = 0; k < WORKER_COUNT; k++) {
            struct numbers numbers = numbers_of_worker(recorded, k, after[i].done_counts[k] + 2);
            assert_numbers(&numbers, 0, before[i].done_counts[k]);
            free(numbers.counts);
        }
    }
    grec_stop();
    /* A recording in memory can still be saved after it has been stopped. */
    assert_int_equal(grec_save(NULL), GREC_OK);
    assert_int_equal(grec_save(temp_folder_file(folder, "other.trace")), GREC_OK);
    recorded = recorded_read(temp_folder_file(folder, "other.trace"));
    assert_nothing_lost(recorded);
    assert_workers_but(recorded, end, end, end);
}

/* Records events with new names while copies are saved. An event in a copy must never lack its name. */
static void *record_new_names(void *argument) {
    atomic_bool *is_told_to_end = argument;
    static atomic_uint next_number;
    while (!atomic_load(is_told_to_end)) {
        char name[32];
        snprintf(name, sizeof name, "name %u", atomic_fetch_add(&next_number, 1));
        grec_add_named_marker(name, NULL, NULL, NULL, NULL, 0);
        usleep(10);
    }
    return NULL;
}

TEST(test_save_while_names_are_new, set_up_folder, tear_down_folder) {
    enum { SAVE_COUNT = 20 };
    struct temp_folder *folder = *state;
    atomic_bool is_told_to_end = false;
    pthread_t thread;
    start_recording(folder, "names.trace", (struct grec_options){.storage = GREC_STORAGE_MEMORY, .chunk_bytes = 4096});
    assert_int_equal(pthread_create(&thread, NULL, record_new_names, &is_told_to_end), 0);
    for (int i = 0; i < SAVE_COUNT; i++) {
        usleep(1000);
        assert_int_equal(grec_save(NULL), GREC_OK);
        set_aside(folder, "names.trace", i);
    }
    atomic_store(&is_told_to_end, true);
    pthread_join(thread, NULL);
    for (int i = 0; i < SAVE_COUNT; i++) {
        const struct recorded *recorded = recorded_read(copy_path(folder, i));
        assert_nothing_lost(recorded);
    }
}

TEST(test_save_of_a_file, set_up_folder, tear_down_folder) {
    struct temp_folder *folder = *state;
    start_recording(folder, "file.trace", no_options);
    record_number(0);
    assert_int_equal(grec_save(NULL), GREC_ERROR_OPTIONS);
    assert_true(file_write(temp_folder_file(folder, "copy.trace"), TEXT("something old")));
    assert_int_equal(grec_save(temp_folder_file(folder, "copy.trace")), GREC_OK);
    record_number(1);
    const struct recorded *recorded = recorded_read(temp_folder_file(folder, "copy.trace"));
    assert_nothing_lost(recorded);
    assert_int_equal(count_markers(&recorded->profile, "number"), 1);
    recorded = stop_and_read(folder, "file.trace");
    assert_int_equal(count_markers(&recorded->profile, "number"), 2);
    assert_int_equal(grec_save(temp_folder_file(folder, "late.trace")), GREC_ERROR_STATE);
    assert_int_equal(temp_folder_count(folder), 2);
}

TEST(test_save_over_the_file_itself, set_up_folder, tear_down_folder) {
    struct temp_folder *folder = *state;
    start_recording(folder, "itself.trace", no_options);
    record_number(0);
    errno = 0;
    enum grec_error error = grec_save(temp_folder_file(folder, "itself.trace"));
    assert_int_equal(errno, EINVAL);
    record_number(1);
    const struct recorded *recorded = stop_and_read_whole(folder, "itself.trace");
    assert_int_equal(count_markers(&recorded->profile, "number"), 2);
    assert_int_equal(error, GREC_ERROR_STORAGE);
}

TEST(test_save_to_where_it_cannot, set_up_folder, tear_down_folder) {
    struct temp_folder *folder = *state;
    char below_nothing[PATH_MAX], pattern[PATH_MAX], name[64];
    snprintf(below_nothing, sizeof below_nothing, "%s/nothing/x.trace", folder->path);
    snprintf(pattern, sizeof pattern, "%s/%%p.trace", folder->path);
    for (int storage = 0; storage < 2; storage++) {
        start_recording(folder, "source.trace", (struct grec_options){.storage = (uint32_t)storage});
        record_number(0);
        assert_int_equal(grec_save(below_nothing), GREC_ERROR_STORAGE);
        assert_int_equal(errno, ENOENT);
        assert_int_equal(grec_save(folder->path), GREC_ERROR_STORAGE);
        assert_int_equal(grec_save("/dev/null"), GREC_ERROR_STORAGE);
        assert_int_equal(grec_save("/proc/x.trace"), GREC_ERROR_STORAGE);
        assert_int_equal(grec_save("%x"), GREC_ERROR_OPTIONS);
        assert_int_equal(grec_save(""), GREC_ERROR_OPTIONS);
        assert_int_equal(grec_is_recording(), 1);
        assert_int_equal(grec_save(pattern), GREC_OK);
        snprintf(name, sizeof name, "%d.trace", getpid());
        const struct recorded *recorded = recorded_read(temp_folder_file(folder, name));
        assert_int_equal(count_markers(&recorded->profile, "number"), 1);
        grec_stop();
        struct stat status;
        assert_int_equal(stat("/dev/null", &status), 0);
        assert_true(S_ISCHR(status.st_mode));
    }
    assert_int_equal(temp_folder_count(folder), 2);
}

/* Starting another recording discards the recording in memory. */
TEST(test_memory_then_another, set_up_folder, tear_down_folder) {
    start_recording(*state, "memory.trace", (struct grec_options){.storage = GREC_STORAGE_MEMORY});
    GREC_INSTANT("in memory", NULL);
    grec_stop();
    start_recording(*state, "file.trace", no_options);
    GREC_INSTANT("in a file", NULL);
    const struct recorded *recorded = stop_and_read_whole(*state, "file.trace");
    assert_int_equal(count_markers(&recorded->profile, "in memory"), 0);
    assert_int_equal(count_markers(&recorded->profile, "in a file"), 1);
    assert_int_equal(grec_save(NULL), GREC_ERROR_STATE);
    assert_int_equal(temp_folder_count(*state), 1);
}

int main(void) { return unit_tests_run(NULL, NULL); }
