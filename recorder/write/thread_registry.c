#include "thread_registry.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "recorder/state/clock.h"
#include "recorder/state/process.h"
#include "recorder/state/sampler_hooks.h"
#include "recorder/state/signal_mask.h"

enum { BLOCK_RECORD_COUNT = 16, RELEASED_COUNT_MAX = 512 };

/* Flags in a record's owner word. A pid has 22 bits. */
static const uint32_t HELD = (uint32_t)1 << 31, RELEASED = (uint32_t)1 << 30, CLAIMED = (uint32_t)1 << 29;
static const uint32_t FLAGS = (uint32_t)7 << 29;

/* Records that were mapped together. Never unmapped: a thread may hold one for as long as it lives. */
struct block {
    struct block *next;
    struct thread_writers *writers; /* BLOCK_RECORD_COUNT of them, cleared in children */
    struct thread_record records[BLOCK_RECORD_COUNT];
};

static struct block *first_block;
static pthread_key_t exit_key;
static bool has_exit_key;
static int first_filter_mode;  /* PR_GET_SECCOMP, before the first recording */
static uint32_t ends_silently; /* threads end without a call of the recorder */

__thread struct thread_writers *thread_writers_self;
__thread struct thread_record *thread_record_self;
__thread struct grec_label_stack *grec_label_stack_;

/* The first time that this is called for a thread, the destructors of other keys are still to come, which may work. If
 * the key is set again, this is called again after them. */
static void end_thread(void *value) {
    if (__atomic_load_n(&ends_silently, __ATOMIC_RELAXED)) return;
    if (value != &exit_key && pthread_setspecific(exit_key, &exit_key) == 0) return;
    if (sampler_table()) sampler_table()->end_of_thread(process_own_tid() == (uint32_t)getpid());
    if (thread_record_self) labels_forget(&thread_record_self->labels);
    grec_thread_unregister();
}

/* The key is set in the first thread, so that its end is noticed even if that thread never records. */
void thread_registry_init(void) {
    if (has_exit_key) return;
    has_exit_key = pthread_key_create(&exit_key, end_thread) == 0;
    if (has_exit_key) pthread_setspecific(exit_key, &exit_key);
}

void thread_registry_silence(void) { __atomic_store_n(&ends_silently, 1, __ATOMIC_RELAXED); }

static struct block *map_block(void) {
    struct block *block =
        mmap(NULL, sizeof *block, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (block == MAP_FAILED) return NULL;
    block->writers = process_map_wiped(sizeof *block->writers * BLOCK_RECORD_COUNT);
    if (block->writers) return block;
    munmap(block, sizeof *block);
    return NULL;
}

/* A record and its writers. */
struct entry {
    struct thread_writers *writers;
    struct thread_record *record;
};

/* The owner word of a record is 0, HELD while the record is made ready, the id of the thread that has it, or a flag and
 * the id of a thread: HELD for it, RELEASED by it, or CLAIMED by it until it knows that none is held for it. A released
 * record is free once that thread is gone and the sampler has read what it has left and dropped it, or if
 * RELEASED_COUNT_MAX others are released. It shows the sampler that the thread has had its track. take_entry relies on
 * the order of these operations. */
static bool swap_word(struct thread_writers *writers, uint32_t from, uint32_t to) {
    return __atomic_compare_exchange_n(&writers->tid, &from, to, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

static uint32_t load_word(const struct thread_writers *writers) {
    return __atomic_load_n(&writers->tid, __ATOMIC_SEQ_CST);
}

static bool is_gone(uint32_t tid) { return syscall(SYS_tgkill, getpid(), tid, 0) != 0 && errno == ESRCH; }

static bool claim_in(struct block *block, struct entry *entry) {
    for (int i = 0; i < BLOCK_RECORD_COUNT; i++) {
        if (load_word(&block->writers[i]) || !swap_word(&block->writers[i], 0, HELD)) continue;
        *entry = (struct entry){&block->writers[i], &block->records[i]};
        return true;
    }
    return false;
}

/* Takes the record of a thread that ended without releasing it, because its exit key could not be set, or a released
 * one that is free although the sampler has not dropped it. The new owner's first recording call finds no room, and
 * gives back the chunks in its writers: there, the pool is known to be open. */
static bool inherit(struct block *block, uint32_t *released_count, struct entry *entry) {
    for (int i = 0; i < BLOCK_RECORD_COUNT; i++) {
        struct thread_writers *writers = &block->writers[i];
        uint32_t old_word = __atomic_load_n(&writers->tid, __ATOMIC_RELAXED), old_tid = old_word & ~FLAGS;
        if (old_word & RELEASED && ++*released_count <= RELEASED_COUNT_MAX) continue;
        if (!old_tid || !is_gone(old_tid) || !swap_word(writers, old_word, HELD)) continue;
        if (writers->generation) writers->orphan_generation = writers->generation;
        writers->generation = 0;
        for (int j = 0; j < NESTING_MAX; j++) writers->writers[j].next = writers->writers[j].end = NULL;
        __atomic_store_n(&writers->is_muted, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&writers->depth, 0, __ATOMIC_RELAXED);
        *entry = (struct entry){writers, &block->records[i]};
        return true;
    }
    return false;
}

/* Takes a free record, and holds it while it is made ready. Returns false if there is no memory. */
static bool take_free(struct entry *entry) {
    uint32_t released_count = 0;
    for (struct block *block = __atomic_load_n(&first_block, __ATOMIC_ACQUIRE); block; block = block->next)
        if (claim_in(block, entry)) return true;
    for (struct block *block = __atomic_load_n(&first_block, __ATOMIC_ACQUIRE); block; block = block->next)
        if (inherit(block, &released_count, entry)) return true;
    struct block *block = map_block();
    if (!block) return false;
    claim_in(block, entry);
    block->next = __atomic_load_n(&first_block, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&first_block, &block->next, block, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
    }
    return true;
}

/* Finds a record whose owner word is this one if the flags are left out. */
static bool find_word(uint32_t word, uint32_t flags, struct entry *entry) {
    for (struct block *block = __atomic_load_n(&first_block, __ATOMIC_SEQ_CST); block; block = block->next)
        for (int i = 0; i < BLOCK_RECORD_COUNT; i++) {
            if ((load_word(&block->writers[i]) & ~flags) != word) continue;
            *entry = (struct entry){&block->writers[i], &block->records[i]};
            return true;
        }
    return false;
}

/* The values of keys below 32 lie in the thread itself. Setting others may allocate memory, which a signal handler must
 * not do. */
static void call_at_exit(void) {
    enum { KEYS_IN_THREAD = 32 };
    if (has_exit_key && exit_key < KEYS_IN_THREAD) pthread_setspecific(exit_key, thread_record_self);
}

static void reset(struct thread_record *record) {
    record->uid_generation = 0;
    __atomic_store_n(&record->shared_uid, 0, __ATOMIC_RELEASE);
    thread_record_start(record, clock_is_known() ? clock_ticks() : 0);
    __atomic_store_n(&record->control_block, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&record->is_asleep, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&record->is_spared, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&record->demand, (uint32_t)THREAD_NOT_DEMANDED, __ATOMIC_RELAXED);
    __atomic_store_n(&record->busy_since_ticks, 0, __ATOMIC_RELAXED);
    labels_forget(&record->labels); /* labels that its last thread did not pop */
    __atomic_store_n(&record->name_bytes_count, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&record->is_named, false, __ATOMIC_RELAXED);
}

static bool take_word(uint32_t word, uint32_t to, struct entry *entry) {
    return find_word(word, 0, entry) && swap_word(entry->writers, word, to);
}

/* Claims the record that is held for this thread, and leaves it as it is. Otherwise claims the one that the thread has
 * released, or a new one. The sampler may take one to hold while that is made ready. It may have sampled the thread
 * then, so that one is used. Each of the two takes its record first, and then looks for the other's. So at least one of
 * them sees both: the thread takes the held one, or the sampler drops it. A thread that is interrupted in between is
 * sampled in the held one alone: in a claimed one, nobody finds the thread. */
static bool take_entry(uint32_t tid, struct entry *entry) {
    struct entry fresh, held;
    if (take_word(HELD | tid, tid, entry)) return true;
    if (!take_word(RELEASED | tid, HELD, &fresh) && !take_free(&fresh)) return false;
    reset(fresh.record);
    swap_word(fresh.writers, HELD, CLAIMED | tid);
    bool is_held = take_word(HELD | tid, tid, &held);
    swap_word(fresh.writers, CLAIMED | tid, is_held ? 0 : tid);
    *entry = is_held ? held : fresh;
    return true;
}

static void claim_and_name(void) {
    struct entry entry;
    if (thread_writers_self || !take_entry(process_own_tid(), &entry)) return;
    thread_record_self = entry.record;
    thread_writers_self = entry.writers;
    thread_registry_name(entry.record, NULL);
    labels_find_own_end(&entry.record->labels);
    grec_label_stack_ = &entry.record->labels;
    call_at_exit();
}

/* The owner word has no thread id before the record is ready, so nobody finds it. A thread may claim a record, record
 * and release it meanwhile. */
bool thread_registry_hold(uint32_t tid) {
    struct entry entry, own;
    if (find_word(tid, FLAGS, &own)) return !(load_word(own.writers) & RELEASED);
    if (!take_free(&entry)) return true;
    reset(entry.record);
    swap_word(entry.writers, HELD, HELD | tid);
    if (find_word(tid, RELEASED | CLAIMED, &own)) swap_word(entry.writers, HELD | tid, 0);
    return true;
}

bool thread_registry_is_held(const struct thread_writers *writers) {
    return __atomic_load_n(&writers->tid, __ATOMIC_ACQUIRE) & HELD;
}

uint32_t thread_registry_absent_tid(const struct thread_writers *writers) {
    uint32_t word = __atomic_load_n(&writers->tid, __ATOMIC_ACQUIRE);
    return word & (HELD | RELEASED) ? word & ~(HELD | RELEASED) : 0;
}

void thread_registry_drop(struct thread_writers *writers) {
    uint32_t word = __atomic_load_n(&writers->tid, __ATOMIC_ACQUIRE);
    if (word & (HELD | RELEASED) && word != HELD) swap_word(writers, word, 0);
}

struct thread_writers *thread_registry_claim(void) {
    int saved_errno = errno;
    sigset_t before;
    signal_mask_block_all(&before);
    claim_and_name();
    signal_mask_restore(&before);
    errno = saved_errno;
    return thread_writers_self;
}

void thread_writers_lock(struct thread_writers *writers) {
    enum { NAP_NS = 20000 };
    struct timespec nap = {0, NAP_NS};
    while (__atomic_exchange_n(&writers->lock, 1, __ATOMIC_ACQUIRE)) nanosleep(&nap, NULL);
}

void thread_writers_unlock(struct thread_writers *writers) { __atomic_store_n(&writers->lock, 0, __ATOMIC_RELEASE); }

/* The thread still has labels to pop, so another thread must not claim its record. */
static void keep_record(struct thread_record *record) {
    record->uid_generation = 0;
    __atomic_store_n(&record->shared_uid, 0, __ATOMIC_RELEASE);
    thread_record_start(record, 0);
    thread_registry_name(record, NULL);
}

void thread_registry_look_for_filter(void) { first_filter_mode = prctl(PR_GET_SECCOMP); }

/* The order of these operations lets left_tid tell whether another thread has changed `from` meanwhile. */
static void copy_left(struct thread_left *to, const struct thread_left *from) {
    __atomic_store_n(&to->cpu_ns, __atomic_load_n(&from->cpu_ns, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
    __atomic_store_n(&to->ticks, __atomic_load_n(&from->ticks, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
    for (size_t i = 0; i < sizeof to->name; i++)
        __atomic_store_n(&to->name[i], __atomic_load_n(&from->name[i], __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
}

/* The sampler cannot ask for the processor time and the name of a thread that has ended. Under a filter of system calls
 * that the program has installed, the questions might end the process. Filters of containers are there before. */
static void leave_facts(struct thread_record *record) {
    struct thread_left left = {.cpu_ns = 0};
    if (!sampler_samples_threads_now()) return;
    if (prctl(PR_GET_SECCOMP) == first_filter_mode) {
        left.cpu_ns = clock_ns_of(CLOCK_THREAD_CPUTIME_ID);
        left.ticks = clock_ticks();
        prctl(PR_GET_NAME, left.name, 0, 0, 0);
    }
    __atomic_store_n(&record->left_tid, 0, __ATOMIC_RELEASE);
    copy_left(&record->left, &left);
    __atomic_store_n(&record->left_tid, process_own_tid(), __ATOMIC_RELEASE);
}

struct thread_left thread_record_left(const struct thread_record *record, uint32_t tid) {
    const struct thread_left none = {.cpu_ns = 0};
    struct thread_left left;
    bool is_of_thread = __atomic_load_n(&record->left_tid, __ATOMIC_ACQUIRE) == tid;
    copy_left(&left, &record->left);
    return is_of_thread && __atomic_load_n(&record->left_tid, __ATOMIC_ACQUIRE) == tid ? left : none;
}

void thread_registry_release(void) {
    struct thread_writers *writers = thread_writers_self;
    bool has_labels = labels_are_pushed(&thread_record_self->labels);
    sigset_t before;
    signal_mask_block_all(&before);
    if (has_labels) {
        keep_record(thread_record_self);
    } else {
        leave_facts(thread_record_self);
        /* The thread's clocks may run on for a moment. */
        __atomic_store_n(&thread_record_self->control_block, 0, __ATOMIC_RELAXED);
        grec_label_stack_ = NULL;
        thread_writers_self = NULL;
        thread_record_self = NULL;
    }
    thread_writers_lock(writers);
    memset(writers->writers, 0, sizeof writers->writers);
    __atomic_store_n(&writers->generation, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&writers->is_muted, 0, __ATOMIC_RELAXED);
    thread_writers_unlock(writers);
    /* Without samples, nobody would hold a record for the thread, or read what it has left. */
    uint32_t left_word = sampler_samples_threads_now() ? RELEASED | load_word(writers) : 0;
    if (!has_labels) __atomic_store_n(&writers->tid, left_word, __ATOMIC_SEQ_CST);
    signal_mask_restore(&before);
}

void thread_registry_reclaim(void) {
    struct thread_writers *writers = thread_writers_self;
    uint32_t free_tid = 0;
    if (!writers) return;
    __atomic_compare_exchange_n(&writers->tid, &free_tid, process_own_tid(), false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
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
    if (bytes == THREAD_NAME_BYTES && name[bytes]) recording_count_loss_outside(LOSS_TEXT);
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
    uint32_t word = __atomic_load_n(&writers->tid, __ATOMIC_ACQUIRE);
    return word & (RELEASED | CLAIMED) ? 0 : word & ~HELD;
}

/* ---- Numbers in the trace. ---- */

enum { UID_BITS = 40, GENERATION_BITS = 23 };

static const uint64_t UID_MASK = ((uint64_t)1 << UID_BITS) - 1;

static uint64_t generation_tag(void) {
    return ((uint64_t)recording_generation & (((uint64_t)1 << GENERATION_BITS) - 1)) << UID_BITS;
}

uint64_t thread_record_tagged_uid(struct thread_record *record) {
    uint64_t tag = generation_tag();
    uint64_t seen = __atomic_load_n(&record->shared_uid, __ATOMIC_ACQUIRE);
    if (seen && (seen & ~UID_MASK) == tag) return seen;
    uint64_t uid = __atomic_fetch_add(&recording_pool.header->next_thread_uid, 1, __ATOMIC_RELAXED);
    bool is_ours =
        __atomic_compare_exchange_n(&record->shared_uid, &seen, tag | uid, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    return is_ours ? tag | uid : seen;
}

uint64_t thread_uid_of_tagged(uint64_t tagged_uid) { return tagged_uid & UID_MASK; }

uint64_t thread_record_uid(struct thread_record *record) {
    return thread_uid_of_tagged(thread_record_tagged_uid(record));
}

bool thread_uid_is_current(uint64_t tagged_uid) {
    return (tagged_uid & ~UID_MASK) == generation_tag() && thread_uid_of_tagged(tagged_uid) >= recording_first_uid;
}

/* A thread that has not recorded since the options changed has not updated is_muted: its name decides. */
static bool is_left_out(const struct entry *entry) {
    const struct thread_record *record = entry->record;
    char name[THREAD_NAME_BYTES];
    if (thread_writers_know_filter(entry->writers)) return __atomic_load_n(&entry->writers->is_muted, __ATOMIC_RELAXED);
    return !recording_wants_thread(name, thread_record_copy_name(record, name));
}

static bool find_tagged(uint64_t tagged_uid, uint32_t tid, struct entry *entry) {
    return find_word(tid, HELD, entry) && __atomic_load_n(&entry->record->shared_uid, __ATOMIC_ACQUIRE) == tagged_uid;
}

struct thread_record *thread_registry_find(uint64_t tagged_uid, uint32_t tid) {
    struct entry entry;
    return find_tagged(tagged_uid, tid, &entry) ? entry.record : NULL;
}

/* The name of a held record is not known. */
void thread_registry_look_up(uint64_t tagged_uid, uint32_t tid, bool *is_known_left_out) {
    struct entry entry;
    bool is_found = find_tagged(tagged_uid, tid, &entry);
    if (is_found && __atomic_load_n(&entry.record->name_bytes_count, __ATOMIC_RELAXED))
        *is_known_left_out = is_left_out(&entry);
}

struct thread_record *thread_registry_record_of(uint32_t tid) {
    struct entry entry;
    return find_word(tid, HELD, &entry) ? entry.record : NULL;
}
