#include "collapsed_blocks.h"

#include "collapsed_line.h"
#include "libconvert/base/cursor.h"
#include "readers/input/foreign.h"
#include "readers/input/scan.h"

/* A part of `texts`. */
struct block_text {
    size_t start;
    size_t end;
};

void collapsed_blocks_init(struct collapsed_blocks *blocks, struct failure *failure) {
    *blocks = (struct collapsed_blocks){
        .texts.failure = failure, .line.failure = failure, .keys.failure = failure, .first_map.failure = failure};
    column_init(&blocks->frames, sizeof(struct block_text), failure);
}

void collapsed_blocks_fini(struct collapsed_blocks *blocks) {
    byte_buffer_fini(&blocks->texts);
    byte_buffer_fini(&blocks->line);
    byte_buffer_fini(&blocks->keys);
    byte_buffer_fini(&blocks->first_map);
    column_fini(&blocks->frames);
}

/* Appends the text; without a latch for failures, only counts its bytes. */
static void append(struct byte_buffer *out, struct text text) {
    if (out->failure)
        byte_buffer_append(out, text);
    else
        out->bytes_count += text.bytes_count;
}

static struct block_text add_text(struct collapsed_blocks *blocks, struct text text) {
    struct block_text added = {.start = blocks->texts.bytes_count};
    if (added.start + text.bytes_count > SCAN_LINE_BYTES_MAX)
        blocks->is_too_long = true;
    else
        append(&blocks->texts, text);
    added.end = blocks->texts.bytes_count;
    return added;
}

/* Forgets the current stack. Returns whether there was one. */
static bool forget(struct collapsed_blocks *blocks) {
    bool had_frames = blocks->frame_count > 0;
    blocks->frame_count = blocks->frames.count = 0;
    blocks->texts.bytes_count = blocks->keys.bytes_count = 0;
    blocks->thread_start = blocks->thread_end = blocks->map_end = blocks->part_end = 0;
    blocks->is_map = blocks->is_histogram = blocks->has_bucket = blocks->is_too_long = blocks->is_parted = false;
    return had_frames;
}

static bool is_decimal(struct text text) { return text.bytes_count && cursor_count_digits(text) == text.bytes_count; }

/* Returns whether SystemTap wrote the frame: "0x4a2b30 : main+0x8a2/0xa90 [app]" or "0x41a0b0
 * [/opt/app+0x1a0b0/0x37f000]". Those are known without their indentation, which mails and web pages lose. */
static bool is_of_systemtap(struct text text) {
    struct text token = cursor_take_token(&text);
    uint64_t address;
    if (!cursor_take(&token, TEXT("0x")) || !cursor_parse_number(token, 16, &address)) return false;
    text = text_trim_start(text);
    return text_starts_with(text, TEXT(": ")) || text_starts_with(text, TEXT("["));
}

/* Takes the address off "ffffffff810df082 hrtimer_wakeup+0x12", off bpftrace's "8d1215 0x8d1215 ([unknown])", and off
 * SystemTap's "0x4a2b30 : main+0x8a2/0xa90 [app]" and "0x41a0b0 [/opt/app+0x1a0b0/0x37f000]". */
static void take_address(struct text *text) {
    enum { DIGITS_MIN = 8 };
    struct text rest = *text, token = cursor_take_token(&rest);
    uint64_t address;
    bool is_marked = cursor_take(&token, TEXT("0x"));
    if (!cursor_parse_number(token, 16, &address) || !rest.bytes_count) return;
    rest = text_trim_start(rest);
    bool is_of_systemtap = is_marked && (cursor_take(&rest, TEXT(": ")) || text_starts_with(rest, TEXT("[")));
    struct text again = rest;
    bool is_repeated = cursor_take(&again, TEXT("0x")) && text_starts_with(again, token);
    if (is_of_systemtap || is_repeated || token.bytes_count >= DIGITS_MIN) *text = rest;
}

/* Takes the offset off "vfs_read+5", "main+0x12" and "main+0x8a2/0xa90". */
static bool take_offset(struct text *text) {
    size_t plus = text_find_last(*text, '+');
    uint64_t offset;
    struct text digits = text_from(*text, plus + 1);
    bool is_hexadecimal = cursor_take(&digits, TEXT("0x"));
    digits = text_slice(digits, 0, text_find(digits, '/'));
    if (!plus || !cursor_parse_number(digits, is_hexadecimal ? 16 : 10, &offset)) return false;
    *text = text_slice(*text, 0, plus);
    return true;
}

/* Takes the library off "main+0x12 [app]" (bcc), "main+18 (/usr/bin/app)" (bpftrace) and "[/lib/libc.so+0x12/0x34]"
 * (SystemTap). */
static struct text take_library(struct text *text) {
    char opening = text_ends_with(*text, TEXT("]")) ? '[' : '(';
    size_t open = text_find_last(*text, opening);
    bool is_group = opening == '[' || text_ends_with(*text, TEXT(")"));
    if (!is_group || open == text->bytes_count) return (struct text){0};
    struct text library = text_slice(*text, open + 1, text->bytes_count - 1);
    if (!open && opening == '[' && take_offset(&library)) {
        *text = TEXT("[unknown]");
        return text_base_name(library);
    }
    if (!open || text->bytes[open - 1] != ' ') return (struct text){0};
    struct text stem = text_slice(*text, 0, open - 1), without_offset = stem;
    if (text_equal(library, TEXT("[unknown]"))) {
        *text = stem;
        return (struct text){0};
    }
    if (!take_offset(&without_offset) && !text_equal(stem, TEXT("[unknown]"))) return (struct text){0};
    *text = stem;
    return text_base_name(library);
}

/* Takes what bcc pads to 16 columns. Wakers and those that they woke are frames, too. */
static bool take_label(struct text *text, struct text label) {
    struct text rest = *text;
    if (!cursor_take(&rest, label) || !text_starts_with(rest, TEXT("     "))) return false;
    *text = text_trim_start(rest);
    return true;
}

/* Adds a frame as collapsed stacks have it: "app`main". */
static void add_frame(struct collapsed_blocks *blocks, struct text text) {
    if (!take_label(&text, TEXT("waker:")) && !take_label(&text, TEXT("target:"))) take_label(&text, TEXT("--"));
    take_address(&text);
    struct text library = take_library(&text);
    take_offset(&text);
    bool is_kernel = text_equal(library, TEXT("kernel"));
    bool has_library = library.bytes_count && !is_kernel;
    blocks->frame_count++;
    struct block_text *added = blocks->texts.failure ? column_push(&blocks->frames) : NULL;
    if (!added) return;
    *added = add_text(blocks, has_library ? library : TEXT(""));
    if (has_library) add_text(blocks, TEXT("`"));
    add_text(blocks, text);
    added->end = add_text(blocks, is_kernel ? TEXT("_[k]") : TEXT("")).end;
}

static void set_thread(struct collapsed_blocks *blocks, struct text name, struct text pid) {
    blocks->thread_start = blocks->texts.bytes_count;
    add_text(blocks, name);
    if (pid.bytes_count) add_text(blocks, TEXT("-"));
    blocks->thread_end = add_text(blocks, pid).end;
}

/* Takes keys of a map besides its stacks, which may be before, between and after them. */
static void take_keys(struct collapsed_blocks *blocks, struct text keys) {
    while (keys.bytes_count && (keys.bytes[0] == ',' || text_is_blank_byte(keys.bytes[0]))) keys = text_from(keys, 1);
    keys = text_trim_end(keys);
    if (text_ends_with(keys, TEXT(","))) keys.bytes_count--;
    blocks->is_too_long |= blocks->keys.bytes_count + keys.bytes_count > SCAN_LINE_BYTES_MAX;
    if (!keys.bytes_count || blocks->is_too_long) return;
    if (blocks->keys.bytes_count) append(&blocks->keys, TEXT(","));
    append(&blocks->keys, keys);
}

static bool is_number_from(struct text text, struct text least) {
    uint64_t number, least_number;
    return cursor_parse_number(text, 10, &number) && cursor_parse_number(least, 10, &least_number) &&
           number >= least_number;
}

/* Makes the thread of the keys "comm", "comm, pid", "pid, comm", "comm, pid, tid" or "pid". The number of a processor
 * is less than the pid. */
static void set_keys(struct collapsed_blocks *blocks) {
    struct text keys = byte_buffer_text(&blocks->keys), rest = keys, pid = {0}, tid = {0};
    if (!keys.bytes_count) return;
    if (!blocks->keys.failure) return set_thread(blocks, keys, pid);
    size_t start = blocks->texts.bytes_count;
    while (rest.bytes_count) {
        struct text key = text_trim(text_take_until(&rest, ','));
        if (!pid.bytes_count && is_decimal(key)) {
            pid = key;
        } else if (pid.bytes_count && !tid.bytes_count && is_decimal(key) && is_number_from(key, pid)) {
            tid = key;
        } else {
            if (blocks->texts.bytes_count > start) add_text(blocks, TEXT(", "));
            add_text(blocks, key);
        }
    }
    bool has_name = blocks->texts.bytes_count > start;
    set_thread(blocks, has_name ? TEXT("") : keys, has_name ? pid : TEXT(""));
    blocks->thread_start = start;
    if (!has_name || !tid.bytes_count) return;
    add_text(blocks, TEXT("/"));
    blocks->thread_end = add_text(blocks, tid).end;
}

/* Begins a stack of the map @name. What another map counts is below a frame that is called as the map. */
static void begin_map(struct collapsed_blocks *blocks, struct text name) {
    blocks->is_map = true;
    if (!blocks->first_map.failure) return;
    if (!blocks->first_map.bytes_count) append(&blocks->first_map, name);
    if (!text_equal(byte_buffer_text(&blocks->first_map), name)) blocks->map_end = add_text(blocks, name).end;
}

/* wakeuptime: "waker:           sshd" after the frames; offwaketime: "target:          sshd 812". */
static bool take_waking_thread(struct collapsed_blocks *blocks, struct text text) {
    if (take_label(&text, TEXT("waker:"))) return set_thread(blocks, text, TEXT("")), true;
    if (!take_label(&text, TEXT("target:"))) return false;
    size_t blank = text_find_last(text, ' ');
    bool has_pid = is_decimal(text_from(text, blank + 1));
    set_thread(blocks, has_pid ? text_slice(text, 0, blank) : text, has_pid ? text_from(text, blank + 1) : TEXT(""));
    return true;
}

/* bcc: "-                nginx (812)" after the frames; stackcount: "nginx [812]". */
static bool take_thread(struct collapsed_blocks *blocks, struct text text, bool is_deeper) {
    if (take_waking_thread(blocks, text)) return true;
    bool has_dash = take_label(&text, TEXT("-"));
    char opening = has_dash ? '(' : '[', closing = has_dash ? ')' : ']';
    if (!has_dash && !is_deeper) return false;
    size_t open = text_find_last(text, opening);
    if (open == text.bytes_count || text.bytes[text.bytes_count - 1] != closing) return false;
    struct text pid = text_slice(text, open + 1, text.bytes_count - 1);
    if (!is_decimal(pid)) return false;
    set_thread(blocks, text_trim(text_slice(text, 0, open)), pid);
    return true;
}

/* Returns whether the kernel is entered there. */
static bool is_entry(struct text name) {
    static const struct text starts[] = {TEXT("entry_SYSCALL"), TEXT("entry_SYSENTER"), TEXT("do_syscall_64"),
                                         TEXT("asm_sysvec_"),   TEXT("asm_exc_"),       TEXT("asm_common_interrupt"),
                                         TEXT("el0_"),          TEXT("el0t_"),          TEXT("ret_from_fork"),
                                         TEXT("system_call_"),  TEXT("ret_from_intr"),  TEXT("ret_fast_syscall")};
    return TEXT_STARTS_IN(name, starts);
}

static struct text frame_text(const struct collapsed_blocks *blocks, size_t index) {
    const struct block_text *frame = column_at(&blocks->frames, index);
    return text_slice(byte_buffer_text(&blocks->texts), frame->start, frame->end);
}

/* Returns how many frames of the program are before those of the kernel, which it called: @[ustack, kstack]. */
static size_t count_callers(const struct collapsed_blocks *blocks) {
    size_t count = blocks->part_end;
    bool has_both = count > 0 && count < blocks->frames.count;
    bool is_turned =
        has_both && is_entry(frame_text(blocks, blocks->frames.count - 1)) && !is_entry(frame_text(blocks, count - 1));
    return is_turned ? count : 0;
}

static void add_to_line(struct collapsed_blocks *blocks, struct text frame) {
    if (blocks->line.bytes_count) append(&blocks->line, TEXT(";"));
    append(&blocks->line, frame);
}

static void write_line(struct collapsed_blocks *blocks, struct text count, struct text *collapsed) {
    blocks->line.bytes_count = 0;
    struct text texts = byte_buffer_text(&blocks->texts);
    append(&blocks->line, text_slice(texts, blocks->thread_start, blocks->thread_end));
    if (blocks->map_end) add_to_line(blocks, text_slice(texts, 0, blocks->map_end));
    size_t caller_count = count_callers(blocks);
    for (size_t i = caller_count; i-- > 0;) add_to_line(blocks, frame_text(blocks, i));
    for (size_t i = blocks->frames.count; i-- > caller_count;) add_to_line(blocks, frame_text(blocks, i));
    append(&blocks->line, TEXT(" "));
    append(&blocks->line, count);
    *collapsed = byte_buffer_text(&blocks->line);
}

static enum block_line finish(struct collapsed_blocks *blocks, struct text count, struct text *collapsed) {
    bool is_good = blocks->frame_count && !blocks->is_too_long;
    if (collapsed) write_line(blocks, count, collapsed);
    blocks->had_thread = blocks->thread_end > blocks->thread_start;
    forget(blocks);
    return is_good ? BLOCK_END : BLOCK_BROKEN;
}

static size_t find_count(struct text line) {
    size_t end = text_find_part(line, TEXT("]: "));
    return end == line.bytes_count && text_ends_with(line, TEXT("]:")) ? end - 2 : end;
}

static enum block_line take_map_line(struct collapsed_blocks *blocks, struct text line, struct text *collapsed) {
    size_t end = find_count(line);
    if (end < line.bytes_count) {
        struct text value = text_trim(text_from(line, end + 2)), digits = value;
        take_keys(blocks, text_slice(line, 0, end));
        set_keys(blocks);
        blocks->is_map = false;
        blocks->is_histogram = !value.bytes_count;
        if (blocks->is_histogram) return BLOCK_PART;
        cursor_take(&digits, TEXT("-"));
        if (is_decimal(digits)) return finish(blocks, value, collapsed);
        forget(blocks);
        return BLOCK_BROKEN;
    }
    struct text frame = text_trim(line);
    if (text_starts_with(frame, TEXT(","))) {
        blocks->part_end = blocks->frame_count;
        take_keys(blocks, frame);
    } else if (frame.bytes_count) {
        add_frame(blocks, frame);
    }
    return BLOCK_PART;
}

/* Takes one line of the histogram below a stack: "[4, 8)    3 |@@@@    |". */
static enum block_line take_bucket(struct collapsed_blocks *blocks, struct text line, struct text *collapsed) {
    struct text bucket = text_trim_end(text_slice(line, 0, text_find(line, '|')));
    struct text count = text_from(bucket, text_find_last(bucket, ' ') + 1);
    if (bucket.bytes_count == line.bytes_count || !is_decimal(count)) {
        blocks->is_histogram = false;
        blocks->is_parted = true;
        if (blocks->has_bucket) forget(blocks);
        return BLOCK_NONE;
    }
    blocks->has_bucket = true;
    if (collapsed) write_line(blocks, count, collapsed);
    blocks->had_thread = blocks->thread_end > blocks->thread_start;
    return blocks->frame_count && !blocks->is_too_long ? BLOCK_END : BLOCK_BROKEN;
}

/* Returns whether DTrace wrote the line for a probe: "  0  64091   :tick-60s". */
static bool is_probe(struct text text) {
    uint64_t number;
    for (int i = 0; i < 2; i++) {
        if (!cursor_take_number(&text, 10, &number) || !text.bytes_count || !text_is_blank_byte(text.bytes[0]))
            return false;
        text = text_trim(text);
    }
    return text_find(text, ':') < text.bytes_count && text_find(text, '`') == text.bytes_count;
}

enum block_line collapsed_blocks_take(struct collapsed_blocks *blocks, struct text line, struct text *collapsed) {
    if (text_ends_with(line, TEXT("\r"))) line.bytes_count--;
    if (blocks->is_map) return take_map_line(blocks, line, collapsed);
    if (blocks->is_histogram) {
        enum block_line kind = take_bucket(blocks, line, collapsed);
        if (kind != BLOCK_NONE) return kind;
    }
    size_t open = text_find(line, '[');
    if (text_starts_with(line, TEXT("@")) && open < line.bytes_count && find_count(line) == line.bytes_count) {
        bool was_broken = forget(blocks);
        begin_map(blocks, text_slice(line, 0, open));
        take_keys(blocks, text_from(line, open + 1));
        return was_broken ? BLOCK_BROKEN : BLOCK_PART;
    }
    struct text text = text_trim(line);
    size_t indent = text_trim_end(line).bytes_count - text.bytes_count;
    bool has_thread = blocks->thread_end > blocks->thread_start;
    if (!text.bytes_count && blocks->frame_count && !has_thread && !blocks->is_parted) {
        blocks->is_parted = true;
        return BLOCK_PART;
    }
    if (!blocks->frame_count) blocks->is_flat = !indent && is_of_systemtap(text);
    bool is_part = indent || (blocks->is_flat && (is_of_systemtap(text) || is_decimal(text)));
    if (!is_part || !text.bytes_count || is_probe(text)) return forget(blocks) ? BLOCK_BROKEN : BLOCK_NONE;
    if (blocks->frame_count && is_decimal(text)) return finish(blocks, text, collapsed);
    blocks->is_parted = false;
    if (blocks->frame_count && take_thread(blocks, text, indent > blocks->indent)) return BLOCK_PART;
    if (!blocks->frame_count) blocks->indent = indent;
    add_frame(blocks, text);
    return BLOCK_PART;
}

bool collapsed_blocks_are_broken(const struct collapsed_blocks *blocks) {
    return blocks->frame_count > 0 && !blocks->has_bucket;
}

bool collapsed_blocks_are_in(struct text start, bool is_whole, bool *has_threads) {
    enum { OTHERS_MAX = 4 };
    struct collapsed_blocks blocks;
    size_t stack_count = 0, other_count = 0;
    bool has_ended = false; /* the line before was the end of a stack */
    struct text line;
    *has_threads = true;
    /* JSON with one value per line has numbers that stand alone, too. */
    if (foreign_is_json(start)) return false;
    collapsed_blocks_init(&blocks, NULL); /* looking needs no memory */
    while (other_count <= stack_count + OTHERS_MAX && collapsed_line_take(&start, is_whole, &line)) {
        /* A number that ends a stack is followed by a blank line or a stack, one in source code by more of it. */
        struct text text = text_trim(line), without_address = text;
        take_address(&without_address);
        bool is_apart = !text.bytes_count || text.bytes[0] == '@' || without_address.bytes_count < text.bytes_count;
        stack_count -= has_ended && !is_apart;
        other_count += has_ended && !is_apart;
        enum block_line kind = collapsed_blocks_take(&blocks, line, NULL);
        bool is_end = kind == BLOCK_END;
        has_ended = is_end && !blocks.is_histogram; /* more lines of a histogram may follow */
        stack_count += is_end;
        if (is_end) *has_threads &= blocks.had_thread;
        /* bpftrace prints all maps of a script, and other ones have no stacks. */
        bool is_other = kind == BLOCK_NONE && text.bytes_count && text.bytes[0] != '@';
        other_count += kind == BLOCK_BROKEN || is_other;
    }
    collapsed_blocks_fini(&blocks);
    return stack_count > 0 && other_count <= stack_count + OTHERS_MAX;
}
