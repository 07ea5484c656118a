#include "symbolize.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "memory.h"
#include "symbol_lines.h"
#include "symbol_names.h"
#include "symbol_table.h"

/* A frame to look up. */
struct request {
    uint32_t lib;
    int32_t address;
    uint32_t frame;
};

/* What is known of a function of the chain at an address. */
struct link {
    string_id name; /* none: that of the frame */
    source_id source;
    uint32_t func_line;
    uint32_t line;
    uint32_t column;
};

/* What was found at an address. */
struct answer {
    int32_t address; /* relative to the library: not what the frame had, where that was an offset in the file */
    native_symbol_id native_symbol;
    uint32_t first_link;
    uint32_t link_count;
    bool has_lines; /* from debug information: it knows what was inlined */
};

struct symbolizer {
    struct profile *profile;                 /* borrowed */
    const struct symbolize_options *options; /* borrowed */
    struct progress progress;
    struct request *requests; /* by library, address, frame */
    size_t request_count;
    uint32_t *answer_of_frame; /* ID_NONE: nothing was found */
    struct column answers;     /* struct answer */
    struct column links;       /* struct link */
    struct strings linker_names;
    struct column names;    /* string_id: those names as the source has them */
    uint64_t missing_count; /* addresses in libraries whose file is missing */
    uint64_t unknown_count; /* addresses in files that say nothing of them */
};

/* What numbers in a trace of perf's are, in a file that is not at its addresses when it starts at 0 ("not PIE"): perf
 * prints offsets in the file in call graphs, addresses in samples without one. */
enum address_terms {
    TERMS_OF_EACH, /* those that can be but one thing are that; of others it is not known */
    TERMS_OFFSETS,
    TERMS_ADDRESSES
};

/* The files of one library while its addresses are looked up. */
struct library {
    struct debug_files files;
    struct symbol_table table;
    struct symbol_lines *lines; /* NULL: no DWARF */
    lib_id lib;
    enum address_terms terms;
    uint64_t ambiguous_count; /* addresses that were not looked up, as they may be two things */
};

/* ---- What to look up. ---- */

static bool is_address_name(struct text name) {
    if (!text_starts_with(name, TEXT("0x")) || name.bytes_count == 2) return false;
    for (size_t i = 2; i < name.bytes_count; i++) {
        char digit = name.bytes[i];
        if (!((digit >= '0' && digit <= '9') || (digit >= 'a' && digit <= 'f'))) return false;
    }
    return true;
}

/* "library+0x12", as the reader of perf's text calls what perf had no name for. perf has none where the file was not
 * there, or was another one: so the trace must tell which one it was. */
static bool is_address_in(const struct lib *lib, struct text name) {
    if (!lib->code_id.bytes_count || !text_starts_with(name, lib->name)) return false;
    struct text rest = text_from(name, lib->name.bytes_count);
    return text_starts_with(rest, TEXT("+")) && is_address_name(text_from(rest, 1));
}

static bool is_wanted(const struct profile *profile, const struct frame *frame, enum symbols_choice choice) {
    if (lib_is_none(frame->lib) || frame->address < 0) return false;
    const struct lib *lib = libs_at(&profile->libs, frame->lib);
    if (text_starts_with(lib->name, TEXT("["))) return false;
    if (choice == SYMBOLS_ALWAYS) return true;
    if (!native_symbol_is_none(frame->native_symbol) || frame->inline_depth) return false;
    const struct func *func = profile_func_at(profile, frame->func);
    struct text name = strings_text(&profile->strings, func->name);
    return source_is_none(func->source) && (is_address_name(name) || is_address_in(lib, name));
}

static int compare_requests(const void *left, const void *right) {
    const struct request *a = left, *b = right;
    if (a->lib != b->lib) return a->lib < b->lib ? -1 : 1;
    if (a->address != b->address) return a->address < b->address ? -1 : 1;
    return (a->frame > b->frame) - (a->frame < b->frame);
}

static size_t count_wanted(const struct symbolizer *symbolizer) {
    const struct profile *profile = symbolizer->profile;
    size_t count = 0;
    for (uint32_t i = 0; i < row_table_count(&profile->frames); i++)
        count += is_wanted(profile, profile_frame_at(profile, (frame_id){i}), symbolizer->options->symbols);
    return count;
}

/* False when there is nothing to look up, or when memory ran out (latched). */
static bool gather_requests(struct symbolizer *symbolizer) {
    const struct profile *profile = symbolizer->profile;
    uint32_t frame_count = row_table_count(&profile->frames);
    size_t request_count = count_wanted(symbolizer);
    if (!request_count) return false;
    struct failure *failure = profile->failure;
    symbolizer->requests = memory_allocate(failure, request_count * sizeof *symbolizer->requests);
    symbolizer->answer_of_frame = memory_allocate(failure, frame_count * sizeof *symbolizer->answer_of_frame);
    if (!symbolizer->requests || !symbolizer->answer_of_frame) return false;
    memset(symbolizer->answer_of_frame, 0xff, frame_count * sizeof *symbolizer->answer_of_frame);
    for (uint32_t i = 0; i < frame_count; i++) {
        const struct frame *frame = profile_frame_at(profile, (frame_id){i});
        if (!is_wanted(profile, frame, symbolizer->options->symbols)) continue;
        symbolizer->requests[symbolizer->request_count++] = (struct request){frame->lib.index, frame->address, i};
    }
    memory_sort(failure, symbolizer->requests, request_count, sizeof *symbolizer->requests, compare_requests);
    return !failure_is_set(failure);
}

/* ---- Looking up. ---- */

/* The name as the source has it. Names come again and again, and to demangle one costs more than all else. */
static string_id intern_name(struct symbolizer *symbolizer, const char *name) {
    struct profile *profile = symbolizer->profile;
    string_id linker_name = strings_intern(&symbolizer->linker_names, text_of(name));
    if (string_is_none(linker_name)) return string_none();
    if (linker_name.index < symbolizer->names.count)
        return *(const string_id *)column_at(&symbolizer->names, linker_name.index);
    char bytes[SYMBOL_NAME_BYTES_MAX];
    errno = 0;
    struct text demangled = symbol_name_demangle(text_of(name), bytes);
    if (errno == ENOMEM) failure_set_memory(profile->failure);
    string_id *added = column_push(&symbolizer->names);
    if (!added) return string_none();
    *added = profile_string(profile, demangled);
    return *added;
}

static void add_link(struct symbolizer *symbolizer, struct link link) {
    struct link *added = column_push(&symbolizer->links);
    if (added) *added = link;
}

/* The path of the call's file, joined where it is relative to a folder. */
static source_id intern_source(struct profile *profile, const struct symbol_call *call) {
    if (!call->file) return source_none();
    struct text file = text_of(call->file);
    if (text_starts_with(file, TEXT("/")) || !call->folder) return profile_source(profile, file);
    while (text_starts_with(file, TEXT("./"))) file = text_from(file, 2);
    char path[PATH_MAX];
    int bytes_count = snprintf(path, sizeof path, "%s/%.*s", call->folder, (int)file.bytes_count, file.bytes);
    bool fits = bytes_count > 0 && (size_t)bytes_count < sizeof path;
    return profile_source(profile, fits ? (struct text){path, (size_t)bytes_count} : file);
}

static void add_call(struct symbolizer *symbolizer, const struct symbol_call *call, string_id physical_name) {
    struct profile *profile = symbolizer->profile;
    struct link link = {
        .name = call->name && *call->name ? intern_name(symbolizer, call->name) : physical_name,
        .source = intern_source(profile, call),
        .func_line = call->declaration_line,
        .line = call->line,
        .column = call->line ? call->column : 0,
    };
    add_link(symbolizer, link);
}

/* The native symbol of an answer, and the function's name. */
static string_id name_symbol(struct symbolizer *symbolizer, const struct library *library, uint64_t address,
                             struct answer *answer) {
    struct profile *profile = symbolizer->profile;
    const struct symbol *symbol = symbol_table_find(&library->table, address);
    if (!symbol) return string_none();
    string_id name = intern_name(symbolizer, symbol->name);
    uint64_t relative = symbol->start - library->files.first.base;
    if (symbol->start >= library->files.first.base && relative <= INT32_MAX && !string_is_none(name))
        answer->native_symbol = profile_native_symbol(profile, library->lib, (uint32_t)relative, name);
    return name;
}

/* What a number of a trace of perf's may be, in the file; *at_offset is the address that it then stands for. */
struct meanings {
    bool is_offset;
    bool is_address;
    uint64_t at_offset;
};

static struct meanings find_meanings(const struct debug_file *file, int32_t given) {
    struct meanings meanings = {0};
    uint64_t number = (uint64_t)given;
    meanings.is_offset = debug_file_address_of_offset(file, number, &meanings.at_offset);
    meanings.is_address = file->base && debug_file_has_code_at(file, number);
    /* Where only one of the two is code, that is it. */
    if (meanings.is_address && meanings.is_offset)
        meanings.is_offset = debug_file_has_code_at(file, meanings.at_offset);
    return meanings;
}

/* All numbers of a library are of one kind, unless there are some that can only be the one and some that can only be
 * the other. */
static enum address_terms find_terms(const struct debug_file *file, const struct request *requests, size_t count) {
    bool has_offsets = false, has_addresses = false;
    for (size_t i = 0; i < count; i++) {
        struct meanings meanings = find_meanings(file, requests[i].address);
        if (meanings.is_offset && !meanings.is_address) has_offsets = true;
        if (meanings.is_address && !meanings.is_offset) has_addresses = true;
    }
    if (has_offsets == has_addresses) return TERMS_OF_EACH;
    return has_offsets ? TERMS_OFFSETS : TERMS_ADDRESSES;
}

/* False when the number means nothing in the file, or may mean two things. */
static bool find_address_in_file(struct symbolizer *symbolizer, struct library *library, int32_t given,
                                 uint64_t *address) {
    struct meanings meanings = find_meanings(&library->files.first, given);
    bool is_ambiguous = meanings.is_offset && meanings.is_address && library->terms == TERMS_OF_EACH;
    if (is_ambiguous && symbolizer->options->symbols != SYMBOLS_ALWAYS) {
        library->ambiguous_count++;
        return false;
    }
    bool is_address = meanings.is_address && (!meanings.is_offset || library->terms == TERMS_ADDRESSES);
    *address = is_address ? (uint64_t)given : meanings.at_offset;
    return is_address || meanings.is_offset;
}

/* The address in the library's own terms, and that relative to its start. */
static bool find_address(struct symbolizer *symbolizer, struct library *library, int32_t given, uint64_t *address,
                         int32_t *relative) {
    const struct debug_file *file = &library->files.first;
    *address = file->base + (uint64_t)given;
    bool is_in_file = symbolizer->profile->meta.has_file_offsets && file->has_code;
    if (is_in_file && !find_address_in_file(symbolizer, library, given, address)) return false;
    if (*address < file->base || *address - file->base > INT32_MAX) return false;
    *relative = (int32_t)(*address - file->base);
    return true;
}

/* Number of the answer; ID_NONE when nothing is known. */
static uint32_t look_up(struct symbolizer *symbolizer, struct library *library, int32_t given) {
    struct answer answer = {.native_symbol = native_symbol_none(), .first_link = (uint32_t)symbolizer->links.count};
    uint64_t address;
    if (!find_address(symbolizer, library, given, &address, &answer.address)) return ID_NONE;
    string_id name = name_symbol(symbolizer, library, address, &answer);
    struct symbol_call calls[SYMBOL_CALLS_MAX];
    size_t call_count = library->lines ? symbol_lines_find(library->lines, address, calls) : 0;
    for (size_t i = 0; i < call_count; i++) add_call(symbolizer, &calls[i], i ? string_none() : name);
    answer.has_lines = call_count > 0;
    if (!call_count && string_is_none(name)) return ID_NONE;
    if (!call_count) add_link(symbolizer, (struct link){.name = name, .source = source_none()});
    answer.link_count = (uint32_t)symbolizer->links.count - answer.first_link;
    struct answer *added = column_push(&symbolizer->answers);
    if (!added) return ID_NONE;
    *added = answer;
    return (uint32_t)(symbolizer->answers.count - 1);
}

/* ---- Libraries. ---- */

static void note(struct profile *profile, uint64_t count, const char *format, struct text path) {
    char cause[512];
    int path_bytes = path.bytes_count < 400 ? (int)path.bytes_count : 400;
    int bytes_count = snprintf(cause, sizeof cause, format, path_bytes, path.bytes);
    if (bytes_count < 0) return;
    size_t cause_bytes = (size_t)bytes_count < sizeof cause ? (size_t)bytes_count : sizeof cause - 1;
    ledger_enter(&profile->ledger, LEDGER_VALUES, LEDGER_NOTED, (struct text){cause, cause_bytes}, count, NULL);
}

static void note_found(struct profile *profile, const struct library *library, uint64_t count) {
    struct text path = libs_at(&profile->libs, library->lib)->path;
    if (!library->files.is_verified)
        note(profile, count, "address in %.*s: looked up in the file there, without a build id to compare", path);
    if (debug_files_dwarf(&library->files) && !library->lines)
        note(profile, count, "address in %.*s: the debug information there cannot be read", path);
    if (library->ambiguous_count)
        note(profile, library->ambiguous_count,
             "address in %.*s: may be an offset in the file or not, so it was not looked up", path);
    if (library->files.lacks_supplement)
        note(profile, count, "address in %.*s: what its debug information shares with others was not found", path);
}

/* The distinct addresses among the library's requests. */
static uint64_t count_addresses(const struct request *requests, size_t count) {
    uint64_t addresses = count > 0;
    for (size_t i = 1; i < count; i++) addresses += requests[i].address != requests[i - 1].address;
    return addresses;
}

static void look_up_all(struct symbolizer *symbolizer, struct library *library, const struct request *requests,
                        size_t count) {
    struct profile *profile = symbolizer->profile;
    uint32_t answer = ID_NONE;
    for (size_t i = 0; i < count && !failure_is_set(profile->failure); i++) {
        if (!i || requests[i].address != requests[i - 1].address) {
            answer = look_up(symbolizer, library, requests[i].address);
            symbolizer->unknown_count += answer == ID_NONE;
            size_t done = (size_t)(requests - symbolizer->requests) + i;
            progress_report(symbolizer->progress, done, symbolizer->request_count);
        }
        symbolizer->answer_of_frame[requests[i].frame] = answer;
    }
}

static void read_library(struct symbolizer *symbolizer, struct library *library, const struct request *requests,
                         size_t count) {
    struct failure *failure = symbolizer->profile->failure;
    const struct debug_file *symbols = debug_files_symbols(&library->files);
    if (!symbol_table_init(&library->table, symbols, &library->files.first, failure)) return;
    const struct debug_file *dwarf = debug_files_dwarf(&library->files);
    const struct debug_file *supplement = library->files.supplement.elf ? &library->files.supplement : NULL;
    library->lines = dwarf ? symbol_lines_create(dwarf, supplement, failure) : NULL;
    if (symbolizer->profile->meta.has_file_offsets) library->terms = find_terms(&library->files.first, requests, count);
    look_up_all(symbolizer, library, requests, count);
    symbolizer->unknown_count -= library->ambiguous_count;
    note_found(symbolizer->profile, library, count_addresses(requests, count));
    symbol_lines_destroy(library->lines);
    symbol_table_fini(&library->table);
}

static void symbolize_library(struct symbolizer *symbolizer, const struct request *requests, size_t count) {
    struct profile *profile = symbolizer->profile;
    struct library library = {.lib = {requests->lib}};
    const struct lib *lib = libs_at(&profile->libs, library.lib);
    switch (debug_files_open(&library.files, lib, &symbolizer->options->folders, profile->failure)) {
        case DEBUG_FILE_MISSING:
            symbolizer->missing_count += count_addresses(requests, count);
            break;
        case DEBUG_FILE_REFUSED:
            note(profile, count_addresses(requests, count),
                 "address in %.*s: the file there has another build id, or none, and was not used", lib->path);
            break;
        case DEBUG_FILE_FOUND:
            read_library(symbolizer, &library, requests, count);
            debug_files_close(&library.files);
            break;
    }
}

static void symbolize_libraries(struct symbolizer *symbolizer) {
    struct profile *profile = symbolizer->profile;
    const struct request *requests = symbolizer->requests;
    for (size_t i = 0, end; i < symbolizer->request_count && !failure_is_set(profile->failure); i = end) {
        for (end = i + 1; end < symbolizer->request_count; end++)
            if (requests[end].lib != requests[i].lib) break;
        symbolize_library(symbolizer, requests + i, end - i);
        progress_report(symbolizer->progress, end, symbolizer->request_count);
    }
    struct ledger *ledger = &profile->ledger;
    ledger_enter(ledger, LEDGER_VALUES, LEDGER_NOTED, TEXT("address in a library whose file was not found"),
                 symbolizer->missing_count, NULL);
    ledger_enter(ledger, LEDGER_VALUES, LEDGER_NOTED, TEXT("address of which the library's symbols say nothing"),
                 symbolizer->unknown_count, NULL);
}

/* ---- New frames and stacks. ---- */

/* The frame where it was found to be. */
static struct frame place_frame(struct frame frame, const struct answer *answer) {
    frame.address = answer->address;
    frame.native_symbol = answer->native_symbol;
    return frame;
}

static func_id make_func(struct profile *profile, func_id old, const struct answer *answer, const struct link *link) {
    struct func func = *profile_func_at(profile, old);
    if (!string_is_none(link->name)) func.name = link->name;
    if (answer->has_lines) {
        func.source = link->source;
        func.line = link->func_line;
        func.column = 0;
    }
    return profile_func(profile, &func);
}

static frame_id make_frame(struct profile *profile, const struct frame *old, const struct answer *answer,
                           const struct link *link, uint32_t depth) {
    struct frame frame = place_frame(*old, answer);
    frame.func = make_func(profile, old->func, answer, link);
    frame.inline_depth = (uint8_t)depth;
    if (answer->has_lines) {
        frame.line = link->line;
        frame.column = link->column;
    }
    return profile_frame(profile, &frame);
}

/* A frame that the trace itself had inlined is in the chain that its physical frame became, unless nothing is known of
 * what was inlined. */
static stack_id rebuild_inlined(struct profile *profile, stack_id prefix, const struct frame *old,
                                const struct answer *answer) {
    if (answer->has_lines && !stack_is_none(prefix)) return prefix;
    struct frame frame = place_frame(*old, answer);
    return profile_stack(profile, prefix, profile_frame(profile, &frame));
}

/* The stack of the frame's chain on top of the prefix, which is a new one. */
static stack_id rebuild_stack(struct symbolizer *symbolizer, stack_id prefix, frame_id old_frame) {
    struct profile *profile = symbolizer->profile;
    uint32_t row = symbolizer->answer_of_frame[old_frame.index];
    if (row == ID_NONE) return profile_stack(profile, prefix, old_frame);
    const struct answer answer = *(const struct answer *)column_at(&symbolizer->answers, row);
    const struct frame old = *profile_frame_at(profile, old_frame);
    if (old.inline_depth > 0) return rebuild_inlined(profile, prefix, &old, &answer);
    for (uint32_t i = 0; i < answer.link_count; i++) {
        const struct link *link = column_at(&symbolizer->links, answer.first_link + i);
        prefix = profile_stack(profile, prefix, make_frame(profile, &old, &answer, link, i));
    }
    return prefix;
}

/* Callers stand before those whom they call, in the old table and in the new one. */
static stack_id *rebuild_stacks(struct symbolizer *symbolizer) {
    struct profile *profile = symbolizer->profile;
    uint32_t count = row_table_count(&profile->stacks);
    stack_id *new_ids = memory_allocate(profile->failure, count * sizeof *new_ids);
    if (!new_ids) return NULL;
    struct row_table old_stacks = profile->stacks;
    row_table_init(&profile->stacks, sizeof(struct stack), profile->failure);
    for (uint32_t i = 0; i < count && !failure_is_set(profile->failure); i++) {
        const struct stack *stack = row_table_at(&old_stacks, i);
        stack_id prefix = stack_is_none(stack->prefix) ? stack_none() : new_ids[stack->prefix.index];
        new_ids[i] = rebuild_stack(symbolizer, prefix, stack->frame);
    }
    row_table_fini(&old_stacks);
    return new_ids;
}

static void renumber(stack_id *stack, const stack_id *new_ids) {
    if (!stack_is_none(*stack)) *stack = new_ids[stack->index];
}

static void renumber_threads(struct profile *profile, const stack_id *new_ids) {
    for (size_t i = 0; i < profile->threads.count; i++) {
        struct thread *thread = column_at(&profile->threads, i);
        struct column *stacks = &thread->samples.stack;
        for (size_t j = 0, run_count; j < stacks->count; j += run_count) {
            stack_id *run = column_run(stacks, j, &run_count);
            for (size_t k = 0; k < run_count; k++) renumber(&run[k], new_ids);
        }
        for (size_t j = 0; j < thread->markers.count; j++) {
            struct marker *marker = column_at(&thread->markers, j);
            renumber(&marker->stack, new_ids);
        }
        for (size_t j = 0; j < thread->allocations.count; j++) {
            struct allocation *allocation = column_at(&thread->allocations, j);
            renumber(&allocation->stack, new_ids);
        }
    }
}

void profile_symbolize(struct profile *profile, const struct symbolize_options *options, struct progress progress) {
    if (failure_is_set(profile->failure) || options->symbols == SYMBOLS_NONE) return;
    struct symbolizer symbolizer = {.profile = profile, .options = options, .progress = progress};
    column_init(&symbolizer.answers, sizeof(struct answer), profile->failure);
    column_init(&symbolizer.links, sizeof(struct link), profile->failure);
    strings_init(&symbolizer.linker_names, profile->failure);
    column_init(&symbolizer.names, sizeof(string_id), profile->failure);
    if (gather_requests(&symbolizer)) symbolize_libraries(&symbolizer);
    if (symbolizer.answers.count && !failure_is_set(profile->failure)) {
        stack_id *new_ids = rebuild_stacks(&symbolizer);
        if (!failure_is_set(profile->failure)) renumber_threads(profile, new_ids);
        memory_free(new_ids);
    }
    column_fini(&symbolizer.answers);
    column_fini(&symbolizer.links);
    strings_fini(&symbolizer.linker_names);
    column_fini(&symbolizer.names);
    memory_free(symbolizer.requests);
    memory_free(symbolizer.answer_of_frame);
}
