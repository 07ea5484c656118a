/* Reads any bytes as a program, a library or separate debug information. */
#include <stdlib.h>
#include <string.h>

#include "checked_conversion.h"
#include "libconvert/symbols/debug_file_search.h"
#include "libconvert/symbols/symbol_lines.h"
#include "libconvert/symbols/symbol_names.h"
#include "libconvert/symbols/symbol_table.h"
#include "source_file.h"

enum { SYMBOLS_MAX = 64, STEPS_MAX = 64, STEP_BYTES = 8 };

struct lookup {
    const struct debug_file *file;
    struct symbol_table table;
    struct symbol_lines *lines; /* NULL if there is no DWARF */
    struct failure failure;
};

/* Reads all bytes of the name, so that a sanitizer can check them. */
static void check_name(const char *name) {
    char out[SYMBOL_NAME_BYTES_MAX];
    struct text demangled = symbol_name_demangle(text_of(name), true, out);
    FUZZ_CHECK(!*name == !demangled.bytes_count, "%s", name);
}

static void check_text(const char *text) { FUZZ_CHECK(!text || strlen(text) < SIZE_MAX, "endless"); }

static void look_up(struct lookup *lookup, uint64_t address) {
    struct symbol_call calls[SYMBOL_CALLS_MAX];
    const struct symbol *symbol = symbol_table_find(&lookup->table, address);
    FUZZ_CHECK(!symbol || (address >= symbol->start && address < symbol->end), "%llx", (unsigned long long)address);
    if (symbol) check_name(symbol->name);
    size_t call_count = lookup->lines ? symbol_lines_find(lookup->lines, address, calls) : 0;
    FUZZ_CHECK(call_count <= SYMBOL_CALLS_MAX, "%zu calls", call_count);
    for (size_t i = 0; i < call_count; i++) {
        if (calls[i].name) check_name(calls[i].name);
        check_text(calls[i].file);
        check_text(calls[i].folder);
    }
}

static void look_up_all(struct lookup *lookup) {
    for (size_t i = 0; i < lookup->table.count && i < SYMBOLS_MAX; i++) {
        look_up(lookup, lookup->table.rows[i].start);
        look_up(lookup, lookup->table.rows[i].end - 1);
    }
    for (uint64_t i = 0; i < STEPS_MAX; i++) look_up(lookup, lookup->file->base + 0x1000 + i * STEP_BYTES);
    for (uint64_t offset = 0, address; offset < 4096; offset += 64)
        if (debug_file_address_of_offset(lookup->file, offset, &address) &&
            debug_file_has_code_at(lookup->file, address))
            look_up(lookup, address);
}

/* Checks what a file contains. `supplement` may be NULL. */
static void check_file(struct debug_file *file, struct debug_file *supplement) {
    struct lookup lookup = {.file = file};
    if (symbol_table_init(&lookup.table, file, file, &lookup.failure)) {
        if (file->has_dwarf) lookup.lines = symbol_lines_create(file, supplement, &lookup.failure);
        look_up_all(&lookup);
        symbol_lines_destroy(lookup.lines);
        symbol_table_fini(&lookup.table);
    }
    fuzz_check_failure(&lookup.failure);
}

/* Opens the library as a trace does, by name. This also looks for the files to which the library refers. */
static void check_library(void) {
    struct failure failure = {0};
    struct debug_files files;
    struct lib lib = {.name = TEXT("100"), .path = text_of(source_file_path)};
    const char *folder = "/nonexistent";
    enum debug_search_outcome outcome =
        debug_files_open(&files, &lib, &(struct debug_folders){.paths = &folder, .count = 1}, &failure);
    FUZZ_CHECK(outcome != DEBUG_FILE_REFUSED, "refused without a build id");
    if (outcome == DEBUG_FILE_FOUND) {
        check_file(&files.first, NULL);
        debug_files_close(&files);
    }
    fuzz_check_failure(&failure);
}

/* Uses the file as its own supplement. */
static void check_supplement(void) {
    struct debug_file file, supplement;
    if (!debug_file_open_supplement(&supplement, NULL, source_file_path)) return;
    if (supplement.has_dwarf && debug_file_open(&file, NULL, source_file_path, (char[PATH_MAX]){0})) {
        check_file(&file, &supplement);
        debug_file_close(&file);
    }
    debug_file_close(&supplement);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t bytes_count) {
    source_file_fill((struct text){(const char *)bytes, bytes_count});
    check_library();
    check_supplement();
    return 0;
}
