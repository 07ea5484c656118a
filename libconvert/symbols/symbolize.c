#include "symbolize.h"

#include <errno.h>
#include <stdio.h>

#include "debug_server.h"
#include "libconvert/base/child_process.h"
#include "libconvert/base/memory.h"
#include "libconvert/profile/nameless.h"
#include "library_symbols.h"
#include "symbol_answers.h"
#include "symbol_worker.h"

struct symbolizer {
    struct profile *profile; /* borrowed */
    struct symbolize_options options;
    struct progress progress;
    struct symbol_request *requests; /* sorted by library, address, frame */
    size_t request_count;
    bool has_lines;     /* the trace has lines of functions in libraries, or is a profile, which keeps what it has */
    uint8_t *lib_files; /* enum lib_files, one for each library of the profile */
    struct debug_server server; /* its path of the cache is used to the end */
    struct child_process child;
    struct symbol_answers answers;
    uint64_t missing_count; /* addresses in libraries whose file was not found */
    uint64_t unknown_count; /* addresses that no file has a function for */
};

/* Whether a library has files on this machine. */
enum lib_files { FILES_UNKNOWN, FILES_EXIST, FILES_MISSING };

/* One library whose answers are being received. */
struct library {
    lib_id lib;
    const struct symbol_request *requests;
    size_t request_count;
    uint64_t address_count; /* distinct addresses; those that have names from the trace do not count */
    size_t answered_count;  /* requests that have been answered */
    uint64_t unknown_count;
    uint64_t ambiguous_count; /* addresses that were not looked up, since they may mean two things */
    uint64_t withheld_count;  /* addresses whose symbol is not used, since perf found none: the file may be another */
    struct symbol_library_end end;
};

/* ---- Fetching what is missing of libraries. ---- */

/* What the child reports about a library: which of its files this machine lacks. */
struct lib_gaps {
    bool lacks_file;
    bool lacks_debug_information;
    char build_id[DEBUG_BUILD_ID_DIGITS_MAX + 1]; /* empty: unknown */
};

static struct lib_gaps gaps_of(const struct lib *lib, const struct debug_folders *folders) {
    struct lib_gaps gaps = {.lacks_file = true, .lacks_debug_information = true};
    struct failure failure = {0};
    struct debug_files files;
    struct text id = lib->code_id;
    bool is_found = debug_files_open(&files, lib, folders, &failure) == DEBUG_FILE_FOUND;
    if (failure_is_set(&failure)) child_leave();
    if (is_found) {
        gaps.lacks_file = false;
        gaps.lacks_debug_information = !debug_files_dwarf(&files);
        if (!id.bytes_count) id = text_of(files.first.build_id);
    }
    if (id.bytes_count < sizeof gaps.build_id && id.bytes_count) memcpy(gaps.build_id, id.bytes, id.bytes_count);
    if (is_found) debug_files_close(&files);
    return gaps;
}

/* Sends a struct lib_gaps for each library. */
static void survey(void *context, struct channel *channel) {
    const struct symbol_work *work = context;
    for (size_t i = 0; i < work->request_count; i = symbol_requests_end(work->requests, work->request_count, i)) {
        const struct lib *lib = libs_at(&work->profile->libs, (lib_id){work->requests[i].lib});
        struct lib_gaps gaps = gaps_of(lib, work->folders);
        if (!channel_send(channel, &gaps, sizeof gaps) || !channel_flush(channel)) child_leave();
    }
}

static void fetch(struct debug_server *server, const struct lib_gaps *gaps) {
    struct text build_id = text_of(gaps->build_id);
    if (!build_id.bytes_count) return;
    if (gaps->lacks_file) debug_server_fetch_executable(server, build_id);
    if (gaps->lacks_debug_information) debug_server_fetch_debug_information(server, build_id);
}

/* Asks the server about each library of the requests, unless the library's debug information is here. A child process
 * looks at the files that are here. */
static void debug_fetch(struct debug_server *server, const struct symbol_work *work, struct progress progress) {
    struct child_process child;
    struct lib_gaps gaps;
    if (!child_start(&child, survey, (void *)(uintptr_t)work, work->profile->failure->memory)) return;
    for (size_t i = 0, end; i < work->request_count; i = end) {
        end = symbol_requests_end(work->requests, work->request_count, i);
        if (!channel_receive(&child.channel, &gaps, sizeof gaps)) break;
        gaps.build_id[sizeof gaps.build_id - 1] = '\0';
        double count = (double)work->request_count;
        server->progress = progress_part(progress, (double)i / count, (double)end / count);
        fetch(server, &gaps);
        progress_report(progress, end, work->request_count);
    }
    child_await(&child);
}

/* ---- What to look up. ---- */

static bool has_files(struct symbolizer *symbolizer, lib_id lib) {
    uint8_t *known = &symbolizer->lib_files[lib.index];
    if (*known == FILES_UNKNOWN)
        *known = debug_files_exist(libs_at(&symbolizer->profile->libs, lib), &symbolizer->options.folders)
                     ? FILES_EXIST
                     : FILES_MISSING;
    return *known == FILES_EXIST;
}

/* A frame that perf has named is looked up for the functions that are inlined there, and for lines, unless perf has
 * printed lines too. Whether the file is the one that perf saw shows in its symbols. Without any file, such frames cost
 * nothing more. */
static bool is_wanted(struct symbolizer *symbolizer, const struct frame *frame) {
    const struct profile *profile = symbolizer->profile;
    if (lib_is_none(frame->lib) || frame->address < 0) return false;
    const struct lib *lib = libs_at(&profile->libs, frame->lib);
    if (text_starts_with(lib->name, TEXT("["))) return false;
    if (symbolizer->options.symbols == GECKO_CONVERT_SYMBOLS_ALWAYS) return true;
    if (!native_symbol_is_none(frame->native_symbol))
        return !symbolizer->has_lines && has_files(symbolizer, frame->lib);
    const struct func *func = profile_func_at(profile, frame->func);
    struct text name = strings_text(&profile->strings, func->name);
    if (frame->inline_depth || !source_is_none(func->source)) return false;
    if (name_is_address(name)) return true;
    return name_is_address_in(lib, name) && (lib->code_id.bytes_count || has_files(symbolizer, frame->lib));
}

static bool has_lines(const struct profile *profile) {
    if (profile->meta.was_profile) return true;
    for (uint32_t i = 0; i < row_table_count(&profile->frames); i++) {
        const struct frame *frame = profile_frame_at(profile, (frame_id){i});
        if (frame->line && !native_symbol_is_none(frame->native_symbol)) return true;
    }
    return false;
}

static int compare_requests(const void *left, const void *right) {
    const struct symbol_request *a = left, *b = right;
    return ORDER(a->lib, b->lib) ?: ORDER(a->address, b->address) ?: ORDER(a->frame, b->frame);
}

/* Returns false if there is nothing to look up, or if memory ran out (latched). */
static bool gather_requests(struct symbolizer *symbolizer) {
    const struct profile *profile = symbolizer->profile;
    uint32_t frame_count = row_table_count(&profile->frames);
    symbolizer->has_lines = has_lines(profile);
    struct failure *failure = profile->failure;
    /* What is not used takes no memory. */
    symbolizer->requests = memory_allocate(failure, frame_count * sizeof *symbolizer->requests);
    if (!symbolizer->requests) return false;
    for (uint32_t i = 0; i < frame_count; i++) {
        const struct frame *frame = profile_frame_at(profile, (frame_id){i});
        if (!is_wanted(symbolizer, frame)) continue;
        symbolizer->requests[symbolizer->request_count++] =
            (struct symbol_request){frame->lib.index, frame->address, i};
    }
    memory_sort(failure, symbolizer->requests, symbolizer->request_count, sizeof *symbolizer->requests,
                compare_requests);
    return symbolizer->request_count && !failure_is_set(failure);
}

/* ---- Answers. ---- */

static bool receive(struct symbolizer *symbolizer, void *bytes, size_t bytes_count) {
    return channel_receive(&symbolizer->child.channel, bytes, bytes_count);
}

static bool receive_answer(struct symbolizer *symbolizer, struct library *library) {
    struct symbol_answer answer;
    uint32_t row = ID_NONE;
    size_t i = library->answered_count;
    if (i == library->request_count || !receive(symbolizer, &answer, sizeof answer)) return false;
    bool has_chain = answer.outcome == SYMBOL_FOUND || answer.outcome == SYMBOL_PLACED;
    if (has_chain &&
        !symbol_answers_receive_chain(&symbolizer->answers, &symbolizer->child.channel, library->lib, &answer, &row))
        return false;
    library->unknown_count += answer.outcome == SYMBOL_UNKNOWN || answer.outcome == SYMBOL_PLACED;
    library->ambiguous_count += answer.outcome == SYMBOL_AMBIGUOUS;
    const struct frame *frame = profile_frame_at(symbolizer->profile, (frame_id){library->requests[i].frame});
    library->withheld_count += answer.outcome == SYMBOL_KEPT && native_symbol_is_none(frame->native_symbol);
    int32_t address = library->requests[i].address;
    for (; i < library->request_count && library->requests[i].address == address; i++)
        symbolizer->answers.chain_of_frame[library->requests[i].frame] = row;
    library->answered_count = i;
    size_t done = (size_t)(library->requests - symbolizer->requests) + i;
    progress_report(symbolizer->progress, done, symbolizer->request_count);
    return true;
}

static bool receive_end(struct symbolizer *symbolizer, struct library *library) {
    if (!receive(symbolizer, &library->end, sizeof library->end)) return false;
    bool has_all = library->answered_count == library->request_count;
    return has_all || library->end.search != DEBUG_FILE_FOUND || library->end.is_shorter;
}

/* Receives all answers of the library. Returns false if the process ended before it had sent them, or after a failure
 * (latched). */
static bool receive_library(struct symbolizer *symbolizer, struct library *library) {
    struct channel *channel = &symbolizer->child.channel;
    struct symbol_message message;
    while (receive(symbolizer, &message, sizeof message)) {
        bool is_good = false;
        switch (message.kind) {
            case SYMBOL_MESSAGE_NAME:
            case SYMBOL_MESSAGE_FILE:
                is_good = symbol_answers_receive_text(&symbolizer->answers, channel, &message);
                break;
            case SYMBOL_MESSAGE_ANSWER: is_good = receive_answer(symbolizer, library); break;
            case SYMBOL_MESSAGE_PART:
                symbol_answers_restart(&symbolizer->answers);
                is_good = true;
                break;
            case SYMBOL_MESSAGE_LIBRARY_END: return receive_end(symbolizer, library);
        }
        if (!is_good || failure_is_set(symbolizer->profile->failure)) return false;
    }
    return false;
}

/* ---- Libraries. ---- */

/* Enters "address in PATH: WHAT" into the ledger. */
static void enter(struct profile *profile, const struct library *library, enum gecko_convert_fate fate, uint64_t count,
                  const char *what) {
    struct text path = libs_at(&profile->libs, library->lib)->path;
    char cause[512];
    int path_bytes = path.bytes_count < 300 ? (int)path.bytes_count : 300;
    int bytes_count = snprintf(cause, sizeof cause, "address in %.*s: %s", path_bytes, path.bytes, what);
    if (bytes_count < 0 || !count) return;
    size_t cause_bytes = (size_t)bytes_count < sizeof cause ? (size_t)bytes_count : sizeof cause - 1;
    if (fate == LEDGER_LOST) ledger_read(&profile->ledger, LEDGER_VALUES, count);
    ledger_enter(&profile->ledger, LEDGER_VALUES, fate, (struct text){cause, cause_bytes}, count, NULL);
}

static void note(struct symbolizer *symbolizer, const struct library *library, uint64_t count, const char *what) {
    enter(symbolizer->profile, library, LEDGER_NOTED, count, what);
}

static void note_found(struct symbolizer *symbolizer, const struct library *library) {
    uint64_t count = library->address_count;
    note(symbolizer, library, library->end.unverified_count,
         "looked up in the file there, without a build id to compare");
    if (library->end.lacks_lines) note(symbolizer, library, count, "the debug information there cannot be read");
    if (library->end.lacks & SYMBOL_LACKS_DEPTH)
        note(symbolizer, library, count, "its debug information nests calls more deeply than is read");
    if (library->end.lacks & SYMBOL_LACKS_UNITS)
        note(symbolizer, library, count, "a part of its debug information is in .dwo files, which were not found");
    note(symbolizer, library, library->ambiguous_count, "may be an offset in the file or not, so it was not looked up");
    if (library->end.lacks_supplement)
        note(symbolizer, library, count, "what its debug information shares with others was not found");
}

static void drop_answers(struct symbolizer *symbolizer, const struct library *library) {
    for (size_t i = 0; i < library->answered_count; i++)
        symbolizer->answers.chain_of_frame[library->requests[i].frame] = ID_NONE;
}

static void note_reason(struct symbolizer *symbolizer, const struct library *library, const char *reason) {
    profile_note_trouble(symbolizer->profile, libs_at(&symbolizer->profile->libs, library->lib), reason);
}

static void note_shorter(struct symbolizer *symbolizer, const struct library *library) {
    drop_answers(symbolizer, library);
    note_reason(symbolizer, library, "its file could not be read");
    note(symbolizer, library, library->address_count,
         "not looked up, as the file there became shorter, or its disk failed, while it was read");
}

/* Counts what became of the addresses of a library whose end has been received. */
static void finish_library(struct symbolizer *symbolizer, const struct library *library) {
    switch ((enum debug_search_outcome)library->end.search) {
        case DEBUG_FILE_MISSING: symbolizer->missing_count += library->address_count; break;
        case DEBUG_FILE_REFUSED:
            note(symbolizer, library, library->address_count,
                 "the file there has another build id, or none, and was not used");
            note_reason(symbolizer, library, "the file there has another build id, or none; try --debug-dir");
            break;
        case DEBUG_FILE_FOUND:
            if (library->end.is_shorter) {
                note_shorter(symbolizer, library);
                break;
            }
            bool is_doubtful = library->withheld_count + library->ambiguous_count > library->unknown_count;
            note_reason(symbolizer, library,
                        is_doubtful ? "the file there may not be the one that ran; try --symbols always"
                                    : "the file there lacks them; try --debug-dir");
            symbolizer->unknown_count += library->unknown_count;
            note_found(symbolizer, library);
            break;
    }
}

/* Counts the addresses of a library whose process ended before it had sent the library's end. */
static void abandon_library(struct symbolizer *symbolizer, const struct library *library, enum child_end end) {
    struct profile *profile = symbolizer->profile;
    if (failure_is_set(profile->failure)) return;
    if (end == CHILD_LOST_BYTES) {
        note_shorter(symbolizer, library);
        return;
    }
    drop_answers(symbolizer, library);
    note_reason(symbolizer, library, "its file could not be read");
    enter(profile, library, LEDGER_LOST, library->address_count,
          end == CHILD_NO_MEMORY
              ? "not looked up, as reading the file there needs more memory than there is, or than --max-memory allows"
              : "not looked up, as reading the file there crashed: memory ran out, or the file is damaged");
}

/* Returns whether the frame stays without a name if its library's file is not read. */
static bool is_lost_without_file(const struct symbolizer *symbolizer, const struct symbol_request *request) {
    const struct profile *profile = symbolizer->profile;
    return symbolizer->options.symbols == GECKO_CONVERT_SYMBOLS_ALWAYS ||
           native_symbol_is_none(profile_frame_at(profile, (frame_id){request->frame})->native_symbol);
}

static struct library library_at(const struct symbolizer *symbolizer, size_t first) {
    const struct symbol_request *requests = symbolizer->requests + first;
    struct library library = {.lib = {requests->lib}, .requests = requests};
    library.request_count = symbol_requests_end(symbolizer->requests, symbolizer->request_count, first) - first;
    int32_t counted = ADDRESS_NONE;
    for (size_t i = 0; i < library.request_count; i++) {
        if (requests[i].address == counted || !is_lost_without_file(symbolizer, &requests[i])) continue;
        counted = requests[i].address;
        library.address_count++;
    }
    return library;
}

/* Makes the next process look up one library after the other. Returns false if this one did so. */
static bool retry_alone(struct symbolizer *symbolizer, const struct library *library) {
    if (symbolizer->options.job_count <= 1 || failure_is_set(symbolizer->profile->failure)) return false;
    drop_answers(symbolizer, library);
    symbolizer->options.job_count = 1;
    return true;
}

/* Receives the answers for libraries from request `first` on. Returns the request with which the next process must
 * begin. */
static size_t receive_libraries(struct symbolizer *symbolizer, size_t first) {
    while (first < symbolizer->request_count) {
        struct library library = library_at(symbolizer, first);
        if (!receive_library(symbolizer, &library)) {
            enum child_end end = child_await(&symbolizer->child);
            if (retry_alone(symbolizer, &library)) return first;
            abandon_library(symbolizer, &library, end);
            return first + library.request_count;
        }
        first += library.request_count;
        finish_library(symbolizer, &library);
        progress_report(symbolizer->progress, first, symbolizer->request_count);
    }
    child_await(&symbolizer->child);
    return first;
}

/* Counts all libraries from request `first` on as lost. Call it after child_start has failed. */
static void lose_libraries(struct symbolizer *symbolizer, size_t first) {
    char what[256];
    snprintf(what, sizeof what, "not looked up, as no child process could be started: %s", strerror(errno));
    while (first < symbolizer->request_count) {
        struct library library = library_at(symbolizer, first);
        enter(symbolizer->profile, &library, LEDGER_LOST, library.address_count, what);
        note_reason(symbolizer, &library, "its file could not be read");
        first += library.request_count;
    }
}

/* Returns the work from request `first` on, which borrows the symbolizer. */
static struct symbol_work work_from(const struct symbolizer *symbolizer, size_t first) {
    const struct symbolize_options *options = &symbolizer->options;
    return (struct symbol_work){.profile = symbolizer->profile,
                                .symbols = options->symbols,
                                .folders = &options->folders,
                                .job_count = options->job_count,
                                .requests = symbolizer->requests + first,
                                .request_count = symbolizer->request_count - first};
}

/* One process looks up all libraries. If it crashes while it looks up several side by side, another process begins with
 * the first that has no answers yet, and looks up one after the other: then it shows which library is to blame. The
 * process after that goes on with the next library. */
static void symbolize_libraries(struct symbolizer *symbolizer) {
    struct profile *profile = symbolizer->profile;
    /* The child shares this process's memory, and all of it counts as the child's, too. */
    memory_give_back_freed();
    for (size_t first = 0; first < symbolizer->request_count && !failure_is_set(profile->failure);) {
        struct symbol_work work = work_from(symbolizer, first);
        symbol_answers_restart(&symbolizer->answers);
        if (!child_start(&symbolizer->child, symbol_worker_run, &work, profile->failure->memory)) {
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

/* ---- Servers. ---- */

/* Fetches what is not on this machine. */
static void fetch_files(struct symbolizer *symbolizer) {
    static const double FETCH_SHARE = 0.5;
    struct profile *profile = symbolizer->profile;
    struct debug_server *server = &symbolizer->server;
    if (!symbolizer->options.asks_servers || !debug_server_open(server, profile->failure)) return;
    struct symbol_work work = work_from(symbolizer, 0);
    debug_fetch(server, &work, progress_part(symbolizer->progress, 0, FETCH_SHARE));
    symbolizer->progress = progress_part(symbolizer->progress, FETCH_SHARE, 1);
    symbolizer->options.folders.fetched = *server->cache ? server->cache : NULL;
    debug_server_note_delay(server, &profile->ledger);
    debug_server_close(server);
}

/* ---- The whole. ---- */

void profile_symbolize(struct profile *profile, const struct symbolize_options *options, struct progress progress) {
    if (failure_is_set(profile->failure) || options->symbols == GECKO_CONVERT_SYMBOLS_NONE) return;
    struct symbolizer symbolizer = {.profile = profile, .options = *options, .progress = progress};
    symbolizer.lib_files = memory_allocate_zeroed(profile->failure, libs_count(&profile->libs) + 1, 1);
    if (symbolizer.lib_files && gather_requests(&symbolizer)) {
        symbol_answers_init(&symbolizer.answers, profile);
        symbolizer.answers.name_func = options->name_func;
        fetch_files(&symbolizer);
        symbolize_libraries(&symbolizer);
        symbol_answers_apply(&symbolizer.answers);
        symbol_answers_fini(&symbolizer.answers);
    }
    MEMORY_FREE_ALL(symbolizer.requests, symbolizer.lib_files);
}
