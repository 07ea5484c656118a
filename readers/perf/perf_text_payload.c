#include "perf_text_payload.h"

#include "libconvert/base/cursor.h"
#include "libconvert/base/glob.h"
#include "libconvert/base/memory.h"

/* The type of a field, which all its values have in common. The kernel prints "0" for 0 in hexadecimal, too ("%#x"). */
enum value_type {
    TYPE_UNKNOWN,
    TYPE_ZERO,
    TYPE_INTEGER,
    TYPE_HEXADECIMAL,
    TYPE_NANOSECONDS,
    TYPE_BYTES,
    TYPE_TEXT,
    TYPE_COUNT
};

struct text_field {
    struct text key;
    uint32_t number; /* number of the field among those of that key in a payload, from 1 */
    enum value_type type;
    bool is_set; /* the payload that is being read has it */
};

void perf_text_fields_init(struct perf_text_fields *fields, struct profile *profile, struct text name) {
    *fields = (struct perf_text_fields){.profile = profile, .name = name};
    column_init(&fields->rows, sizeof(struct text_field), profile->failure);
}

void perf_text_fields_fini(struct perf_text_fields *fields) {
    column_fini(&fields->rows);
    memory_free(fields->values);
}

/* ---- What the kernel prints without keys. ---- */

/* Print rules of tracepoints, with the names of their fields in braces. A letter precedes some: "x:" that of a number
 * in hexadecimal without 0x, "i:" that of another number that is printed in hexadecimal, "u:" that of nanoseconds that
 * are printed as microseconds, "p:" that of a priority of I/O that is printed as class, hint and level, "s:" that of a
 * text with blanks, and "-:" what the kernel makes of other fields. An event that ends with "*" stands for all that
 * begin so; an empty one for probes, which may have any name. The first form that a payload has applies. */
static const struct {
    struct text event;
    struct text form;
} forms[] = {
    {TEXT("syscalls:sys_exit_*"), TEXT("{i:ret}")},
    {TEXT("raw_syscalls:sys_enter"), TEXT("NR {id} ({args})")},
    {TEXT("raw_syscalls:sys_exit"), TEXT("NR {id} = {ret}")},
    {TEXT("kmem:rss_stat"), TEXT("mm_id={mm_id} curr={curr} type={member} size={size}")},
    {TEXT("kmem:mm_page_free_batched"), TEXT("page={-:page} pfn={pfn} order={-:order}")},
    {TEXT("kmem:mm_page_*"), TEXT("page={-:page} pfn={pfn}")},
    {TEXT("kmem:kmalloc*"), TEXT("call_site={call_site} ptr={ptr} bytes_req={bytes_req} bytes_alloc={bytes_alloc} "
                                 "gfp_flags={gfp_flags} node={node} accounted={-:accounted}")},
    {TEXT("irq:softirq_*"), TEXT("vec={vec} [action={action}]")},
    {TEXT("block:block_rq_complete"), TEXT("{dev} {rwbs} ({cmd}) {sector} + {nr_sector} {p:ioprio} [{error}]")},
    {TEXT("block:block_rq_complete"), TEXT("{dev} {rwbs} ({cmd}) {sector} + {nr_sector} [{error}]")},
    {TEXT("block:block_*"), TEXT("{dev} {rwbs} {bytes} ({cmd}) {sector} + {nr_sector} {p:ioprio} [{comm}]")},
    {TEXT("block:block_*"), TEXT("{dev} {rwbs} {bytes} ({cmd}) {sector} + {nr_sector} [{comm}]")},
    {TEXT("block:block_*"), TEXT("{dev} {rwbs} {sector} + {nr_sector} [{comm}]")},
    {TEXT("block:block_*"), TEXT("{dev} sector={sector} size={size}")},
    {TEXT("block:block_plug"), TEXT("[{comm}]")},
    {TEXT("block:block_unplug"), TEXT("[{comm}] {nr_rq}")},
    {TEXT("sched:sched_process_fork"),
     TEXT("comm={parent_comm} pid={parent_pid} child_comm={child_comm} child_pid={child_pid}")},
    {TEXT("workqueue:workqueue_queue_work"),
     TEXT("work struct={work} function={function} workqueue={workqueue} req_cpu={req_cpu} cpu={cpu}")},
    {TEXT("workqueue:workqueue_activate_work"), TEXT("work struct {work} function={function}")},
    {TEXT("workqueue:workqueue_activate_work"), TEXT("work struct {work}")},
    {TEXT("workqueue:workqueue_execute_*"), TEXT("work struct {work}: function {function}")},
    {TEXT("sched:sched_kthread_work_queue_work"), TEXT("work struct={work} function={function} worker={worker}")},
    {TEXT("sched:sched_kthread_work_execute_*"), TEXT("work struct {work}: function {function}")},
    {TEXT("task:task_newtask"),
     TEXT("pid={pid} comm={comm} clone_flags={x:clone_flags} oom_score_adj={oom_score_adj}")},
    {TEXT("net:net*"), TEXT("dev={name} ")},
    {TEXT("napi:napi_poll"), TEXT("napi poll on napi struct {napi} for device {dev_name} work {work} budget {budget}")},
    {TEXT("sock:inet_sock_set_state"),
     TEXT("family={family} protocol={protocol} sport={sport} dport={dport} saddr={saddr} "
          "daddr={daddr} saddrv6={saddr_v6} daddrv6={daddr_v6} ")},
    {TEXT("tlb:tlb_flush"), TEXT("pages:{pages} reason:{reason in words} ({reason})")},
    {TEXT("timer:hrtimer_setup"), TEXT("hrtimer={hrtimer} clockid={clockid} mode={i:mode}")},
    {TEXT("timer:hrtimer_init"), TEXT("hrtimer={hrtimer} clockid={clockid} mode={i:mode}")},
    {TEXT("timer:hrtimer_start"), TEXT("hrtimer={hrtimer} function={function} expires={expires} "
                                       "softexpires={softexpires} mode={i:mode}")},
    {TEXT("timer:itimer_state"), TEXT("which={which} expires={expires} it_value={value_sec}.{u:value_nsec} "
                                      "it_interval={interval_sec}.{u:interval_nsec}")},
    {TEXT("rcu:rcu_utilization"), TEXT("{s:s}")},
    {TEXT("maple_tree:ma_write"), TEXT("{fn}\tNode {node} ({min} {max}) range:{index}-{last} piv ({piv}) val {val}")},
    {TEXT("maple_tree:ma_*"), TEXT("{fn}\tNode: {node} ({min} {max}) range: {index}-{last}")},
    {TEXT("lock:contention_begin"), TEXT("{lock_addr} (flags={flags})")},
    {TEXT("lock:contention_end"), TEXT("{lock_addr} (ret={ret})")},
    {TEXT(""), TEXT("({x:__probe_func} <- {x:__probe_ret_ip})")},
    {TEXT(""), TEXT("({x:__probe_ip})")},
};

static bool is_form_of(struct text event, struct text name) { return !event.bytes_count || glob_matches(event, name); }

struct pair {
    struct text key;
    struct text value;
    char kind; /* the letter before a field of a form; 0: none */
};

/* Takes the next field of the form off the payload, and what surrounds it. Returns false if the payload does not have
 * the form, or the form has no more fields. A field at the end of the form takes one word. */
static bool take_formed(struct text *form, struct text *payload, struct pair *pair) {
    size_t open = text_find(*form, '{'), close = text_find(*form, '}');
    if (close == form->bytes_count || !cursor_take(payload, text_slice(*form, 0, open))) return false;
    pair->key = text_slice(*form, open + 1, close);
    bool has_kind = pair->key.bytes_count > 2 && pair->key.bytes[1] == ':';
    pair->kind = has_kind ? pair->key.bytes[0] : 0;
    if (has_kind) pair->key = text_from(pair->key, 2);
    *form = text_from(*form, close + 1);
    struct text until = text_slice(*form, 0, text_find(*form, '{'));
    bool is_last = !until.bytes_count;
    if (!is_last && !text_has(*payload, until)) return false;
    size_t last_bytes = pair->kind == 's' ? payload->bytes_count : text_find(*payload, ' ');
    pair->value = text_slice(*payload, 0, is_last ? last_bytes : text_find_part(*payload, until));
    *payload = text_from(*payload, pair->value.bytes_count);
    return pair->value.bytes_count || !is_last;
}

/* Returns the form that the payload has; an empty text: none. */
static struct text form_of(struct text name, struct text payload) {
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct text form = forms[i].form, left = payload;
        struct pair pair;
        if (!is_form_of(forms[i].event, name)) continue;
        while (take_formed(&form, &left, &pair)) {
        }
        if (text_find(form, '}') == form.bytes_count && text_starts_with(left, form)) return forms[i].form;
    }
    return (struct text){0};
}

/* ---- Pairs of keys and values. ---- */

static bool is_key_start(char byte) { return cursor_is_word_byte(byte) && !cursor_is_digit(byte); }

static bool is_key_byte(char byte) { return cursor_is_word_byte(byte) || byte == '.' || byte == '-'; }

static size_t skip_blanks(struct text text, size_t at) {
    while (at < text.bytes_count && text_is_blank_byte(text.bytes[at])) at++;
    return at;
}

/* Returns where the value begins if the separator of keys is at that place; 0 if it is not. "==>" is an arrow. */
static size_t value_after(struct text text, size_t at, char separator) {
    size_t sign = separator == '=' ? skip_blanks(text, at) : at;
    struct text rest = text_from(text, sign);
    if (!rest.bytes_count || rest.bytes[0] != separator || text_starts_with(rest, TEXT("=="))) return 0;
    bool is_followed = rest.bytes_count > 1 && !text_is_blank_byte(rest.bytes[1]);
    return separator == ':' && is_followed ? 0 : skip_blanks(text, sign + 1);
}

/* A key, and where its value begins. */
struct key {
    size_t start;
    size_t end;
    size_t value;
};

/* Returns the end of the word at that place. */
static size_t word_end(struct text text, size_t at) {
    while (at < text.bytes_count && !text_is_blank_byte(text.bytes[at])) at++;
    return at;
}

/* Takes the word at that place as a key, if one that is its value follows. */
static bool take_word_key(struct text text, size_t at, struct key *key) {
    size_t start = skip_blanks(text, at), end = word_end(text, start), value = skip_blanks(text, end);
    if (value == text.bytes_count || !is_key_start(text.bytes[start])) return false;
    for (size_t i = start; i < end; i++)
        if (!is_key_byte(text.bytes[i])) return false;
    *key = (struct key){start, end, value};
    return true;
}

/* Counts the words after keys, and those of them that are numbers. Returns false if the payload is not all keys and
 * values, one word each, as file systems print them: "dev 254,0 ino 12 flags NEW". */
static bool count_words(struct text text, uint32_t *word_count, uint32_t *number_count) {
    struct key key;
    *word_count = *number_count = 0;
    for (size_t at = 0; skip_blanks(text, at) < text.bytes_count; at = word_end(text, key.value)) {
        if (!take_word_key(text, at, &key)) return false;
        ++*word_count;
        bool is_signed = text.bytes[key.value] == '-' && key.value + 1 < text.bytes_count;
        *number_count += cursor_is_digit(text.bytes[key.value + is_signed]);
    }
    return true;
}

/* Returns how many bytes the text in quotes at the start takes, with both quotes; 1 if no quote ends it. */
static size_t quoted_bytes(struct text text) {
    const char *end = memchr(text.bytes + 1, '"', text.bytes_count - 1);
    return end ? (size_t)(end - text.bytes) + 1 : 1;
}

/* Finds the first key from that place on, outside of quotes and braces. If blanks separate keys from values, the place
 * is the end of a value. */
static bool find_key(struct text text, size_t at, char separator, struct key *key) {
    if (separator == ' ') return take_word_key(text, at, key);
    size_t depth = 0;
    bool is_start = true;
    while (at < text.bytes_count) {
        char byte = text.bytes[at];
        size_t end = at + 1;
        if (byte == '"') end = at + quoted_bytes(text_from(text, at));
        while (is_key_byte(byte) && end < text.bytes_count && is_key_byte(text.bytes[end])) end++;
        size_t value = is_start && !depth && is_key_start(byte) ? value_after(text, end, separator) : 0;
        if (value) {
            *key = (struct key){at, end, value};
            return true;
        }
        depth += byte == '{';
        depth -= depth && byte == '}';
        is_start = text_is_blank_byte(byte) || byte == ',' || byte == '(' || byte == '[';
        at = end;
    }
    return false;
}

/* How many more brackets of a kind close in a value than open. */
struct surplus {
    int64_t round;
    int64_t square;
};

static void count_bracket(struct surplus *surplus, char byte, int64_t step) {
    surplus->round += (byte == ')') * step - (byte == '(') * step;
    surplus->square += (byte == ']') * step - (byte == '[') * step;
}

/* Returns how many bytes at the end of the value separate it from the next key: a comma, an arrow, or a bracket whose
 * other one is outside of the value, as in "0xffff888627d2ba80 (flags=SPIN)". */
static size_t separator_bytes(struct text value, const struct surplus *surplus) {
    static const struct text separators[] = {TEXT(","), TEXT(";"), TEXT("==>"), TEXT("("), TEXT("[")};
    for (size_t i = 0; i < sizeof separators / sizeof *separators; i++)
        if (text_ends_with(value, separators[i])) return separators[i].bytes_count;
    return (surplus->round > 0 && text_ends_with(value, TEXT(")"))) ||
           (surplus->square > 0 && text_ends_with(value, TEXT("]")));
}

/* Returns the value without what separates it from the next key. */
static struct text trim_value(struct text value) {
    struct surplus surplus = {0};
    for (size_t i = 0; i < value.bytes_count; i++) count_bracket(&surplus, value.bytes[i], 1);
    value = text_trim(value);
    for (size_t bytes_count; (bytes_count = separator_bytes(value, &surplus));) {
        count_bracket(&surplus, value.bytes[value.bytes_count - 1], -1);
        value = text_trim(text_slice(value, 0, value.bytes_count - bytes_count));
    }
    return value;
}

/* The kernel prints strings of probes in quotes. */
static struct text unquote(struct text value) {
    bool is_quoted = value.bytes_count > 1 && value.bytes[0] == '"' && text_ends_with(value, TEXT("\""));
    return is_quoted ? text_slice(value, 1, value.bytes_count - 1) : value;
}

/* Reads the pairs of a payload one after the other: first those of its form. What comes before the first key is the
 * value of "fields". */
struct pairs {
    struct text payload;
    struct text form; /* what is left of it */
    struct key next;
    char separator;
    bool has_next;
    bool is_begun; /* the form, if any, is read */
    bool is_past_start;
};

static void begin_pairs(struct pairs *pairs) {
    pairs->is_begun = true;
    pairs->has_next = pairs->separator && find_key(pairs->payload, 0, pairs->separator, &pairs->next);
}

static struct pairs pairs_of(const struct perf_text_fields *fields, struct text payload) {
    struct pairs pairs = {.payload = payload, .separator = fields->separator, .form = form_of(fields->name, payload)};
    uint32_t word_count, number_count;
    if (pairs.separator == ' ' && !count_words(payload, &word_count, &number_count)) pairs.separator = 0;
    if (!pairs.form.bytes_count) begin_pairs(&pairs);
    return pairs;
}

static bool take_pair(struct pairs *pairs, struct pair *pair) {
    if (!pairs->is_begun) {
        while (take_formed(&pairs->form, &pairs->payload, pair))
            if (pair->kind != '-') return true;
        cursor_take(&pairs->payload, pairs->form);
        begin_pairs(pairs);
    }
    struct text payload = pairs->payload;
    pair->kind = 0;
    if (!pairs->is_past_start) {
        pairs->is_past_start = true;
        pair->key = TEXT("fields");
        pair->value = trim_value(text_slice(payload, 0, pairs->has_next ? pairs->next.start : payload.bytes_count));
        if (pair->value.bytes_count) return true;
    }
    if (!pairs->has_next) return false;
    struct key taken = pairs->next;
    size_t from = pairs->separator == ' ' ? word_end(payload, taken.value) : taken.value;
    pairs->has_next = find_key(payload, from, pairs->separator, &pairs->next);
    pair->key = text_slice(payload, taken.start, taken.end);
    struct text value = text_slice(payload, taken.value, pairs->has_next ? pairs->next.start : payload.bytes_count);
    pair->value = unquote(trim_value(value));
    return true;
}

/* ---- Values. ---- */

static const enum marker_format formats[TYPE_COUNT] = {
    [TYPE_UNKNOWN] = MARKER_UNIQUE_STRING,   [TYPE_ZERO] = MARKER_INTEGER,
    [TYPE_INTEGER] = MARKER_INTEGER,         [TYPE_HEXADECIMAL] = MARKER_HEXADECIMAL,
    [TYPE_NANOSECONDS] = MARKER_NANOSECONDS, [TYPE_BYTES] = MARKER_BYTES,
    [TYPE_TEXT] = MARKER_UNIQUE_STRING,
};

/* A number that is too large is one that the kernel has made of a negative one: ULONG_MAX is -1. */
static bool parse_integer(struct text text, int64_t *value) {
    bool is_negative = cursor_take(&text, TEXT("-"));
    uint64_t number;
    if (!cursor_parse_number(text, 10, &number) || (is_negative && number > INT64_MAX)) return false;
    *value = is_negative ? -(int64_t)number : (int64_t)number;
    return true;
}

/* Parses "0x1f", "(nil)", and 16 digits that begin with "ffff" or "0000": the kernel prints addresses so. */
static bool parse_hexadecimal(struct text text, bool is_known, int64_t *value) {
    enum { DIGITS_MAX = 16 };
    bool is_marked = cursor_take(&text, TEXT("0x")) || is_known;
    uint64_t number = 0;
    *value = 0;
    if (text_equal(text, TEXT("(nil)"))) return true;
    if (!text.bytes_count || text.bytes_count > DIGITS_MAX) return false;
    bool is_address = text.bytes_count == DIGITS_MAX &&
                      (text_starts_with(text, TEXT("ffff")) || text_starts_with(text, TEXT("0000")));
    if (!is_marked && !is_address) return false;
    for (size_t i = 0; i < text.bytes_count; i++) {
        char byte = text.bytes[i];
        bool is_letter = byte >= 'a' && byte <= 'f';
        if (!cursor_is_digit(byte) && !is_letter) return false;
        number = number << 4 | (uint64_t)(is_letter ? byte - 'a' + 10 : byte - '0');
    }
    *value = (int64_t)number;
    return true;
}

static bool parse_with_unit(struct text text, struct text unit, int64_t *value) {
    return text_ends_with(text, unit) && parse_integer(text_slice(text, 0, text.bytes_count - unit.bytes_count), value);
}

static bool parse_microseconds(struct text text, int64_t *ns) {
    const int64_t NS_PER_US = 1000;
    bool is_good = parse_integer(text, ns) && *ns >= 0 && *ns <= INT64_MAX / NS_PER_US;
    if (is_good) *ns *= NS_PER_US;
    return is_good;
}

/* Parses "0x2,0,4", or 0x4004, as the fields of Linux include/uapi/linux/ioprio.h. */
static bool parse_priority(struct text text, int64_t *value) {
    enum { CLASS_SHIFT = 13, CLASS_MAX = 7, HINT_SHIFT = 3, HINT_MAX = 1023, LEVEL_MAX = 7 };
    uint64_t class, hint, level;
    bool is_good = cursor_take(&text, TEXT("0x")) && cursor_take_number(&text, 16, &class) &&
                   cursor_take(&text, TEXT(",")) && cursor_take_number(&text, 10, &hint) &&
                   cursor_take(&text, TEXT(",")) && cursor_parse_number(text, 10, &level);
    if (!is_good || class > CLASS_MAX || hint > HINT_MAX || level > LEVEL_MAX) return false;
    *value = (int64_t)(class << CLASS_SHIFT | hint << HINT_SHIFT | level);
    return true;
}

/* Modes of files are octal: "0100644". Other numbers have zeros to be as long as others: "target_cpu=001". */
static bool is_octal(const struct pair *pair) {
    return text_equal(pair->key, TEXT("mode")) && pair->value.bytes_count > 1 && pair->value.bytes[0] == '0';
}

static enum value_type parse_value(const struct pair *pair, int64_t *value) {
    if (pair->kind == 'p') return parse_priority(pair->value, value) ? TYPE_INTEGER : TYPE_TEXT;
    if (pair->kind == 'u') return parse_microseconds(pair->value, value) ? TYPE_INTEGER : TYPE_TEXT;
    if (parse_hexadecimal(pair->value, pair->kind == 'x', value))
        return pair->kind == 'i' ? TYPE_INTEGER : TYPE_HEXADECIMAL;
    if (is_octal(pair)) return TYPE_TEXT;
    if (parse_integer(pair->value, value)) return text_equal(pair->value, TEXT("0")) ? TYPE_ZERO : TYPE_INTEGER;
    if (parse_with_unit(pair->value, TEXT(" [ns]"), value)) return TYPE_NANOSECONDS;
    return parse_with_unit(pair->value, TEXT("B"), value) ? TYPE_BYTES : TYPE_TEXT;
}

static enum value_type join_types(enum value_type first, enum value_type second) {
    if (first == second || first == TYPE_UNKNOWN) return second;
    if (first == TYPE_ZERO && (second == TYPE_INTEGER || second == TYPE_HEXADECIMAL)) return second;
    bool is_zero = second == TYPE_ZERO && (first == TYPE_INTEGER || first == TYPE_HEXADECIMAL);
    return is_zero ? first : TYPE_TEXT;
}

static union marker_value value_of(struct profile *profile, enum value_type type, const struct pair *pair) {
    int64_t number = 0;
    if (marker_format_kind(formats[type]) == VALUE_STRING)
        return (union marker_value){.string = profile_string(profile, pair->value)};
    bool is_number = join_types(parse_value(pair, &number), type) == type;
    return is_number ? marker_value_integer(number) : marker_value_absent(VALUE_NUMBER);
}

/* ---- Fields. ---- */

/* Returns the row of the next field of that key that the payload does not have yet; ID_NONE: there is none. Payloads
 * have their fields in one order, so it is usually the one after the last, which is `next`. */
static uint32_t find_field(const struct perf_text_fields *fields, struct text key, uint32_t next, uint32_t *number) {
    uint32_t count = (uint32_t)fields->rows.count;
    *number = 1;
    if (next < count) {
        const struct text_field *field = column_at(&fields->rows, next);
        if (!field->is_set && field->number == 1 && text_equal(field->key, key)) return next;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct text_field *field = column_at(&fields->rows, i);
        if (!text_equal(field->key, key)) continue;
        if (!field->is_set) return i;
        *number = field->number + 1;
    }
    return ID_NONE;
}

static void begin_payload(struct perf_text_fields *fields) {
    COLUMN_EACH(struct text_field, text_field, &fields->rows) text_field->is_set = false;
}

/* Other text can be words, too, but few of them are numbers. */
static bool has_words_as_keys(struct text payload) {
    enum { WORDS_MIN = 2 };
    uint32_t word_count, number_count;
    return count_words(payload, &word_count, &number_count) && word_count >= WORDS_MIN && number_count > word_count / 2;
}

/* The separator is that of the first key of the first payload that has any. */
static void learn_separator(struct perf_text_fields *fields, struct text payload) {
    struct key equals, colon;
    bool has_equals = find_key(payload, 0, '=', &equals), has_colon = find_key(payload, 0, ':', &colon);
    if (has_equals && (!has_colon || equals.start < colon.start))
        fields->separator = '=';
    else if (has_colon)
        fields->separator = ':';
    else if (has_words_as_keys(payload))
        fields->separator = ' ';
}

void perf_text_fields_learn(struct perf_text_fields *fields, struct text payload) {
    struct pair pair;
    uint32_t row = ID_NONE;
    if (!fields->separator) learn_separator(fields, payload);
    struct pairs pairs = pairs_of(fields, payload);
    begin_payload(fields);
    while (take_pair(&pairs, &pair)) {
        uint32_t number;
        int64_t parsed;
        row = find_field(fields, pair.key, row + 1, &number);
        if (row == ID_NONE && fields->rows.count < PERF_FIELDS_MAX) {
            struct text_field *added = column_push(&fields->rows);
            if (!added) return;
            *added = (struct text_field){.key = profile_text(fields->profile, pair.key), .number = number};
            row = (uint32_t)fields->rows.count - 1;
        }
        if (row == ID_NONE) continue;
        struct text_field *field = column_at(&fields->rows, row);
        field->type = join_types(field->type, parse_value(&pair, &parsed));
        field->is_set = true;
    }
}

struct perf_layout *perf_text_fields_layout(struct perf_text_fields *fields) {
    if (fields->layout) return fields->layout;
    struct profile *profile = fields->profile;
    uint32_t count = (uint32_t)fields->rows.count;
    fields->layout = perf_layout_create(profile, fields->name, count);
    for (uint32_t i = 0; fields->layout && i < count; i++) {
        const struct text_field *field = column_at(&fields->rows, i);
        struct text key = field->number == 1
                              ? field->key
                              : profile_text_format(profile, "%.*s %u", TEXT_ARGS(field->key), (unsigned)field->number);
        perf_layout_add(fields->layout, profile, key, formats[field->type]);
    }
    return fields->layout;
}

struct perf_layout *perf_text_fields_values(struct perf_text_fields *fields, struct text payload,
                                            const union marker_value **values, uint64_t *lost_count) {
    struct pair pair;
    uint32_t row = ID_NONE, number;
    *lost_count = 0;
    if (!fields->values)
        fields->values = memory_allocate(fields->profile->failure, PERF_FIELDS_MAX * sizeof *fields->values);
    if (!fields->values || !perf_text_fields_layout(fields)) return NULL;
    for (uint32_t i = 0; i < fields->rows.count; i++) {
        const struct text_field *field = column_at(&fields->rows, i);
        fields->values[i] = marker_value_absent(marker_format_kind(formats[field->type]));
    }
    struct pairs pairs = pairs_of(fields, payload);
    begin_payload(fields);
    while (take_pair(&pairs, &pair)) {
        row = find_field(fields, pair.key, row + 1, &number);
        *lost_count += row == ID_NONE;
        if (row == ID_NONE) continue;
        struct text_field *field = column_at(&fields->rows, row);
        field->is_set = true;
        fields->values[row] = value_of(fields->profile, field->type, &pair);
    }
    *values = fields->values;
    return fields->layout;
}
