/* /asm/v1: the instructions of a function. */
#include <stdio.h>

#include "disassembly.h"
#include "libconvert/symbols/symbol_names.h"
#include "native_library.h"
#include "native_service.h"

/* The most code of a function that is shown. The largest functions of large programs have some hundreds of kilobytes.
 */
enum { CODE_BYTES_MAX = 1 << 20 };

/* The code that is requested, relative to the start of the library. */
struct code_request {
    uint32_t start;
    uint32_t size_bytes;
    bool continues; /* show the function up to its end, if that is further away */
};

struct listing {
    struct native_library *library;
    uint32_t start;
    uint64_t base;
    struct json *json;
};

/* ---- Instructions. ---- */

/* Writes " <NAME+0x12>" for a place in a function that has a symbol. */
static void name_target(const struct listing *listing, uint64_t target, char *text, size_t capacity_bytes) {
    text[0] = '\0';
    if (!target || target < listing->base || target - listing->base > INT32_MAX) return;
    const struct symbol *symbol = native_library_symbol(listing->library, (uint32_t)(target - listing->base));
    if (!symbol) return;
    char bytes[SYMBOL_NAME_BYTES_MAX];
    struct text name = symbol_name_demangle(text_of(symbol->name), true, bytes);
    if (target == symbol->start)
        snprintf(text, capacity_bytes, " <%.*s>", TEXT_ARGS(name));
    else
        snprintf(text, capacity_bytes, " <%.*s+0x%llx>", TEXT_ARGS(name), (unsigned long long)(target - symbol->start));
}

static void write_instruction(void *context, const struct disassembly_instruction *instruction) {
    struct listing *listing = context;
    char target[DISASSEMBLY_TEXT_BYTES], text[2 * DISASSEMBLY_TEXT_BYTES];
    name_target(listing, instruction->target, target, sizeof target);
    snprintf(text, sizeof text, "%s%s%s%s", instruction->mnemonic, *instruction->operands ? " " : "",
             instruction->operands, target);
    json_array_begin(listing->json);
    json_int(listing->json, (int64_t)(instruction->address - listing->base - listing->start));
    json_string(listing->json, text);
    json_array_end(listing->json);
}

/* ---- The function. ---- */

static uint64_t find_size(const struct native_library *library, const struct code_request *asked) {
    uint64_t size_bytes = asked->size_bytes, start = library->files.first.base + asked->start;
    const struct symbol *symbol = asked->continues ? native_library_symbol(library, asked->start) : NULL;
    if (symbol && symbol->end - start > size_bytes) size_bytes = symbol->end - start;
    return size_bytes < CODE_BYTES_MAX ? size_bytes : CODE_BYTES_MAX;
}

static void write_code(struct native_library *library, const struct code_request *asked, struct json *json) {
    unsigned machine = debug_file_machine(&library->files.first);
    const struct disassembly_names *names = disassembly_names_of(machine);
    struct text code = native_library_code(library, asked->start);
    if (!code.bytes_count) {
        native_write_error(json, "the library's file has no code at this address");
        return;
    }
    if (!names) {
        native_write_error(json, "code of this processor cannot be disassembled");
        return;
    }
    code = text_slice(code, 0, find_size(library, asked));
    struct listing listing = {library, asked->start, library->files.first.base, json};
    native_write_hex(json, "startAddress", asked->start);
    native_write_hex(json, "size", code.bytes_count);
    json_key_string(json, "arch", names->processor);
    json_key_array_begin(json, "syntax");
    json_string(json, names->syntax);
    json_array_end(json);
    json_key_array_begin(json, "instructions");
    disassembly_run(machine, code, listing.base + asked->start, write_instruction, &listing);
    json_array_end(json);
}

void asm_api_write(const struct native_service *service, const struct document *request, struct json *json,
                   struct failure *failure) {
    const struct node *root = &request->root;
    struct code_request asked = {
        .continues = node_is(document_member(request, root, TEXT("continueUntilFunctionEnd")), NODE_TRUE)};
    if (!native_hex_member(request, root, "startAddress", &asked.start) ||
        !native_hex_member(request, root, "size", &asked.size_bytes)) {
        native_write_error(json, "the request has no start address and size");
        return;
    }
    const struct lib *lib = native_requested_lib(service, request);
    struct native_library library;
    if (!lib || !native_library_open(&library, lib, &service->folders, failure)) {
        native_write_error(json, lib ? "no file of this library is on this machine, or another version of it"
                                     : "the profile does not name this library");
        return;
    }
    write_code(&library, &asked, json);
    native_library_close(&library);
}
