/* libarchive's functions, in a library that is loaded when the first is needed: linked, it and what it brings, libxml2
 * and ICU, were three of the five milliseconds that the program took to start. Most runs read no archive. */
#ifndef GECKO_LIBARCHIVE_H
#define GECKO_LIBARCHIVE_H

#include <archive.h>
#include <archive_entry.h>
#include <stdbool.h>

#include "failure.h"

/* Names without "archive_" before them: what reads, and what writes, which the library for embedding does not. */
/* clang-format off */
#define LIBARCHIVE_READ_FUNCTIONS(X)                                                                                  \
    X(bzlib_version) X(error_string) X(filter_code) X(liblz4_version) X(liblzma_version) X(libzstd_version)           \
    X(set_error) X(entry_filetype) X(entry_free) X(entry_hardlink) X(entry_is_encrypted) X(entry_new2)                \
    X(entry_pathname) X(entry_pathname_utf8) X(entry_size) X(entry_size_is_set) X(read_data_block) X(read_free)       \
    X(read_has_encrypted_entries) X(read_new) X(read_next_header2) X(read_open1) X(read_set_callback_data)            \
    X(read_set_options) X(read_set_read_callback) X(read_set_seek_callback) X(read_support_filter_bzip2)              \
    X(read_support_filter_compress) X(read_support_filter_lz4) X(read_support_filter_lzip)                            \
    X(read_support_filter_zstd) X(read_support_format_7zip) X(read_support_format_ar) X(read_support_format_cpio)     \
    X(read_support_format_empty) X(read_support_format_raw) X(read_support_format_tar) X(read_support_format_zip)

#define LIBARCHIVE_WRITE_FUNCTIONS(X)                                                                                 \
    X(entry_copy_pathname) X(entry_new) X(entry_set_filetype) X(entry_set_gid) X(entry_set_mtime) X(entry_set_perm)   \
    X(entry_set_size) X(entry_set_uid) X(write_add_filter_gzip) X(write_add_filter_none) X(write_add_filter_xz)       \
    X(write_add_filter_zstd) X(write_close) X(write_data) X(write_free) X(write_header) X(write_new)                  \
    X(write_open_fd) X(write_set_bytes_in_last_block) X(write_set_format_pax_restricted) X(write_set_format_zip)      \
    X(write_set_options)
/* clang-format on */

struct libarchive {
    __typeof__(archive_errno) *error_number; /* errno is a macro */
#define LIBARCHIVE_MEMBER(name) __typeof__(archive_##name) *name;
    LIBARCHIVE_READ_FUNCTIONS(LIBARCHIVE_MEMBER)
    LIBARCHIVE_WRITE_FUNCTIONS(LIBARCHIVE_MEMBER)
#undef LIBARCHIVE_MEMBER
};

/* Nothing of it is there before it is loaded; then it stays as it is. */
extern struct libarchive libarchive;

/* False when it cannot be (latched: FAILURE_MEMORY, or FAILURE_IO where it is not installed). `name` is the file that
 * needs it. For any thread, any number of times. */
bool libarchive_load(const char *name, struct failure *failure);

#endif
