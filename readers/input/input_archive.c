#include "input_archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "input.h"
#include "libconvert/base/memory.h"
#include "libconvert/base/printable.h"
#include "libconvert/base/utf8_locale.h"

enum {
    REASON_BYTES = 200,
    WATCH_EVERY_BYTES = 1024 * 1024, /* see watch_memory */
    WATCHED_HEADER_BYTES = 16 * 1024 /* counted for each member besides its content */
};

enum member_position { BETWEEN_MEMBERS, IN_MEMBER, AT_END };

struct input_archive {
    const struct input_wrapper *wrapper;
    struct input *below;   /* borrowed */
    uint64_t below_offset; /* offset of the next run in `below` */
    struct failure *failure;
    struct archive *reader;
    struct archive_entry *entry; /* libarchive's own entry may be missing, since it does not check that allocation */
    locale_t locale;             /* determines the character set of names; 0 if there is none */

    enum member_position position;
    bool is_open; /* libarchive has recognised the format */
    bool is_dead; /* the input below has failed */

    /* About the current member. */
    bool is_encrypted;
    bool has_size;
    int64_t size_bytes;
    uint64_t member_bytes;  /* bytes of the member that were returned so far */
    size_t unwatched_bytes; /* see watch_memory */
};

static void fail_with(struct input_archive *archive, const char *reason) {
    char place[64] = " between members";
    if (!archive->wrapper->format || archive->position != BETWEEN_MEMBERS)
        snprintf(place, sizeof place, " after %" PRIu64 " bytes of its content", archive->member_bytes);
    failure_set(archive->failure, FAILURE_INPUT, "%s: reading the %s data failed%s: %s (damaged or cut off?)",
                input_name(archive->below), archive->wrapper->name, place, reason);
}

static void fail_encrypted(struct input_archive *archive) {
    failure_set(archive->failure, FAILURE_INPUT,
                "%s: the %s archive is encrypted; extract it with its password, then convert what comes out",
                input_name(archive->below), archive->wrapper->name);
}

/* libarchive remembers that from the headers that it has read. If it has recognised no format, it must not be asked,
 * since it would read memory that is not its own. */
static bool has_encrypted_members(const struct input_archive *archive) {
    return archive->is_open && archive_read_has_encrypted_entries(archive->reader) > 0;
}

/* Latches libarchive's last error. */
static void fail(struct input_archive *archive) {
    /* libarchive does not always report that memory ran out, so errno must be 0 before each of its calls. */
    if (errno == ENOMEM || archive_errno(archive->reader) == ENOMEM) {
        failure_set_memory(archive->failure);
    } else if (has_encrypted_members(archive)) {
        fail_encrypted(archive);
    } else {
        const char *complaint = archive_error_string(archive->reader);
        char reason[REASON_BYTES];
        printable_copy(reason, sizeof reason, complaint ? text_of(complaint) : TEXT("the data makes no sense"));
        fail_with(archive, reason);
    }
}

/* libarchive can take gigabytes for the dictionaries of decompressors, and any amount for the list at the end of an
 * archive. So the memory of the process is checked after each WATCH_EVERY_BYTES. Returns false if it is too much
 * (latched). */
static bool watch_memory(struct input_archive *archive, size_t bytes_count) {
    archive->unwatched_bytes += bytes_count;
    if (archive->unwatched_bytes < WATCH_EVERY_BYTES) return true;
    archive->unwatched_bytes = 0;
    return memory_check_resident(archive->failure);
}

static la_ssize_t on_read(struct archive *reader, void *context, const void **bytes) {
    struct input_archive *archive = context;
    struct text run = input_take_run(archive->below);
    if (failure_is_set(archive->failure)) {
        archive->is_dead = true;
        archive_set_error(reader, EIO, "the source failed");
        return -1;
    }
    archive->below_offset += run.bytes_count;
    *bytes = run.bytes;
    if (watch_memory(archive, run.bytes_count)) return (la_ssize_t)run.bytes_count;
    archive_set_error(reader, ENOMEM, "the limit of memory is reached");
    return -1;
}

static la_int64_t on_seek(struct archive *reader, void *context, la_int64_t offset, int whence) {
    (void)reader;
    struct input_archive *archive = context;
    la_int64_t total_bytes = (la_int64_t)input_seekable_bytes(archive->below);
    if (whence == SEEK_END) offset += total_bytes;
    if (whence == SEEK_CUR) offset += (la_int64_t)archive->below_offset;
    if (offset < 0 || offset > total_bytes) return ARCHIVE_FATAL;
    archive->below_offset = (uint64_t)offset;
    input_seek(archive->below, archive->below_offset);
    return offset;
}

/* ---- Members. ---- */

/* If a name cannot be converted, libarchive takes errno for the reason, which may have been set long before. If it is
 * ENOMEM, libarchive ends the process. */
static void forget_errno(void) { errno = 0; }

/* Returns the path as UTF-8 if the archive has it in that form, otherwise its bytes; empty if it has neither. A
 * compressed stream has no path, and asking for it could end the process if memory runs out. */
static struct text path_of(const struct input_archive *archive) {
    if (!archive->wrapper->format) return (struct text){0};
    forget_errno();
    const char *path = archive_entry_pathname_utf8(archive->entry);
    if (!path) path = archive_entry_pathname(archive->entry);
    return text_of(path ? path : "");
}

/* A member without a type is a file, unless its path ends as that of a folder does. */
static enum input_member_kind kind_of(struct archive_entry *entry, struct text path) {
    unsigned type = archive_entry_filetype(entry);
    forget_errno();
    if (archive_entry_hardlink(entry) || type == AE_IFLNK) return INPUT_MEMBER_LINK;
    if (type == AE_IFDIR || text_ends_with(path, TEXT("/"))) return INPUT_MEMBER_FOLDER;
    return !type || type == AE_IFREG ? INPUT_MEMBER_FILE : INPUT_MEMBER_SPECIAL;
}

/* Returns false at the end and after a failure. libarchive's warnings concern a name's encoding or an owner, which do
 * not matter here, unless memory ran out. */
static bool read_header(struct input_archive *archive) {
    forget_errno();
    int outcome = archive_read_next_header2(archive->reader, archive->entry);
    if (outcome == ARCHIVE_EOF) return false;
    if (outcome != ARCHIVE_OK && (outcome != ARCHIVE_WARN || errno == ENOMEM)) {
        fail(archive);
        return false;
    }
    /* Bytes that the decompressor does not recognise would otherwise be passed through. */
    if (archive->wrapper->filter && archive_filter_code(archive->reader, 0) == ARCHIVE_FILTER_NONE)
        fail_with(archive, "its header is invalid");
    return !failure_is_set(archive->failure);
}

static bool go_to_next_member(struct input_archive *archive, struct input_member *member) {
    struct archive_entry *entry = archive->entry;
    archive->position = BETWEEN_MEMBERS;
    archive->member_bytes = 0;
    if (!read_header(archive)) {
        archive->position = AT_END;
        return false;
    }
    struct text path = path_of(archive);
    *member = (struct input_member){.kind = kind_of(entry, path),
                                    .path = path,
                                    .has_size = archive_entry_size_is_set(entry),
                                    .size_bytes = (uint64_t)archive_entry_size(entry)};
    if (member->kind != INPUT_MEMBER_FILE) return true;
    archive->position = IN_MEMBER;
    archive->is_encrypted = archive_entry_is_encrypted(entry);
    archive->has_size = member->has_size;
    archive->size_bytes = archive_entry_size(entry);
    return true;
}

bool input_archive_next_member(struct input_archive *archive, struct input_member *member) {
    if (failure_is_set(archive->failure) || archive->position == AT_END) return false;
    locale_t before = archive->locale ? uselocale(archive->locale) : (locale_t)0;
    bool is_there = go_to_next_member(archive, member);
    if (before) uselocale(before);
    return watch_memory(archive, WATCHED_HEADER_BYTES) && is_there;
}

static void end_member(struct input_archive *archive) {
    if (archive->has_size && archive->member_bytes != (uint64_t)archive->size_bytes)
        fail_with(archive, "it is shorter than its header says");
    archive->position = BETWEEN_MEMBERS;
}

/* Returns the next bytes of the member, which may be none before its end. */
static struct text read_block(struct input_archive *archive) {
    struct text none = {0};
    const void *bytes;
    size_t bytes_count;
    la_int64_t offset;
    errno = 0;
    int outcome = archive_read_data_block(archive->reader, &bytes, &bytes_count, &offset);
    if (outcome == ARCHIVE_EOF) {
        end_member(archive);
        return none;
    }
    if (outcome != ARCHIVE_OK) {
        fail(archive);
        return none;
    }
    if (bytes_count && offset != (la_int64_t)archive->member_bytes) {
        fail_with(archive, "it is a sparse file with holes");
        return none;
    }
    archive->member_bytes += bytes_count;
    return watch_memory(archive, bytes_count) ? (struct text){bytes, bytes_count} : none;
}

struct text input_archive_read(struct input_archive *archive) {
    if (archive->position == IN_MEMBER && archive->is_encrypted) fail_encrypted(archive);
    while (archive->position == IN_MEMBER && !failure_is_set(archive->failure)) {
        struct text block = read_block(archive);
        if (block.bytes_count) return block;
    }
    return (struct text){0};
}

bool input_archive_is_dead(const struct input_archive *archive) { return archive->is_dead; }

/* ---- Opening and closing. ---- */

/* Checks what libarchive needs for this wrapper. */
static bool check_support(struct input_archive *archive) {
    const struct input_wrapper *wrapper = archive->wrapper;
    const char *name = input_name(archive->below);
    if (wrapper->library_version && !wrapper->library_version())
        failure_set(archive->failure, FAILURE_INPUT, "%s: this build cannot read %s; uncompress it first", name,
                    wrapper->name);
    if (wrapper->needs_seek && !input_seekable_bytes(archive->below))
        failure_set(archive->failure, FAILURE_INPUT,
                    "%s: a %s archive cannot be read from a pipe or out of other compression; save it to a file first",
                    name, wrapper->name);
    return !failure_is_set(archive->failure);
}

/* Enables only what the wrapper needs. */
static bool set_up_reader(struct input_archive *archive) {
    const struct input_wrapper *wrapper = archive->wrapper;
    struct archive *reader = archive->reader;
    bool is_good = wrapper->filter ? wrapper->filter(reader) == ARCHIVE_OK &&
                                         archive_read_support_format_raw(reader) == ARCHIVE_OK &&
                                         archive_read_support_format_empty(reader) == ARCHIVE_OK
                                   : wrapper->format(reader) == ARCHIVE_OK;
    return is_good && (!wrapper->options || archive_read_set_options(reader, wrapper->options) == ARCHIVE_OK) &&
           archive_read_set_read_callback(reader, on_read) == ARCHIVE_OK &&
           archive_read_set_callback_data(reader, archive) == ARCHIVE_OK &&
           (!input_seekable_bytes(archive->below) || archive_read_set_seek_callback(reader, on_seek) == ARCHIVE_OK) &&
           archive_read_open1(reader) == ARCHIVE_OK;
}

static bool open_reader(struct input_archive *archive) {
    archive->reader = archive_read_new();
    archive->entry =
        failure_check_memory(archive->failure, archive->reader ? archive_entry_new2(archive->reader) : NULL);
    if (!archive->entry) return false;
    errno = 0;
    archive->is_open = set_up_reader(archive);
    if (!archive->is_open) fail(archive);
    return archive->is_open;
}

/* Only archives have names. Returns false if memory ran out (latched). */
static bool open_locale(struct input_archive *archive) {
    if (!archive->wrapper->format) return true;
    archive->locale = utf8_locale_create();
    if (!archive->locale && errno == ENOMEM) failure_set_memory(archive->failure);
    return !failure_is_set(archive->failure);
}

struct input_archive *input_archive_open(const struct input_wrapper *wrapper, struct input *below) {
    struct input_archive *archive = failure_check_memory(input_failure(below), calloc(1, sizeof *archive));
    if (!archive) return NULL;
    archive->wrapper = wrapper;
    archive->below = below;
    archive->failure = input_failure(below);
    archive->unwatched_bytes = WATCH_EVERY_BYTES; /* even the first header can take much memory, for a long list */
    if (open_locale(archive) && check_support(archive) && open_reader(archive)) return archive;
    input_archive_close(archive);
    return NULL;
}

void input_archive_close(struct input_archive *archive) {
    if (!archive) return;
    if (archive->entry) archive_entry_free(archive->entry);
    if (archive->reader) archive_read_free(archive->reader);
    if (archive->locale) freelocale(archive->locale);
    free(archive);
}
