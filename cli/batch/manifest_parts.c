#include "manifest_parts.h"

#include <stdint.h>
#include <string.h>

#include "cli/bus_guard.h"

/* What a part takes to parse is a millisecond or two, a hundred times what taking it does. */
enum { PART_BYTES = 128 * 1024 };

/* ---- Taking apart. ---- */

struct cutter {
    struct manifest_parts *parts;
    const struct text *keys;
    size_t key_count;
};

static void add_part(const struct cutter *cutter, struct text first, struct text second, struct text third) {
    struct manifest_part *part = column_push(&cutter->parts->parts);
    if (!part) return;
    *part = (struct manifest_part){.blocks = {first, second, third}};
    document_init(&part->document, &part->failure);
    for (size_t i = 0; i < cutter->key_count; i++) strings_intern(&part->document.keys, cutter->keys[i]);
}

/* Whole lines, with a comma between two, and none behind the last. */
static void cut_inputs(const struct cutter *cutter, struct text lines) {
    while (lines.bytes_count) {
        size_t end = PART_BYTES + text_find(text_from(lines, PART_BYTES), '\n');
        struct text part = text_slice(lines, 0, end);
        lines = text_from(lines, end + 1);
        if (text_ends_with(part, TEXT(","))) part.bytes_count--;
        add_part(cutter, TEXT("["), part, TEXT("]"));
    }
}

/* Each input is a line of its own, as no string has line ends. What has other lines, as from another program, is one
 * part. */
static void cut(const struct cutter *cutter, struct text text) {
    struct text lines = text;
    if (text_ends_with(lines, TEXT("\n"))) lines.bytes_count--;
    size_t first_end = text_find(lines, '\n'), last_end = text_find_last(lines, '\n');
    struct text first = text_slice(lines, 0, first_end), last = text_from(lines, last_end);
    bool is_by_lines = text_ends_with(first, TEXT("[")) && text_starts_with(last, TEXT("\n]"));
    if (!is_by_lines) {
        add_part(cutter, text, TEXT(""), TEXT(""));
        return;
    }
    add_part(cutter, first, last, TEXT(""));
    cut_inputs(cutter, text_slice(lines, first_end + 1, last_end));
}

void manifest_parts_init(struct manifest_parts *parts, const char *path, const struct text *keys, size_t key_count,
                         struct failure *failure) {
    *parts = (struct manifest_parts){.input = input_open(path, failure)};
    column_init(&parts->parts, sizeof(struct manifest_part), failure);
    if (!parts->input) return;
    struct cutter cutter = {parts, keys, key_count};
    bus_guard_begin();
    struct text text = input_peek(parts->input, SIZE_MAX);
    if (!failure_is_set(failure)) cut(&cutter, text);
    bus_guard_end();
}

void manifest_parts_fini(struct manifest_parts *parts) {
    for (size_t i = 0; i < parts->parts.count; i++) {
        struct manifest_part *part = column_at(&parts->parts, i);
        document_fini(&part->document);
    }
    column_fini(&parts->parts);
    input_close(parts->input);
}

/* ---- Parsing. ---- */

static struct text next_block(void *context) {
    struct manifest_part *part = context;
    while (part->next_block < sizeof part->blocks / sizeof *part->blocks) {
        struct text block = part->blocks[part->next_block++];
        if (block.bytes_count) return block;
    }
    return TEXT("");
}

static void parse(struct manifest_parts *parts, struct manifest_part *part) {
    struct input *input = input_from_blocks(input_name(parts->input), next_block, part, &part->failure);
    if (input) document_read(&part->document, input);
    input_close(input);
}

/* Should the file become shorter meanwhile, what is gone are zeros, which are no JSON. */
void manifest_parts_parse(struct manifest_parts *parts) {
    bus_guard_begin();
    for (size_t i; (i = atomic_fetch_add(&parts->next, 1)) < parts->parts.count;)
        parse(parts, column_at(&parts->parts, i));
    bus_guard_end();
}

const struct failure *manifest_parts_failure(const struct manifest_parts *parts) {
    for (size_t i = 0; i < parts->parts.count; i++) {
        const struct manifest_part *part = column_at(&parts->parts, i);
        if (failure_is_set(&part->failure)) return &part->failure;
    }
    return NULL;
}
