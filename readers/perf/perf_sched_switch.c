#include "perf_sched_switch.h"

#include "libconvert/base/cursor.h"
#include "perf_cursor.h"

/* ---- Text. ---- */

static const struct text ARROW = TEXT(" ==> ");

/* Returns the offset of the last occurrence of the word. Names of threads, which may have anything in them, come before
 * what is searched. Returns the size of the text if there is none. */
static size_t find_last(struct text text, struct text word) {
    for (size_t i = text.bytes_count; i-- > 0;)
        if (text_starts_with(text_from(text, i), word)) return i;
    return text.bytes_count;
}

static bool take_field(struct text text, struct text key, struct text *value) {
    size_t at = find_last(text, key);
    *value = text_from(text, at + key.bytes_count);
    *value = text_slice(*value, 0, text_find(*value, ' '));
    return at < text.bytes_count;
}

/* "prev_comm=app prev_pid=7 prev_prio=120 prev_state=S", and the same of the next thread. */
static bool parse_fields(struct text from, struct text to, struct perf_sched_switch *out) {
    struct text from_tid, state, to_tid;
    if (!take_field(from, TEXT("prev_pid="), &from_tid) || !take_field(from, TEXT("prev_state="), &state)) return false;
    if (!take_field(to, TEXT("next_pid="), &to_tid) || !state.bytes_count) return false;
    out->state = state.bytes[0];
    return cursor_parse_id(from_tid, &out->from_tid) && cursor_parse_id(to_tid, &out->to_tid);
}

/* "app:7 [120]" */
static bool parse_thread(struct text text, int64_t *tid) {
    size_t bracket = text_find_last(text, '[');
    struct text name = text_trim_end(text_slice(text, 0, bracket));
    return bracket < text.bytes_count && cursor_parse_id(text_from(name, text_find_last(name, ':') + 1), tid);
}

/* "app:7 [120] S", as libtraceevent's plugin prints it, and the same of the next thread without a state. */
static bool parse_threads(struct text from, struct text to, struct perf_sched_switch *out) {
    size_t blank = text_find_last(from, ' ');
    struct text state = text_from(from, blank + 1);
    if (!state.bytes_count) return false;
    out->state = state.bytes[0];
    return parse_thread(text_slice(from, 0, blank), &out->from_tid) && parse_thread(to, &out->to_tid);
}

bool perf_sched_switch_parse(struct text payload, struct perf_sched_switch *out) {
    payload = text_trim(payload);
    size_t arrow = find_last(payload, ARROW);
    if (arrow == payload.bytes_count) return false;
    struct text from = text_slice(payload, 0, arrow), to = text_from(payload, arrow + ARROW.bytes_count);
    return parse_fields(from, to, out) || parse_threads(from, to, out);
}

/* ---- Bytes. ---- */

enum field { FROM_TID, STATE, TO_TID, FIELD_COUNT };

/* Where Linux has each field since 2.6.31, on machines with 64 bits. */
static const struct {
    const char *name;
    struct perf_tracing_place place;
} fields[FIELD_COUNT] = {
    [FROM_TID] = {"prev_pid", {24, 4}},
    [STATE] = {"prev_state", {32, 8}},
    [TO_TID] = {"next_pid", {56, 4}},
};

static bool read_number(struct text payload, struct perf_tracing_place place, uint64_t *value) {
    struct text bytes = text_slice(payload, place.offset, (size_t)place.offset + place.size_bytes);
    if (bytes.bytes_count != place.size_bytes || (place.size_bytes != 4 && place.size_bytes != 8)) return false;
    *value = place.size_bytes == 4 ? perf_load_u32(bytes.bytes) : perf_load_u64(bytes.bytes);
    return true;
}

/* The lowest bit of the state decides, which is the first letter that perf script prints. Without one, the thread could
 * go on. */
static char letter_of(uint64_t state) {
    static const char letters[] = "SDTtXZPI";
    unsigned bit = state & 0xff ? (unsigned)__builtin_ctzll(state) : 8;
    return bit < 8 ? letters[bit] : 'R';
}

bool perf_sched_switch_decode(struct perf_tracing *tracing, uint64_t id, struct text payload,
                              struct perf_sched_switch *out) {
    uint64_t values[FIELD_COUNT];
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        struct perf_tracing_place place = fields[i].place;
        if (perf_tracing_knows(tracing, id) && !perf_tracing_find(tracing, id, fields[i].name, &place)) return false;
        if (!read_number(payload, place, &values[i])) return false;
    }
    *out = (struct perf_sched_switch){
        .from_tid = (int32_t)values[FROM_TID], .to_tid = (int32_t)values[TO_TID], .state = letter_of(values[STATE])};
    return true;
}
