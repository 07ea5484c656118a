#include "libs.h"

#include <inttypes.h>
#include <stdio.h>

#include "libconvert/base/cursor.h"
#include "libconvert/base/memory.h"

enum { BUILD_ID_BYTES_MAX = 64, BREAKPAD_ID_DIGITS = 33 };

struct key {
    string_id path;
    string_id code_id;
};

struct debug_key {
    string_id debug_name;
    string_id breakpad_id;
};

void libs_init(struct libs *libs, struct failure *failure) {
    strings_init(&libs->texts, failure);
    row_table_init(&libs->keys, sizeof(struct key), failure);
    column_init(&libs->rows, sizeof(struct lib), failure);
    value_table_init(&libs->next_copies, sizeof(struct debug_key), sizeof(uint32_t), failure);
}

void libs_fini(struct libs *libs) {
    strings_fini(&libs->texts);
    row_table_fini(&libs->keys);
    column_fini(&libs->rows);
    value_table_fini(&libs->next_copies);
}

/* Parses a build id. Returns its length in bytes, or 0 if the text is empty, odd, too long or not hex. */
static size_t parse_build_id(struct text hex, unsigned char bytes[BUILD_ID_BYTES_MAX]) {
    if (hex.bytes_count % 2 || hex.bytes_count / 2 > BUILD_ID_BYTES_MAX) return 0;
    for (size_t i = 0; i < hex.bytes_count; i += 2) {
        int high = cursor_digit_value(hex.bytes[i]), low = cursor_digit_value(hex.bytes[i + 1]);
        if (high < 0 || low < 0) return 0;
        bytes[i / 2] = (unsigned char)(high << 4 | low);
    }
    return hex.bytes_count / 2;
}

/* Writes the first 16 bytes of the build id as a little-endian GUID in upper-case hex, followed by the age 0. This is
 * breakpad's form for ELF files, which the front-end and its symbol servers use. */
static void format_breakpad_id(const unsigned char *build_id, size_t bytes_count, char out[BREAKPAD_ID_DIGITS + 1]) {
    static const unsigned char order[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
    for (size_t i = 0; i < 16; i++) snprintf(out + i * 2, 3, "%02X", order[i] < bytes_count ? build_id[order[i]] : 0u);
    out[32] = '0';
    out[33] = '\0';
}

/* Sets the build id in lower-case hex and its breakpad form; both are empty if it is unknown. */
static void set_ids(struct libs *libs, struct lib *lib, const unsigned char *build_id, size_t bytes_count) {
    if (!bytes_count) return;
    char breakpad_id[BREAKPAD_ID_DIGITS + 1];
    format_breakpad_id(build_id, bytes_count, breakpad_id);
    lib->breakpad_id = strings_copy(&libs->texts, text_of(breakpad_id));
    char code_id[BUILD_ID_BYTES_MAX * 2 + 1];
    lib->code_id = strings_copy(&libs->texts, text_hex((struct text){(const char *)build_id, bytes_count}, code_id));
}

/* Returns "name (2)". The name is not cut, since different names must remain different. */
static string_id intern_numbered(struct strings *texts, struct text name, uint32_t number) {
    enum { SUFFIX_BYTES_MAX = sizeof " (4294967295)" };
    char *numbered = memory_allocate(texts->rows.failure, name.bytes_count + SUFFIX_BYTES_MAX);
    if (!numbered) return string_none();
    if (name.bytes_count) memcpy(numbered, name.bytes, name.bytes_count);
    int suffix_bytes = snprintf(numbered + name.bytes_count, SUFFIX_BYTES_MAX, " (%" PRIu32 ")", number);
    string_id id = strings_intern(texts, (struct text){numbered, name.bytes_count + (size_t)suffix_bytes});
    memory_free(numbered);
    return id;
}

/* Returns the number that the debug key's next library tries first; NULL if memory ran out (latched). */
static uint32_t *take_debug_key(struct libs *libs, const struct debug_key *key, bool *is_new) {
    uint32_t known_count = value_table_count(&libs->next_copies);
    uint32_t *next_copy = value_table_intern(&libs->next_copies, key, &(uint32_t){2});
    *is_new = value_table_count(&libs->next_copies) > known_count;
    return next_copy;
}

/* Returns the name, with a number if another library has the name and id. Numbers continue after the last one of that
 * name, since counting from 1 each time would take quadratic time. */
static struct text unique_debug_name(struct libs *libs, const struct lib *lib, struct text name) {
    struct debug_key key = {strings_intern(&libs->texts, name), strings_intern(&libs->texts, lib->breakpad_id)};
    if (string_is_none(key.debug_name) || string_is_none(key.breakpad_id)) return (struct text){0};
    bool is_new;
    uint32_t *next_copy = take_debug_key(libs, &key, &is_new);
    if (!next_copy) return (struct text){0};
    while (!is_new) {
        key.debug_name = intern_numbered(&libs->texts, name, (*next_copy)++);
        if (string_is_none(key.debug_name) || !take_debug_key(libs, &key, &is_new)) return (struct text){0};
    }
    return strings_text(&libs->texts, key.debug_name);
}

lib_id libs_intern(struct libs *libs, struct text path, struct text build_id) {
    /* After a failure, tables that grow together may differ in length. */
    if (failure_is_set(libs->rows.failure)) return lib_none();
    unsigned char id_bytes[BUILD_ID_BYTES_MAX];
    size_t id_bytes_count = parse_build_id(build_id, id_bytes);
    struct lib lib = {.path = strings_copy(&libs->texts, path)};
    lib.name = strings_copy(&libs->texts, text_base_name(lib.path));
    lib.debug_path = lib.path;
    set_ids(libs, &lib, id_bytes, id_bytes_count);

    struct key key = {strings_intern(&libs->texts, lib.path), strings_intern(&libs->texts, lib.code_id)};
    if (string_is_none(key.path) || string_is_none(key.code_id)) return lib_none();
    uint32_t row = row_table_intern(&libs->keys, &key);
    if (row == ID_NONE || row < libs_count(libs)) return (lib_id){row};

    lib.debug_name = unique_debug_name(libs, &lib, lib.name);
    return column_add(&libs->rows, &lib) ? (lib_id){row} : lib_none();
}

/* The breakpad id tells apart what has no build id. */
static struct text own_id(const struct lib *lib) { return lib->code_id.bytes_count ? lib->code_id : lib->breakpad_id; }

lib_id libs_take(struct libs *libs, const struct lib *lib) {
    if (failure_is_set(libs->rows.failure)) return lib_none();
    if (!lib->is_from_profile) return libs_intern(libs, lib->path, lib->code_id);
    struct key key = {strings_intern(&libs->texts, lib->path), strings_intern(&libs->texts, own_id(lib))};
    if (string_is_none(key.path) || string_is_none(key.code_id)) return lib_none();
    uint32_t row = row_table_intern(&libs->keys, &key);
    if (row == ID_NONE || row < libs_count(libs)) return (lib_id){row};
    struct lib *added = column_push(&libs->rows);
    if (!added) return lib_none();
    *added = (struct lib){.name = strings_copy(&libs->texts, lib->name),
                          .path = strings_copy(&libs->texts, lib->path),
                          .debug_name = unique_debug_name(libs, lib, lib->debug_name),
                          .breakpad_id = strings_copy(&libs->texts, lib->breakpad_id),
                          .code_id = strings_copy(&libs->texts, lib->code_id),
                          .arch = strings_copy(&libs->texts, lib->arch),
                          .debug_path = strings_copy(&libs->texts, lib->debug_path),
                          .is_from_profile = true};
    return (lib_id){row};
}
