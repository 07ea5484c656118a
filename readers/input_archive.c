#include "input_archive.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "input_gzip.h"
#include "input_lzma.h"
#include "libconvert/libarchive.h"
#include "libconvert/memory.h"
#include "libconvert/printable.h"
#include "libconvert/utf8_locale.h"

enum {
    MEMBER_NAME_BYTES = 100,
    REASON_BYTES = 200,
    TAR_HEADER_BYTES = 512,
    WATCH_EVERY_BYTES = 1024 * 1024, /* see watch_memory */
    WATCHED_HEADER_BYTES = 16 * 1024 /* that a member stands for besides its content */
};

enum decoder { DECODER_LIBARCHIVE, DECODER_GZIP, DECODER_XZ, DECODER_LZMA };

struct wrapper {
    const char *name;
    enum decoder decoder;

    /* How it begins: with these bytes, or as a function says. */
    struct text magic;
    bool (*recognises)(struct text start);

    /* Switches libarchive's support on: a filter for a compressed stream, a format for an archive. */
    int (**filter)(struct archive *reader);
    int (**format)(struct archive *reader);
    const char *options; /* libarchive's for the format; NULL: none */

    /* NULL from this: libarchive is built without the library and would run a program instead. */
    const char *(**library_version)(void);

    bool needs_seek;
    const char *extract_command;
};

enum place { BETWEEN_MEMBERS, IN_MEMBER, AT_END };

struct input_archive {
    struct input_source source;
    uint64_t source_offset; /* where the next run from it begins */
    const struct wrapper *wrapper;
    const char *name;
    struct failure *failure;
    struct input_gzip *gzip; /* does all the work of the wrapper gzip */
    struct input_lzma *lzma; /* and this of xz and lzma */
    struct archive *reader;
    struct archive_entry *entry; /* the reader's own one may be missing: libarchive does not check whether it got it */
    locale_t locale; /* that names are read in; 0: there is none */

    enum place place;
    bool is_walked; /* member by member */
    bool is_dead;   /* the source has failed */
    bool has_file;  /* a regular file was seen */
    bool has_trace; /* and one that was not empty */
    bool has_member_size;
    int64_t member_size_bytes;
    uint64_t member_bytes; /* handed out */
    size_t unwatched_bytes; /* see watch_memory */
    char member_name[MEMBER_NAME_BYTES];
    char wrapping[MEMBER_NAME_BYTES + 16];
};

static bool is_octal_or_blank(char byte) { return (byte >= '0' && byte <= '7') || byte == ' ' || byte == '\0'; }

/* The old tar has no magic, but every tar has a checksum over its first header. None is 0: other files have nothing at
 * its place, and the signed sum of their bytes is 0 now and then. */
static bool is_tar(struct text start) {
    enum { SUM_OFFSET = 148, SUM_BYTES = 8 };
    if (start.bytes_count < TAR_HEADER_BYTES) return false;
    const unsigned char *header = (const unsigned char *)start.bytes;
    unsigned unsigned_sum = 0;
    int signed_sum = 0; /* some old writers summed plain char */
    unsigned stored_sum = 0;
    for (int i = 0; i < TAR_HEADER_BYTES; i++) {
        bool is_in_sum = i >= SUM_OFFSET && i < SUM_OFFSET + SUM_BYTES;
        unsigned_sum += is_in_sum ? ' ' : header[i];
        signed_sum += is_in_sum ? ' ' : (signed char)header[i];
        if (!is_in_sum) continue;
        if (!is_octal_or_blank(start.bytes[i])) return false;
        if (header[i] >= '0') stored_sum = stored_sum * 8 + (header[i] - '0');
    }
    return header[0] != 0 && stored_sum != 0 && (stored_sum == unsigned_sum || (int)stored_sum == signed_sum);
}

static bool is_cpio(struct text start) {
    enum { ODC_DIGITS = 70, NEWC_DIGITS = 104 };
    bool is_odc = text_starts_with(start, TEXT("070707"));
    if (!is_odc && !text_starts_with(start, TEXT("070701")) && !text_starts_with(start, TEXT("070702"))) return false;
    size_t end = 6 + (is_odc ? ODC_DIGITS : NEWC_DIGITS);
    if (start.bytes_count < end) return false;
    for (size_t i = 6; i < end; i++) {
        char byte = start.bytes[i];
        bool is_digit = byte >= '0' && byte <= (is_odc ? '7' : '9');
        bool is_letter = (byte >= 'a' && byte <= 'f') || (byte >= 'A' && byte <= 'F');
        if (!is_digit && (is_odc || !is_letter)) return false;
    }
    return true;
}

/* ".lzma" has no magic: the usual properties, a dictionary of 2^n or 2^n + 2^(n-1), and a size that is unknown or
 * below 256 GiB. */
static bool is_lzma(struct text start) {
    enum { HEADER_BYTES = 13 };
    if (start.bytes_count < HEADER_BYTES || start.bytes[0] != 0x5d) return false;
    const unsigned char *header = (const unsigned char *)start.bytes;
    uint32_t dictionary_bytes = 0;
    uint64_t size_bytes = 0;
    for (int i = 0; i < 4; i++) dictionary_bytes |= (uint32_t)header[1 + i] << (8 * i);
    for (int i = 0; i < 8; i++) size_bytes |= (uint64_t)header[5 + i] << (8 * i);
    if (dictionary_bytes < 4096 || (size_bytes != UINT64_MAX && size_bytes >> 38)) return false;
    uint32_t without_lowest = dictionary_bytes & (dictionary_bytes - 1);
    uint32_t lowest = dictionary_bytes ^ without_lowest;
    return without_lowest == 0 || without_lowest == lowest << 1;
}

static bool is_bzip2(struct text start) {
    if (start.bytes_count < 10 || !text_starts_with(start, TEXT("BZh"))) return false;
    struct text block = text_slice(start, 4, 10);
    bool has_block = text_equal(block, TEXT("1AY&SY")) || text_equal(block, TEXT("\x17\x72\x45\x38\x50\x90"));
    return start.bytes[3] >= '1' && start.bytes[3] <= '9' && has_block;
}

/* A skippable frame may stand first: parallel compressors write one. */
static bool is_zstd(struct text start) {
    if (text_starts_with(start, TEXT("\x28\xb5\x2f\xfd"))) return true;
    return start.bytes_count >= 4 && ((unsigned char)start.bytes[0] & 0xf0) == 0x50 &&
           memcmp(start.bytes + 1, "\x2a\x4d\x18", 3) == 0;
}

static bool is_lz4(struct text start) {
    return text_starts_with(start, TEXT("\x04\x22\x4d\x18")) || text_starts_with(start, TEXT("\x02\x21\x4c\x18"));
}

static bool is_lzip(struct text start) {
    return text_starts_with(start, TEXT("LZIP")) && start.bytes_count > 4 && (unsigned char)start.bytes[4] <= 1;
}

static bool is_zip(struct text start) {
    return text_starts_with(start, TEXT("PK\x03\x04")) || text_starts_with(start, TEXT("PK\x05\x06")) ||
           text_starts_with(start, TEXT("PK\x07\x08"));
}

/* Only what libarchive does within this process, and no format that a text could be taken for. */
static const struct wrapper wrappers[] = {
    {.name = "gzip", .decoder = DECODER_GZIP, .magic = TEXT("\x1f\x8b")},
    {.name = "xz",
     .decoder = DECODER_XZ,
     .magic = {"\xfd"
               "7zXZ\0",
               6}},
    {.name = "zstd",
     .recognises = is_zstd,
     .filter = &libarchive.read_support_filter_zstd,
     .library_version = &libarchive.libzstd_version},
    {.name = "bzip2",
     .recognises = is_bzip2,
     .filter = &libarchive.read_support_filter_bzip2,
     .library_version = &libarchive.bzlib_version},
    {.name = "lz4",
     .recognises = is_lz4,
     .filter = &libarchive.read_support_filter_lz4,
     .library_version = &libarchive.liblz4_version},
    {.name = "lzip",
     .recognises = is_lzip,
     .filter = &libarchive.read_support_filter_lzip,
     .library_version = &libarchive.liblzma_version},
    {.name = "lzma", .decoder = DECODER_LZMA, .recognises = is_lzma},
    {.name = "compress", .magic = TEXT("\x1f\x9d"), .filter = &libarchive.read_support_filter_compress},
    {.name = "zip",
     .recognises = is_zip,
     .format = &libarchive.read_support_format_zip,
     .extract_command = "unzip -p FILE MEMBER"},
    {.name = "7z",
     .magic = TEXT("7z\xbc\xaf\x27\x1c"),
     .format = &libarchive.read_support_format_7zip,
     .needs_seek = true,
     .extract_command = "7z x -so FILE MEMBER"},
    {.name = "ar",
     .magic = TEXT("!<arch>\n"),
     .format = &libarchive.read_support_format_ar,
     .extract_command = "ar p FILE MEMBER"},
    {.name = "cpio",
     .recognises = is_cpio,
     .format = &libarchive.read_support_format_cpio,
     .extract_command = "bsdtar -xOf FILE MEMBER"},
    {.name = "tar",
     .recognises = is_tar,
     .format = &libarchive.read_support_format_tar,
     .options = "tar:read_concatenated_archives",
     .extract_command = "tar -xOf FILE MEMBER"},
};

static const struct wrapper *wrapper_of(struct text start) {
    for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++) {
        const struct wrapper *wrapper = &wrappers[i];
        if (wrapper->recognises ? wrapper->recognises(start) : text_starts_with(start, wrapper->magic)) return wrapper;
    }
    return NULL;
}

bool input_archive_recognises(struct text start) { return wrapper_of(start) != NULL; }

bool input_archive_has_members(struct text start) { return wrapper_of(start)->format != NULL; }

static void fail_with(struct input_archive *archive, const char *reason) {
    char place[MEMBER_NAME_BYTES];
    snprintf(place, sizeof place, " after %" PRIu64 " bytes of its content", archive->member_bytes);
    bool is_between = archive->is_walked && archive->place == BETWEEN_MEMBERS;
    failure_set(archive->failure, FAILURE_INPUT, "%s: reading the %s data failed%s: %s (damaged or cut off?)",
                archive->name, archive->wrapper->name, is_between ? " between members" : place, reason);
}

static void fail_encrypted(struct input_archive *archive) {
    failure_set(archive->failure, FAILURE_INPUT,
                "%s: the %s archive is encrypted; extract it with its password, then convert what comes out",
                archive->name, archive->wrapper->name);
}

/* What libarchive complains of, as this project has it. */
static void fail(struct input_archive *archive) {
    /* libarchive does not always tell; errno was 0 before. */
    if (errno == ENOMEM || libarchive.error_number(archive->reader) == ENOMEM) {
        failure_set_memory(archive->failure);
    } else if (libarchive.read_has_encrypted_entries(archive->reader) > 0) {
        fail_encrypted(archive);
    } else {
        const char *complaint = libarchive.error_string(archive->reader);
        char reason[REASON_BYTES];
        printable_copy(reason, sizeof reason, complaint ? text_of(complaint) : TEXT("the data makes no sense"));
        fail_with(archive, reason);
    }
}

/* What messages call a member. */
static void show_name(char name[MEMBER_NAME_BYTES], struct text path) {
    printable_copy(name, MEMBER_NAME_BYTES, path.bytes_count ? path : TEXT("?"));
}

static void fail_several(struct input_archive *archive, struct text second) {
    char second_name[MEMBER_NAME_BYTES];
    show_name(second_name, second);
    failure_set(archive->failure, FAILURE_INPUT,
                "%s: the %s archive holds several files (\"%s\", \"%s\"...); extract the one wanted (%s)",
                archive->name, archive->wrapper->name, archive->member_name, second_name,
                archive->wrapper->extract_command);
    archive->failure->is_of_many = true;
}

/* How much libarchive takes is not known beforehand: for dictionaries of decompressors up to gigabytes, for what an
 * archive lists at its end as much as there is. So what the process holds is looked at after every so many bytes. False
 * when that is too much (latched). */
static bool watch_memory(struct input_archive *archive, size_t bytes_count) {
    archive->unwatched_bytes += bytes_count;
    if (archive->unwatched_bytes < WATCH_EVERY_BYTES) return true;
    archive->unwatched_bytes = 0;
    return memory_check_resident(archive->failure);
}

static la_ssize_t on_read(struct archive *reader, void *context, const void **bytes) {
    struct input_archive *archive = context;
    struct text run;
    if (!archive->source.read(archive->source.context, &run)) {
        archive->is_dead = true;
        libarchive.set_error(reader, EIO, "the source failed");
        return -1;
    }
    archive->source_offset += run.bytes_count;
    *bytes = run.bytes;
    if (watch_memory(archive, run.bytes_count)) return (la_ssize_t)run.bytes_count;
    libarchive.set_error(reader, ENOMEM, "the limit of memory is reached");
    return -1;
}

static la_int64_t on_seek(struct archive *reader, void *context, la_int64_t offset, int whence) {
    (void)reader;
    struct input_archive *archive = context;
    la_int64_t total_bytes = (la_int64_t)archive->source.total_bytes;
    if (whence == SEEK_END) offset += total_bytes;
    if (whence == SEEK_CUR) offset += (la_int64_t)archive->source_offset;
    if (offset < 0 || offset > total_bytes) return ARCHIVE_FATAL;
    archive->source_offset = (uint64_t)offset;
    archive->source.seek(archive->source.context, archive->source_offset);
    return offset;
}

/* When a name cannot be converted, libarchive tells by errno that memory ran out, and ends the process, although it may
 * have been set long before. */
static void forget_errno(void) { errno = 0; }

static bool is_hard_link(struct archive_entry *entry) {
    forget_errno();
    return libarchive.entry_hardlink(entry);
}

/* Regular files, and what has no type, as in an ar that is made to be reproducible, but for its symbol table "/"; not
 * what the Finder adds to each file that it packs. */
static bool is_file(struct archive_entry *entry, struct text path) {
    unsigned type = libarchive.entry_filetype(entry);
    if ((type && type != AE_IFREG) || is_hard_link(entry) || text_ends_with(path, TEXT("/"))) return false;
    return !text_starts_with(path, TEXT("__MACOSX/")) && !text_starts_with(text_base_name(path), TEXT("._"));
}

static void begin_member(struct input_archive *archive, struct archive_entry *entry, struct text path) {
    bool has_names = archive->wrapper->format != NULL;
    archive->place = IN_MEMBER;
    archive->has_file = true;
    archive->member_bytes = 0;
    archive->has_member_size = libarchive.entry_size_is_set(entry);
    archive->member_size_bytes = libarchive.entry_size(entry);
    show_name(archive->member_name, path);
    if (has_names)
        snprintf(archive->wrapping, sizeof archive->wrapping, "%s > %s", archive->wrapper->name, archive->member_name);
    if (libarchive.entry_is_encrypted(entry)) fail_encrypted(archive);
}

/* The archive need not tell a member's size before its bytes: then they tell. */
static bool is_empty_member(struct input_archive *archive, struct archive_entry *entry) {
    if (libarchive.entry_size_is_set(entry)) return libarchive.entry_size(entry) == 0;
    if (libarchive.entry_is_encrypted(entry)) return false;
    const void *bytes;
    size_t bytes_count = 0;
    la_int64_t offset;
    int outcome = ARCHIVE_OK;
    errno = 0;
    while (outcome == ARCHIVE_OK && !bytes_count)
        outcome = libarchive.read_data_block(archive->reader, &bytes, &bytes_count, &offset);
    if (errno == ENOMEM) failure_set_memory(archive->failure);
    return outcome == ARCHIVE_EOF;
}

static void finish(struct input_archive *archive) {
    archive->place = AT_END;
    if (archive->has_file || archive->wrapper->filter) return;
    failure_set(archive->failure, FAILURE_INPUT, "%s: the %s archive holds no file", archive->name,
                archive->wrapper->name);
}

/* As UTF-8 where the archive can say that, its own bytes otherwise; empty when the name is neither. */
static struct text path_of(struct archive_entry *entry) {
    forget_errno();
    const char *path = libarchive.entry_pathname_utf8(entry);
    if (!path) path = libarchive.entry_pathname(entry);
    return text_of(path ? path : "");
}

/* A warning is about what does not matter here: a name's encoding, an owner. If it is about memory, it does. */
static int read_header(struct input_archive *archive) {
    forget_errno();
    int outcome = libarchive.read_next_header2(archive->reader, archive->entry);
    if (outcome == ARCHIVE_EOF) return outcome;
    if (outcome == ARCHIVE_OK || (outcome == ARCHIVE_WARN && errno != ENOMEM)) return ARCHIVE_OK;
    fail(archive);
    return ARCHIVE_FATAL;
}

static void go_to_next_member(struct input_archive *archive) {
    struct archive_entry *entry = archive->entry;
    int outcome = read_header(archive);
    if (outcome == ARCHIVE_EOF) finish(archive);
    if (outcome != ARCHIVE_OK) return;
    /* Bytes that the decompressor does not take for its own would come through as they are. */
    if (archive->wrapper->filter && libarchive.filter_code(archive->reader, 0) == ARCHIVE_FILTER_NONE) {
        fail_with(archive, "its header is no good");
        return;
    }
    /* To ask for a name can end the process, when there is no memory for it. A compressed stream has none. */
    struct text path = archive->wrapper->filter ? (struct text){0} : path_of(entry);
    if (!is_file(entry, path)) return;
    if (archive->has_trace) {
        if (!is_empty_member(archive, entry)) fail_several(archive, path);
    } else {
        begin_member(archive, entry, path);
    }
}

/* To be undone with leave_locale. */
static locale_t enter_locale(const struct input_archive *archive) {
    return archive->locale ? uselocale(archive->locale) : (locale_t)0;
}

static void leave_locale(locale_t before) {
    if (before) uselocale(before);
}

static void next_member(struct input_archive *archive) {
    locale_t before = enter_locale(archive);
    go_to_next_member(archive);
    leave_locale(before);
    watch_memory(archive, WATCHED_HEADER_BYTES);
}

static void end_member(struct input_archive *archive) {
    archive->place = BETWEEN_MEMBERS;
    archive->has_trace = archive->member_bytes > 0;
    if (archive->has_member_size && archive->member_bytes != (uint64_t)archive->member_size_bytes)
        fail_with(archive, "it is shorter than its header says");
}

/* The next bytes of the member; empty when there are none right now. */
static struct text read_member(struct input_archive *archive) {
    struct text block = {NULL, 0};
    const void *bytes;
    size_t bytes_count;
    la_int64_t offset;
    errno = 0;
    int outcome = libarchive.read_data_block(archive->reader, &bytes, &bytes_count, &offset);
    if (outcome == ARCHIVE_EOF) {
        end_member(archive);
        return block;
    }
    if (outcome != ARCHIVE_OK) {
        fail(archive);
        return block;
    }
    if (bytes_count && offset != (la_int64_t)archive->member_bytes) {
        fail_with(archive, "it is a sparse file with holes");
        return block;
    }
    archive->member_bytes += bytes_count;
    if (!watch_memory(archive, bytes_count)) return block;
    return (struct text){bytes, bytes_count};
}

/* ---- Member by member. ---- */

static struct text next_of_member(struct input_archive *archive) {
    while (archive->place == IN_MEMBER && !failure_is_set(archive->failure)) {
        struct text block = read_member(archive);
        if (block.bytes_count) return block;
    }
    return (struct text){NULL, 0};
}

static enum input_member_kind kind_of(struct archive_entry *entry, struct text path) {
    unsigned type = libarchive.entry_filetype(entry);
    if (is_hard_link(entry) || type == AE_IFLNK) return INPUT_MEMBER_LINK;
    if (type == AE_IFDIR || text_ends_with(path, TEXT("/"))) return INPUT_MEMBER_FOLDER;
    return !type || type == AE_IFREG ? INPUT_MEMBER_FILE : INPUT_MEMBER_SPECIAL;
}

static bool walk_to_next_member(struct input_archive *archive, struct input_member *member) {
    archive->is_walked = true;
    archive->place = BETWEEN_MEMBERS;
    archive->member_bytes = 0;
    struct archive_entry *entry = archive->entry;
    if (read_header(archive) != ARCHIVE_OK) {
        archive->place = AT_END;
        return false;
    }
    struct text path = path_of(entry);
    *member = (struct input_member){.kind = kind_of(entry, path),
                                    .path = path,
                                    .has_size = libarchive.entry_size_is_set(entry),
                                    .size_bytes = (uint64_t)libarchive.entry_size(entry)};
    if (member->kind == INPUT_MEMBER_FILE) begin_member(archive, entry, path);
    return true;
}

bool input_archive_next_member(struct input_archive *archive, struct input_member *member) {
    if (failure_is_set(archive->failure) || archive->place == AT_END) return false;
    locale_t before = enter_locale(archive);
    bool is_there = walk_to_next_member(archive, member);
    leave_locale(before);
    return watch_memory(archive, WATCHED_HEADER_BYTES) && is_there;
}

bool input_archive_is_dead(const struct input_archive *archive) { return archive->is_dead; }

/* Opens libarchive with nothing but what the wrapper needs. */
static bool open_reader(struct input_archive *archive) {
    const struct wrapper *wrapper = archive->wrapper;
    if (!libarchive_load(archive->name, archive->failure)) return false;
    if (wrapper->library_version && !(*wrapper->library_version)()) {
        failure_set(archive->failure, FAILURE_INPUT, "%s: this build cannot read %s; uncompress it first",
                    archive->name, wrapper->name);
        return false;
    }
    if (wrapper->needs_seek && !archive->source.seek) {
        failure_set(archive->failure, FAILURE_INPUT,
                    "%s: a %s archive cannot be read from a pipe or out of other compression; save it to a file first",
                    archive->name, wrapper->name);
        return false;
    }
    struct archive *reader = libarchive.read_new();
    archive->reader = reader;
    archive->entry = reader ? libarchive.entry_new2(reader) : NULL;
    if (!archive->entry) {
        failure_set_memory(archive->failure);
        return false;
    }
    errno = 0;
    bool is_good = wrapper->filter ? (*wrapper->filter)(reader) == ARCHIVE_OK &&
                                         libarchive.read_support_format_raw(reader) == ARCHIVE_OK &&
                                         libarchive.read_support_format_empty(reader) == ARCHIVE_OK
                                   : (*wrapper->format)(reader) == ARCHIVE_OK;
    is_good = is_good && (!wrapper->options || libarchive.read_set_options(reader, wrapper->options) == ARCHIVE_OK);
    is_good = is_good && libarchive.read_set_read_callback(reader, on_read) == ARCHIVE_OK &&
              libarchive.read_set_callback_data(reader, archive) == ARCHIVE_OK &&
              (!archive->source.seek || libarchive.read_set_seek_callback(reader, on_seek) == ARCHIVE_OK) &&
              libarchive.read_open1(reader) == ARCHIVE_OK;
    if (!is_good) fail(archive);
    return is_good;
}

/* False when memory ran out (latched). */
static bool open_locale(struct input_archive *archive) {
    if (!archive->wrapper->format) return true;
    archive->locale = utf8_locale_create();
    if (!archive->locale && errno == ENOMEM) failure_set_memory(archive->failure);
    return !failure_is_set(archive->failure);
}

static bool open_decoder(struct input_archive *archive) {
    struct failure *failure = archive->failure;
    switch (archive->wrapper->decoder) {
        case DECODER_LIBARCHIVE:
            return open_locale(archive) && open_reader(archive);
        case DECODER_GZIP:
            archive->gzip = input_gzip_open(&archive->source, archive->name, failure);
            return archive->gzip;
        case DECODER_XZ:
            archive->lzma = input_lzma_open(&archive->source, INPUT_LZMA_XZ, archive->name, failure);
            return archive->lzma;
        case DECODER_LZMA:
            archive->lzma = input_lzma_open(&archive->source, INPUT_LZMA_ALONE, archive->name, failure);
            return archive->lzma;
    }
    return false;
}

struct input_archive *input_archive_open(struct text start, const struct input_source *source, const char *name,
                                         struct failure *failure) {
    struct input_archive *archive = calloc(1, sizeof *archive);
    if (!archive) {
        failure_set_memory(failure);
        return NULL;
    }
    archive->source = *source;
    archive->wrapper = wrapper_of(start);
    archive->name = name;
    archive->failure = failure;
    archive->unwatched_bytes = WATCH_EVERY_BYTES; /* the first header may be one of an archive with a long list */
    snprintf(archive->wrapping, sizeof archive->wrapping, "%s", archive->wrapper->name);
    if (open_decoder(archive)) return archive;
    input_archive_close(archive);
    return NULL;
}

void input_archive_close(struct input_archive *archive) {
    if (!archive) return;
    input_gzip_close(archive->gzip);
    input_lzma_close(archive->lzma);
    if (archive->entry) libarchive.entry_free(archive->entry);
    if (archive->reader) libarchive.read_free(archive->reader);
    if (archive->locale) freelocale(archive->locale);
    free(archive);
}

struct text input_archive_next(struct input_archive *archive) {
    if (archive->gzip) return input_gzip_next(archive->gzip);
    if (archive->lzma) return input_lzma_next(archive->lzma);
    if (archive->is_walked) return next_of_member(archive);
    while (archive->place != AT_END && !failure_is_set(archive->failure)) {
        if (archive->place == BETWEEN_MEMBERS) {
            next_member(archive);
            continue;
        }
        struct text block = read_member(archive);
        if (block.bytes_count) return block;
    }
    return (struct text){NULL, 0};
}

struct text input_archive_wrapping(const struct input_archive *archive) {
    return text_of(archive->wrapping);
}
