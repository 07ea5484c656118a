#include "labels.h"

#include <pthread.h>
#include <unistd.h>

#include "recorder/state/process.h"

/* A script takes two frames. The first one has its file as text, its line and column as identity, and this address. The
 * second one has its function. */
static const char script_details;

static const void *load_address(const struct grec_label_frame *frame) {
    return __atomic_load_n(&frame->address, __ATOMIC_RELAXED);
}

static void set_address(struct grec_label_frame *frame, const void *address) {
    __atomic_store_n(&frame->address, address, __ATOMIC_RELAXED);
}

/* Whether the place is the second one of a script. */
static bool is_script(const struct grec_label_stack *labels, uint32_t place) {
    return place && load_address(&labels->frames[place - 1]) == &script_details;
}

static void fill_in(struct grec_label_frame *frame, struct grec_label *label, const char *text, const void *address,
                    uint64_t identity) {
    frame->label = label;
    frame->text = text;
    frame->identity = identity;
    __atomic_signal_fence(__ATOMIC_RELEASE);
    set_address(frame, address);
}

/* The sampler reads the labels of a thread that waits, and drops what it has read if the thread has moved meanwhile.
 * The thread sanitizer does not know that. */
#define READS_LABELS __attribute__((no_sanitize("thread")))

/* ---- The thread's own stack. ---- */

extern void *__libc_stack_end __attribute__((weak));

static bool is_below(const char *end, const char *address) { return (size_t)(end - address) < GREC_OWN_STACK_BYTES_; }

/* The C library puts a thread's control block at the end of its stack. The first thread of the process has its stack
 * from the kernel. */
void labels_find_own_end(struct grec_label_stack *labels) {
    const char *here = __builtin_frame_address(0), *control_block = (const char *)(uintptr_t)pthread_self();
    const char *first_end = &__libc_stack_end ? __libc_stack_end : NULL;
    bool is_first = first_end && (is_below(first_end, here) || process_own_tid() == (uint32_t)getpid());
    labels->own_end = is_first && !is_below(control_block, here) ? first_end : control_block;
}

READS_LABELS bool labels_are_own(const struct grec_label_stack *labels, uint64_t address) {
    return (uint64_t)(uintptr_t)labels->own_end - address < GREC_OWN_STACK_BYTES_;
}

/* ---- Other stacks. The first of their frames is the last one of all. ---- */

enum { OTHER_COUNT_MAX = 40 };

static uint32_t other_place(uint32_t number) { return GREC_LABEL_DEPTH_MAX - 1 - number; }

static bool is_same_variable(const struct grec_label_frame *frame, const void *variable) {
    return (uint32_t)frame->identity == (uint32_t)(uintptr_t)variable;
}

static void remove_other(struct grec_label_stack *labels, uint32_t place) {
    set_address(&labels->frames[place], NULL);
    if (is_script(labels, place)) set_address(&labels->frames[place - 1], NULL);
}

/* Returns a frame that is not used, or that has the same label from a function that longjmp has left. If there are too
 * many, the first one is left out: its coroutine may have ended, or gone on in another thread. */
static uint32_t find_other_place(struct grec_label_stack *labels, const void *address, uint64_t identity) {
    uint32_t count = labels->other_count;
    for (uint32_t i = 0; i < count; i++) {
        struct grec_label_frame *frame = &labels->frames[other_place(i)];
        const void *at = load_address(frame);
        if (!at || (identity && at == address && frame->identity == identity)) return other_place(i);
    }
    if (count == OTHER_COUNT_MAX) return other_place(0);
    if (labels->depth + count == GREC_LABEL_DEPTH_MAX) return GREC_LABEL_DEPTH_MAX;
    __atomic_store_n(&labels->other_count, count + 1, __ATOMIC_RELAXED);
    return other_place(count);
}

grec_label_place grec_label_push_other_(struct grec_label *label, const char *text, const void *address,
                                        uint64_t identity) {
    struct grec_label_stack *labels = grec_label_stack_;
    uint32_t place = find_other_place(labels, address, identity);
    if (place == GREC_LABEL_DEPTH_MAX) return 0;
    remove_other(labels, place);
    __atomic_signal_fence(__ATOMIC_ACQ_REL);
    fill_in(&labels->frames[place], label, text, address, identity);
    return GREC_OTHER_PLACE_ | place;
}

void grec_label_pop_other_(grec_label_place pushed, const void *variable) {
    struct grec_label_stack *labels = grec_label_stack_;
    uint32_t place = pushed & ~GREC_OTHER_PLACE_, count = labels->other_count;
    if (place >= GREC_LABEL_DEPTH_MAX || !is_same_variable(&labels->frames[place], variable)) return;
    remove_other(labels, place);
    while (count && !load_address(&labels->frames[other_place(count - 1)])) count--;
    __atomic_store_n(&labels->other_count, count, __ATOMIC_RELAXED);
}

/* ---- Scripts. ---- */

static void fill_in_script(struct grec_label_frame frames[2], struct grec_label *label, const char *function,
                           const char *file, uint64_t position, const void *address) {
    __atomic_signal_fence(__ATOMIC_ACQ_REL);
    fill_in(&frames[0], NULL, file ? file : "", &script_details, position);
    fill_in(&frames[1], label, function, address, 0);
}

grec_label_place grec_script_push_(struct grec_label *label, const char *function, const char *file, uint32_t line,
                                   uint32_t column) {
    const char *address = (const char *)__builtin_frame_address(0) + 2 * sizeof(void *);
    uint64_t position = (uint64_t)line << 32 | column;
    struct grec_label_stack *labels = grec_label_stack_ ? grec_label_stack_ : grec_label_stack_acquire_();
    if (!labels || labels->depth + labels->other_count + 2 > GREC_LABEL_DEPTH_MAX) return 0;
    uint32_t depth = labels->depth, count = labels->other_count;
    if (labels_are_own(labels, (uint64_t)(uintptr_t)address)) {
        __atomic_store_n(&labels->depth, depth + 2, __ATOMIC_RELAXED);
        fill_in_script(&labels->frames[depth], label, function, file, position, address);
        return depth + 1;
    }
    if (count + 2 > OTHER_COUNT_MAX) return 0;
    __atomic_store_n(&labels->other_count, count + 2, __ATOMIC_RELAXED);
    fill_in_script(&labels->frames[other_place(count + 1)], label, function, file, position, address);
    return GREC_OTHER_PLACE_ | other_place(count);
}

void grec_script_line_(grec_label_place pushed, uint32_t line, uint32_t column) {
    struct grec_label_stack *labels = grec_label_stack_;
    uint32_t place = pushed >= GREC_OTHER_PLACE_ ? pushed & ~GREC_OTHER_PLACE_ : pushed;
    if (!labels || place >= GREC_LABEL_DEPTH_MAX || !is_script(labels, place)) return;
    __atomic_store_n(&labels->frames[place - 1].identity, (uint64_t)line << 32 | column, __ATOMIC_RELAXED);
}

/* ---- Finding. ---- */

static bool read_word(const struct label_reader *reader, uint64_t address, uint64_t *word) {
    if (reader) return reader->copy(reader->context, word, address, sizeof *word) == sizeof *word;
    *word = *(const uintptr_t *)(uintptr_t)address;
    return true;
}

/* Whether the frame that the label is of is still there: behind it is the return address of its function. */
READS_LABELS static bool is_live(const struct grec_label_frame *frame, uint64_t address,
                                 const struct label_reader *reader) {
    uint64_t return_address = 0;
    return !frame->identity || (read_word(reader, address + sizeof(void *), &return_address) &&
                                (uint32_t)return_address == (uint32_t)(frame->identity >> 32));
}

/* A label that stays until it is popped may be of a function that has returned. */
READS_LABELS static bool is_of_own_stack(const struct grec_label_frame *frame, const void *address,
                                         struct stack_part part, const struct label_reader *reader) {
    if (!address || address == &script_details) return false;
    uint64_t at = (uint64_t)(uintptr_t)address;
    return !frame->identity || (at >= part.low && is_live(frame, at, reader));
}

READS_LABELS static bool is_of_other_stack(const struct grec_label_frame *frame, const void *address,
                                           struct stack_part part, const struct label_reader *reader) {
    uint64_t at = (uint64_t)(uintptr_t)address;
    return address && at >= part.low && at < part.high && is_live(frame, at, reader);
}

/* On other stacks, labels are not in the order of their addresses. */
READS_LABELS static void add_place(const struct grec_label_stack *labels, uint8_t place, uint8_t *places,
                                   uint32_t count) {
    const char *address = labels->frames[place].address;
    for (; count && (const char *)labels->frames[places[count - 1]].address < address; count--)
        places[count] = places[count - 1];
    places[count] = place;
}

static uint32_t find_own(const struct grec_label_stack *labels, struct stack_part part,
                         const struct label_reader *reader, uint8_t *places) {
    uint32_t found_count = 0, depth = __atomic_load_n(&labels->depth, __ATOMIC_RELAXED);
    for (uint32_t place = 0; place < depth && place < GREC_LABEL_DEPTH_MAX; place++) {
        const void *address = load_address(&labels->frames[place]);
        __atomic_signal_fence(__ATOMIC_ACQUIRE);
        if (is_of_own_stack(&labels->frames[place], address, part, reader)) places[found_count++] = (uint8_t)place;
    }
    return found_count;
}

static uint32_t find_other(const struct grec_label_stack *labels, struct stack_part part,
                           const struct label_reader *reader, uint8_t *places) {
    uint32_t found_count = 0, count = __atomic_load_n(&labels->other_count, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < count && i < GREC_LABEL_DEPTH_MAX; i++) {
        uint32_t place = other_place(i);
        const void *address = load_address(&labels->frames[place]);
        __atomic_signal_fence(__ATOMIC_ACQUIRE);
        if (is_of_other_stack(&labels->frames[place], address, part, reader))
            add_place(labels, (uint8_t)place, places, found_count++);
    }
    return found_count;
}

uint32_t labels_find(const struct grec_label_stack *labels, struct stack_part part, const struct label_reader *reader,
                     uint8_t places[GREC_LABEL_DEPTH_MAX]) {
    if (labels_are_own(labels, part.low)) return find_own(labels, part, reader, places);
    uint32_t count = part.reaches_own ? find_own(labels, (struct stack_part){0}, reader, places) : 0;
    return count + find_other(labels, part, reader, places + count);
}

READS_LABELS struct label_view labels_view(const struct grec_label_stack *labels, uint8_t place) {
    const struct grec_label_frame *frame = &labels->frames[place];
    struct label_view view = {.label = frame->label, .text = frame->text, .address = load_address(frame)};
    if (!is_script(labels, place)) return view;
    uint64_t position = __atomic_load_n(&frame[-1].identity, __ATOMIC_RELAXED);
    view.file = frame[-1].text;
    view.line = (uint32_t)(position >> 32);
    view.column = (uint32_t)position;
    return view;
}

bool labels_are_pushed(const struct grec_label_stack *labels) { return labels->depth || labels->other_count; }

void labels_forget(struct grec_label_stack *labels) {
    for (uint32_t i = 0; i < GREC_LABEL_DEPTH_MAX && labels_are_pushed(labels); i++)
        set_address(&labels->frames[i], NULL);
    __atomic_store_n(&labels->depth, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&labels->other_count, 0, __ATOMIC_RELAXED);
}
