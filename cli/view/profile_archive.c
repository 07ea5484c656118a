#include "profile_archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>

#include "libconvert/base/utf8_locale.h"

enum { MEMBER_MODE = 0644 };

/* Appends what libarchive writes. */
static la_ssize_t append(struct archive *writer, void *context, const void *bytes, size_t bytes_count) {
    if (byte_buffer_append(context, (struct text){bytes, bytes_count})) return (la_ssize_t)bytes_count;
    archive_set_error(writer, ENOMEM, "out of memory");
    return -1;
}

/* Members are stored: they are compressed already. */
static bool open_zip(struct archive *writer, struct byte_buffer *archive) {
    return archive_write_set_format_zip(writer) == ARCHIVE_OK &&
           archive_write_zip_set_compression_store(writer) == ARCHIVE_OK &&
           archive_write_set_bytes_in_last_block(writer, 1) == ARCHIVE_OK &&
           archive_write_open(writer, archive, NULL, append, NULL) == ARCHIVE_OK;
}

static bool set_name(struct archive_entry *entry, struct failure *failure, struct text name) {
    char *path = memory_allocate(failure, name.bytes_count + 1);
    if (!path) return false;
    text_copy(name, path, name.bytes_count + 1);
    archive_entry_copy_pathname(entry, path);
    memory_free(path);
    return true;
}

/* A warning only means that the name is not in the character set. */
static bool add_member(struct archive *writer, struct archive_entry *entry, struct served_profile *served) {
    archive_entry_clear(entry);
    if (!set_name(entry, served->failure, served->name)) return false;
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, MEMBER_MODE);
    archive_entry_set_size(entry, (la_int64_t)served->json.bytes_count);
    bool is_good = archive_write_header(writer, entry) >= ARCHIVE_WARN &&
                   archive_write_data(writer, served->json.bytes, served->json.bytes_count) >= 0;
    byte_buffer_fini(&served->json);
    return is_good;
}

static bool add_members(struct archive *writer, struct archive_entry *entry, struct served_profile *list) {
    bool is_good = true;
    for (struct served_profile *served = list; served && is_good; served = served->next)
        is_good = add_member(writer, entry, served);
    return is_good;
}

void profile_archive_write(struct byte_buffer *archive, struct served_profile *list) {
    struct archive *writer = archive_write_new();
    struct archive_entry *entry = archive_entry_new();
    locale_t locale = utf8_locale_create(), before = locale ? uselocale(locale) : (locale_t)0;
    *archive = (struct byte_buffer){.failure = list->failure};
    bool is_good = writer && entry && open_zip(writer, archive) && add_members(writer, entry, list) &&
                   archive_write_close(writer) == ARCHIVE_OK;
    if (!is_good) failure_set_memory(list->failure);
    if (before) uselocale(before);
    if (locale) freelocale(locale);
    archive_entry_free(entry);
    archive_write_free(writer);
}
