#include "batch_work.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bus_guard.h"
#include "libconvert/conversion.h"
#include "member_path.h"

enum {
    SMALL_MEMBER_BYTES = 4 * 1024 * 1024,
    MEMBERS_PER_WORKER = 2 /* members that are queued in memory */
};

/* A member whose bytes are in memory. */
struct small_member {
    struct batch_source *source;
    struct batch_entry *entry;
    char *name;  /* owned; for messages; set while the member is converted */
    char *bytes; /* owned */
    size_t bytes_count;
    bool is_read; /* the input has taken the bytes */
};

struct worker {
    _Atomic(uint64_t) done_bytes; /* bytes that this worker has read of its file */
};

struct batch_work {
    struct batch_plan *plan;
    const struct sink_batch *sink;
    struct batch_source **queue; /* owned; large files first, so that the work ends with small ones */
    size_t queue_count;
    struct worker *workers; /* owned */
    unsigned worker_count;
    _Atomic(uint64_t) done_bytes;
    uint64_t total_bytes;

    /* Protected by the mutex. */
    pthread_mutex_t mutex;
    pthread_cond_t has_changed;
    size_t next;
    unsigned walker_count;        /* workers that read an archive and may still add members */
    struct small_member *members; /* owned; a stack: the newest member is converted first */
    size_t member_count;
    size_t member_capacity;
};

/* ---- One trace. ---- */

struct file_progress {
    struct worker *worker;
    uint64_t file_bytes;
};

static bool note_progress(void *context, const struct gecko_convert_progress *done) {
    const struct file_progress *progress = context;
    atomic_store(&progress->worker->done_bytes, progress->file_bytes / 1000 * done->permille);
    return true;
}

static void note_output(struct batch_trace *trace, const struct sink_written *written) {
    trace->output_digest = (struct input_digest){written->bytes_count, written->xxh3};
    trace->output_stamp = written->stamp;
}

static void fail_without_memory(struct batch_source *source, struct batch_entry *entry) {
    struct failure failure = {0};
    failure_set_memory(&failure);
    batch_entry_fail(entry, &source->texts, BATCH_FAILED, NULL, &failure);
}

/* Converts the trace of the entry. `name` is for messages; NULL: memory ran out. */
static void convert(struct batch_work *work, struct batch_source *source, struct batch_entry *entry, const char *name,
                    struct conversion_ends ends, struct file_progress *progress) {
    struct batch_trace *trace = batch_entry_trace(entry);
    char *output = name ? batch_output_path(work->plan, trace->output) : NULL;
    if (!output) {
        fail_without_memory(source, entry);
        return;
    }
    struct gecko_convert_options options = work->plan->options->convert;
    options.input_path = source->path;
    options.input_name = name;
    options.output_path = output;
    options.job_count = 1;
    options.progress = progress ? note_progress : NULL;
    options.progress_context = progress;
    bool is_inside = false, is_empty = false;
    struct sink_batch sink = *work->sink;
    sink.is_inside = &is_inside;
    ends.batch = &sink;
    ends.is_empty = &is_empty;
    ends.memory = work->plan->memory;
    struct sink_written written;
    bool is_good = conversion_run(&options, &ends, &trace->result, &written) == GECKO_CONVERT_GOOD;
    if (is_good) note_output(trace, &written);
    if (!is_good && is_empty) trace->error_code = batch_code_empty;
    /* If a signal kept the profile from appearing, the entry is not done, but has not failed either. */
    if (is_good || !atomic_load(work->plan->is_stopping))
        atomic_store(&entry->status, is_good ? BATCH_CONVERTED : is_empty ? BATCH_EMPTY : BATCH_FAILED);
    if (is_inside) sink_gate_leave(sink.gate);
    free(output);
}

/* ---- Members in memory. ---- */

static struct text next_block(void *context) {
    struct small_member *member = context;
    if (member->is_read) return (struct text){NULL, 0};
    member->is_read = true;
    return (struct text){member->bytes, member->bytes_count};
}

static struct input *open_small_member(void *context, struct failure *failure) {
    const struct small_member *member = context;
    struct input *input = input_from_blocks(member->name, next_block, context, failure);
    return input ? input_uncompress(input) : NULL;
}

static void convert_small_member(struct batch_work *work, struct small_member *member) {
    struct conversion_ends ends = {.input = {.open = open_small_member, .context = member}};
    member->name = batch_entry_name(member->source, member->entry->member);
    convert(work, member->source, member->entry, member->name, ends, NULL);
    free(member->name);
    memory_free(member->bytes);
}

/* Returns false if the queue is full. */
static bool offer_member(struct batch_work *work, const struct small_member *member) {
    pthread_mutex_lock(&work->mutex);
    bool has_room = work->member_count < work->member_capacity;
    if (has_room) work->members[work->member_count++] = *member;
    pthread_cond_signal(&work->has_changed);
    pthread_mutex_unlock(&work->mutex);
    return has_room;
}

/* ---- Archives. ---- */

struct walk {
    struct batch_work *work;
    struct worker *worker;
    struct batch_source *source;
    const struct input *bottom; /* the file itself, below its wrappers */
    const volatile sig_atomic_t *has_lost_bytes;
    size_t next_member;
};

static void fail_changed(struct walk *walk) {
    failure_set(&walk->source->failure, FAILURE_IO, "%s: changed while it was read", walk->source->path);
}

/* Replaces the source's failure if its file became shorter, so that the member and its archive fail with that message.
 */
static void note_lost_bytes(struct walk *walk) {
    if (!*walk->has_lost_bytes) return;
    failure_clear(&walk->source->failure);
    failure_set(&walk->source->failure, FAILURE_IO, "%s: became shorter while it was read", walk->source->path);
}

static void read_small_member(struct walk *walk, struct batch_entry *entry, struct input *input, size_t bytes_count) {
    struct small_member member = {
        .source = walk->source, .entry = entry, .bytes = memory_allocate(&walk->source->failure, bytes_count)};
    for (struct text block; member.bytes && (block = input_peek(input, 1)).bytes_count;) {
        size_t left_bytes = bytes_count - member.bytes_count;
        size_t part_bytes = block.bytes_count < left_bytes ? block.bytes_count : left_bytes;
        if (!part_bytes) break;
        memcpy(member.bytes + member.bytes_count, block.bytes, part_bytes);
        member.bytes_count += part_bytes;
        input_consume(input, part_bytes);
    }
    note_lost_bytes(walk);
    if (failure_is_set(&walk->source->failure)) {
        batch_entry_fail(entry, &walk->source->texts, BATCH_FAILED, NULL, &walk->source->failure);
        memory_free(member.bytes);
    } else if (!offer_member(walk->work, &member)) {
        convert_small_member(walk->work, &member);
    }
}

/* Context of open_large_member. */
struct large_member {
    struct input_members *members;
    char *name;
};

static struct input *open_large_member(void *context, struct failure *failure) {
    (void)failure;
    const struct large_member *member = context;
    struct input *input = input_members_input(member->members, member->name);
    return input ? input_uncompress(input) : NULL;
}

static void convert_large_member(struct walk *walk, struct batch_entry *entry, struct input_members *members,
                                 char *name) {
    struct large_member member = {members, name};
    struct conversion_ends ends = {.input = {.open = open_large_member,
                                             .context = &member,
                                             .failure = &walk->source->failure,
                                             .has_lost_bytes = walk->has_lost_bytes}};
    convert(walk->work, walk->source, entry, name, ends, NULL);
}

static void convert_trace(struct walk *walk, struct batch_entry *entry, struct input_members *members,
                          const struct input_member *member) {
    char *name = batch_entry_name(walk->source, entry->member);
    if (!name) {
        failure_set_memory(&walk->source->failure);
    } else if (member->has_size && member->size_bytes <= SMALL_MEMBER_BYTES) {
        struct input *input = input_members_input(members, name);
        if (input) read_small_member(walk, entry, input, (size_t)member->size_bytes);
        input_close(input);
    } else {
        convert_large_member(walk, entry, members, name);
    }
    free(name);
}

static void convert_members(struct walk *walk, struct batch_entry *archive, struct input *input);

static void convert_archive_member(struct walk *walk, struct batch_entry *entry, struct input_members *members) {
    char *name = batch_entry_name(walk->source, entry->member);
    struct input *input = name ? input_members_input(members, name) : NULL;
    if (!name) failure_set_memory(&walk->source->failure);
    if (input) input = input_uncompress(input);
    if (input && input_is_archive(input)) {
        convert_members(walk, entry, input);
    } else {
        if (!failure_is_set(&walk->source->failure)) fail_changed(walk);
        input_close(input);
    }
    free(name);
}

static void convert_member(struct walk *walk, struct batch_entry *entry, struct input_members *members,
                           const struct input_member *member) {
    if (member->kind != INPUT_MEMBER_FILE) return;
    if (entry->is_archive)
        convert_archive_member(walk, entry, members);
    else if (atomic_load(&entry->status) == BATCH_PENDING)
        convert_trace(walk, entry, members, member);
    struct input_digest digest;
    input_members_finish(members, &digest);
    if (!atomic_load(&entry->has_digest)) batch_entry_set_digest(entry, digest);
    uint64_t done_bytes, total_bytes;
    input_source_progress(walk->bottom, &done_bytes, &total_bytes);
    atomic_store(&walk->worker->done_bytes, done_bytes);
}

/* Returns the entry of the plan for the member; NULL if the plan has a different member there or memory ran out
 * (latched in the source). */
static struct batch_entry *next_entry(struct walk *walk, const struct batch_entry *archive,
                                      const struct input_member *member) {
    struct batch_entry *entry = batch_entry_at(walk->source, ++walk->next_member);
    const char *reason;
    char *below = member_path(member, &reason);
    char *path = below ? batch_join(text_of(archive->member ? archive->member : ""), below) : NULL;
    bool is_same = path && entry && strcmp(path, entry->member) == 0;
    if (!path)
        failure_set_memory(&walk->source->failure);
    else if (!is_same)
        fail_changed(walk);
    free(below);
    free(path);
    return is_same ? entry : NULL;
}

/* Converts the members that the plan lists as traces. Takes ownership of the input. */
static void convert_members(struct walk *walk, struct batch_entry *archive, struct input *input) {
    struct failure *latch = &walk->source->failure;
    struct input_members *members = input_members_open(input, latch);
    struct input_member member;
    while (members && !atomic_load(walk->work->plan->is_stopping) && input_members_next(members, &member)) {
        if (member.kind == INPUT_MEMBER_FOLDER) continue;
        struct batch_entry *entry = next_entry(walk, archive, &member);
        if (!entry) break;
        convert_member(walk, entry, members, &member);
        note_lost_bytes(walk);
        if (*walk->has_lost_bytes || !input_members_recover(members)) break;
    }
    note_lost_bytes(walk);
    input_members_close(members);
    if (failure_is_set(latch)) batch_entry_fail(archive, &walk->source->texts, BATCH_FAILED, NULL, latch);
}

static void convert_archive(struct batch_work *work, struct worker *worker, struct batch_source *source,
                            const volatile sig_atomic_t *has_lost_bytes) {
    failure_clear(&source->failure);
    struct input *input = input_open_outer(source->path, &source->failure);
    struct walk walk = {work, worker, source, input, has_lost_bytes, 0};
    if (input && input_is_archive(input)) {
        convert_members(&walk, &source->own, input);
        return;
    }
    if (!failure_is_set(&source->failure)) fail_changed(&walk);
    batch_entry_fail(&source->own, &source->texts, BATCH_FAILED, NULL, &source->failure);
    input_close(input);
}

/* ---- Workers. ---- */

static void convert_source(struct batch_work *work, struct worker *worker, struct batch_source *source) {
    const volatile sig_atomic_t *has_lost_bytes = bus_guard_begin();
    if (source->own.is_archive) {
        convert_archive(work, worker, source, has_lost_bytes);
    } else {
        struct conversion_ends ends = {.input.has_lost_bytes = has_lost_bytes};
        struct file_progress progress = {worker, source->file_bytes};
        convert(work, source, &source->own, source->path, ends, &progress);
    }
    bus_guard_end();
    atomic_store(&worker->done_bytes, 0);
    atomic_fetch_add(&work->done_bytes, source->file_bytes);
}

/* Takes the next member or, if none is queued, the next file. Returns false if there is no work left. */
static bool take_work(struct batch_work *work, struct small_member *member, struct batch_source **source) {
    *member = (struct small_member){0};
    *source = NULL;
    pthread_mutex_lock(&work->mutex);
    while (!work->member_count && work->next == work->queue_count && work->walker_count)
        pthread_cond_wait(&work->has_changed, &work->mutex);
    bool is_stopping = atomic_load(work->plan->is_stopping);
    if (work->member_count) {
        *member = work->members[--work->member_count];
    } else if (work->next < work->queue_count && !is_stopping) {
        *source = work->queue[work->next++];
        if ((*source)->own.is_archive) work->walker_count++;
    }
    pthread_mutex_unlock(&work->mutex);
    return member->bytes || *source;
}

static void end_walk(struct batch_work *work) {
    pthread_mutex_lock(&work->mutex);
    work->walker_count--;
    pthread_cond_broadcast(&work->has_changed);
    pthread_mutex_unlock(&work->mutex);
}

bool batch_work_is_empty(const struct batch_work *work) { return work->queue_count == 0; }

void batch_work_run(struct batch_work *work, unsigned number) {
    struct small_member member;
    struct batch_source *source;
    while (take_work(work, &member, &source)) {
        if (!source) {
            if (atomic_load(work->plan->is_stopping))
                memory_free(member.bytes);
            else
                convert_small_member(work, &member);
            continue;
        }
        convert_source(work, &work->workers[number], source);
        if (source->own.is_archive) end_walk(work);
    }
}

void batch_work_progress(struct batch_work *work, uint64_t *done_bytes, uint64_t *total_bytes) {
    *done_bytes = atomic_load(&work->done_bytes);
    for (unsigned i = 0; i < work->worker_count; i++) *done_bytes += atomic_load(&work->workers[i].done_bytes);
    *total_bytes = work->total_bytes;
}

/* ---- The queue. ---- */

static bool needs_conversion(struct batch_source *source) {
    if (source->own.is_archive) return !source->is_done;
    return atomic_load(&source->own.status) == BATCH_PENDING;
}

static int compare_sizes(const void *left, const void *right) {
    const struct batch_source *a = *(struct batch_source *const *)left, *b = *(struct batch_source *const *)right;
    return ORDER(b->file_bytes, a->file_bytes);
}

static void fill_queue(struct batch_work *work) {
    work->next = work->queue_count = 0;
    work->total_bytes = 0;
    atomic_store(&work->done_bytes, 0);
    COLUMN_EACH(struct batch_source, source, &work->plan->sources) {
        if (source->is_left_out || !needs_conversion(source)) continue;
        work->queue[work->queue_count++] = source;
        work->total_bytes += source->file_bytes;
    }
    qsort(work->queue, work->queue_count, sizeof *work->queue, compare_sizes);
}

struct batch_work *batch_work_create(struct batch_plan *plan, const struct sink_batch *sink, unsigned worker_count,
                                     struct failure *failure) {
    if (failure_is_set(failure)) return NULL;
    struct batch_work *work = calloc(1, sizeof *work);
    if (work) {
        work->plan = plan;
        work->sink = sink;
        work->worker_count = worker_count;
        work->member_capacity = (size_t)worker_count * MEMBERS_PER_WORKER;
        work->queue = calloc(plan->sources.count + 1, sizeof *work->queue);
        work->workers = calloc(worker_count, sizeof *work->workers);
        work->members = calloc(work->member_capacity, sizeof *work->members);
        pthread_mutex_init(&work->mutex, NULL);
        pthread_cond_init(&work->has_changed, NULL);
    }
    if (work && work->queue && work->workers && work->members) {
        fill_queue(work);
        return work;
    }
    batch_work_destroy(work);
    failure_set_memory(failure);
    return NULL;
}

void batch_work_destroy(struct batch_work *work) {
    if (!work) return;
    pthread_cond_destroy(&work->has_changed);
    pthread_mutex_destroy(&work->mutex);
    free(work->queue);
    free(work->workers);
    free(work->members);
    free(work);
}

/* ---- After the work. ---- */

static bool is_retryable(const struct batch_entry *entry) {
    if (!batch_entry_output(entry) && !entry->is_archive) return false;
    return atomic_load(&entry->status) == BATCH_FAILED && batch_entry_outcome(entry) == GECKO_CONVERT_NO_MEMORY;
}

bool batch_work_requeue_out_of_memory(struct batch_work *work) {
    size_t again_count = 0;
    COLUMN_EACH(struct batch_source, source, &work->plan->sources) {
        struct batch_entry *entry;
        bool is_again = false;
        for (size_t j = 0; (entry = batch_entry_at(source, j)); j++) {
            if (!is_retryable(entry)) continue;
            is_again = true;
            batch_entry_reset(entry);
            if (entry->is_archive) atomic_store(&entry->status, BATCH_ARCHIVE);
        }
        if (source->own.is_archive) source->is_done = !is_again;
        again_count += is_again;
    }
    if (!again_count) return false;
    fill_queue(work);
    return true;
}

void batch_work_fail_missing(struct batch_work *work) {
    for (struct batch_cursor at = {0}; batch_cursor_next(work->plan, &at);) {
        if (atomic_load(&at.entry->status) != BATCH_PENDING) continue;
        struct failure failure = at.source->failure;
        failure_set(&failure, FAILURE_IO, "%s: changed while it was read", at.source->path);
        batch_entry_fail(at.entry, &at.source->texts, BATCH_FAILED, NULL, &failure);
    }
}
