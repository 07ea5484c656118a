#include "symbolize.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "library_symbols.h"
#include "memory.h"
#include "symbol_worker.h"

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
    struct symbol_request *requests; /* by library, address, frame */
    size_t request_count;
    uint32_t *answer_of_frame; /* ID_NONE: nothing was found */
    struct column answers;     /* struct answer */
    struct column links;       /* struct link */
    uint64_t missing_count;    /* addresses in libraries whose file is missing */
    uint64_t unknown_count;    /* addresses in files that say nothing of them */

    /* The process that looks up addresses, and what it has sent. */
    struct child_process child;
    struct column names; /* string_id */
    struct column files; /* source_id */
};

/* One library while its answers come in. */
struct library {
    lib_id lib;
    const struct symbol_request *requests;
    size_t request_count;
    uint64_t address_count; /* distinct ones */
    size_t answered_count;  /* requests */
    uint64_t unknown_count;
    uint64_t ambiguous_count; /* addresses that were not looked up, as they may be two things */
    struct symbol_library_end end;
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
    const struct symbol_request *a = left, *b = right;
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
        symbolizer->requests[symbolizer->request_count++] = (struct symbol_request){frame->lib.index, frame->address, i};
    }
    memory_sort(failure, symbolizer->requests, request_count, sizeof *symbolizer->requests, compare_requests);
    return !failure_is_set(failure);
}

/* ---- Answers. ---- */

static bool receive(struct symbolizer *symbolizer, void *bytes, size_t bytes_count) {
    return channel_receive(&symbolizer->child.channel, bytes, bytes_count);
}

static bool receive_name(struct symbolizer *symbolizer, struct text text) {
    string_id *name = column_push(&symbolizer->names);
    if (name) *name = profile_string(symbolizer->profile, text);
    return name;
}

static bool receive_file(struct symbolizer *symbolizer, struct text text) {
    source_id *file = column_push(&symbolizer->files);
    if (file) *file = profile_source(symbolizer->profile, text);
    return file;
}

static bool receive_text(struct symbolizer *symbolizer, const struct symbol_message *message) {
    char bytes[SYMBOL_TEXT_BYTES_MAX];
    if (message->bytes_count > sizeof bytes || !receive(symbolizer, bytes, message->bytes_count)) return false;
    struct text text = {bytes, message->bytes_count};
    return message->kind == SYMBOL_MESSAGE_NAME ? receive_name(symbolizer, text) : receive_file(symbolizer, text);
}

/* A process that is about to crash may send anything, so numbers are checked before they are used. */
static bool is_number_in(uint32_t number, const struct column *texts) {
    return number == ID_NONE || number < texts->count;
}

static string_id name_at(const struct symbolizer *symbolizer, uint32_t number) {
    if (number == ID_NONE) return string_none();
    return *(const string_id *)column_at(&symbolizer->names, number);
}

static source_id file_at(const struct symbolizer *symbolizer, uint32_t number) {
    if (number == ID_NONE) return source_none();
    return *(const source_id *)column_at(&symbolizer->files, number);
}

static bool receive_link(struct symbolizer *symbolizer) {
    struct symbol_link link;
    if (!receive(symbolizer, &link, sizeof link)) return false;
    if (!is_number_in(link.name, &symbolizer->names) || !is_number_in(link.file, &symbolizer->files)) return false;
    struct link *added = column_push(&symbolizer->links);
    if (!added) return false;
    *added = (struct link){.name = name_at(symbolizer, link.name),
                           .source = file_at(symbolizer, link.file),
                           .func_line = link.func_line,
                           .line = link.line,
                           .column = link.column};
    return true;
}

/* Receives the links of the answer and adds it; sets *row to its number. */
static bool receive_place(struct symbolizer *symbolizer, lib_id lib, const struct symbol_answer *given, uint32_t *row) {
    if (given->link_count > SYMBOL_CALLS_MAX || !is_number_in(given->symbol_name, &symbolizer->names)) return false;
    struct answer answer = {.address = given->address,
                            .native_symbol = native_symbol_none(),
                            .first_link = (uint32_t)symbolizer->links.count,
                            .link_count = given->link_count,
                            .has_lines = given->has_lines};
    string_id name = name_at(symbolizer, given->symbol_name);
    if (!string_is_none(name) && given->symbol_address != ID_NONE)
        answer.native_symbol = profile_native_symbol(symbolizer->profile, lib, given->symbol_address, name);
    for (uint32_t i = 0; i < given->link_count; i++)
        if (!receive_link(symbolizer)) return false;
    *row = (uint32_t)symbolizer->answers.count;
    struct answer *added = column_push(&symbolizer->answers);
    if (added) *added = answer;
    return added;
}

static bool receive_answer(struct symbolizer *symbolizer, struct library *library) {
    struct symbol_answer answer;
    uint32_t row = ID_NONE;
    size_t i = library->answered_count;
    if (i == library->request_count || !receive(symbolizer, &answer, sizeof answer)) return false;
    if (answer.outcome == SYMBOL_FOUND && !receive_place(symbolizer, library->lib, &answer, &row)) return false;
    library->unknown_count += answer.outcome == SYMBOL_UNKNOWN;
    library->ambiguous_count += answer.outcome == SYMBOL_AMBIGUOUS;
    int32_t address = library->requests[i].address;
    for (; i < library->request_count && library->requests[i].address == address; i++)
        symbolizer->answer_of_frame[library->requests[i].frame] = row;
    library->answered_count = i;
    size_t done = (size_t)(library->requests - symbolizer->requests) + i;
    progress_report(symbolizer->progress, done, symbolizer->request_count);
    return true;
}

static bool receive_end(struct symbolizer *symbolizer, struct library *library) {
    if (!receive(symbolizer, &library->end, sizeof library->end)) return false;
    return library->end.search != DEBUG_FILE_FOUND || library->answered_count == library->request_count;
}

static void receive_failure(struct symbolizer *symbolizer) {
    struct failure failure;
    if (!receive(symbolizer, &failure, sizeof failure)) return;
    failure.message[sizeof failure.message - 1] = '\0';
    failure_set(symbolizer->profile->failure, failure.code, "%s", failure.message);
}

/* Receives all answers of the library. Returns false when the process ended before their end, or after a failure
 * (latched). */
static bool receive_library(struct symbolizer *symbolizer, struct library *library) {
    struct symbol_message message;
    while (receive(symbolizer, &message, sizeof message)) {
        bool is_good = false;
        switch (message.kind) {
            case SYMBOL_MESSAGE_NAME:
            case SYMBOL_MESSAGE_FILE:
                is_good = receive_text(symbolizer, &message);
                break;
            case SYMBOL_MESSAGE_ANSWER:
                is_good = receive_answer(symbolizer, library);
                break;
            case SYMBOL_MESSAGE_LIBRARY_END:
                return receive_end(symbolizer, library);
            case SYMBOL_MESSAGE_FAILURE:
                receive_failure(symbolizer);
                break;
        }
        if (!is_good || failure_is_set(symbolizer->profile->failure)) return false;
    }
    return false;
}

/* ---- Libraries. ---- */

/* Enters "address in PATH: WHAT" into the ledger. */
static void enter(struct profile *profile, const struct library *library, enum ledger_fate fate, uint64_t count,
                  const char *what) {
    struct text path = libs_at(&profile->libs, library->lib)->path;
    char cause[512];
    int path_bytes = path.bytes_count < 300 ? (int)path.bytes_count : 300;
    int bytes_count = snprintf(cause, sizeof cause, "address in %.*s: %s", path_bytes, path.bytes, what);
    if (bytes_count < 0) return;
    size_t cause_bytes = (size_t)bytes_count < sizeof cause ? (size_t)bytes_count : sizeof cause - 1;
    if (fate == LEDGER_LOST) ledger_read(&profile->ledger, LEDGER_VALUES, count);
    ledger_enter(&profile->ledger, LEDGER_VALUES, fate, (struct text){cause, cause_bytes}, count, NULL);
}

static void note(struct symbolizer *symbolizer, const struct library *library, uint64_t count, const char *what) {
    enter(symbolizer->profile, library, LEDGER_NOTED, count, what);
}

static void note_found(struct symbolizer *symbolizer, const struct library *library) {
    uint64_t count = library->address_count;
    if (!library->end.is_verified)
        note(symbolizer, library, count, "looked up in the file there, without a build id to compare");
    if (library->end.lacks_lines) note(symbolizer, library, count, "the debug information there cannot be read");
    note(symbolizer, library, library->ambiguous_count, "may be an offset in the file or not, so it was not looked up");
    if (library->end.lacks_supplement)
        note(symbolizer, library, count, "what its debug information shares with others was not found");
}

static void drop_answers(struct symbolizer *symbolizer, const struct library *library) {
    for (size_t i = 0; i < library->answered_count; i++)
        symbolizer->answer_of_frame[library->requests[i].frame] = ID_NONE;
}

static void note_shorter(struct symbolizer *symbolizer, const struct library *library) {
    drop_answers(symbolizer, library);
    note(symbolizer, library, library->address_count,
         "not looked up, as the file there became shorter, or its disk failed, while it was read");
}

/* Settles a library whose end has been received. */
static void settle_library(struct symbolizer *symbolizer, const struct library *library) {
    switch ((enum debug_search_outcome)library->end.search) {
        case DEBUG_FILE_MISSING:
            symbolizer->missing_count += library->address_count;
            break;
        case DEBUG_FILE_REFUSED:
            note(symbolizer, library, library->address_count,
                 "the file there has another build id, or none, and was not used");
            break;
        case DEBUG_FILE_FOUND:
            if (library->end.is_shorter) {
                note_shorter(symbolizer, library);
                break;
            }
            symbolizer->unknown_count += library->unknown_count;
            note_found(symbolizer, library);
            break;
    }
}

/* Settles a library whose process ended before it had sent the library's end. */
static void settle_failed_library(struct symbolizer *symbolizer, const struct library *library, enum child_end end) {
    struct profile *profile = symbolizer->profile;
    if (failure_is_set(profile->failure)) return;
    if (end == CHILD_NO_MEMORY) {
        failure_set_memory(profile->failure);
    } else if (end == CHILD_LOST_BYTES) {
        note_shorter(symbolizer, library);
    } else {
        drop_answers(symbolizer, library);
        enter(profile, library, LEDGER_LOST, library->address_count,
              "not looked up, as reading the file there crashed: memory ran out, or the file is damaged");
    }
}

size_t symbol_requests_end(const struct symbol_request *requests, size_t count, size_t first) {
    size_t end = first + 1;
    while (end < count && requests[end].lib == requests[first].lib) end++;
    return end;
}

static struct library library_at(const struct symbolizer *symbolizer, size_t first) {
    const struct symbol_request *requests = symbolizer->requests + first;
    struct library library = {.lib = {requests->lib}, .requests = requests, .address_count = 1};
    library.request_count = symbol_requests_end(symbolizer->requests, symbolizer->request_count, first) - first;
    for (size_t i = 1; i < library.request_count; i++)
        library.address_count += requests[i].address != requests[i - 1].address;
    return library;
}

/* Receives libraries, beginning with the one at `first`. Returns the request that the next process has to begin with. */
static size_t receive_libraries(struct symbolizer *symbolizer, size_t first) {
    while (first < symbolizer->request_count) {
        struct library library = library_at(symbolizer, first);
        first += library.request_count;
        if (!receive_library(symbolizer, &library)) {
            settle_failed_library(symbolizer, &library, child_await(&symbolizer->child));
            return first;
        }
        settle_library(symbolizer, &library);
        progress_report(symbolizer->progress, first, symbolizer->request_count);
    }
    child_await(&symbolizer->child);
    return first;
}

/* Counts all libraries from the one at `first` on as lost, after child_start has failed. */
static void lose_libraries(struct symbolizer *symbolizer, size_t first) {
    char what[256];
    snprintf(what, sizeof what, "not looked up, as no process could be started that does: %s", strerror(errno));
    while (first < symbolizer->request_count) {
        struct library library = library_at(symbolizer, first);
        enter(symbolizer->profile, &library, LEDGER_LOST, library.address_count, what);
        first += library.request_count;
    }
}

/* One process looks up all libraries. If it crashes, another process goes on with the next library. */
static void symbolize_libraries(struct symbolizer *symbolizer) {
    struct profile *profile = symbolizer->profile;
    for (size_t first = 0; first < symbolizer->request_count && !failure_is_set(profile->failure);) {
        struct symbol_work work = {profile, symbolizer->options, symbolizer->requests + first,
                                   symbolizer->request_count - first};
        symbolizer->names.count = symbolizer->files.count = 0;
        if (!child_start(&symbolizer->child, symbol_worker_run, &work)) {
            lose_libraries(symbolizer, first);
            break;
        }
        first = receive_libraries(symbolizer, first);
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
    column_init(&symbolizer.names, sizeof(string_id), profile->failure);
    column_init(&symbolizer.files, sizeof(source_id), profile->failure);
    if (gather_requests(&symbolizer)) symbolize_libraries(&symbolizer);
    if (symbolizer.answers.count && !failure_is_set(profile->failure)) {
        stack_id *new_ids = rebuild_stacks(&symbolizer);
        if (!failure_is_set(profile->failure)) renumber_threads(profile, new_ids);
        memory_free(new_ids);
    }
    column_fini(&symbolizer.answers);
    column_fini(&symbolizer.links);
    column_fini(&symbolizer.names);
    column_fini(&symbolizer.files);
    memory_free(symbolizer.requests);
    memory_free(symbolizer.answer_of_frame);
}
