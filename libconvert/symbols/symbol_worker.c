#include "symbol_worker.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "libconvert/base/byte_buffer.h"
#include "libconvert/base/cursor.h"
#include "libconvert/base/thread_pool.h"
#include "library_symbols.h"
#include "symbol_names.h"

/* One library of the queue. */
struct library_job {
    struct thread_job job;
    struct library_queue *queue;
    const struct symbol_request *requests;
    size_t request_count;
    struct byte_buffer outbox; /* answers that are kept until those of lower addresses have been sent */
};

struct worker {
    const struct symbol_work *work;
    struct library_queue *queue;
    struct channel *channel; /* NULL: answers go into the outbox */
    struct byte_buffer outbox;
    struct failure *failure;
    struct strings names; /* those that were sent, as linkers see them */
    struct strings files; /* those that were sent */
    bool has_short_names; /* names are made as perf makes them, so that they are those of its other frames */
    uint8_t *agreements;  /* enum agreement, one for each native symbol of the profile */
};

/* The libraries that are looked up side by side. */
struct library_queue {
    const struct symbol_work *work;
    bool has_short_names;
    struct library_job *jobs; /* owned; in the order of the requests */
    size_t count;
    struct thread_pool pool;
    /* Only the thread that sends uses these. */
    struct channel *channel;
    const struct library_job *sending; /* the library whose answers are sent next */
};

/* Whether a native symbol of the trace is the one that the library's file has there. */
enum agreement { AGREEMENT_UNKNOWN, AGREES, DIFFERS };

/* ---- Sending. ---- */

static void send_bytes(struct worker *worker, const void *bytes, size_t bytes_count) {
    struct text sent = {bytes, bytes_count};
    bool is_sent =
        worker->channel ? channel_send(worker->channel, bytes, bytes_count) : byte_buffer_append(&worker->outbox, sent);
    if (!is_sent) child_leave();
}

static void send_message(struct worker *worker, enum symbol_message_kind kind, const void *bytes, size_t bytes_count) {
    struct symbol_message message = {kind, (uint32_t)bytes_count};
    send_bytes(worker, &message, sizeof message);
    send_bytes(worker, bytes, bytes_count);
}

/* Ends this process after a failure, which can only be a lack of memory. That loses the library that is being read. */
static void check_failure(const struct worker *worker) {
    if (failure_is_set(worker->failure)) child_leave();
}

static void send_text(struct worker *worker, enum symbol_message_kind kind, struct text text) {
    text = text_slice(text, 0, SYMBOL_TEXT_BYTES_MAX);
    send_message(worker, kind, text.bytes, text.bytes_count);
}

/* Stores the text's number. Returns true if the text has not been sent yet. */
static bool is_new(struct worker *worker, struct strings *texts, struct text text, uint32_t *number) {
    uint32_t count = strings_count(texts);
    *number = strings_intern(texts, text).index;
    check_failure(worker);
    return *number == count;
}

/* Returns the name's number. Each name is demangled only once, since demangling costs more than everything else
 * here. */
static uint32_t send_name(struct worker *worker, const char *name) {
    uint32_t number;
    if (!is_new(worker, &worker->names, text_of(name), &number)) return number;
    char bytes[SYMBOL_NAME_BYTES_MAX];
    errno = 0;
    struct text demangled = symbol_name_demangle(text_of(name), !worker->has_short_names, bytes);
    if (errno == ENOMEM) failure_set_memory(worker->failure);
    check_failure(worker);
    send_text(worker, SYMBOL_MESSAGE_NAME, demangled);
    return number;
}

/* Returns the number of the path of the call's file. A path relative to the call's folder is joined with it. */
static uint32_t send_file(struct worker *worker, const struct symbol_call *call) {
    if (!call->file) return ID_NONE;
    char bytes[PATH_MAX];
    struct text file = symbol_call_path(call, bytes);
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

/* One library whose file was found. */
struct reading {
    struct worker *worker;
    struct library_symbols symbols;
    const struct symbol_request *requests;
    size_t request_count;
    bool is_trusted; /* the file is the one that ran: it has the same build id or the same functions */
    bool is_other;   /* the file is another one: it has other functions */
    uint32_t unverified_count;
    unsigned lacks; /* see symbol_lines_lacks */
};

/* Returns whether the symbol is the function, or a part or copy of it that the compiler made: "function.part.0". The
 * one that glibc calls itself is "__GI_function". */
static bool is_name_of(struct text function, struct text symbol) {
    cursor_take(&symbol, TEXT("__GI_"));
    if (!cursor_take(&symbol, function)) return false;
    return !symbol.bytes_count || *symbol.bytes == '.';
}

/* The physical function has the name of its symbol, even where the source has another one for it: users call "malloc",
 * which its source calls "__libc_malloc". */
static bool has_name_of_symbol(const struct reading *reading, const struct symbol_place *place) {
    if (!place->symbol || place->symbol == &reading->symbols.nameless) return false;
    const char *function = place->calls[0].name;
    return !function || !is_name_of(text_of(function), text_of(place->symbol->name));
}

/* Leaves out the recorder's own functions that are inlined into the program, as grec_sample is: the program called them
 * at the line of the call around them. In recordings of perf they are code like any other. */
static void leave_out_recorder(const struct reading *reading, struct symbol_place *place) {
    if (reading->worker->work->profile->meta.has_file_offsets) return;
    for (size_t i = 1; i < place->call_count; i++) {
        const struct symbol_call *call = &place->calls[i];
        bool is_of_header = call->file && text_equal(text_base_name(text_of(call->file)), TEXT("gecko_recorder.h"));
        if (is_of_header && call->name && strstr(call->name, "grec_")) place->call_count = i;
    }
}

/* If `keeps_name`, the physical function keeps the name that the trace has for it. */
static void send_place(struct reading *reading, const struct symbol_place *place, bool keeps_name) {
    struct worker *worker = reading->worker;
    uint64_t base = reading->symbols.files->first.base;
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
    if (keeps_name)
        links[0].name = ID_NONE;
    else if (place->call_count && has_name_of_symbol(reading, place))
        links[0].name = answer.symbol_name;
    answer.link_count = (uint32_t)place->call_count;
    if (!place->call_count) links[answer.link_count++] = (struct symbol_link){answer.symbol_name, .file = ID_NONE};
    send_message(worker, SYMBOL_MESSAGE_ANSWER, &answer, sizeof answer);
    send_bytes(worker, links, answer.link_count * sizeof *links);
}

/* ---- What the trace knows already. ---- */

static const struct frame *frame_of(const struct reading *reading, size_t request) {
    return profile_frame_at(reading->worker->work->profile, (frame_id){reading->requests[request].frame});
}

/* Returns whether perf, which demangles names, prints the symbol by that name. */
static bool is_printed_as(const char *name, struct text printed) {
    char bytes[SYMBOL_NAME_BYTES_MAX];
    return text_equal(text_of(name), printed) || text_equal(symbol_name_demangle(text_of(name), false, bytes), printed);
}

/* Returns whether the frame's native symbol starts where the one in the file does. */
static bool agrees_in_start(const struct reading *reading, const struct frame *frame,
                            const struct symbol_place *place) {
    const struct native_symbol *known = profile_native_symbol_at(reading->worker->work->profile, frame->native_symbol);
    uint64_t address = reading->symbols.files->first.base + (uint64_t)place->address;
    uint64_t offset = (uint64_t)((int64_t)frame->address - (int64_t)known->address);
    return place->symbol && place->symbol->start + offset == address;
}

/* Returns whether one of the symbols at the start of the place is printed by that name: perf may choose another one. */
static bool has_printed_alias(const struct reading *reading, const struct symbol_place *place, struct text printed) {
    size_t count;
    const struct symbol *aliases = symbol_table_aliases(reading->symbols.table, place->symbol->start, &count);
    for (size_t i = 0; i < count; i++)
        if (is_printed_as(aliases[i].name, printed)) return true;
    return is_printed_as(place->symbol->name, printed);
}

/* Returns whether the frame's native symbol has a name of the symbol in the file. Each native symbol is compared once.
 * */
static bool agrees_in_name(const struct reading *reading, const struct frame *frame, const struct symbol_place *place) {
    const struct profile *profile = reading->worker->work->profile;
    const struct native_symbol *known = profile_native_symbol_at(profile, frame->native_symbol);
    uint8_t *agreement = &reading->worker->agreements[frame->native_symbol.index];
    if (*agreement == AGREEMENT_UNKNOWN) {
        struct text printed = strings_text(&profile->strings, known->name);
        *agreement = has_printed_alias(reading, place, printed) ? AGREES : DIFFERS;
    }
    return *agreement == AGREES;
}

/* Compares some of the trace's symbols with those of the file, spread over the library. */
static void compare_symbols(struct reading *reading) {
    enum { COMPARED_MAX = 64 };
    size_t step = reading->request_count / COMPARED_MAX + 1, agreed_count = 0, compared_count = 0;
    for (size_t i = 0; i < reading->request_count; i += step) {
        const struct frame *frame = frame_of(reading, i);
        struct symbol_place place;
        if (native_symbol_is_none(frame->native_symbol)) continue;
        compared_count++;
        if (library_symbols_find_symbol(&reading->symbols, frame->address, true, &place) == SYMBOL_FOUND)
            agreed_count += agrees_in_start(reading, frame, &place) && agrees_in_name(reading, frame, &place);
    }
    if (reading->is_trusted || !compared_count) return;
    reading->is_other = agreed_count < compared_count - compared_count / 2;
    reading->is_trusted = !reading->is_other;
}

/* What the trace says about one address. */
struct claims {
    bool has_name;      /* perf has a symbol */
    bool is_nameless;   /* perf looked for a symbol and found none; only if the file is not trusted */
    bool is_wrong_name; /* the file has another one */
};

static struct claims claims_of(const struct reading *reading, size_t first, size_t end,
                               const struct symbol_place *place) {
    const struct profile *profile = reading->worker->work->profile;
    struct claims claims = {0};
    for (size_t i = first; i < end; i++) {
        const struct frame *frame = frame_of(reading, i);
        if (!native_symbol_is_none(frame->native_symbol)) {
            claims.has_name = true;
            bool is_same = place && agrees_in_start(reading, frame, place) &&
                           (reading->is_trusted || agrees_in_name(reading, frame, place));
            claims.is_wrong_name |= !is_same;
        } else if (!reading->is_trusted && !profile->meta.lacks_symbols) {
            struct text name = strings_text(&profile->strings, profile_func_at(profile, frame->func)->name);
            claims.is_nameless |= !text_starts_with(name, TEXT("0x"));
        }
    }
    return claims;
}

/* ---- Answers. ---- */

static bool looks_up_all(const struct worker *worker) { return worker->work->symbols == GECKO_CONVERT_SYMBOLS_ALWAYS; }

/* Finds what is at the address of the requests from `first` to `end`, unless the trace shows that the file is not the
 * one that ran, or the file says no more than the trace. A function that perf did not find must have no symbol in the
 * file either, if nothing else shows that the file is the right one. */
static enum symbol_outcome find_place(struct reading *reading, size_t first, size_t end, struct symbol_place *place,
                                      bool *has_name) {
    struct library_symbols *symbols = &reading->symbols;
    int32_t address = reading->requests[first].address;
    if (looks_up_all(reading->worker)) {
        reading->unverified_count += !reading->is_trusted;
        return library_symbols_find(symbols, address, true, place);
    }
    enum symbol_outcome outcome = library_symbols_find_symbol(symbols, address, false, place);
    struct claims claims = claims_of(reading, first, end, outcome == SYMBOL_FOUND ? place : NULL);
    *has_name = claims.has_name;
    if (claims.has_name && (claims.is_wrong_name || reading->is_other)) return SYMBOL_KEPT;
    if (outcome != SYMBOL_FOUND) return outcome;
    bool is_new_name = place->symbol != &symbols->nameless;
    if (claims.is_nameless && (reading->is_other || is_new_name)) return SYMBOL_KEPT;
    outcome = library_symbols_find_calls(symbols, place);
    if (claims.has_name && !place->call_count) return SYMBOL_KEPT;
    if (outcome == SYMBOL_FOUND && !claims.has_name && !reading->is_trusted) reading->unverified_count++;
    return outcome;
}

/* Sends the true address of a function without a symbol. A name that ends in the number ends in the address then. */
static void send_address(struct reading *reading, const struct symbol_request *request,
                         const struct symbol_place *place) {
    struct worker *worker = reading->worker;
    const struct profile *profile = worker->work->profile;
    const struct func *func = profile_func_at(profile, profile_frame_at(profile, (frame_id){request->frame})->func);
    struct text name = strings_text(&profile->strings, func->name);
    char number[16], renamed[SYMBOL_NAME_BYTES_MAX];
    int digit_count = snprintf(number, sizeof number, "0x%" PRIx32, (uint32_t)request->address);
    struct symbol_link link = {.name = ID_NONE, .file = ID_NONE};
    if (text_ends_with(name, (struct text){number, (size_t)digit_count}) && name.bytes_count < sizeof renamed / 2) {
        snprintf(renamed, sizeof renamed, "%.*s0x%" PRIx32, (int)name.bytes_count - digit_count, name.bytes,
                 (uint32_t)place->address);
        link.name = send_name(worker, renamed);
    }
    struct symbol_answer answer = {SYMBOL_PLACED, place->address, ID_NONE, ID_NONE, .link_count = 1};
    send_message(worker, SYMBOL_MESSAGE_ANSWER, &answer, sizeof answer);
    send_bytes(worker, &link, sizeof link);
}

static void answer_all(struct reading *reading) {
    struct worker *worker = reading->worker;
    for (size_t first = 0, end; first < reading->request_count; first = end) {
        for (end = first + 1; end < reading->request_count; end++)
            if (reading->requests[end].address != reading->requests[first].address) break;
        struct symbol_place place;
        bool has_name = false;
        enum symbol_outcome outcome = find_place(reading, first, end, &place, &has_name);
        check_failure(worker);
        struct symbol_answer nothing = {outcome, .link_count = 0};
        if (outcome == SYMBOL_FOUND) leave_out_recorder(reading, &place);
        if (outcome == SYMBOL_FOUND)
            send_place(reading, &place, has_name);
        else if (outcome == SYMBOL_PLACED)
            send_address(reading, &reading->requests[first], &place);
        else
            send_message(worker, SYMBOL_MESSAGE_ANSWER, &nothing, sizeof nothing);
    }
    if (reading->symbols.lines) reading->lacks |= symbol_lines_lacks(reading->symbols.lines);
}

/* ---- The threads of a library. ---- */

/* Below this number of addresses, a thread costs more than it saves: it opens the library again. */
enum { PART_REQUESTS_MIN = 4096, SLOW_PART_REQUESTS_MIN = 64, PARTS_MAX = 8 };

/* The requests of one thread. */
struct part {
    struct thread_job job;
    struct failure failure;
    struct worker worker;
    struct reading reading;
    const struct reading *whole;
    bool is_lost; /* the files could not be opened once more, or became shorter */
};

static void worker_init(struct worker *worker, struct library_queue *queue, struct channel *channel,
                        struct failure *failure) {
    const struct symbol_work *work = queue->work;
    *worker = (struct worker){.work = work, .queue = queue, .channel = channel, .failure = failure};
    worker->outbox.failure = failure;
    worker->has_short_names = queue->has_short_names;
    strings_init(&worker->names, failure);
    strings_init(&worker->files, failure);
    worker->agreements = calloc(row_table_count(&work->profile->native_symbols) + 1, 1);
    if (!worker->agreements) child_leave();
}

static void worker_fini(struct worker *worker) {
    strings_fini(&worker->names);
    strings_fini(&worker->files);
    free(worker->agreements);
    byte_buffer_fini(&worker->outbox);
}

static void restart_numbers(struct worker *worker) {
    strings_fini(&worker->names);
    strings_fini(&worker->files);
    strings_init(&worker->names, worker->failure);
    strings_init(&worker->files, worker->failure);
    send_message(worker, SYMBOL_MESSAGE_PART, NULL, 0);
}

/* A thread_job_run. Opens the files once more, since libelf and libdw are not safe for several threads that use the
 * same ones. The table of symbols is shared: finding symbols only reads it. */
static void look_up_part(void *context, unsigned helper) {
    struct part *part = context;
    (void)helper;
    struct reading *reading = &part->reading;
    const struct symbol_work *work = part->worker.work;
    if (!reading->request_count) return; /* the parts before it have all requests of its address */
    struct debug_files files;
    const struct lib *lib = libs_at(&work->profile->libs, (lib_id){reading->requests->lib});
    part->is_lost = debug_files_open(&files, lib, work->folders, part->worker.failure) != DEBUG_FILE_FOUND;
    check_failure(&part->worker);
    if (part->is_lost) return;
    if (!library_symbols_init(&reading->symbols, &files, part->whole->symbols.table, part->worker.failure))
        child_leave();
    reading->symbols.terms = part->whole->symbols.terms;
    answer_all(reading);
    part->is_lost = !debug_files_are_whole(&files);
    library_symbols_fini(&reading->symbols);
    debug_files_close(&files);
}

/* Returns how many parts the requests are worth. Debug information is slow to look up. But if it is compressed, each
 * part would uncompress it again. */
static size_t count_parts(const struct reading *reading) {
    bool is_slow = reading->symbols.lines && !debug_files_dwarf(reading->symbols.files)->uncompressed;
    size_t count = reading->request_count / (is_slow ? SLOW_PART_REQUESTS_MIN : PART_REQUESTS_MIN);
    return count < 1 ? 1 : count < PARTS_MAX ? count : PARTS_MAX;
}

/* Returns the first request of the part: no address is in two parts. */
static size_t part_start(const struct reading *reading, size_t number, size_t part_count) {
    const struct symbol_request *requests = reading->requests;
    size_t i = reading->request_count * number / part_count;
    while (i > 0 && i < reading->request_count && requests[i].address == requests[i - 1].address) i++;
    return i;
}

static void start_part(struct part *part, const struct reading *whole, size_t first, size_t end) {
    worker_init(&part->worker, whole->worker->queue, NULL, &part->failure);
    part->whole = whole;
    part->reading = (struct reading){.worker = &part->worker,
                                     .requests = whole->requests + first,
                                     .request_count = end - first,
                                     .is_trusted = whole->is_trusted,
                                     .is_other = whole->is_other};
    thread_pool_submit(&part->worker.queue->pool, &part->job, look_up_part, part);
}

/* Sends what the part has found. Returns false if that is not to be used. */
static bool finish_part(struct part *part, struct reading *whole) {
    thread_pool_await(&part->worker.queue->pool, &part->job);
    bool is_good = !part->is_lost;
    if (is_good) {
        restart_numbers(whole->worker);
        send_bytes(whole->worker, part->worker.outbox.bytes, part->worker.outbox.bytes_count);
    }
    whole->unverified_count += part->reading.unverified_count;
    whole->lacks |= part->reading.lacks;
    worker_fini(&part->worker);
    return is_good;
}

/* Answers the first part of the requests, and also the others if other threads have nothing to do. What is left stays
 * in the reading. Sets *is_lost if a file has changed. */
static void answer_side_by_side(struct reading *whole, bool *is_lost) {
    size_t part_count = count_parts(whole), thread_count = thread_pool_spare_count(&whole->worker->queue->pool) + 1;
    size_t request_count = whole->request_count, used_count = part_count < thread_count ? part_count : thread_count;
    if (used_count > 1) part_count = used_count;
    struct part *parts = calloc(part_count, sizeof *parts);
    if (!parts) child_leave();
    for (size_t i = 1; i < used_count; i++)
        start_part(&parts[i], whole, part_start(whole, i, part_count), part_start(whole, i + 1, part_count));
    size_t answered_count = part_start(whole, 1, part_count);
    whole->request_count = answered_count;
    answer_all(whole);
    for (size_t i = 1; i < used_count; i++) *is_lost |= !finish_part(&parts[i], whole);
    if (used_count > 1) answered_count = request_count;
    whole->requests += answered_count;
    whole->request_count = request_count - answered_count;
    free(parts);
}

/* ---- Libraries. ---- */

/* All numbers of a library are read in the same way. */
static void set_terms(struct reading *reading) {
    int32_t *numbers = malloc(reading->request_count * sizeof *numbers);
    if (!numbers) child_leave();
    for (size_t i = 0; i < reading->request_count; i++) numbers[i] = reading->requests[i].address;
    library_symbols_set_terms(&reading->symbols, numbers, reading->request_count);
    free(numbers);
}

static void read_library(struct reading *reading, struct debug_files *files, struct symbol_library_end *end) {
    struct worker *worker = reading->worker;
    struct library_symbols *symbols = &reading->symbols;
    bool is_read = library_symbols_init(symbols, files, NULL, worker->failure);
    check_failure(worker);
    if (!is_read) child_leave();
    if (worker->work->profile->meta.has_file_offsets) set_terms(reading);
    reading->is_trusted = files->is_verified;
    if (!looks_up_all(worker)) compare_symbols(reading);
    bool is_lost = false;
    while (reading->request_count) answer_side_by_side(reading, &is_lost);
    end->unverified_count = reading->unverified_count;
    end->lacks_lines = debug_files_dwarf(files) && !symbols->lines;
    end->lacks = reading->lacks;
    end->lacks_supplement = files->lacks_supplement;
    end->is_shorter = is_lost || !debug_files_are_whole(files);
    library_symbols_fini(symbols);
}

/* Returns whether the files can add anything to what the trace has: names, or functions inlined into those with names.
 */
static bool has_more(const struct reading *reading, struct debug_files *files) {
    if (looks_up_all(reading->worker) || debug_files_dwarf(files)) return true;
    for (size_t i = 0; i < reading->request_count; i++)
        if (native_symbol_is_none(frame_of(reading, i)->native_symbol)) return true;
    return false;
}

static void look_up_library(struct worker *worker, const struct symbol_request *requests, size_t count) {
    const struct symbol_work *work = worker->work;
    restart_numbers(worker);
    struct reading reading = {.worker = worker, .requests = requests, .request_count = count};
    struct debug_files files;
    enum debug_search_outcome search = debug_files_open(&files, libs_at(&work->profile->libs, (lib_id){requests->lib}),
                                                        work->folders, worker->failure);
    check_failure(worker);
    struct symbol_library_end end = {.search = search};
    if (search == DEBUG_FILE_FOUND) {
        if (has_more(&reading, &files))
            read_library(&reading, &files, &end);
        else
            end.search = DEBUG_FILE_MISSING;
        debug_files_close(&files);
    }
    send_message(worker, SYMBOL_MESSAGE_LIBRARY_END, &end, sizeof end);
}

/* ---- The queue. ---- */

/* Returns whether the trace has symbols, from which perf has then made its names. */
static bool has_native_symbols(const struct symbol_work *work) {
    for (size_t i = 0; i < work->request_count; i++)
        if (!native_symbol_is_none(profile_frame_at(work->profile, (frame_id){work->requests[i].frame})->native_symbol))
            return true;
    return false;
}

size_t symbol_requests_end(const struct symbol_request *requests, size_t count, size_t first) {
    size_t end = first + 1;
    while (end < count && requests[end].lib == requests[first].lib) end++;
    return end;
}

static bool fill_queue(struct library_queue *queue) {
    const struct symbol_work *work = queue->work;
    queue->jobs = calloc(work->request_count, sizeof *queue->jobs);
    if (!queue->jobs) return false;
    for (size_t first = 0, end; first < work->request_count; first = end) {
        end = symbol_requests_end(work->requests, work->request_count, first);
        queue->jobs[queue->count++] =
            (struct library_job){.queue = queue, .requests = work->requests + first, .request_count = end - first};
    }
    return true;
}

/* A thread_job_run. Of the threads that wait for jobs, only the one that sends runs libraries: parts are submitted
 * after all libraries, and whoever waits for one runs only what was submitted later. */
static void do_job(void *context, unsigned helper) {
    struct library_job *job = context;
    struct library_queue *queue = job->queue;
    bool is_sent_at_once = !helper && queue->sending == job;
    struct failure failure = {0};
    struct worker worker;
    worker_init(&worker, queue, is_sent_at_once ? queue->channel : NULL, &failure);
    look_up_library(&worker, job->requests, job->request_count);
    job->outbox = worker.outbox;
    worker.outbox = (struct byte_buffer){0};
    worker_fini(&worker);
}

/* Sends the answers for the library, all earlier ones having been sent. */
static void send_job(struct library_queue *queue, struct library_job *job) {
    queue->sending = job;
    if (job == queue->jobs)
        do_job(job, 0);
    else
        thread_pool_await(&queue->pool, &job->job);
    bool is_sent = channel_send(queue->channel, job->outbox.bytes, job->outbox.bytes_count);
    byte_buffer_fini(&job->outbox);
    /* This process may not survive the next library. */
    if (!is_sent || !channel_flush(queue->channel)) child_leave();
}

/* Waits for the threads that look up ahead. Without open libraries, each ends after its present one. */
static void end_queue(void *context) {
    struct library_queue *queue = context;
    thread_pool_fini(&queue->pool);
    for (size_t i = 0; i < queue->count; i++) byte_buffer_fini(&queue->jobs[i].outbox);
    free(queue->jobs);
}

void symbol_worker_run(void *context, struct channel *channel) {
    const struct symbol_work *work = context;
    struct library_queue queue = {.work = work, .channel = channel};
    queue.has_short_names = work->symbols != GECKO_CONVERT_SYMBOLS_ALWAYS && has_native_symbols(work);
    if (!fill_queue(&queue)) child_leave();
    thread_pool_init(&queue.pool, work->job_count);
    pthread_cleanup_push(end_queue, &queue);
    /* This thread does the first one, so that a library that is alone has the other threads for its parts. */
    for (size_t i = 1; i < queue.count; i++)
        thread_pool_submit(&queue.pool, &queue.jobs[i].job, do_job, &queue.jobs[i]);
    for (size_t i = 0; i < queue.count; i++) send_job(&queue, &queue.jobs[i]);
    pthread_cleanup_pop(true);
}
