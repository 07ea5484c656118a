#include "label_copy.h"

#include <string.h>

#include "recorder/write/definitions.h"

enum {
    CATEGORY_LEVEL_MAX = 9,
    TEXT_BYTES_MAX = GREC_NAME_BYTES_MAX + 1, /* one byte more than a text may have, so that the cut is counted */
    SHARED_COUNT = 8,
};

/* The last things that were copied, so that labels that have one in common share its copy. In a deep stack, a few
 * functions that call each other push the same labels again and again. */
struct shared_copies {
    uint32_t next;
    struct shared_copy {
        const void *from;
        void *kept;
    } copies[SHARED_COUNT];
};

struct copying {
    const struct label_reader *reader;
    struct shared_copies labels[2], texts; /* labels: those of scripts apart */
    unsigned char *kept;
    size_t kept_bytes_count;
    size_t bytes_max;
    bool is_whole; /* nothing of the label that is being copied is missing */
};

static void *keep(struct copying *copying, size_t bytes_count) {
    bytes_count = (bytes_count + 7) / 8 * 8;
    if (bytes_count > copying->bytes_max - copying->kept_bytes_count) {
        copying->is_whole = false;
        return NULL;
    }
    void *kept = copying->kept + copying->kept_bytes_count;
    copying->kept_bytes_count += bytes_count;
    return kept;
}

static void *find_shared(const struct shared_copies *shared, const void *from) {
    for (uint32_t i = 0; i < SHARED_COUNT; i++)
        if (shared->copies[i].from == from) return shared->copies[i].kept;
    return NULL;
}

static void share(struct shared_copies *shared, const void *from, void *kept) {
    shared->copies[shared->next++ % SHARED_COUNT] = (struct shared_copy){from, kept};
}

static size_t read_bytes(const struct copying *copying, void *to, const void *from, size_t bytes_count) {
    const struct label_reader *reader = copying->reader;
    if (reader) return reader->copy(reader->context, to, (uint64_t)(uintptr_t)from, bytes_count);
    memcpy(to, from, bytes_count);
    return bytes_count;
}

static void *keep_copy(struct copying *copying, const void *from, size_t bytes_count) {
    void *kept = from ? keep(copying, bytes_count) : NULL;
    if (!kept || read_bytes(copying, kept, from, bytes_count) == bytes_count) return kept;
    copying->is_whole = false;
    return NULL;
}

/* Reads up to bytes_max bytes of a text, or fewer if its memory ends there. A text of the calling thread's is read up
 * to its end. */
static size_t read_text(const struct copying *copying, char *to, const char *text, size_t bytes_max) {
    if (copying->reader) return read_bytes(copying, to, text, bytes_max);
    size_t length = strnlen(text, bytes_max), count = length < bytes_max ? length + 1 : length;
    memcpy(to, text, count);
    return count;
}

/* A text takes as much of the memory as it needs, so it is read into what is left of that. */
static const char *copy_text(struct copying *copying, const char *text) {
    size_t left_bytes = copying->bytes_max - copying->kept_bytes_count;
    size_t bytes_max = left_bytes < TEXT_BYTES_MAX ? left_bytes : TEXT_BYTES_MAX;
    char *kept = (char *)copying->kept + copying->kept_bytes_count;
    size_t count = read_text(copying, kept, text, bytes_max);
    size_t length = strnlen(kept, count);
    bool is_read = length < count || count == TEXT_BYTES_MAX;
    if (!is_read || !keep(copying, length + 1)) {
        copying->is_whole = false;
        return NULL;
    }
    kept[length] = '\0';
    share(&copying->texts, text, kept);
    return kept;
}

static const char *keep_text(struct copying *copying, const char *text) {
    const char *shared = text ? find_shared(&copying->texts, text) : NULL;
    return shared || !text ? shared : copy_text(copying, text);
}

static struct grec_category *keep_category(struct copying *copying, const struct grec_category *category, int level) {
    struct grec_category *kept = keep_copy(copying, category, sizeof *kept);
    if (!kept || definition_is_known(kept->cache_)) return kept;
    kept->name = keep_text(copying, kept->name);
    kept->parent = level < CATEGORY_LEVEL_MAX ? keep_category(copying, kept->parent, level + 1) : NULL;
    return kept;
}

/* If the trace has the label already, its texts are not needed. A script's frame needs only the category. */
static struct grec_label *copy_label(struct copying *copying, const struct grec_label *label, bool is_script) {
    struct grec_label *kept = keep_copy(copying, label, sizeof *kept);
    if (!kept) return NULL;
    bool is_known = definition_is_known(kept->cache_);
    if (is_script || !is_known) kept->category = keep_category(copying, kept->category, 0);
    if (is_script || is_known) return kept;
    kept->name = keep_text(copying, kept->name);
    kept->file = keep_text(copying, kept->file);
    return kept;
}

static struct grec_label *keep_label(struct copying *copying, const struct grec_label *label, bool is_script) {
    struct grec_label *kept = label ? find_shared(&copying->labels[is_script], label) : NULL;
    if (kept) return kept;
    kept = copy_label(copying, label, is_script);
    if (kept && copying->is_whole) share(&copying->labels[is_script], label, kept);
    return kept;
}

/* Returns false if something of the label could not be read, or does not fit. */
static bool keep_view(struct copying *copying, struct label_view *view) {
    copying->is_whole = true;
    view->label = keep_label(copying, view->label, view->file != NULL);
    view->text = keep_text(copying, view->text);
    view->file = keep_text(copying, view->file);
    return copying->is_whole;
}

void label_copy_take(struct label_copy *copy, void *memory, size_t memory_bytes, const struct grec_label_stack *labels,
                     struct stack_part part, const struct label_reader *reader) {
    struct copying copying = {.reader = reader, .kept = memory, .bytes_max = memory_bytes};
    uint8_t places[GREC_LABEL_DEPTH_MAX];
    uint32_t count = labels_find(labels, part, reader, places);
    *copy = (struct label_copy){.labels = keep(&copying, count * sizeof *copy->labels)};
    for (uint32_t i = 0; i < count && copy->labels; i++) {
        struct label_view view = labels_view(labels, places[i]);
        if (keep_view(&copying, &view)) copy->labels[copy->count++] = view;
    }
    copy->left_out_count = count - copy->count;
    copy->bytes_count = copying.kept_bytes_count;
}

/* The outermost frame of a coroutine ends with its memory as far as the walk knows. Stacks of other coroutines may lie
 * in the same memory. */
struct stack_part label_part(const struct grec_label_stack *labels, uint64_t sp, const struct walked_frame *walked,
                             size_t walked_count, bool is_alternate) {
    enum { OUTERMOST_BYTES = 4096 };
    struct stack_part part = {.low = sp, .high = sp + OTHER_STACK_BYTES, .reaches_own = is_alternate};
    if (labels_are_own(labels, sp)) return part;
    for (size_t i = 0; i < walked_count && !part.reaches_own; i++)
        part.reaches_own = labels_are_own(labels, walked[i].stack_end);
    if (part.reaches_own || !walked_count) return part;
    uint64_t inner_end = walked_count > 1 ? walked[walked_count - 2].stack_end : sp;
    uint64_t end = walked[walked_count - 1].stack_end;
    part.high = end < inner_end + OUTERMOST_BYTES ? end : inner_end + OUTERMOST_BYTES;
    return part;
}
