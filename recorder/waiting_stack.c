#include "waiting_stack.h"

#include <string.h>

#include "definitions.h"
#include "frame_depth.h"
#include "own_memory.h"
#include "session.h"
#include "stack.h"
#include "stack_walk.h"
#include "task_list.h"
#include "unwind_table.h"

enum {
    STACK_BYTES_FIRST = 8 * 1024, /* most stacks need no more */
    STACK_BYTES_MAX = 256 * 1024,
    KEPT_BYTES_MAX = 32 * 1024,
    CATEGORY_LEVEL_MAX = 9,
    TEXT_BYTES_MAX = GREC_NAME_BYTES_MAX + 1, /* with one too many it is seen that it is cut */
};

static struct {
    struct own_memory memory;
    uint64_t stack[STACK_BYTES_MAX / sizeof(uint64_t)];
    struct walked_frame walked[NATIVE_FRAME_COUNT_MAX];
    size_t walked_count;
    struct grec_label_stack labels;
    /* What the labels point to. */
    bool is_whole; /* of the label under way: nothing of it is missing */
    uint32_t left_out_count;
    size_t kept_bytes_count;
    _Alignas(8) char kept[KEPT_BYTES_MAX];
} copy;

/* ---- Labels. They are the program's, which may pop them, and free or unload what they point to, while this looks.
 * ---- */

static void *keep(size_t bytes_count) {
    bytes_count = (bytes_count + 7) / 8 * 8;
    if (bytes_count > KEPT_BYTES_MAX - copy.kept_bytes_count) {
        copy.is_whole = false;
        return NULL;
    }
    void *kept = copy.kept + copy.kept_bytes_count;
    copy.kept_bytes_count += bytes_count;
    return kept;
}

static void *keep_copy(const void *from, size_t bytes_count) {
    void *kept = from ? keep(bytes_count) : NULL;
    if (!kept || own_memory_copy(&copy.memory, kept, (uint64_t)(uintptr_t)from, bytes_count) == bytes_count)
        return kept;
    copy.is_whole = false;
    return NULL;
}

static const char *keep_text(const char *text) {
    size_t start = copy.kept_bytes_count;
    char *kept = text ? keep(TEXT_BYTES_MAX + 1) : NULL;
    if (!kept) return NULL;
    size_t count = own_memory_copy(&copy.memory, kept, (uint64_t)(uintptr_t)text, TEXT_BYTES_MAX);
    size_t length = strnlen(kept, count);
    if (length == count && count < TEXT_BYTES_MAX) {
        copy.is_whole = false;
        return NULL;
    }
    kept[length] = '\0';
    copy.kept_bytes_count = start;
    return keep(length + 1);
}

static struct grec_category *keep_category(const struct grec_category *category, int level) {
    struct grec_category *kept = keep_copy(category, sizeof *kept);
    if (!kept || definition_is_known(kept->cache_)) return kept;
    kept->name = keep_text(kept->name);
    kept->parent = level < CATEGORY_LEVEL_MAX ? keep_category(kept->parent, level + 1) : NULL;
    return kept;
}

/* Of a label that the trace has already nothing else is asked for, but for a script's category. */
static struct grec_label *keep_label(const struct grec_label *label, bool is_script) {
    struct grec_label *kept = keep_copy(label, sizeof *kept);
    if (!kept) return NULL;
    bool is_known = definition_is_known(kept->cache_);
    if (is_script || !is_known) kept->category = keep_category(kept->category, 0);
    if (is_script || is_known) return kept;
    kept->name = keep_text(kept->name);
    kept->file = keep_text(kept->file);
    return kept;
}

static void keep_frame(struct grec_label_frame *frame) {
    copy.is_whole = true;
    frame->label = keep_label(frame->label, frame->file != NULL);
    frame->text = keep_text(frame->text);
    frame->file = keep_text(frame->file);
    if (copy.is_whole) return;
    frame->address = NULL;
    copy.left_out_count++;
}

static void copy_labels(const struct grec_label_stack *labels) {
    uint32_t depth = stack_frame_count(labels);
    size_t bytes_count = depth * sizeof *labels->frames;
    copy.kept_bytes_count = 0;
    copy.left_out_count = 0;
    copy.labels.depth = 0;
    if (!depth || own_memory_copy(&copy.memory, copy.labels.frames, (uint64_t)(uintptr_t)labels->frames, bytes_count) !=
                      bytes_count)
        return;
    copy.labels.depth = depth;
    for (uint32_t i = 0; i < depth; i++)
        if (stack_frame_is_there(&copy.labels.frames[i])) keep_frame(&copy.labels.frames[i]);
}

/* ---- Frames of functions, by their code. ---- */

enum { DEPTH_SLOT_COUNT = 256 };

/* What was found out once holds as long as the same objects are loaded. */
static struct depth_slot {
    uint64_t snapshot_number;
    uint64_t end;
    struct frame_depth depth; /* sp_bytes 0: not to be found */
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

/* ---- Both. ---- */

/* A thread that has used no processor time was where it is all the while. */
static bool has_stayed(uint32_t tid, const struct task_wait *wait, uint64_t cpu_ns) {
    uint64_t cpu_now_ns;
    return task_wait_find(tid).fingerprint == wait->fingerprint && task_read_cpu_ns(tid, &cpu_now_ns) &&
           cpu_now_ns == cpu_ns;
}

enum waiting_stack_result waiting_stack_take(struct merged_stack *stack, uint32_t tid, const struct task_wait *wait,
                                             const struct grec_label_stack *labels, uint32_t depth) {
    uint64_t cpu_ns;
    if (!task_read_cpu_ns(tid, &cpu_ns)) return WAITING_STACK_MOVED;
    if (!own_memory_begin(&copy.memory)) return WAITING_STACK_FORBIDDEN;
    copy_labels(labels);
    copy_and_walk(wait, &stack->is_truncated);
    own_memory_end(&copy.memory);
    if (copy.memory.is_forbidden) return WAITING_STACK_FORBIDDEN;
    if (!has_stayed(tid, wait, cpu_ns)) return WAITING_STACK_MOVED;
    for (uint32_t i = 0; i < copy.left_out_count; i++) session_count_cut_text();
    merged_stack_make(stack, copy.walked, copy.walked_count, &copy.labels, depth);
    return WAITING_STACK_TAKEN;
}

void waiting_stack_forget(void) { own_memory_forget(&copy.memory); }
