#include "input.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "input_folder.h"
#include "input_wrapper.h"
#include "libconvert/base/memory.h"

enum {
    SPAN_COPY_BYTES = 4 * 1024,   /* fewest bytes that are copied from a block to a span at a time */
    SPAN_FIRST_BYTES = 16 * 1024, /* enough for most members of an archive, of which there may be a million */
    LAYERS_MAX = 8                /* some gzip files unpack to themselves forever */
};

/* Bytes of several blocks, made contiguous. */
struct span {
    char *bytes;
    size_t capacity_bytes;
    size_t start;
    size_t bytes_count;
};

/* A layer: a source and its available bytes. A source that unwraps reads from the layer below. */
struct input {
    struct failure *failure;
    const char *name;           /* for messages; borrowed, by all layers from the lowest one */
    char *own_name;             /* owned by the lowest layer; NULL if its name is borrowed */
    struct input_source source; /* owned */
    struct input *below;        /* owned; NULL for the lowest layer */
    uint64_t offset;            /* bytes consumed */
    uint64_t held_offset;       /* memory of bytes from here on is kept; UINT64_MAX: none */
    uint64_t read_bytes;        /* bytes read from the source */
    size_t peeked_bytes;        /* may be consumed before the next peek */
    size_t taken_bytes;         /* returned by the last input_take_run and not yet consumed */
    struct progress progress;   /* used by the lowest layer only */

    struct input_folder folder; /* the files of a recording in a folder */
    struct input *whole;        /* the input that a part belongs to; borrowed; NULL for other inputs */
    uint64_t parts_bytes;       /* size of all parts */
    uint64_t parts_done_bytes;  /* consumed from parts */

    /* The span precedes the block. Its last span_overlap_bytes were copied from this block, and are also right before
     * block.bytes. */
    struct text block;
    struct span span;
    size_t span_overlap_bytes;
    bool has_ended; /* the source has no further block */

    char wrapping[512];
};

static const struct text no_bytes = TEXT("");

/* ---- Reading. ---- */

/* Replaces the block by the next one. Returns false at the end and after a failure. */
static bool advance_block(struct input *input) {
    if (input->has_ended) return false;
    input->span_overlap_bytes = 0;
    input->block = input->source.read(input->source.context);
    input->read_bytes += input->block.bytes_count;
    if (!input->source.total_bytes) progress_tell_source(input->progress, input->read_bytes, 0);
    input->has_ended = !input->block.bytes_count || input->read_bytes == input->source.total_bytes;
    if (input->block.bytes_count) return true;
    input->block = no_bytes;
    return false;
}

static bool span_reserve(struct input *input, size_t more_bytes) {
    struct span *span = &input->span;
    if (span->start + span->bytes_count + more_bytes <= span->capacity_bytes) return true;
    if (span->bytes_count) memmove(span->bytes, span->bytes + span->start, span->bytes_count);
    span->start = 0;
    size_t needed_bytes = span->bytes_count + more_bytes;
    if (needed_bytes < SPAN_FIRST_BYTES) needed_bytes = SPAN_FIRST_BYTES;
    return memory_reserve(input->failure, &span->bytes, &span->capacity_bytes, needed_bytes, 1);
}

/* Appends bytes from the start of the block to the span. */
static bool span_extend(struct input *input, size_t want_bytes) {
    size_t bytes_count = want_bytes > SPAN_COPY_BYTES ? want_bytes : SPAN_COPY_BYTES;
    if (bytes_count > input->block.bytes_count) bytes_count = input->block.bytes_count;
    if (!span_reserve(input, bytes_count)) return false;
    struct span *span = &input->span;
    memcpy(span->bytes + span->start + span->bytes_count, input->block.bytes, bytes_count);
    span->bytes_count += bytes_count;
    input->block = text_from(input->block, bytes_count);
    input->span_overlap_bytes += bytes_count;
    return true;
}

/* Switches from the span to the block once the rest of the span is also in the block. */
static void leave_span(struct input *input) {
    size_t left_bytes = input->span.bytes_count;
    if (left_bytes > input->span_overlap_bytes) return;
    input->block.bytes -= left_bytes;
    input->block.bytes_count += left_bytes;
    input->span = (struct span){.bytes = input->span.bytes, .capacity_bytes = input->span.capacity_bytes};
    input->span_overlap_bytes -= left_bytes;
}

static struct text peek_bytes(struct input *input, size_t want_bytes) {
    if (input->span.bytes_count) leave_span(input);
    if (!input->span.bytes_count) {
        if (!input->block.bytes_count) advance_block(input);
        size_t window_bytes = input->source.window_bytes;
        if (input->block.bytes_count >= want_bytes || input->has_ended)
            return text_slice(input->block, 0, want_bytes > window_bytes ? want_bytes : window_bytes);
    }
    while (input->span.bytes_count < want_bytes) {
        if (!input->block.bytes_count && !advance_block(input)) break;
        if (!span_extend(input, want_bytes - input->span.bytes_count)) break;
    }
    return (struct text){input->span.bytes + input->span.start, input->span.bytes_count};
}

struct text input_peek(struct input *input, size_t want_bytes) {
    input->peeked_bytes = 0;
    if (failure_is_set(input->failure)) return no_bytes;
    struct text window = peek_bytes(input, want_bytes ? want_bytes : 1);
    if (failure_is_set(input->failure)) return no_bytes;
    input->peeked_bytes = window.bytes_count;
    return window;
}

/* Reports how far the file has been read or, of a recording in a folder, all of its files. */
static void report_progress(const struct input *input) {
    if (input->whole) input = input->whole;
    uint64_t done_bytes = input->offset + input->parts_done_bytes;
    uint64_t total_bytes = input->source.total_bytes ? input->source.total_bytes + input->parts_bytes : 0;
    if (total_bytes) progress_tell_source(input->progress, done_bytes, total_bytes);
    progress_report(input->progress, done_bytes, total_bytes);
}

void input_consume(struct input *input, size_t bytes_count) {
    if (bytes_count > input->peeked_bytes) bytes_count = input->peeked_bytes;
    input->peeked_bytes -= bytes_count;
    input->offset += bytes_count;
    if (input->span.bytes_count) {
        input->span.start += bytes_count;
        input->span.bytes_count -= bytes_count;
    } else {
        input->block = text_from(input->block, bytes_count);
    }
    if (input->whole) input->whole->parts_done_bytes += bytes_count;
    report_progress(input);
    uint64_t needed_offset = input->held_offset < input->offset ? input->held_offset : input->offset;
    if (input->source.release) input->source.release(input->source.context, needed_offset, input->offset);
}

void input_make_ahead(struct input *input) {
    if (input->source.make_ahead) input->source.make_ahead(input->source.context);
}

bool input_skip(struct input *input, uint64_t bytes_count) {
    while (bytes_count) {
        size_t window_bytes = input_peek(input, 1).bytes_count;
        if (!window_bytes) return false;
        size_t step_bytes = window_bytes < bytes_count ? window_bytes : (size_t)bytes_count;
        input_consume(input, step_bytes);
        bytes_count -= step_bytes;
    }
    return true;
}

struct text input_take_run(struct input *input) {
    input_consume(input, input->taken_bytes);
    struct text run = input_peek(input, 1);
    input->taken_bytes = run.bytes_count;
    return run;
}

void input_seek(struct input *input, uint64_t offset) {
    input->source.seek(input->source.context, offset);
    input->offset = input->read_bytes = offset;
    input->peeked_bytes = input->taken_bytes = 0;
    input->block = no_bytes;
    input->has_ended = false;
}

uint64_t input_seekable_bytes(const struct input *input) { return input->source.seek ? input->source.total_bytes : 0; }

/* ---- Properties. ---- */

struct text input_at_hand(struct input *input) {
    if (!input->source.total_bytes || input->span.bytes_count) return no_bytes;
    if (!input->block.bytes_count) advance_block(input);
    return input->block;
}

void input_hold(struct input *input, uint64_t offset) { input->held_offset = offset; }

uint64_t input_offset(const struct input *input) { return input->offset + input->parts_done_bytes; }

const char *input_name(const struct input *input) { return input->name; }

struct failure *input_failure(const struct input *input) {
    return input->failure;
}

struct text input_wrapping(const struct input *input) {
    return text_of(input->wrapping);
}

bool input_has_more_members(const struct input *input) {
    for (; input; input = input->below)
        if (input->source.has_more && *input->source.has_more) return true;
    return false;
}

uint64_t input_nan_count(const struct input *input) {
    for (; input; input = input->below)
        if (input->source.nan_count) return *input->source.nan_count;
    return 0;
}

static const struct input *lowest_layer(const struct input *input) {
    while (input->below) input = input->below;
    return input;
}

void input_watch(struct input *input, struct progress progress) {
    while (input->below) input = input->below;
    input->progress = progress;
    uint64_t total_bytes = input->source.total_bytes;
    progress_tell_source(progress, total_bytes ? input->offset : input->read_bytes, total_bytes);
}

void input_source_progress(const struct input *input, uint64_t *done_bytes, uint64_t *total_bytes) {
    input = lowest_layer(input);
    *done_bytes = input->offset + input->parts_done_bytes;
    *total_bytes = input->source.total_bytes ? input->source.total_bytes + input->parts_bytes : 0;
}

bool input_owner(const struct input *input, uid_t *owner) {
    input = lowest_layer(input);
    if (input->source.status) *owner = input->source.status->st_uid;
    return input->source.status;
}

int input_reopen(const struct input *input) {
    struct stat status;
    const struct stat *expected = input->source.status;
    int file = expected ? open(input->name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) : -1;
    if (file < 0) return -1;
    if (fstat(file, &status) == 0 && status.st_dev == expected->st_dev && status.st_ino == expected->st_ino)
        return file;
    close(file);
    return -1;
}

/* ---- Opening and closing. ---- */

static void close_source(const struct input_source *source) {
    if (source->close) source->close(source->context);
}

/* Creates a layer that owns the source. If memory runs out, closes the source and returns NULL (latched). */
static struct input *create(const char *name, const struct input_source *source, struct failure *failure) {
    struct input *input = calloc(1, sizeof *input);
    if (!input) {
        failure_set_memory(failure);
        close_source(source);
        return NULL;
    }
    input->failure = failure;
    input->name = name;
    input->source = *source;
    input->held_offset = UINT64_MAX;
    if (!input->source.window_bytes) input->source.window_bytes = SIZE_MAX;
    input->block = no_bytes;
    return input;
}

void input_close(struct input *input) {
    while (input) {
        struct input *below = input->below;
        close_source(&input->source);
        free(input->own_name);
        input_folder_fini(&input->folder);
        memory_free(input->span.bytes);
        free(input);
        input = below;
    }
}

struct input *input_from_blocks(const char *name, input_next_block *next_block, void *context,
                                struct failure *failure) {
    return create(name, &(struct input_source){.context = context, .read = next_block}, failure);
}

/* Bytes in memory as a source. */
struct memory_source {
    struct text whole; /* borrowed */
    uint64_t offset;   /* offset of the next read */
};

static struct text read_memory(void *context) {
    struct memory_source *memory = context;
    struct text bytes = text_from(memory->whole, (size_t)memory->offset);
    memory->offset = memory->whole.bytes_count;
    return bytes;
}

static void seek_memory(void *context, uint64_t offset) {
    struct memory_source *memory = context;
    memory->offset = offset;
}

struct input *input_from_memory(struct text bytes, size_t max_window_bytes, struct failure *failure) {
    struct memory_source *memory = failure_check_memory(failure, malloc(sizeof *memory));
    if (!memory) return NULL;
    *memory = (struct memory_source){.whole = bytes};
    struct input_source source = {.context = memory,
                                  .read = read_memory,
                                  .seek = seek_memory,
                                  .close = free,
                                  .total_bytes = bytes.bytes_count,
                                  .window_bytes = max_window_bytes};
    return create("memory", &source, failure);
}

/* Puts a layer on top that unwraps the one below. Returns NULL after a failure; `below` is closed then. */
static struct input *unwrap(struct input *below, const struct input_wrapper *wrapper) {
    struct input_source source;
    bool is_open = wrapper->open(&source, wrapper, below);
    struct input *upper = is_open ? create(below->name, &source, below->failure) : NULL;
    if (upper)
        upper->below = below;
    else
        input_close(below);
    return upper;
}

/* Writes what the layers unwrap, from the outside in: "gzip > tar > app.txt". Returns the length. */
static size_t describe_wrapping(const struct input *layer, char *out, size_t capacity_bytes) {
    if (!layer->below) return 0;
    size_t used_bytes = describe_wrapping(layer->below, out, capacity_bytes);
    const char *own = layer->source.wrapping;
    if (used_bytes + strlen(own) + sizeof " > " > capacity_bytes) return used_bytes;
    return used_bytes +
           (size_t)snprintf(out + used_bytes, capacity_bytes - used_bytes, "%s%s", used_bytes ? " > " : "", own);
}

const struct input_wrapper *input_find_wrapper(struct input *input) {
    const struct input_wrapper *wrapper = input_wrapper_of_binary(input_peek(input, INPUT_WRAPPER_BINARY_BYTES));
    return wrapper ? wrapper : input_wrapper_of(input_peek(input, INPUT_WRAPPER_START_BYTES));
}

/* Unwraps until nothing is wrapped, or with keeps_archive until only an archive is left. Returns the top layer; NULL
 * after a failure, and everything is closed then. */
static struct input *unwrap_all(struct input *input, bool keeps_archive) {
    unsigned layer_count = 0;
    for (const struct input *layer = input; layer->below; layer = layer->below) layer_count++;
    for (;; layer_count++) {
        const struct input_wrapper *wrapper = input_find_wrapper(input);
        if (failure_is_set(input->failure) || !wrapper) break;
        if (keeps_archive && wrapper->format) break;
        if (layer_count == LAYERS_MAX) {
            failure_set(input->failure, FAILURE_INPUT, "%s: is compressed more than %d times over", input->name,
                        LAYERS_MAX);
            break;
        }
        input = unwrap(input, wrapper);
        if (!input) return NULL;
    }
    if (!failure_is_set(input->failure)) {
        describe_wrapping(input, input->wrapping, sizeof input->wrapping);
        return input;
    }
    input_close(input);
    return NULL;
}

/* Creates a layer that owns the source and the name. Without a source, or if memory runs out (latched), frees both and
 * returns NULL. */
static struct input *create_named(char *name, const struct input_source *source, struct failure *failure) {
    struct input *input = source ? create(name, source, failure) : NULL;
    if (input)
        input->own_name = name;
    else
        free(name);
    return input;
}

/* Opens a file under the name that messages call it. */
static struct input *open_file(const char *path, const char *shown_name, struct failure *failure) {
    char *name = failure_check_memory(failure, strdup(shown_name));
    struct input_source source;
    bool is_open = name && input_file_open(&source, path, name, failure);
    return create_named(name, is_open ? &source : NULL, failure);
}

static uint64_t size_of_parts(const struct input_folder *folder) {
    uint64_t bytes_count = 0;
    struct stat status;
    for (size_t i = 1; i < folder->path_count; i++)
        if (stat(folder->paths[i], &status) == 0) bytes_count += (uint64_t)status.st_size;
    return bytes_count;
}

static struct input *open_lowest(const char *path, struct failure *failure) {
    if (strcmp(path, "-") == 0) return open_file(path, "standard input", failure);
    struct input_folder folder;
    input_folder_list(&folder, path, failure);
    bool is_open = !failure_is_set(failure);
    struct input *input = is_open ? open_file(folder.path_count ? folder.paths[0] : path, path, failure) : NULL;
    if (input) {
        input->folder = folder;
        input->parts_bytes = size_of_parts(&folder);
    } else {
        input_folder_fini(&folder);
    }
    return input;
}

size_t input_part_count(const struct input *input) {
    return input->folder.path_count ? input->folder.path_count - 1 : 0;
}

struct input *input_open_part(struct input *input, size_t index) {
    const char *path = input->folder.paths[index + 1];
    struct input *part = open_file(path, path, input->failure);
    if (part) part->whole = input;
    return part;
}

struct input *input_open_kernel_list(const struct input *input, struct failure *failure) {
    if (!input->folder.path_count) return NULL;
    char path[PATH_MAX];
    struct stat status;
    const char *data = input->folder.paths[0];
    int folder_bytes = (int)(strrchr(data, '/') - data);
    int wanted = snprintf(path, sizeof path, "%.*s/kcore_dir/kallsyms", folder_bytes, data);
    bool is_there = (size_t)wanted < sizeof path && stat(path, &status) == 0 && S_ISREG(status.st_mode);
    return is_there ? open_file(path, input->name, failure) : NULL;
}

struct input *input_open(const char *path, struct failure *failure) {
    struct input *input = open_lowest(path, failure);
    return input ? unwrap_all(input, false) : NULL;
}

struct input *input_open_outer(const char *path, struct failure *failure) {
    struct input *input = open_lowest(path, failure);
    return input ? unwrap_all(input, true) : NULL;
}

struct input *input_unwrap(struct input *input) {
    return unwrap_all(input, false);
}

struct input *input_uncompress(struct input *input) {
    return unwrap_all(input, true);
}

bool input_is_archive(struct input *input) {
    const struct input_wrapper *wrapper = input_find_wrapper(input);
    return wrapper && wrapper->format;
}
