/* The versions that linkers append to the names of symbols in shared libraries. */
#pragma once

#include "text.h"

static inline bool symbol_version_is_letter(char byte) { return (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z'; }

static inline bool symbol_version_has_byte(char byte) {
    return symbol_version_is_letter(byte) || (byte >= '0' && byte <= '9') || byte == '.' || byte == '_' || byte == '-';
}

/* Returns the name without its version: "memcpy" for "memcpy@@GLIBC_2.14" and for "memcpy@GLIBC_2.2.5". Other names
 * that contain "@" are returned as they are, "memcpy@plt" too, because it names a stub, not a version. Go's version is
 * that of its calling convention: "runtime.goexit.abi0". */
static inline struct text symbol_without_version(struct text name) {
    static const struct text go_version = TEXT(".abi0");
    if (text_ends_with(name, go_version) && name.bytes_count > go_version.bytes_count)
        return text_slice(name, 0, name.bytes_count - go_version.bytes_count);
    size_t at = text_find(name, '@');
    struct text version = text_from(name, at + 1);
    if (text_starts_with(version, TEXT("@"))) version = text_from(version, 1);
    if (!at || text_equal(version, TEXT("plt"))) return name;
    if (!version.bytes_count || !symbol_version_is_letter(version.bytes[0])) return name;
    for (size_t i = 0; i < version.bytes_count; i++)
        if (!symbol_version_has_byte(version.bytes[i])) return name;
    return text_slice(name, 0, at);
}
