#include "waiting_stack.h"

#include <string.h>

#include "label_copy.h"
#include "own_memory.h"
#include "recorder/state/own_code.h"
#include "recorder/state/recording_state.h"
#include "recorder/unwind/frame_depth.h"
#include "recorder/unwind/stack_walk.h"
#include "recorder/unwind/unwind_table.h"
#include "sampled_thread.h"
#include "task_list.h"

enum {
    STACK_BYTES_FIRST = 8 * 1024, /* most stacks need no more */
    STACK_BYTES_MAX = 256 * 1024,
    LABEL_BYTES_MAX = 24 * 1024,
};

static struct {
    struct own_memory memory;
    uint64_t stack[STACK_BYTES_MAX / sizeof(uint64_t)];
    struct walked_frame walked[NATIVE_FRAME_COUNT_MAX];
    size_t walked_count;
    struct label_copy labels;
    _Alignas(8) unsigned char label_bytes[LABEL_BYTES_MAX];
} copy;

static size_t copy_memory(void *context, void *to, uint64_t address, size_t bytes_count) {
    return own_memory_copy(context, to, address, bytes_count);
}

/* ---- Frames of functions, by their code. ---- */

enum { DEPTH_SLOT_COUNT = 256 };

/* A cache of frame depths, valid while the same objects are loaded. */
static struct depth_slot {
    uint64_t snapshot_number;
    uint64_t end;
    struct frame_depth depth; /* sp_bytes 0: it cannot be found */
} depth_slots[DEPTH_SLOT_COUNT];

static struct frame_depth find_depth_in_code(const struct unwind_snapshot *snapshot, uint64_t end) {
    static unsigned char code[FRAME_CODE_BYTES_MAX];
    const struct frame_depth none = {.sp_bytes = 0};
    struct frame_depth depth;
    uint64_t start, function_end;
    if (!unwind_snapshot_find_function(snapshot, end - 1, &start, &function_end)) return none;
    uint64_t bytes_count = function_end - start;
    if (bytes_count > sizeof code || own_memory_copy(&copy.memory, code, start, bytes_count) != bytes_count)
        return none;
    return frame_depth_find(code, (uint32_t)bytes_count, (uint32_t)(end - start), &depth) ? depth : none;
}

static bool find_depth(const struct unwind_snapshot *snapshot, uint64_t end, uint32_t fp_bytes, uint32_t *sp_bytes) {
    uint64_t number = unwind_snapshot_number(snapshot);
    struct depth_slot *slot = &depth_slots[end % DEPTH_SLOT_COUNT];
    if (slot->snapshot_number != number || slot->end != end)
        *slot = (struct depth_slot){number, end, find_depth_in_code(snapshot, end)};
    *sp_bytes = slot->depth.sp_bytes;
    return slot->depth.sp_bytes && slot->depth.fp_bytes == fp_bytes;
}

/* ---- Native frames. ---- */

static void copy_and_walk(const struct task_wait *wait, bool *is_truncated) {
    struct stack_copy stack = {.start = wait->sp & ~(uint64_t)7, .bytes = copy.stack};
    bool is_cut = true;
    for (size_t bytes_max = STACK_BYTES_FIRST; is_cut && bytes_max <= STACK_BYTES_MAX; bytes_max *= 2) {
        size_t missing_count = bytes_max - stack.bytes_count;
        size_t count = own_memory_copy(&copy.memory, (char *)copy.stack + stack.bytes_count,
                                       stack.start + stack.bytes_count, missing_count);
        stack.bytes_count += count / 8 * 8;
        copy.walked_count = stack_walk_copy(unwind_snapshot_current(), wait->pc, wait->sp, &stack, find_depth,
                                            copy.walked, NATIVE_FRAME_COUNT_MAX, is_truncated, &is_cut);
        if (count < missing_count) return;
    }
}

/* ---- Taking a stack. ---- */

/* While the thread is in its handler of the sampler's signal, its stack is the one that the handler has interrupted.
 * Between the two is the system's code that has called the handler. If the walk did not get that far, nothing is left.
 */
static void leave_out_handler(void) {
    size_t i = 2;
    while (i < copy.walked_count && !(copy.walked[i].is_exact && own_code_has(copy.walked[i - 2].address))) i++;
    copy.walked_count = i < copy.walked_count ? copy.walked_count - i : 0;
    memmove(copy.walked, copy.walked + i, copy.walked_count * sizeof *copy.walked);
}

/* If the thread has used no processor time, it has not moved meanwhile. */
static bool has_stayed(uint32_t tid, const struct task_wait *wait, uint64_t cpu_ns) {
    uint64_t cpu_now_ns;
    return task_wait_find(tid).fingerprint == wait->fingerprint && task_read_cpu_ns(tid, &cpu_now_ns) &&
           cpu_now_ns == cpu_ns;
}

enum waiting_stack_result waiting_stack_take(struct merged_stack *stack, const struct thread_record *record,
                                             uint32_t tid, const struct task_wait *wait) {
    uint64_t cpu_ns;
    if (!task_read_cpu_ns(tid, &cpu_ns)) return WAITING_STACK_MOVED;
    if (!own_memory_begin(&copy.memory)) return WAITING_STACK_FORBIDDEN;
    copy_and_walk(wait, &stack->is_truncated);
    label_copy_take(&copy.labels, copy.label_bytes, sizeof copy.label_bytes, &record->labels,
                    label_part(&record->labels, wait->sp, copy.walked, copy.walked_count, false),
                    &(const struct label_reader){copy_memory, &copy.memory});
    own_memory_end(&copy.memory);
    if (copy.memory.is_forbidden) return WAITING_STACK_FORBIDDEN;
    bool is_in_handler = sample_ring_is_walking(&record->sampled->ring);
    if (!has_stayed(tid, wait, cpu_ns)) return WAITING_STACK_MOVED;
    if (is_in_handler) leave_out_handler();
    recording_count_loss(LOSS_TEXT, copy.labels.left_out_count);
    merged_stack_make(stack, copy.walked, copy.walked_count, copy.labels.labels, copy.labels.count);
    return WAITING_STACK_TAKEN;
}
