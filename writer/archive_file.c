#include "archive_file.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libconvert/base/child_process.h"
#include "libconvert/base/utf8.h"
#include "libconvert/base/utf8_locale.h"

enum { BLOCK_BYTES = 64 * 1024, CREATE_MODE = 0666, MEMBER_MODE = 0644 };

struct kind {
    const char *suffix;
    int (*format)(struct archive *); /* libarchive's */
    int (*filter)(struct archive *);
    const char *options; /* NULL if there are none */
};

/* Without its option, gzip would write the time into its header. */
static const struct kind kinds[] = {
    {".tar", archive_write_set_format_pax_restricted, archive_write_add_filter_none, NULL},
    {".tar.gz", archive_write_set_format_pax_restricted, archive_write_add_filter_gzip, "gzip:!timestamp"},
    {".tgz", archive_write_set_format_pax_restricted, archive_write_add_filter_gzip, "gzip:!timestamp"},
    {".tar.zst", archive_write_set_format_pax_restricted, archive_write_add_filter_zstd, NULL},
    {".tzst", archive_write_set_format_pax_restricted, archive_write_add_filter_zstd, NULL},
    {".tar.xz", archive_write_set_format_pax_restricted, archive_write_add_filter_xz, NULL},
    {".txz", archive_write_set_format_pax_restricted, archive_write_add_filter_xz, NULL},
    {".zip", archive_write_set_format_zip, archive_write_add_filter_none, NULL},
};

/* The state of the child process. */
struct packer {
    struct failure *failure; /* borrowed */
    const char *name;        /* borrowed */
    struct archive *writer;
    int descriptor;
    locale_t locale; /* libarchive takes the character set of names from it; 0 if there is none */
};

static const struct kind *kind_of(const char *name) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (text_ends_with(text_of(name), text_of(kinds[i].suffix))) return &kinds[i];
    return NULL;
}

bool archive_file_is_name(const char *name) { return kind_of(name); }

/* ---- The child process. ---- */

static void fail_to_write(struct failure *failure, const char *name, int error) {
    if (error == ENOMEM)
        failure_set_memory(failure);
    else
        failure_set(failure, FAILURE_IO, "cannot write %s: %s", name, strerror(error));
}

static void fail(struct packer *packer, int error) { fail_to_write(packer->failure, packer->name, error); }

/* libarchive's error numbers need not be errno values. If memory runs out, it may set no number at all. */
static void fail_by_libarchive(struct packer *packer) {
    int error = archive_errno(packer->writer);
    fail(packer, errno == ENOMEM || error == 0 ? ENOMEM : error > 0 ? error : EIO);
}

/* Returns whether libarchive succeeded; otherwise latches the failure. A warning only means that a member's name is not
 * in the character set. Its bytes are written nevertheless. */
static bool check(struct packer *packer, int outcome) {
    if (outcome >= ARCHIVE_WARN) return true;
    fail_by_libarchive(packer);
    return false;
}

static bool open_writer(struct packer *packer, const struct kind *kind) {
    struct archive *writer = packer->writer;
    return check(packer, kind->format(writer)) && check(packer, kind->filter(writer)) &&
           (!kind->options || check(packer, archive_write_set_options(writer, kind->options))) &&
           check(packer, archive_write_set_bytes_in_last_block(writer, 1)) &&
           check(packer, archive_write_open_fd(writer, packer->descriptor));
}

static bool open_packer(struct packer *packer, const struct kind *kind, const char *path) {
    packer->locale = utf8_locale_create();
    if (!packer->locale && errno == ENOMEM) failure_set_memory(packer->failure);
    packer->descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, CREATE_MODE);
    if (packer->descriptor < 0) fail(packer, errno);
    packer->writer = failure_check_memory(packer->failure, archive_write_new());
    return !failure_is_set(packer->failure) && open_writer(packer, kind);
}

/* Returns an entry that belongs to root and has time 0, so that equal files make equal archives. */
static struct archive_entry *entry_create(const char *member, uint64_t bytes_count) {
    struct archive_entry *entry = archive_entry_new();
    if (!entry) return NULL;
    archive_entry_copy_pathname(entry, member);
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, MEMBER_MODE);
    archive_entry_set_size(entry, (la_int64_t)bytes_count);
    archive_entry_set_mtime(entry, 0, 0);
    archive_entry_set_uid(entry, 0);
    archive_entry_set_gid(entry, 0);
    return entry;
}

static void add_bytes(struct packer *packer, int source, const char *path) {
    char block[BLOCK_BYTES];
    for (;;) {
        ssize_t bytes_count = read(source, block, sizeof block);
        if (bytes_count < 0 && errno == EINTR) continue;
        if (bytes_count < 0) failure_set(packer->failure, FAILURE_IO, "%s: cannot be read: %s", path, strerror(errno));
        if (bytes_count <= 0) return;
        if (archive_write_data(packer->writer, block, (size_t)bytes_count) < 0) {
            fail_by_libarchive(packer);
            return;
        }
    }
}

static void add_open_file(struct packer *packer, const char *member, int source, const char *path) {
    struct stat status;
    if (source < 0 || fstat(source, &status) != 0) {
        failure_set(packer->failure, FAILURE_IO, "%s: cannot be read: %s", path, strerror(errno));
        return;
    }
    struct archive_entry *entry = failure_check_memory(packer->failure, entry_create(member, (uint64_t)status.st_size));
    if (!entry) return;
    if (check(packer, archive_write_header(packer->writer, entry))) add_bytes(packer, source, path);
    archive_entry_free(entry);
}

static bool is_ascii(struct text text) {
    for (size_t i = 0; i < text.bytes_count; i++)
        if ((unsigned char)text.bytes[i] >= 0x80) return false;
    return true;
}

/* Selects a UTF-8 locale for a name that needs one, so that libarchive marks only such names as UTF-8. Sets *before to
 * the previous locale, or to 0 if it did not change. Returns false if there is no such locale (latched). */
static bool enter_locale(struct packer *packer, struct text member, locale_t *before) {
    *before = (locale_t)0;
    if (is_ascii(member) || utf8_valid_prefix_bytes(member) != member.bytes_count) return true;
    if (!packer->locale) {
        failure_set(
            packer->failure, FAILURE_IO,
            "cannot write %s: the name %.*s needs a locale of UTF-8, such as C.UTF-8, which this system does not "
            "have",
            packer->name, TEXT_ARGS(member));
        return false;
    }
    *before = uselocale(packer->locale);
    return true;
}

static void add_file(struct packer *packer, const char *member, const char *path) {
    locale_t before;
    if (!enter_locale(packer, text_of(member), &before)) return;
    int source = open(path, O_RDONLY | O_CLOEXEC);
    add_open_file(packer, member, source, path);
    if (source >= 0) close(source);
    if (before) uselocale(before);
}

static void finish(struct packer *packer) {
    if (!check(packer, archive_write_close(packer->writer))) return;
    if (fsync(packer->descriptor) != 0 && errno != EINVAL) fail(packer, errno);
    if (close(packer->descriptor) != 0 && errno != EINTR) fail(packer, errno);
    packer->descriptor = -1;
}

/* What the child needs to write the archive. */
struct contents {
    const char *path;
    const char *name;
    const char *folder;
    const struct column *members;
};

/* libarchive does not report every failed allocation, so errno is checked after each step. */
static bool has_failed(struct packer *packer) {
    if (errno == ENOMEM) failure_set_memory(packer->failure);
    return failure_is_set(packer->failure);
}

static void add_member(struct packer *packer, const char *folder, const char *member) {
    char *path;
    if (asprintf(&path, "%s/%s", folder, member) < 0) child_leave();
    add_file(packer, member, path);
    free(path);
}

/* Runs in the child. Sends its struct failure to the parent. */
static void pack(void *context, struct channel *channel) {
    const struct contents *contents = context;
    struct failure failure = {0};
    struct packer packer = {.failure = &failure, .name = contents->name, .descriptor = -1};
    errno = 0;
    open_packer(&packer, kind_of(contents->name), contents->path);
    for (size_t i = 0; i < contents->members->count && !has_failed(&packer); i++)
        add_member(&packer, contents->folder, *(char *const *)column_at(contents->members, i));
    if (!has_failed(&packer)) finish(&packer);
    has_failed(&packer);
    if (packer.writer) archive_write_free(packer.writer);
    if (packer.descriptor >= 0) close(packer.descriptor);
    if (packer.locale) freelocale(packer.locale);
    channel_send(channel, &failure, sizeof failure);
}

/* ---- The parent process. ---- */

void archive_file_write(const char *path, const char *name, const char *folder, const struct column *members,
                        struct failure *failure) {
    struct contents contents = {path, name, folder, members};
    struct child_process child;
    struct failure packed;
    if (failure_is_set(failure)) return;
    if (!child_start(&child, pack, &contents, NULL)) {
        fail_to_write(failure, name, errno);
        return;
    }
    if (!channel_receive(&child.channel, &packed, sizeof packed))
        failure_set(failure, FAILURE_MEMORY, "cannot write %s: libarchive crashed, as memory ran out", name);
    else if (failure_is_set(&packed))
        failure_set(failure, packed.code, "%s", packed.message);
    child_await(&child);
}
