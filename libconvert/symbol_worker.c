#include "symbol_worker.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "library_symbols.h"
#include "symbol_names.h"

struct worker {
    const struct symbol_work *work;
    struct channel *channel;
    struct failure *failure;
    struct strings names; /* those that were sent, as linkers see them */
    struct strings files; /* those that were sent */
    int32_t *numbers;     /* the distinct addresses of a library */
    size_t number_count;
};

/* ---- Sending. ---- */

static void send_bytes(struct worker *worker, const void *bytes, size_t bytes_count) {
    if (!channel_send(worker->channel, bytes, bytes_count)) child_leave();
}

static void send_message(struct worker *worker, enum symbol_message_kind kind, const void *bytes, size_t bytes_count) {
    struct symbol_message message = {kind, (uint32_t)bytes_count};
    send_bytes(worker, &message, sizeof message);
    send_bytes(worker, bytes, bytes_count);
}

/* Reports a latched failure, which fails the conversion, and ends the process. */
static void check_failure(struct worker *worker) {
    if (!failure_is_set(worker->failure)) return;
    send_message(worker, SYMBOL_MESSAGE_FAILURE, worker->failure, sizeof *worker->failure);
    channel_flush(worker->channel);
    child_leave();
}

static void send_text(struct worker *worker, enum symbol_message_kind kind, struct text text) {
    text = text_slice(text, 0, SYMBOL_TEXT_BYTES_MAX);
    send_message(worker, kind, text.bytes, text.bytes_count);
}

/* Sets *number to the text's number. Returns true when the text has not been sent yet. */
static bool is_new(struct worker *worker, struct strings *texts, struct text text, uint32_t *number) {
    uint32_t count = strings_count(texts);
    *number = strings_intern(texts, text).index;
    check_failure(worker);
    return *number == count;
}

/* Returns the name's number. A name is demangled once only, since demangling costs more than everything else here. */
static uint32_t send_name(struct worker *worker, const char *name) {
    uint32_t number;
    if (!is_new(worker, &worker->names, text_of(name), &number)) return number;
    char bytes[SYMBOL_NAME_BYTES_MAX];
    errno = 0;
    struct text demangled = symbol_name_demangle(text_of(name), bytes);
    if (errno == ENOMEM) failure_set_memory(worker->failure);
    check_failure(worker);
    send_text(worker, SYMBOL_MESSAGE_NAME, demangled);
    return number;
}

/* Returns the number of the path of the call's file. A path relative to the call's folder is joined with it. */
static uint32_t send_file(struct worker *worker, const struct symbol_call *call) {
    if (!call->file) return ID_NONE;
    struct text file = text_of(call->file);
    char path[PATH_MAX];
    if (!text_starts_with(file, TEXT("/")) && call->folder) {
        while (text_starts_with(file, TEXT("./"))) file = text_from(file, 2);
        int bytes_count = snprintf(path, sizeof path, "%s/%s", call->folder, file.bytes);
        if (bytes_count > 0 && (size_t)bytes_count < sizeof path) file = (struct text){path, (size_t)bytes_count};
    }
    uint32_t number;
    if (is_new(worker, &worker->files, file, &number)) send_text(worker, SYMBOL_MESSAGE_FILE, file);
    return number;
}

static struct symbol_link make_link(struct worker *worker, const struct symbol_call *call, uint32_t physical_name) {
    return (struct symbol_link){
        .name = call->name && *call->name ? send_name(worker, call->name) : physical_name,
        .file = send_file(worker, call),
        .func_line = call->declaration_line,
        .line = call->line,
        .column = call->line ? call->column : 0,
    };
}

static void send_place(struct worker *worker, const struct symbol_place *place, uint64_t base) {
    struct symbol_answer answer = {SYMBOL_FOUND, .address = place->address, .symbol_name = ID_NONE,
                                   .symbol_address = ID_NONE, .has_lines = place->call_count > 0};
    if (place->symbol) {
        answer.symbol_name = send_name(worker, place->symbol->name);
        uint64_t relative = place->symbol->start - base;
        if (place->symbol->start >= base && relative <= INT32_MAX) answer.symbol_address = (uint32_t)relative;
    }
    struct symbol_link links[SYMBOL_CALLS_MAX];
    for (size_t i = 0; i < place->call_count; i++)
        links[i] = make_link(worker, &place->calls[i], i ? ID_NONE : answer.symbol_name);
    answer.link_count = (uint32_t)place->call_count;
    if (!place->call_count) links[answer.link_count++] = (struct symbol_link){answer.symbol_name, .file = ID_NONE};
    send_message(worker, SYMBOL_MESSAGE_ANSWER, &answer, sizeof answer);
    send_bytes(worker, links, answer.link_count * sizeof *links);
}

/* ---- Libraries. ---- */

static void take_numbers(struct worker *worker, const struct symbol_request *requests, size_t count) {
    worker->number_count = 0;
    for (size_t i = 0; i < count; i++)
        if (!i || requests[i].address != requests[i - 1].address)
            worker->numbers[worker->number_count++] = requests[i].address;
}

static void answer_all(struct worker *worker, struct library_symbols *symbols) {
    bool prefers_offsets = worker->work->options->symbols == SYMBOLS_ALWAYS;
    for (size_t i = 0; i < worker->number_count; i++) {
        struct symbol_place place;
        enum symbol_outcome outcome = library_symbols_find(symbols, worker->numbers[i], prefers_offsets, &place);
        check_failure(worker);
        struct symbol_answer nothing = {outcome, .link_count = 0};
        if (outcome == SYMBOL_FOUND)
            send_place(worker, &place, symbols->files->first.base);
        else
            send_message(worker, SYMBOL_MESSAGE_ANSWER, &nothing, sizeof nothing);
    }
}

static void read_library(struct worker *worker, const struct debug_files *files, struct symbol_library_end *end) {
    struct library_symbols symbols;
    bool is_read = library_symbols_init(&symbols, files, worker->failure);
    check_failure(worker);
    if (!is_read) child_leave();
    if (worker->work->profile->meta.has_file_offsets)
        library_symbols_set_terms(&symbols, worker->numbers, worker->number_count);
    answer_all(worker, &symbols);
    end->is_verified = files->is_verified;
    end->lacks_lines = debug_files_dwarf(files) && !symbols.lines;
    end->lacks_supplement = files->lacks_supplement;
    end->is_shorter = !debug_files_are_whole(files);
    library_symbols_fini(&symbols);
}

static void look_up_library(struct worker *worker, uint32_t lib) {
    const struct symbol_work *work = worker->work;
    struct debug_files files;
    enum debug_search_outcome search = debug_files_open(&files, libs_at(&work->profile->libs, (lib_id){lib}),
                                                        &work->options->folders, worker->failure);
    check_failure(worker);
    struct symbol_library_end end = {.search = search};
    if (search == DEBUG_FILE_FOUND) {
        read_library(worker, &files, &end);
        debug_files_close(&files);
    }
    send_message(worker, SYMBOL_MESSAGE_LIBRARY_END, &end, sizeof end);
    /* The next library may be one that this process does not survive. */
    if (!channel_flush(worker->channel)) child_leave();
}

void symbol_worker_run(void *context, struct channel *channel) {
    const struct symbol_work *work = context;
    struct failure failure = {0};
    struct worker worker = {.work = work, .channel = channel, .failure = &failure};
    strings_init(&worker.names, worker.failure);
    strings_init(&worker.files, worker.failure);
    worker.numbers = malloc(work->request_count * sizeof *worker.numbers);
    if (!worker.numbers) child_leave();
    for (size_t i = 0, end; i < work->request_count; i = end) {
        end = symbol_requests_end(work->requests, work->request_count, i);
        take_numbers(&worker, work->requests + i, end - i);
        look_up_library(&worker, work->requests[i].lib);
    }
    strings_fini(&worker.names);
    strings_fini(&worker.files);
    free(worker.numbers);
}
