#include "thread_registry.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "own_signal.h"
#include "own_thread.h"
#include "process.h"
#include "session.h"
#include "thread_handle.h"
#include "writer.h"

enum { BLOCK_RECORD_COUNT = 16, SYSTEM_NAME_BYTES = 16 };

#define HELD ((uint32_t)1 << 31)

/* Records that were mapped together. Never unmapped: a thread may hold one for as long as it lives. */
struct block {
    struct block *next;
    struct thread_writers *writers; /* BLOCK_RECORD_COUNT of them, cleared in children */
    struct thread_record records[BLOCK_RECORD_COUNT];
};

static struct block *first_block;
static pthread_key_t exit_key;
static bool has_exit_key;

__thread struct thread_writers *thread_writers_self;
__thread struct thread_record *thread_record_self;
/* The record that was last found for a thread which has not come for it. */
static __thread struct thread_record *held_record_self;
__thread struct grec_label_stack *grec_label_stack_;

static uint32_t own_tid(void) { return (uint32_t)syscall(SYS_gettid); }

/* Those that the record's last thread did not pop. */
static void forget_labels(struct grec_label_stack *labels) {
    uint32_t count = labels->depth < GREC_LABEL_DEPTH_MAX ? labels->depth : GREC_LABEL_DEPTH_MAX;
    for (uint32_t i = 0; i < count; i++) labels->frames[i].address = NULL;
    __atomic_store_n(&labels->depth, 0, __ATOMIC_RELAXED);
}

static void end_thread(void *record) {
    (void)record;
    if (own_tid() == (uint32_t)getpid()) own_thread_end_first();
    if (thread_record_self) forget_labels(&thread_record_self->labels);
    grec_thread_unregister();
}

/* The first thread's end is to be noticed even if that thread never records. */
void thread_registry_init(void) {
    if (has_exit_key) return;
    has_exit_key = pthread_key_create(&exit_key, end_thread) == 0;
    if (has_exit_key) pthread_setspecific(exit_key, &exit_key);
}

static struct block *map_block(void) {
    struct block *block =
        mmap(NULL, sizeof *block, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (block == MAP_FAILED) return NULL;
    block->writers = process_map_wiped(sizeof *block->writers * BLOCK_RECORD_COUNT);
    if (block->writers) return block;
    munmap(block, sizeof *block);
    return NULL;
}

struct place {
    struct thread_writers *writers;
    struct thread_record *record;
};

/* A word is that of a record's owner: a thread's id, or HELD and the id of a thread that has not come for it. Order is
 * what two that take a record for the same thread rely on: see drop_held. */
static bool swap_word(struct thread_writers *writers, uint32_t from, uint32_t to) {
    return __atomic_compare_exchange_n(&writers->tid, &from, to, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

static uint32_t load_word(const struct thread_writers *writers) {
    return __atomic_load_n(&writers->tid, __ATOMIC_SEQ_CST);
}

static bool claim_in(struct block *block, uint32_t word, struct place *place) {
    for (int i = 0; i < BLOCK_RECORD_COUNT; i++) {
        if (__atomic_load_n(&block->writers[i].tid, __ATOMIC_RELAXED) || !swap_word(&block->writers[i], 0, word))
            continue;
        *place = (struct place){&block->writers[i], &block->records[i]};
        return true;
    }
    return false;
}

/* Of a thread that ended without saying so: one whose exit key could not be set. Its writers are left for the new
 * owner's first recording call, which finds the pool open. */
static bool inherit(struct block *block, uint32_t word, struct place *place) {
    for (int i = 0; i < BLOCK_RECORD_COUNT; i++) {
        struct thread_writers *writers = &block->writers[i];
        uint32_t old_word = __atomic_load_n(&writers->tid, __ATOMIC_RELAXED), old_tid = old_word & ~HELD;
        if (!old_tid || syscall(SYS_tgkill, getpid(), old_tid, 0) == 0 || errno != ESRCH) continue;
        if (!swap_word(writers, old_word, word)) continue;
        if (writers->generation) writers->orphan_generation = writers->generation;
        writers->generation = 0;
        __atomic_store_n(&writers->is_muted, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&writers->depth, 0, __ATOMIC_RELAXED);
        *place = (struct place){writers, &block->records[i]};
        return true;
    }
    return false;
}

static bool claim_any(uint32_t word, struct place *place) {
    for (struct block *block = __atomic_load_n(&first_block, __ATOMIC_ACQUIRE); block; block = block->next)
        if (claim_in(block, word, place)) return true;
    for (struct block *block = __atomic_load_n(&first_block, __ATOMIC_ACQUIRE); block; block = block->next)
        if (inherit(block, word, place)) return true;
    struct block *block = map_block();
    if (!block) return false;
    claim_in(block, word, place);
    block->next = __atomic_load_n(&first_block, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&first_block, &block->next, block, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
    }
    return true;
}

static bool find_word(uint32_t word, struct place *place) {
    for (struct block *block = __atomic_load_n(&first_block, __ATOMIC_SEQ_CST); block; block = block->next)
        for (int i = 0; i < BLOCK_RECORD_COUNT; i++) {
            if (load_word(&block->writers[i]) != word) continue;
            *place = (struct place){&block->writers[i], &block->records[i]};
            return true;
        }
    return false;
}

/* Keys below 32 lie in the thread itself; setting others may allocate, which a signal handler must not. */
static void call_at_exit(void) {
    enum { KEYS_IN_THREAD = 32 };
    if (has_exit_key && exit_key < KEYS_IN_THREAD) pthread_setspecific(exit_key, thread_record_self);
}

void thread_signals_block(sigset_t *before) { own_signal_block_all(before); }

void thread_signals_restore(const sigset_t *before) { own_signal_restore_mask(before); }

static void reset(struct thread_record *record) {
    record->uid_generation = 0;
    __atomic_store_n(&record->shared_uid, 0, __ATOMIC_RELEASE);
    thread_record_start(record, clock_is_known() ? clock_ticks() : 0);
    __atomic_store_n(&record->sample.control_block, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&record->sample.signal, 0, __ATOMIC_RELAXED);
    sample_slot_clear(&record->sample);
    __atomic_store_n(&record->is_asleep, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&record->is_spared, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&record->busy_since_ticks, 0, __ATOMIC_RELAXED);
    forget_labels(&record->labels);
    __atomic_store_n(&record->name_bytes_count, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&record->is_named, false, __ATOMIC_RELAXED);
}

/* Each of the two that may take a record for a thread, itself and who holds one for it, takes first and then looks for
 * the other's: at least one of them sees both, and it is the held one that goes. */
static void drop_held(uint32_t tid) {
    struct place held;
    if (find_word(HELD | tid, &held)) swap_word(held.writers, HELD | tid, 0);
}

/* The one that is held for this thread, as it is, or a new one. */
static bool take_place(uint32_t tid, struct place *place) {
    if (find_word(HELD | tid, place) && swap_word(place->writers, HELD | tid, tid)) return true;
    if (!claim_any(tid, place)) return false;
    drop_held(tid);
    reset(place->record);
    return true;
}

static void claim_and_name(void) {
    struct place place;
    if (thread_writers_self || !take_place(own_tid(), &place)) return;
    thread_record_self = place.record;
    thread_writers_self = place.writers;
    thread_registry_name(place.record, NULL);
    grec_label_stack_ = &place.record->labels;
    call_at_exit();
}

/* Nobody finds it before it is ready. */
void thread_registry_hold(uint32_t tid) {
    struct place place, own;
    if (thread_registry_has(tid) || !claim_any(HELD, &place)) return;
    reset(place.record);
    swap_word(place.writers, HELD, HELD | tid);
    if (find_word(tid, &own)) swap_word(place.writers, HELD | tid, 0);
}

bool thread_registry_is_held(const struct thread_writers *writers) {
    return __atomic_load_n(&writers->tid, __ATOMIC_ACQUIRE) & HELD;
}

void thread_registry_drop(struct thread_writers *writers) {
    uint32_t word = __atomic_load_n(&writers->tid, __ATOMIC_ACQUIRE);
    if (word & HELD) swap_word(writers, word, 0);
}

static bool is_asked(const struct thread_record *record) {
    return __atomic_load_n(&record->sample.signal, __ATOMIC_ACQUIRE) != 0;
}

static bool is_held_for(const struct thread_record *record, uint64_t control_block) {
    return is_asked(record) &&
           __atomic_load_n(&record->sample.control_block, __ATOMIC_RELAXED) == control_block;
}

struct thread_record *thread_registry_find_asked(void) {
    uint64_t self = (uint64_t)(uintptr_t)pthread_self();
    if (thread_record_self) return is_asked(thread_record_self) ? thread_record_self : NULL;
    if (held_record_self && is_held_for(held_record_self, self)) return held_record_self;
    for (struct block *block = __atomic_load_n(&first_block, __ATOMIC_ACQUIRE); block; block = block->next)
        for (int i = 0; i < BLOCK_RECORD_COUNT; i++)
            if (is_held_for(&block->records[i], self)) return held_record_self = &block->records[i];
    return NULL;
}

struct thread_writers *thread_registry_claim(void) {
    int saved_errno = errno;
    sigset_t before;
    thread_signals_block(&before);
    claim_and_name();
    thread_signals_restore(&before);
    errno = saved_errno;
    return thread_writers_self;
}

void thread_writers_lock(struct thread_writers *writers) {
    enum { NAP_NS = 20000 };
    struct timespec nap = {0, NAP_NS};
    while (__atomic_exchange_n(&writers->lock, 1, __ATOMIC_ACQUIRE)) nanosleep(&nap, NULL);
}

void thread_writers_unlock(struct thread_writers *writers) { __atomic_store_n(&writers->lock, 0, __ATOMIC_RELEASE); }

/* A pop to come would find the record to be another thread's. */
static void keep_record(struct thread_record *record) {
    record->uid_generation = 0;
    __atomic_store_n(&record->shared_uid, 0, __ATOMIC_RELEASE);
    thread_record_start(record, 0);
    thread_registry_name(record, NULL);
}

void thread_registry_release(void) {
    struct thread_writers *writers = thread_writers_self;
    bool has_labels = thread_record_self->labels.depth;
    sigset_t before;
    thread_signals_block(&before);
    if (has_labels) {
        keep_record(thread_record_self);
    } else {
        grec_label_stack_ = NULL;
        thread_writers_self = NULL;
        thread_record_self = NULL;
    }
    thread_writers_lock(writers);
    memset(writers->writers, 0, sizeof writers->writers);
    __atomic_store_n(&writers->generation, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&writers->is_muted, 0, __ATOMIC_RELAXED);
    thread_writers_unlock(writers);
    if (!has_labels) __atomic_store_n(&writers->tid, 0, __ATOMIC_RELEASE);
    thread_signals_restore(&before);
}

void thread_registry_reclaim(void) {
    struct thread_writers *writers = thread_writers_self;
    uint32_t free_tid = 0;
    if (!writers) return;
    __atomic_compare_exchange_n(&writers->tid, &free_tid, own_tid(), false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
    __atomic_store_n(&thread_record_self->shared_uid, 0, __ATOMIC_RELEASE);
}

void thread_registry_name(struct thread_record *record, const char *name) {
    char system_name[SYSTEM_NAME_BYTES + 1] = "";
    bool is_named = name != NULL;
    if (!is_named) {
        prctl(PR_GET_NAME, system_name, 0, 0, 0);
        name = system_name;
    }
    size_t bytes = strnlen(name, is_named ? THREAD_NAME_BYTES : SYSTEM_NAME_BYTES);
    if (bytes == THREAD_NAME_BYTES && name[bytes]) recording_count_cut_outside();
    __atomic_store_n(&record->is_named, false, __ATOMIC_RELAXED);
    for (size_t i = 0; i < bytes; i++) __atomic_store_n(&record->name[i], name[i], __ATOMIC_RELAXED);
    __atomic_store_n(&record->name_bytes_count, (uint32_t)bytes, __ATOMIC_RELAXED);
    if (is_named) __atomic_store_n(&record->is_named, true, __ATOMIC_RELEASE);
}

uint32_t thread_record_copy_name(const struct thread_record *record, char name[THREAD_NAME_BYTES]) {
    uint32_t bytes_count = __atomic_load_n(&record->name_bytes_count, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < bytes_count; i++) name[i] = __atomic_load_n(&record->name[i], __ATOMIC_RELAXED);
    return bytes_count;
}

void thread_registry_each_record(void (*visit)(struct thread_writers *writers, struct thread_record *record,
                                               void *context),
                                 void *context) {
    for (struct block *block = __atomic_load_n(&first_block, __ATOMIC_ACQUIRE); block; block = block->next)
        for (int i = 0; i < BLOCK_RECORD_COUNT; i++) visit(&block->writers[i], &block->records[i], context);
}

uint32_t thread_registry_tid(const struct thread_writers *writers) {
    return __atomic_load_n(&writers->tid, __ATOMIC_ACQUIRE) & ~HELD;
}

bool thread_registry_has(uint32_t tid) {
    struct place place;
    return find_word(tid, &place) || find_word(HELD | tid, &place);
}

/* ---- Numbers in the trace. The recording's number in the high bits tells that the rest is of this one. ---- */

enum { UID_BITS = 40, GENERATION_BITS = 23 };

static const uint64_t UID_MASK = ((uint64_t)1 << UID_BITS) - 1;

static uint64_t generation_tag(void) {
    return ((uint64_t)session_generation & (((uint64_t)1 << GENERATION_BITS) - 1)) << UID_BITS;
}

uint64_t thread_record_tagged_uid(struct thread_record *record) {
    uint64_t tag = generation_tag();
    uint64_t seen = __atomic_load_n(&record->shared_uid, __ATOMIC_ACQUIRE);
    if (seen && (seen & ~UID_MASK) == tag) return seen;
    uint64_t uid = __atomic_fetch_add(&session_pool.header->next_thread_uid, 1, __ATOMIC_RELAXED);
    bool is_ours = __atomic_compare_exchange_n(&record->shared_uid, &seen, tag | uid, false, __ATOMIC_ACQ_REL,
                                               __ATOMIC_ACQUIRE);
    return is_ours ? tag | uid : seen;
}

uint64_t thread_uid_of_tagged(uint64_t tagged_uid) { return tagged_uid & UID_MASK; }

uint64_t thread_record_uid(struct thread_record *record) {
    return thread_uid_of_tagged(thread_record_tagged_uid(record));
}

bool thread_uid_is_current(uint64_t tagged_uid) {
    return (tagged_uid & ~UID_MASK) == generation_tag() && thread_uid_of_tagged(tagged_uid) >= session_first_uid;
}

/* One that has not recorded since the options changed does not know yet: it goes by its name. */
static bool is_left_out(const struct place *place) {
    const struct thread_record *record = place->record;
    char name[THREAD_NAME_BYTES];
    if (__atomic_load_n(&place->writers->generation, __ATOMIC_ACQUIRE) == session_generation)
        return __atomic_load_n(&place->writers->is_muted, __ATOMIC_RELAXED);
    return !session_wants_thread(name, thread_record_copy_name(record, name));
}

void thread_registry_look_up(uint64_t tagged_uid, uint32_t tid, bool *is_known_left_out) {
    struct place place;
    if (!find_word(tid, &place) && !find_word(HELD | tid, &place)) return;
    /* The thread of a held record has not said its name. */
    bool is_known = __atomic_load_n(&place.record->shared_uid, __ATOMIC_ACQUIRE) == tagged_uid &&
                    __atomic_load_n(&place.record->name_bytes_count, __ATOMIC_RELAXED);
    if (is_known) *is_known_left_out = is_left_out(&place);
}

struct grec_thread thread_registry_main(void) {
    uint32_t tid = (uint32_t)getpid();
    struct place place;
    if (!find_word(tid, &place) && !find_word(HELD | tid, &place)) return (struct grec_thread){0, 0};
    return thread_handle_make(thread_record_tagged_uid(place.record), tid, false);
}

void thread_registry_each(void (*visit)(struct thread_writers *writers, void *context), void *context) {
    for (struct block *block = __atomic_load_n(&first_block, __ATOMIC_ACQUIRE); block; block = block->next)
        for (int i = 0; i < BLOCK_RECORD_COUNT; i++)
            if (__atomic_load_n(&block->writers[i].tid, __ATOMIC_ACQUIRE)) visit(&block->writers[i], context);
}
