#include "data_stacks.h"

#include "libconvert/base/memory.h"

/* The stack of a thread's last sample. Depths count from the outermost frame. */
struct recent_stack {
    int64_t pid;
    int64_t tid;
    uint32_t process;
    uint32_t count;  /* depths that are known; 0: none */
    uint64_t moment; /* of data_code, when the rows were made */
    struct {
        struct perf_place place;
        uint64_t row; /* the stack row of the frames up to this one */
    } * depths;       /* owned; room for RECENT_DEPTH_MAX */
};

enum { RECENT_COUNT = 256, RECENT_DEPTH_MAX = 256 };

void data_stacks_init(struct data_stacks *stacks, struct data_code *code) {
    *stacks = (struct data_stacks){.code = code};
}

void data_stacks_fini(struct data_stacks *stacks) {
    for (size_t i = 0; stacks->recents && i < RECENT_COUNT; i++) memory_free(stacks->recents[i].depths);
    memory_free(stacks->recents);
    memory_free(stacks->places);
    memory_free(stacks->rows);
    *stacks = (struct data_stacks){0};
}

static bool grow(struct data_stacks *stacks) {
    struct failure *failure = stacks->code->profile->failure;
    size_t capacity = stacks->capacity ? stacks->capacity * 2 : 256;
    struct perf_place *places = memory_resize(failure, stacks->places, capacity * sizeof *places);
    if (!places) return false;
    stacks->places = places;
    uint32_t *rows = memory_resize(failure, stacks->rows, capacity * sizeof *rows);
    if (!rows) return false;
    stacks->rows = rows;
    stacks->capacity = capacity;
    return true;
}

void data_stacks_push(struct data_stacks *stacks, uint64_t address, uint32_t flags) {
    if (stacks->count == stacks->capacity && !grow(stacks)) return;
    stacks->places[stacks->count++] = (struct perf_place){address, flags};
}

/* Returns where the thread's last stack is stored. Other threads may share the place. NULL if memory ran out (latched).
 */
static struct recent_stack *recent_of(struct data_stacks *stacks, int64_t pid, int64_t tid, uint32_t process) {
    struct failure *failure = stacks->code->profile->failure;
    if (!stacks->recents) stacks->recents = memory_allocate_zeroed(failure, RECENT_COUNT, sizeof *stacks->recents);
    if (!stacks->recents) return NULL;
    struct recent_stack *recent = &stacks->recents[(uint64_t)tid % RECENT_COUNT];
    if (!recent->depths) recent->depths = memory_allocate(failure, RECENT_DEPTH_MAX * sizeof *recent->depths);
    if (!recent->depths) return NULL;
    uint64_t moment = data_code_moment(stacks->code, process);
    if (recent->pid == pid && recent->tid == tid && recent->process == process && recent->moment == moment)
        return recent;
    recent->pid = pid;
    recent->tid = tid;
    recent->process = process;
    recent->moment = moment;
    recent->count = 0;
    return recent;
}

/* Returns how many outer frames are those of the thread's last stack. */
static size_t count_shared(const struct data_stacks *stacks, const struct recent_stack *recent) {
    size_t count = 0, limit = stacks->count < recent->count ? stacks->count : recent->count;
    const struct perf_place *outermost = stacks->places + stacks->count - 1;
    while (count < limit && memcmp(outermost - count, &recent->depths[count].place, sizeof *outermost) == 0) count++;
    return count;
}

uint32_t data_stacks_row(struct data_stacks *stacks, int64_t pid, int64_t tid) {
    struct data_code *code = stacks->code;
    uint32_t process = code_maps_process(&code->maps, pid);
    if (!stacks->count || process == ID_NONE) return ID_NONE;
    struct recent_stack *recent = recent_of(stacks, pid, tid, process);
    if (!recent) return ID_NONE;
    size_t shared_count = count_shared(stacks, recent), new_count = stacks->count - shared_count;
    uint32_t stack = shared_count ? (uint32_t)recent->depths[shared_count - 1].row : ID_NONE;
    for (size_t i = 0; i < new_count; i++)
        stacks->rows[i] = data_code_row(code, process, stacks->places[i].address, (uint32_t)stacks->places[i].flags);
    for (size_t i = new_count, depth = shared_count; i-- > 0; depth++) {
        stack = data_code_stack(code, stack, stacks->rows[i]);
        if (depth >= RECENT_DEPTH_MAX) continue;
        recent->depths[depth].place = stacks->places[i];
        recent->depths[depth].row = stack;
    }
    recent->count = stacks->count < RECENT_DEPTH_MAX ? (uint32_t)stacks->count : RECENT_DEPTH_MAX;
    return stack;
}
