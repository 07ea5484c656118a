#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "input_archive.h"
#include "libconvert/memory.h"

enum {
    WINDOW_BYTES = 4 * 1024 * 1024,  /* of a map, what a peek shows unless more is wanted */
    RELEASE_BYTES = 8 * 1024 * 1024, /* pages of a map are given back in runs of this */
    READ_BYTES = 256 * 1024,         /* of a pipe, at a time */
    SMALL_FILE_BYTES = 64 * 1024,    /* is read at once: threads that map and unmap wait for each other */
    SPAN_COPY_BYTES = 4 * 1024,      /* so much of the next block joins a span at least */
    SPAN_FIRST_BYTES = 16 * 1024,    /* members of an archive need no more, and there may be a million of them */
    LAYERS_MAX = 8                   /* wrappings in wrappings: some gzip files unpack to themselves for ever */
};

/* Bytes that lie across blocks, put side by side. */
struct span {
    char *bytes;
    size_t capacity_bytes;
    size_t start;
    size_t bytes_count;
};

/* One layer: a file or a pipe, or what is unwrapped from the layer below. All bytes are at hand (`whole`), or come in
 * blocks, where each next block takes the place of the one before. */
struct input {
    struct failure *failure;
    const char *name;
    char *own_name;           /* of the lowest layer; those above borrow it */
    uint64_t offset;          /* bytes consumed */
    size_t peeked_bytes;      /* what may be consumed before the next peek */
    struct progress progress; /* of the lowest layer */
    bool is_whole;

    /* All at hand. */
    struct text whole;
    struct text map; /* page-aligned, around `whole`; empty: other memory */
    size_t window_bytes;
    size_t released_bytes; /* from the start of the map */

    /* In blocks: the span holds what comes before the block. Its last span_overlap_bytes were copied from this
     * block and lie right before block.bytes as well. */
    struct text block;
    struct span span;
    size_t span_overlap_bytes;
    bool has_ended;

    /* Blocks from a pipe. */
    int descriptor; /* -1: none */
    bool is_standard_input;
    uint64_t read_bytes;
    char *read_buffer; /* also a small file's, that is `whole` */

    /* Blocks from the layer below, which this one owns. */
    struct input *below;
    struct input_archive *archive;
    struct input_loan loan; /* of the layer below, to the archive */

    /* Blocks from somebody else. */
    input_next_block *next_block;
    void *next_block_context;

    char wrapping[512];
};

static const struct text no_bytes = TEXT("");

static void fail_reading(const struct input *input) {
    failure_set(input->failure, FAILURE_IO, "%s: cannot be read: %s", input->name, strerror(errno));
}

/* -- Blocks --------------------------------------------------------------------------------------------------- */

static void wait_until_readable(int descriptor) {
    struct pollfd wanted = {.fd = descriptor, .events = POLLIN};
    poll(&wanted, 1, -1);
}

static struct text read_pipe(struct input *input) {
    for (;;) {
        ssize_t bytes_count = read(input->descriptor, input->read_buffer, READ_BYTES);
        if (bytes_count >= 0) {
            input->read_bytes += (uint64_t)bytes_count;
            progress_tell_source(input->progress, input->read_bytes, 0);
            return (struct text){input->read_buffer, (size_t)bytes_count};
        }
        if (errno == EAGAIN) {
            wait_until_readable(input->descriptor);
        } else if (errno != EINTR) {
            fail_reading(input);
            return no_bytes;
        }
    }
}

/* False at the end, and after a failure. */
static bool advance_block(struct input *input) {
    if (input->has_ended) return false;
    input->span_overlap_bytes = 0;
    if (input->next_block)
        input->block = input->next_block(input->next_block_context);
    else
        input->block = input->archive ? input_archive_next(input->archive) : read_pipe(input);
    if (input->block.bytes_count) return true;
    input->block = no_bytes;
    input->has_ended = true;
    return false;
}

static bool span_reserve(struct input *input, size_t more_bytes) {
    struct span *span = &input->span;
    if (span->start + span->bytes_count + more_bytes <= span->capacity_bytes) return true;
    if (span->bytes_count) memmove(span->bytes, span->bytes + span->start, span->bytes_count);
    span->start = 0;
    size_t needed_bytes = span->bytes_count + more_bytes;
    if (needed_bytes <= span->capacity_bytes) return true;

    size_t capacity_bytes = span->capacity_bytes ? span->capacity_bytes : SPAN_FIRST_BYTES;
    while (capacity_bytes < needed_bytes) capacity_bytes *= 2;
    char *bytes = memory_resize(input->failure, span->bytes, capacity_bytes);
    if (!bytes) return false;
    span->bytes = bytes;
    span->capacity_bytes = capacity_bytes;
    return true;
}

/* Moves the next bytes of the block to the end of the span. */
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

/* Goes back from the span to the block once what is left of the span lies in the block as well. */
static void leave_span(struct input *input) {
    size_t left_bytes = input->span.bytes_count;
    if (left_bytes > input->span_overlap_bytes) return;
    input->block.bytes -= left_bytes;
    input->block.bytes_count += left_bytes;
    input->span = (struct span){.bytes = input->span.bytes, .capacity_bytes = input->span.capacity_bytes};
    input->span_overlap_bytes -= left_bytes;
}

static struct text peek_blocks(struct input *input, size_t want_bytes) {
    if (input->span.bytes_count) leave_span(input);
    if (!input->span.bytes_count) {
        if (!input->block.bytes_count) advance_block(input);
        if (input->block.bytes_count >= want_bytes || input->has_ended) return input->block;
    }
    while (input->span.bytes_count < want_bytes) {
        if (!input->block.bytes_count && !advance_block(input)) break;
        if (!span_extend(input, want_bytes - input->span.bytes_count)) break;
    }
    return (struct text){input->span.bytes + input->span.start, input->span.bytes_count};
}

static void consume_blocks(struct input *input, size_t bytes_count) {
    if (!input->span.bytes_count) {
        input->block = text_from(input->block, bytes_count);
        return;
    }
    input->span.start += bytes_count;
    input->span.bytes_count -= bytes_count;
}

/* -- All at hand ---------------------------------------------------------------------------------------------- */

static struct text peek_whole(const struct input *input, size_t want_bytes) {
    size_t from = (size_t)input->offset;
    size_t shown_bytes = want_bytes > input->window_bytes ? want_bytes : input->window_bytes;
    size_t left_bytes = input->whole.bytes_count - from;
    return text_slice(input->whole, from, from + (shown_bytes < left_bytes ? shown_bytes : left_bytes));
}

/* Gives the pages behind the current place back to the system. */
static void release_pages(struct input *input) {
    if (!input->map.bytes_count) return;
    size_t behind_bytes = (size_t)(input->whole.bytes - input->map.bytes) + (size_t)input->offset;
    size_t end = behind_bytes / RELEASE_BYTES * RELEASE_BYTES;
    if (end <= input->released_bytes) return;
    /* madvise takes a plain pointer and changes nothing that can be read. */
    madvise((void *)(uintptr_t)(input->map.bytes + input->released_bytes), end - input->released_bytes, MADV_DONTNEED);
    input->released_bytes = end;
}

/* -- Every layer ---------------------------------------------------------------------------------------------- */

struct text input_peek(struct input *input, size_t want_bytes) {
    input->peeked_bytes = 0;
    if (failure_is_set(input->failure)) return no_bytes;
    if (!want_bytes) want_bytes = 1;
    struct text window = input->is_whole ? peek_whole(input, want_bytes) : peek_blocks(input, want_bytes);
    if (failure_is_set(input->failure)) return no_bytes;
    input->peeked_bytes = window.bytes_count;
    return window;
}

void input_consume(struct input *input, size_t bytes_count) {
    if (bytes_count > input->peeked_bytes) bytes_count = input->peeked_bytes;
    input->peeked_bytes -= bytes_count;
    input->offset += bytes_count;
    if (input->is_whole) {
        progress_report(input->progress, input->offset, input->whole.bytes_count);
        release_pages(input);
    } else {
        consume_blocks(input, bytes_count);
    }
}

uint64_t input_offset(const struct input *input) { return input->offset; }

const char *input_name(const struct input *input) { return input->name; }

void input_watch(struct input *input, struct progress progress) {
    while (input->below) input = input->below;
    input->progress = progress;
    progress_tell_source(progress, input->is_whole ? input->offset : input->read_bytes, input->whole.bytes_count);
}

void input_source_progress(const struct input *input, uint64_t *done_bytes, uint64_t *total_bytes) {
    while (input->below) input = input->below;
    *done_bytes = input->offset;
    *total_bytes = input->is_whole ? input->whole.bytes_count : 0;
}

bool input_owner(const struct input *input, uid_t *owner) {
    while (input->below) input = input->below;
    struct stat status;
    if (input->descriptor < 0 || fstat(input->descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return false;
    *owner = status.st_uid;
    return true;
}

struct text input_wrapping(const struct input *input) {
    return text_of(input->wrapping);
}

static struct input *input_create(const char *name, struct failure *failure) {
    struct input *input = calloc(1, sizeof *input);
    if (!input) {
        failure_set_memory(failure);
        return NULL;
    }
    input->failure = failure;
    input->name = name;
    input->descriptor = -1;
    input->block = no_bytes;
    return input;
}

void input_close(struct input *input) {
    while (input) {
        struct input *below = input->below;
        input_archive_close(input->archive);
        if (input->map.bytes_count) munmap((void *)(uintptr_t)input->map.bytes, input->map.bytes_count);
        if (input->descriptor >= 0 && !input->is_standard_input) close(input->descriptor);
        free(input->own_name);
        memory_free(input->span.bytes);
        memory_free(input->read_buffer);
        free(input);
        input = below;
    }
}

struct input *input_from_memory(struct text bytes, size_t max_window_bytes, struct failure *failure) {
    struct input *input = input_create("memory", failure);
    if (!input) return NULL;
    input->is_whole = true;
    input->whole = bytes.bytes ? bytes : no_bytes;
    input->window_bytes = max_window_bytes ? max_window_bytes : SIZE_MAX;
    return input;
}

struct input *input_from_blocks(const char *name, input_next_block *next_block, void *context,
                                struct failure *failure) {
    struct input *input = input_create(name, failure);
    if (!input) return NULL;
    input->next_block = next_block;
    input->next_block_context = context;
    return input;
}

/* -- Opening -------------------------------------------------------------------------------------------------- */

/* False when not all of it came, as the file has changed; or memory ran out (latched). */
static bool read_small_file(struct input *input, size_t file_bytes) {
    input->read_buffer = memory_allocate(input->failure, file_bytes);
    if (!input->read_buffer) return false;
    size_t done_bytes = 0;
    for (ssize_t count = 1; count && done_bytes < file_bytes;) {
        count = pread(input->descriptor, input->read_buffer + done_bytes, file_bytes - done_bytes, (off_t)done_bytes);
        if (count < 0 && errno != EINTR) break;
        if (count > 0) done_bytes += (size_t)count;
    }
    input->whole = (struct text){input->read_buffer, file_bytes};
    return done_bytes == file_bytes;
}

static bool map_file(struct input *input, size_t file_bytes) {
    void *bytes = mmap(NULL, file_bytes, PROT_READ, MAP_PRIVATE, input->descriptor, 0);
    if (bytes == MAP_FAILED) return false;
    madvise(bytes, file_bytes, MADV_SEQUENTIAL);
    input->map = input->whole = (struct text){bytes, file_bytes};
    return true;
}

/* True when all of the file is at hand; false when it must be read like a pipe. */
static bool take_file(struct input *input, const struct stat *status) {
    /* Files of the kernel have bytes and no size. */
    if (!S_ISREG(status->st_mode) || status->st_size <= 0 || (uint64_t)status->st_size > SIZE_MAX) return false;
    off_t place = input->is_standard_input ? lseek(input->descriptor, 0, SEEK_CUR) : 0;
    if (place < 0) return false;
    size_t file_bytes = (size_t)status->st_size;
    bool is_small = file_bytes <= SMALL_FILE_BYTES;
    if (is_small ? !read_small_file(input, file_bytes) : !map_file(input, file_bytes)) return false;
    input->is_whole = true;
    input->whole = text_from(input->whole, (uint64_t)place < file_bytes ? (size_t)place : file_bytes);
    input->window_bytes = WINDOW_BYTES;
    return true;
}

static bool open_source(struct input *input, const char *path) {
    input->is_standard_input = strcmp(path, "-") == 0;
    input->own_name = strdup(input->is_standard_input ? "standard input" : path);
    if (!input->own_name) {
        failure_set_memory(input->failure);
        return false;
    }
    input->name = input->own_name;
    input->descriptor = input->is_standard_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    struct stat status;
    if (input->descriptor < 0 || fstat(input->descriptor, &status) != 0) {
        failure_set(input->failure, FAILURE_IO, "%s: cannot be opened: %s", input->name, strerror(errno));
        return false;
    }
    if (S_ISDIR(status.st_mode)) {
        failure_set(input->failure, FAILURE_IO, "%s: is a folder; name a file in it", input->name);
        input->failure->is_of_many = true;
        return false;
    }
    if (take_file(input, &status)) return true;
    if (failure_is_set(input->failure)) return false;
    memory_free(input->read_buffer);
    input->read_buffer = memory_allocate(input->failure, READ_BYTES);
    return input->read_buffer != NULL;
}

static bool lend_bytes(void *context, struct text *bytes) {
    struct input_loan *loan = context;
    input_consume(loan->from, loan->lent_bytes);
    *bytes = input_peek(loan->from, 1);
    loan->lent_bytes = bytes->bytes_count;
    return !failure_is_set(loan->from->failure);
}

static void seek_lent(void *context, uint64_t offset) {
    struct input_loan *loan = context;
    struct input *from = loan->from;
    loan->lent_bytes = 0;
    from->offset = offset;
    /* Pages that come back are to be given back once more. */
    size_t behind_bytes = (size_t)(from->whole.bytes - from->map.bytes) + (size_t)offset;
    size_t kept_from = behind_bytes / RELEASE_BYTES * RELEASE_BYTES;
    if (kept_from < from->released_bytes) from->released_bytes = kept_from;
}

struct input_source input_lend(struct input *from, struct input_loan *loan) {
    *loan = (struct input_loan){.from = from};
    struct input_source source = {.context = loan, .read = lend_bytes};
    if (!from->is_whole) return source;
    source.seek = seek_lent;
    source.total_bytes = from->whole.bytes_count;
    return source;
}

/* Puts a layer on top that unwraps the one below, which begins with `start`. NULL when it is no good; `below` is
 * closed then. */
static struct input *unwrap(struct input *below, struct text start) {
    struct input *upper = input_create(below->name, below->failure);
    if (!upper) {
        input_close(below);
        return NULL;
    }
    upper->below = below;
    struct input_source source = input_lend(below, &upper->loan);
    upper->archive = input_archive_open(start, &source, below->name, below->failure);
    if (upper->archive) return upper;
    input_close(upper);
    return NULL;
}

/* From the outside in: "gzip > tar > app.txt". */
static size_t describe_wrapping(const struct input *layer, char *out, size_t capacity_bytes) {
    if (!layer->below) return 0;
    size_t used_bytes = describe_wrapping(layer->below, out, capacity_bytes);
    struct text own = input_archive_wrapping(layer->archive);
    if (used_bytes + own.bytes_count + sizeof " > " > capacity_bytes) return used_bytes;
    return used_bytes + (size_t)snprintf(out + used_bytes, capacity_bytes - used_bytes, "%s%.*s",
                                         used_bytes ? " > " : "", (int)own.bytes_count, own.bytes);
}

/* Takes wrappings off until none is left, or only an archive is where those are to stay. The input is the top layer
 * then; NULL, and everything closed, after a failure. */
static struct input *unwrap_all(struct input *input, bool keeps_archive) {
    unsigned layer_count = 0;
    for (const struct input *layer = input; layer->below; layer = layer->below) layer_count++;
    for (;; layer_count++) {
        struct text start = input_peek(input, INPUT_ARCHIVE_START_BYTES);
        if (failure_is_set(input->failure) || !input_archive_recognises(start)) break;
        if (keeps_archive && input_archive_has_members(start)) break;
        if (layer_count == LAYERS_MAX) {
            failure_set(input->failure, FAILURE_INPUT, "%s: is compressed more than %d times over", input->name,
                        LAYERS_MAX);
            break;
        }
        input = unwrap(input, start);
        if (!input) return NULL;
    }
    if (!failure_is_set(input->failure)) {
        describe_wrapping(input, input->wrapping, sizeof input->wrapping);
        return input;
    }
    input_close(input);
    return NULL;
}

static struct input *open_bottom(const char *path, struct failure *failure) {
    struct input *input = input_create(path, failure);
    if (!input || open_source(input, path)) return input;
    input_close(input);
    return NULL;
}

struct input *input_open(const char *path, struct failure *failure) {
    struct input *input = open_bottom(path, failure);
    return input ? unwrap_all(input, false) : NULL;
}

struct input *input_open_outer(const char *path, struct failure *failure) {
    struct input *input = open_bottom(path, failure);
    return input ? unwrap_all(input, true) : NULL;
}

struct input *input_uncompress(struct input *input) {
    return unwrap_all(input, true);
}

bool input_is_archive(struct input *input) {
    struct text start = input_peek(input, INPUT_ARCHIVE_START_BYTES);
    return input_archive_recognises(start) && input_archive_has_members(start);
}
