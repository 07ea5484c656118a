/* Tests a real trace that is cut at each byte, and one with each byte damaged. The converter must produce a profile
 * or a plain error, and the profile must have everything that is undamaged. */
#include <pthread.h>
#include <sys/prctl.h>

#include "tests/support/crash_events.h"
#include "tests/support/random_numbers.h"
#include "tests/support/temp_folder.h"
#include "tests/support/unit_test.h"

enum {
    THREAD_COUNT = 3,
    EVENT_COUNT = 24,        /* events of a thread */
    FIRST_EVENT_COUNT = 300, /* events of the first thread, which fill a chunk */
    SMALL_CHUNK_BYTES = 4096,
    /* A prime, so that all parts of a block have their turn. Without sanitizers, each byte has. test_trace_reader cuts
     * and damages a smaller trace at each byte under the address sanitizer too. */
    STRIDE = CRASH_IS_SANITIZED ? 13 : 1,
};

/* ---- The trace. ---- */

static const struct grec_column pair[] = {GREC_COLUMN("a", GREC_FORMAT_INTEGER), GREC_COLUMN("b", GREC_FORMAT_STRING)};
static const struct grec_field rich_fields[] = {
    GREC_FIELD("text", NULL, GREC_FORMAT_STRING),  GREC_FIELD("same", NULL, GREC_FORMAT_UNIQUE_STRING),
    GREC_FIELD("flow", NULL, GREC_FORMAT_FLOW_ID), GREC_FIELD("time", NULL, GREC_FORMAT_TIME),
    GREC_FIELD("real", NULL, GREC_FORMAT_DECIMAL), GREC_FIELD("list", NULL, GREC_FORMAT_LIST),
    GREC_FIELD_OF_TABLE("table", NULL, pair)};
static struct grec_marker_type rich_type = GREC_MARKER_TYPE("Rich", rich_fields);
static struct grec_marker rich = GREC_MARKER("rich", &crash_category, &rich_type);
static struct grec_string same = GREC_STRING_OF("the same");
static struct grec_counter set_counter =
    GREC_COUNTER("set", "Accidents", "", NULL, GREC_COUNTER_ACCUMULATED, GREC_GRAPH_RED, 0);
static struct grec_counter summed =
    GREC_COUNTER("summed", "Accidents", "", NULL, GREC_COUNTER_RATE, GREC_GRAPH_RED, GREC_COUNTER_SAMPLED);
static struct crash_log *log_of_all;

static void record_other_kinds(void) {
    const char *const texts[] = {"one", "two"};
    const struct grec_value cells[] = {GREC_INT(1), GREC_TEXT("x"), GREC_INT(2), GREC_TEXT("y")};
    const struct grec_value values[] = {GREC_TEXT("text"),     GREC_STRING(&same), GREC_FLOW(77),
                                        GREC_TIME(grec_now()), GREC_REAL(0.5),     GREC_LIST(texts, 2),
                                        GREC_TABLE(cells, 4)};
    struct grec_marker_options options = {
        .phase = GREC_PHASE_INTERVAL, .with_stack = 1, .start = grec_now(), .thread = grec_thread_self()};
    GREC_LABEL("outer", &crash_category);
    grec_interval_start(&rich, values, 7);
    grec_interval_end(&rich, values, 7);
    grec_add_marker(&rich, &options, values, 7);
    grec_counter_set(&set_counter, 9);
    grec_counter_add(&summed, 2);
    grec_sample();
    grec_log(GREC_LOG_WARNING, "module", "a line");
}

static void *record_some(void *context) {
    unsigned slot = *(unsigned *)context;
    log_of_all->slots[slot].pid = (int32_t)getpid();
    unsigned count = slot ? EVENT_COUNT : FIRST_EVENT_COUNT;
    for (unsigned i = 0; i < count; i++) crash_record(log_of_all, slot);
    record_other_kinds();
    return NULL;
}

static void record_trace(void *path) {
    struct grec_options options = {.path = path, .chunk_bytes = SMALL_CHUNK_BYTES, .limit_bytes = GREC_UNLIMITED};
    unsigned slots[THREAD_COUNT] = {0, 1, 2};
    pthread_t threads[2];
    CRASH_CHECK(grec_start(&options) == GREC_OK);
    crash_log_open(log_of_all, 1);
    /* The child is killed while it records, so its chunk stays in use. */
    pid_t pid = fork();
    if (pid == 0) {
        record_some(&slots[2]);
        kill(getpid(), SIGKILL);
    }
    CRASH_CHECK(crash_wait(pid) == -SIGKILL);
    for (unsigned i = 0; i < 2; i++) CRASH_CHECK(pthread_create(&threads[i], NULL, record_some, &slots[i]) == 0);
    for (unsigned i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    grec_pause();
    grec_resume();
    /* A saved copy has no bookkeeping between the header and the chunks. */
    CRASH_CHECK(grec_save((const char *)path + strlen(path) + 1) == GREC_OK);
    grec_stop();
}

/* The undamaged trace. The unused tail of its last chunk is zeros or is missing. */
struct sound {
    unsigned char *bytes;
    size_t bytes_count;
    uint64_t event_count;
};

static uint64_t count_events(const struct profile *profile) {
    uint64_t count = 0;
    for (size_t i = 0; i < profile->threads.count; i++) {
        const struct thread *thread = profile_thread_at(profile, (thread_id){(uint32_t)i});
        count += thread->markers.count + samples_count(&thread->samples);
    }
    return count;
}

static uint64_t loss_count(const struct profile *profile) {
    uint64_t count = 0;
    for (int unit = 0; unit < LEDGER_UNIT_COUNT; unit++)
        count += ledger_sum(&profile->ledger, (enum gecko_convert_unit)unit, LEDGER_LOST);
    return count;
}

static uint64_t note_count(const struct profile *profile) {
    uint64_t count = 0;
    for (int unit = 0; unit < LEDGER_UNIT_COUNT; unit++)
        count += ledger_sum(&profile->ledger, (enum gecko_convert_unit)unit, LEDGER_NOTED);
    return count;
}

static bool has_chunk(const struct sound *sound, enum trace_chunk_kind kind, enum trace_chunk_state state) {
    struct trace_chunk_header header;
    for (size_t at = TRACE_HEADER_BYTES; at + sizeof header <= sound->bytes_count; at += SMALL_CHUNK_BYTES) {
        memcpy(&header, sound->bytes + at, sizeof header);
        if (header.kind == kind && header.state == state) return true;
    }
    return false;
}

static int set_up_trace(void **state) {
    static struct sound sound;
    struct temp_folder folder;
    struct crash_trace trace;
    char paths[2 * PATH_MAX];
    log_of_all = crash_share(sizeof *log_of_all);
    if (!temp_folder_init(&folder)) return -1;
    int length = snprintf(paths, PATH_MAX, "%s/first.trace", folder.path);
    snprintf(paths + length + 1, PATH_MAX, "%s/copy.trace", folder.path);
    if (crash_run(record_trace, paths) != 0) return -1;
    sound.bytes = (unsigned char *)file_read(paths + length + 1, &sound.bytes_count);
    temp_folder_fini(&folder);
    /* The last block may end in one zero, that of a sum whose changes were not counted. */
    while (sound.bytes_count > 1 && !sound.bytes[sound.bytes_count - 1] && !sound.bytes[sound.bytes_count - 2])
        sound.bytes_count--;
    crash_trace_read_bytes(&trace, (struct text){(const char *)sound.bytes, sound.bytes_count});
    if (failure_is_set(&trace.failure) || loss_count(&trace.profile)) return -1;
    sound.event_count = count_events(&trace.profile);
    profile_fini(&trace.profile);
    print_message("%zu bytes, %llu events\n", sound.bytes_count, (unsigned long long)sound.event_count);
    bool has_all = has_chunk(&sound, TRACE_CHUNK_EVENTS, TRACE_CHUNK_LIVE) &&
                   has_chunk(&sound, TRACE_CHUNK_EVENTS, TRACE_CHUNK_SEALED) &&
                   has_chunk(&sound, TRACE_CHUNK_DEFINITIONS, TRACE_CHUNK_LIVE);
    if (!has_all) return -1;
    *state = &sound;
    return 0;
}

static int tear_down_trace(void **state) {
    struct sound *sound = *state;
    free(sound->bytes);
    munmap(log_of_all, sizeof *log_of_all);
    return 0;
}

/* Reads a damaged trace. If it can be read, the profile must be sound. Otherwise the error must have a message.
 * Returns whether it could be read. */
static bool read_damaged(struct crash_trace *trace, const unsigned char *bytes, size_t bytes_count, size_t place) {
    crash_trace_read_bytes(trace, (struct text){(const char *)bytes, bytes_count});
    if (failure_is_set(&trace->failure)) {
        if (trace->failure.code != FAILURE_INPUT || !*trace->failure.message)
            fail_msg("byte %zu: failure %d: %s", place, (int)trace->failure.code, trace->failure.message);
        return false;
    }
    const char *fault = profile_fault(&trace->profile);
    if (fault) fail_msg("byte %zu: %s", place, fault);
    if (!ledger_is_balanced(&trace->profile.ledger)) fail_msg("byte %zu: the ledger does not balance", place);
    return true;
}

/* ---- Cuts. ---- */

TEST(test_cut_at_every_byte) {
    const struct sound *sound = *state;
    uint64_t last_count = 0;
    bool was_read = false;
    for (size_t end = 0; end < sound->bytes_count; end += STRIDE) {
        struct crash_trace trace;
        /* The buffer ends where the file ends, so the address sanitizer detects reads beyond the end. */
        unsigned char *bytes = malloc(end ? end : 1);
        assert_non_null(bytes);
        memcpy(bytes, sound->bytes, end);
        bool is_read = read_damaged(&trace, bytes, end, end);
        uint64_t count = is_read ? count_events(&trace.profile) : 0;
        if (is_read != (end >= TRACE_HEADER_BYTES)) fail_msg("cut at %zu: %s", end, trace.failure.message);
        if (count < last_count)
            fail_msg("cut at %zu: %llu events, and %llu of a shorter one", end, (unsigned long long)count,
                     (unsigned long long)last_count);
        bool is_at_chunk = end % SMALL_CHUNK_BYTES == 0;
        bool is_told = !is_read || is_at_chunk || loss_count(&trace.profile) || note_count(&trace.profile);
        if (count < sound->event_count && !is_told) fail_msg("cut at %zu: nothing is said of what is missing", end);
        was_read |= is_read;
        last_count = count;
        profile_fini(&trace.profile);
        free(bytes);
    }
    assert_true(was_read);
    assert_true(last_count > sound->event_count / 2);
}

/* ---- Damage. ---- */

/* Returns the number of the chunk that has the byte, or -1 if the byte is in the header. */
static int64_t chunk_of(size_t place) {
    return place < TRACE_HEADER_BYTES ? -1 : (int64_t)((place - TRACE_HEADER_BYTES) / SMALL_CHUNK_BYTES);
}

/* Returns the number of events that remain if a chunk is marked as free. */
static uint64_t events_without_chunk(const struct sound *sound, unsigned char *bytes, size_t number) {
    struct crash_trace trace;
    size_t at = TRACE_HEADER_BYTES + number * SMALL_CHUNK_BYTES;
    uint32_t state = TRACE_CHUNK_FREE;
    memcpy(bytes, sound->bytes, sound->bytes_count);
    memcpy(bytes + at, &state, sizeof state);
    assert_true(read_damaged(&trace, bytes, sound->bytes_count, at));
    uint64_t count = count_events(&trace.profile);
    profile_fini(&trace.profile);
    return count;
}

static bool is_event_chunk(const struct sound *sound, size_t number) {
    struct trace_chunk_header header;
    memcpy(&header, sound->bytes + TRACE_HEADER_BYTES + number * SMALL_CHUNK_BYTES, sizeof header);
    return header.kind == TRACE_CHUNK_EVENTS;
}

TEST(test_damage_of_every_byte) {
    enum { CHUNK_COUNT_MAX = 32 };
    const struct sound *sound = *state;
    unsigned char *bytes = malloc(sound->bytes_count);
    uint64_t others_count[CHUNK_COUNT_MAX];
    struct random_numbers numbers = {3};
    size_t chunk_count = (sound->bytes_count - TRACE_HEADER_BYTES + SMALL_CHUNK_BYTES - 1) / SMALL_CHUNK_BYTES;
    unsigned refused_count = 0, loss_told_count = 0;
    assert_non_null(bytes);
    assert_true(chunk_count <= CHUNK_COUNT_MAX);
    for (size_t i = 0; i < chunk_count; i++) others_count[i] = events_without_chunk(sound, bytes, i);
    for (size_t place = 0; place < sound->bytes_count; place += STRIDE) {
        struct crash_trace trace;
        memcpy(bytes, sound->bytes, sound->bytes_count);
        unsigned damage = place % 2 ? 0xff : 1u << random_below(&numbers, 8);
        bytes[place] = (unsigned char)(bytes[place] ^ damage);
        int64_t chunk = chunk_of(place);
        if (!read_damaged(&trace, bytes, sound->bytes_count, place)) {
            refused_count++;
            if (chunk >= 0) fail_msg("byte %zu: refused: %s", place, trace.failure.message);
            profile_fini(&trace.profile);
            continue;
        }
        if (chunk < 0 && place < offsetof(struct trace_header, gap)) fail_msg("byte %zu of the header passes", place);
        uint64_t count = count_events(&trace.profile);
        bool is_told = loss_count(&trace.profile) || note_count(&trace.profile);
        /* If the damaged byte marks the chunk as free, the reader cannot know that the chunk was in use. */
        bool is_state = chunk >= 0 && (place - TRACE_HEADER_BYTES) % SMALL_CHUNK_BYTES < sizeof(uint32_t);
        if (count < sound->event_count && !is_told && !is_state) fail_msg("byte %zu: nothing is said", place);
        if (chunk >= 0 && is_event_chunk(sound, (size_t)chunk) && count < others_count[chunk])
            fail_msg("byte %zu of chunk %d: %llu events are left, the other chunks have %llu", place, (int)chunk,
                     (unsigned long long)count, (unsigned long long)others_count[chunk]);
        if (chunk < 0 && count != sound->event_count) fail_msg("byte %zu of the header takes events away", place);
        loss_told_count += loss_count(&trace.profile) > 0;
        profile_fini(&trace.profile);
    }
    assert_true(refused_count >= offsetof(struct trace_header, gap) / STRIDE);
    assert_true(loss_told_count > 0);
    free(bytes);
}

int main(void) {
    crash_events_init();
    return unit_tests_run(set_up_trace, tear_down_trace);
}
