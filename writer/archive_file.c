#include "archive_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libconvert/libarchive.h"
#include "libconvert/utf8.h"
#include "libconvert/utf8_locale.h"

enum { BLOCK_BYTES = 64 * 1024, CREATE_MODE = 0666, MEMBER_MODE = 0644 };

struct kind {
    const char *suffix;
    int (**format)(struct archive *); /* libarchive's */
    int (**filter)(struct archive *);
    const char *options; /* NULL: none */
};

/* gzip would put the time into its header. */
static const struct kind kinds[] = {
    {".tar", &libarchive.write_set_format_pax_restricted, &libarchive.write_add_filter_none, NULL},
    {".tar.gz", &libarchive.write_set_format_pax_restricted, &libarchive.write_add_filter_gzip, "gzip:!timestamp"},
    {".tgz", &libarchive.write_set_format_pax_restricted, &libarchive.write_add_filter_gzip, "gzip:!timestamp"},
    {".tar.zst", &libarchive.write_set_format_pax_restricted, &libarchive.write_add_filter_zstd, NULL},
    {".tzst", &libarchive.write_set_format_pax_restricted, &libarchive.write_add_filter_zstd, NULL},
    {".tar.xz", &libarchive.write_set_format_pax_restricted, &libarchive.write_add_filter_xz, NULL},
    {".txz", &libarchive.write_set_format_pax_restricted, &libarchive.write_add_filter_xz, NULL},
    {".zip", &libarchive.write_set_format_zip, &libarchive.write_add_filter_none, NULL},
};
enum { KIND_COUNT = sizeof kinds / sizeof *kinds };

struct archive_file {
    struct failure *failure; /* borrowed */
    const char *name;        /* borrowed */
    struct archive *writer;
    int descriptor;
    locale_t locale; /* libarchive takes the character set of names from it; 0: none */
};

const char *archive_file_suffix(size_t number) { return number < KIND_COUNT ? kinds[number].suffix : NULL; }

static const struct kind *kind_of(const char *name) {
    for (size_t i = 0; i < KIND_COUNT; i++)
        if (text_ends_with(text_of(name), text_of(kinds[i].suffix))) return &kinds[i];
    return NULL;
}

/* libarchive gives no error number for some allocations that failed; for all else it gives one. */
static void fail(struct archive_file *archive, int error) {
    if (error == ENOMEM || error == 0)
        failure_set_memory(archive->failure);
    else
        failure_set(archive->failure, FAILURE_IO, "cannot write %s: %s", archive->name, strerror(error));
}

/* A warning is about the name of a member that is not of the character set: its bytes are written. */
static bool check(struct archive_file *archive, int outcome) {
    if (outcome >= ARCHIVE_WARN) return true;
    fail(archive, libarchive.error_number(archive->writer));
    return false;
}

static bool open_writer(struct archive_file *archive, const struct kind *kind) {
    struct archive *writer = archive->writer;
    return check(archive, (*kind->format)(writer)) && check(archive, (*kind->filter)(writer)) &&
           (!kind->options || check(archive, libarchive.write_set_options(writer, kind->options))) &&
           check(archive, libarchive.write_set_bytes_in_last_block(writer, 1)) &&
           check(archive, libarchive.write_open_fd(writer, archive->descriptor));
}

bool archive_file_load(const char *name, struct failure *failure) { return libarchive_load(name, failure); }

struct archive_file *archive_file_create(const char *path, const char *name, struct failure *failure) {
    const struct kind *kind = kind_of(name);
    if (!kind) {
        failure_set(failure, FAILURE_USAGE, "%s: the name of no kind of archive; it may end in .tar.zst, .zip…", name);
        return NULL;
    }
    if (!archive_file_load(name, failure)) return NULL;
    struct archive_file *archive = calloc(1, sizeof *archive);
    if (!archive) {
        failure_set_memory(failure);
        return NULL;
    }
    archive->failure = failure;
    archive->name = name;
    archive->locale = utf8_locale_create();
    archive->descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, CREATE_MODE);
    if (archive->descriptor < 0) fail(archive, errno);
    archive->writer = libarchive.write_new();
    if (!archive->writer) failure_set_memory(failure);
    if (!failure_is_set(failure) && open_writer(archive, kind)) return archive;
    archive_file_close(archive);
    return NULL;
}

/* ---- Members. ---- */

/* Nobody's, of no time. */
static struct archive_entry *entry_create(const char *member, uint64_t bytes_count) {
    struct archive_entry *entry = libarchive.entry_new();
    if (!entry) return NULL;
    libarchive.entry_copy_pathname(entry, member);
    libarchive.entry_set_filetype(entry, AE_IFREG);
    libarchive.entry_set_perm(entry, MEMBER_MODE);
    libarchive.entry_set_size(entry, (la_int64_t)bytes_count);
    libarchive.entry_set_mtime(entry, 0, 0);
    libarchive.entry_set_uid(entry, 0);
    libarchive.entry_set_gid(entry, 0);
    return entry;
}

static void add_bytes(struct archive_file *archive, int source, const char *path) {
    char block[BLOCK_BYTES];
    for (;;) {
        ssize_t bytes_count = read(source, block, sizeof block);
        if (bytes_count < 0 && errno == EINTR) continue;
        if (bytes_count < 0) failure_set(archive->failure, FAILURE_IO, "%s: cannot be read: %s", path, strerror(errno));
        if (bytes_count <= 0) return;
        if (libarchive.write_data(archive->writer, block, (size_t)bytes_count) < 0) {
            fail(archive, libarchive.error_number(archive->writer));
            return;
        }
    }
}

static void add_open_file(struct archive_file *archive, const char *member, int source, const char *path) {
    struct stat status;
    if (source < 0 || fstat(source, &status) != 0) {
        failure_set(archive->failure, FAILURE_IO, "%s: cannot be read: %s", path, strerror(errno));
        return;
    }
    struct archive_entry *entry = entry_create(member, (uint64_t)status.st_size);
    if (!entry) {
        failure_set_memory(archive->failure);
        return;
    }
    if (check(archive, libarchive.write_header(archive->writer, entry))) add_bytes(archive, source, path);
    libarchive.entry_free(entry);
}

static bool is_ascii(struct text text) {
    for (size_t i = 0; i < text.bytes_count; i++)
        if ((unsigned char)text.bytes[i] >= 0x80) return false;
    return true;
}

/* libarchive is to say that names are UTF-8 of those alone that are. False: it cannot (latched). */
static bool enter_locale(struct archive_file *archive, struct text member, locale_t *before) {
    *before = (locale_t)0;
    if (is_ascii(member) || utf8_valid_prefix_bytes(member) != member.bytes_count) return true;
    if (!archive->locale) {
        failure_set(
            archive->failure, FAILURE_IO,
            "cannot write %s: the name %.*s needs a locale of UTF-8, such as C.UTF-8, which this system does not "
            "have",
            archive->name, (int)member.bytes_count, member.bytes);
        return false;
    }
    *before = uselocale(archive->locale);
    return true;
}

void archive_file_add(struct archive_file *archive, const char *member, const char *path) {
    locale_t before;
    if (failure_is_set(archive->failure) || !enter_locale(archive, text_of(member), &before)) return;
    int source = open(path, O_RDONLY | O_CLOEXEC);
    add_open_file(archive, member, source, path);
    if (source >= 0) close(source);
    if (before) uselocale(before);
}

void archive_file_close(struct archive_file *archive) {
    if (!archive) return;
    if (archive->writer && !failure_is_set(archive->failure)) check(archive, libarchive.write_close(archive->writer));
    if (archive->writer) libarchive.write_free(archive->writer);
    if (archive->descriptor >= 0) {
        if (!failure_is_set(archive->failure) && fsync(archive->descriptor) != 0 && errno != EINVAL)
            fail(archive, errno);
        if (close(archive->descriptor) != 0 && errno != EINTR) fail(archive, errno);
    }
    if (archive->locale) freelocale(archive->locale);
    free(archive);
}
