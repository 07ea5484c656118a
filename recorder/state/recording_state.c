#include "recording_state.h"

#include <ctype.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "clock.h"
#include "process.h"
#include "recorder/trace_format.h"
#include "sampler_hooks.h"

uint32_t grec_recording_;
struct pool recording_pool = {.file = -1, .memory_file = -1};
uint32_t recording_generation;
uint64_t recording_first_uid;
bool (*recording_enter_child)(void);
bool (*recording_obey)(void);
uint64_t recording_obeyed_word;

const uint64_t recording_no_group_word;
const uint64_t *recording_group_word = &recording_no_group_word;

GREC_SHARE_DATA(recording_pool);
GREC_SHARE_DATA(recording_generation);
GREC_SHARE_DATA(recording_obeyed_word);
GREC_SHARE_DATA(recording_group_word);

/* ---- On and off. ---- */

void recording_switch(bool is_on) {
    bool is_by_clock = recorder_clock.kind == TRACE_CLOCK_MONOTONIC || clock_is_counter_forbidden();
    uint32_t on = is_by_clock ? RECORDING_BY_CLOCK : RECORDING_BY_COUNTER;
    __atomic_store_n(&grec_recording_, is_on ? on : 0, __ATOMIC_SEQ_CST);
}

void recording_switch_to_pause(void) { __atomic_store_n(&grec_recording_, RECORDING_PAUSED, __ATOMIC_SEQ_CST); }

/* Between the two steps a recording call of another thread may still read the counter. That is allowed: only the
 * calling thread is about to be forbidden to read it. */
void recording_forbid_counter(void) {
    uint32_t by_counter = RECORDING_BY_COUNTER;
    clock_forbid_counter();
    __atomic_compare_exchange_n(&grec_recording_, &by_counter, (uint32_t)RECORDING_BY_CLOCK, false, __ATOMIC_SEQ_CST,
                                __ATOMIC_RELAXED);
}

static bool has_membarrier;

static long membarrier(int command) { return syscall(SYS_membarrier, command, 0, 0); }

void recording_fence_init(void) { has_membarrier = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0; }

/* The system call is a full barrier in the calling thread too. */
void recording_fence(void) {
    if (has_membarrier && membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0) return;
    /* Long enough for any store to have left its processor. */
    usleep(10000);
}

/* strerror is not async-signal-safe. */
static const char *error_text(int error) {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 32)
    const char *text = strerrordesc_np(error);
    return text ? text : "error";
#else
    return error == ENOSPC ? "no space left on device" : error == EFBIG ? "file too large" : "error";
#endif
}

static struct iovec part_of(const char *text) {
    return (struct iovec){.iov_base = (void *)(uintptr_t)text, .iov_len = strlen(text)};
}

/* One call writes the line, so that those of several processes do not mix. */
static void report(const char *reason) {
    const struct iovec line[] = {part_of("gecko-recorder: recording stopped: "), part_of(recording_pool.path),
                                 part_of(" cannot grow: "), part_of(reason), part_of("\n")};
    enum { COUNT = sizeof line / sizeof *line };
    int saved_errno = errno;
    if (!sampler_table() || !sampler_table()->report(line, COUNT)) syscall(SYS_writev, STDERR_FILENO, line, COUNT);
    errno = saved_errno;
}

void recording_stop_for_storage(int error) {
    struct trace_header *header = recording_pool.base ? recording_pool.header : NULL;
    uint32_t none = TRACE_STOP_NONE;
    recording_switch(false);
    if (!header) return;
    __atomic_store_n(&header->stop_errno, (uint32_t)error, __ATOMIC_RELAXED);
    __atomic_store_n(&header->stop_ticks, clock_ticks(), __ATOMIC_RELAXED);
    if (!__atomic_compare_exchange_n(&header->stop_reason, &none, (uint32_t)TRACE_STOP_STORAGE, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return;
    report(error_text(error));
}

/* ---- Which threads are wanted. ---- */

/* Threads may be reading the words that were set before: the two texts take turns. */
static char filters[2][POOL_FILTER_BYTES];
static const char *filter = filters[0];

static const char *load_filter(void) { return __atomic_load_n(&filter, __ATOMIC_ACQUIRE); }

void recording_set_thread_filter(const char *words) {
    char *other = load_filter() == filters[0] ? filters[1] : filters[0];
    memcpy(other, words, strlen(words) + 1);
    __atomic_store_n(&filter, other, __ATOMIC_RELEASE);
}

bool recording_has_thread_filter(void) { return *load_filter(); }

static bool contains_word(const char *name, uint32_t name_bytes, const char *word, size_t word_bytes) {
    for (uint32_t i = 0; i + word_bytes <= name_bytes; i++) {
        size_t j = 0;
        while (j < word_bytes && tolower((unsigned char)name[i + j]) == tolower((unsigned char)word[j])) j++;
        if (j == word_bytes) return true;
    }
    return false;
}

#define PID_WORD "pid:"
enum { PID_WORD_BYTES = sizeof PID_WORD - 1 };

/* strtoul is not async-signal-safe. */
static bool is_own_pid(const char *digits, size_t digit_count) {
    const struct process_state *process = process_self();
    uint64_t pid = 0;
    for (size_t i = 0; i < digit_count && digits[i] >= '0' && digits[i] <= '9' && pid <= UINT32_MAX; i++)
        pid = pid * 10 + (uint64_t)(digits[i] - '0');
    return process && digit_count && pid == process->pid;
}

static bool stands_for(const char *word, size_t word_bytes, const char *name, uint32_t name_bytes) {
    if (word_bytes >= PID_WORD_BYTES && !memcmp(word, PID_WORD, PID_WORD_BYTES))
        return is_own_pid(word + PID_WORD_BYTES, word_bytes - PID_WORD_BYTES);
    return contains_word(name, name_bytes, word, word_bytes);
}

static bool is_sampler(const char *name, uint32_t name_bytes) {
    return name_bytes == sizeof SAMPLER_THREAD_NAME - 1 && !memcmp(name, SAMPLER_THREAD_NAME, name_bytes);
}

bool recording_wants_thread(const char *name, uint32_t name_bytes_count) {
    bool is_any_asked = false, is_asked = false;
    const char *words = load_filter();
    if (!*words || is_sampler(name, name_bytes_count)) return true;
    while (*words) {
        size_t word_bytes = strcspn(words, ","), sign_bytes = *words == '-';
        bool is_match =
            word_bytes > sign_bytes && stands_for(words + sign_bytes, word_bytes - sign_bytes, name, name_bytes_count);
        if (sign_bytes && is_match) return false;
        is_any_asked |= word_bytes && !sign_bytes;
        is_asked |= is_match;
        words += word_bytes;
        if (*words == ',') words++;
    }
    return is_asked || !is_any_asked;
}

/* ---- What was lost. ---- */

static uint64_t outside_counts[LOSS_KIND_COUNT];

static uint64_t *count_of(enum loss_kind kind) {
    static const size_t offsets[LOSS_KIND_COUNT] = {
        [LOSS_EVENT] = offsetof(struct trace_header, lost_event_count),
        [LOSS_TEXT] = offsetof(struct trace_header, cut_text_count),
        [LOSS_DEFINITION] = offsetof(struct trace_header, lost_definition_count),
        [LOSS_VALUE] = offsetof(struct trace_header, mismatched_value_count),
        [LOSS_STALE_MARKER] = offsetof(struct trace_header, stale_marker_count),
        [LOSS_PROCESS] = offsetof(struct trace_header, silent_process_count),
    };
    return (uint64_t *)(void *)((unsigned char *)recording_pool.header + offsets[kind]);
}

void recording_count_loss(enum loss_kind kind, uint64_t count) {
    if (recording_pool.base) __atomic_fetch_add(count_of(kind), count, __ATOMIC_RELAXED);
}

void recording_count_loss_outside(enum loss_kind kind) {
    __atomic_fetch_add(&outside_counts[kind], 1, __ATOMIC_RELAXED);
}

void recording_flush_losses(void) {
    for (int kind = 0; kind < LOSS_KIND_COUNT; kind++) {
        uint64_t count = __atomic_exchange_n(&outside_counts[kind], 0, __ATOMIC_RELAXED);
        if (count) recording_count_loss((enum loss_kind)kind, count);
    }
}
