#include "input_wrapper.h"

#include <archive.h>

enum { TAR_HEADER_BYTES = 512 };

static bool is_octal_or_blank(char byte) { return (byte >= '0' && byte <= '7') || byte == ' ' || byte == '\0'; }

/* Old tar archives have no magic, but every tar header has a checksum. A checksum of 0 is not accepted: other files
 * often have nothing there, and the signed sum of their bytes can be 0. */
static bool is_tar(struct text start) {
    enum { SUM_OFFSET = 148, SUM_BYTES = 8 };
    if (start.bytes_count < TAR_HEADER_BYTES) return false;
    const unsigned char *header = (const unsigned char *)start.bytes;
    unsigned unsigned_sum = 0;
    int signed_sum = 0; /* some old writers summed signed chars */
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

static bool is_bzip2(struct text start) {
    if (start.bytes_count < 10 || !text_starts_with(start, TEXT("BZh"))) return false;
    struct text block = text_slice(start, 4, 10);
    bool has_block = text_equal(block, TEXT("1AY&SY")) || text_equal(block, TEXT("\x17\x72\x45\x38\x50\x90"));
    return start.bytes[3] >= '1' && start.bytes[3] <= '9' && has_block;
}

/* A skippable frame may come first: parallel compressors write one. */
static bool is_zstd(struct text start) {
    if (text_starts_with(start, TEXT("\x28\xb5\x2f\xfd"))) return true;
    return start.bytes_count >= 4 && ((unsigned char)start.bytes[0] & 0xf0) == 0x50 &&
           memcmp(start.bytes + 1, "\x2a\x4d\x18", 3) == 0;
}

static bool is_lz4(struct text start) {
    return text_starts_with(start, TEXT("\x04\x22\x4d\x18")) || text_starts_with(start, TEXT("\x02\x21\x4c\x18"));
}

static bool is_zip(struct text start) {
    return text_starts_with(start, TEXT("PK\x03\x04")) || text_starts_with(start, TEXT("PK\x05\x06")) ||
           text_starts_with(start, TEXT("PK\x07\x08"));
}

/* Only formats that libarchive reads within this process, and none that other text could be mistaken for. */
static const struct input_wrapper wrappers[] = {
    {.name = "gzip", .magic = TEXT("\x1f\x8b"), .open = input_gzip_open},
    {.name = "xz", .magic = TEXT("\3757zXZ\0"), .open = input_xz_open},
    {.name = "zstd",
     .recognises = is_zstd,
     .open = input_lone_file_open,
     .filter = archive_read_support_filter_zstd,
     .library_version = archive_libzstd_version},
    {.name = "bzip2",
     .recognises = is_bzip2,
     .open = input_lone_file_open,
     .filter = archive_read_support_filter_bzip2,
     .library_version = archive_bzlib_version},
    {.name = "lz4",
     .recognises = is_lz4,
     .open = input_lone_file_open,
     .filter = archive_read_support_filter_lz4,
     .library_version = archive_liblz4_version},
    {.name = "UTF-16", .recognises = input_utf16_recognises, .open = input_utf16_open},
    {.name = "JsonSlabs", .magic = TEXT("\xdc\xdfJSLB"), .open = input_json_slabs_open},
    {.name = "zip",
     .recognises = is_zip,
     .open = input_lone_file_open,
     .format = archive_read_support_format_zip,
     .extract_command = "unzip -p FILE MEMBER"},
    {.name = "7z",
     .magic = TEXT("7z\xbc\xaf\x27\x1c"),
     .open = input_lone_file_open,
     .format = archive_read_support_format_7zip,
     .needs_seek = true,
     .extract_command = "7z x -so FILE MEMBER"},
    {.name = "tar",
     .recognises = is_tar,
     .open = input_lone_file_open,
     .format = archive_read_support_format_tar,
     .options = "tar:read_concatenated_archives",
     .extract_command = "tar -xOf FILE MEMBER"},
};

static const struct input_wrapper log_wrapper = {
    .name = "log", .recognises = input_log_recognises, .open = input_log_open};

const struct input_wrapper *input_wrapper_of_binary(struct text start) {
    for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++) {
        const struct input_wrapper *wrapper = &wrappers[i];
        if (wrapper->recognises ? wrapper->recognises(start) : text_starts_with(start, wrapper->magic)) return wrapper;
    }
    return NULL;
}

const struct input_wrapper *input_wrapper_of(struct text start) {
    const struct input_wrapper *wrapper = input_wrapper_of_binary(start);
    if (wrapper) return wrapper;
    return input_log_recognises(text_slice(start, 0, INPUT_WRAPPER_START_BYTES)) ? &log_wrapper : NULL;
}
