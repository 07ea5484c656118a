#include "perf_place_stacks.h"

#include "libconvert/base/memory.h"

/* The stack of a thread's last sample. Depths count from the outermost frame. */
struct recent_stack {
    int64_t pid;
    int64_t tid;
    uint32_t process;
    uint32_t count;  /* depths that are known; 0: none */
    uint64_t moment; /* moment of perf_places when the rows were made */
    struct {
        struct perf_place place;
        uint64_t row; /* the stack row of the frames up to this one */
    } * depths;       /* owned; room for RECENT_DEPTH_MAX */
};

enum { RECENT_COUNT = 256, RECENT_DEPTH_MAX = 256 };

void perf_place_stacks_init(struct perf_place_stacks *stacks, struct perf_places *code) {
    *stacks = (struct perf_place_stacks){.code = code};
}

void perf_place_stacks_fini(struct perf_place_stacks *stacks) {
    for (size_t i = 0; stacks->recents && i < RECENT_COUNT; i++) memory_free(stacks->recents[i].depths);
    MEMORY_FREE_ALL(stacks->recents, stacks->rows);
    *stacks = (struct perf_place_stacks){0};
}

/* Returns where the thread's last stack is stored. Other threads may share the place. NULL if memory ran out (latched).
 */
static struct recent_stack *recent_of(struct perf_place_stacks *stacks, int64_t pid, int64_t tid, uint32_t process) {
    struct failure *failure = stacks->code->profile->failure;
    if (!stacks->recents) stacks->recents = memory_allocate_zeroed(failure, RECENT_COUNT, sizeof *stacks->recents);
    if (!stacks->recents) return NULL;
    struct recent_stack *recent = &stacks->recents[(uint64_t)tid % RECENT_COUNT];
    if (!recent->depths) recent->depths = memory_allocate(failure, RECENT_DEPTH_MAX * sizeof *recent->depths);
    if (!recent->depths) return NULL;
    uint64_t moment = perf_places_moment(stacks->code, process);
    if (recent->pid == pid && recent->tid == tid && recent->process == process && recent->moment == moment)
        return recent;
    recent->pid = pid;
    recent->tid = tid;
    recent->process = process;
    recent->moment = moment;
    recent->count = 0;
    return recent;
}

static bool is_same(const struct perf_place *a, const struct perf_place *b) {
    return a->address == b->address && a->flags == b->flags;
}

/* Returns how many outer frames are those of the thread's last stack. */
static size_t count_shared(const struct recent_stack *recent, const struct perf_place *places, size_t place_count) {
    size_t count = 0, limit = place_count < recent->count ? place_count : recent->count;
    const struct perf_place *outermost = places + place_count - 1;
    while (count < limit && is_same(outermost - count, &recent->depths[count].place)) count++;
    return count;
}

uint32_t perf_place_stacks_row(struct perf_place_stacks *stacks, int64_t pid, int64_t tid,
                               const struct perf_place *places, size_t count) {
    struct perf_places *code = stacks->code;
    uint32_t process = code_maps_process(&code->maps, pid);
    if (!count || process == ID_NONE) return ID_NONE;
    if (!memory_reserve(code->profile->failure, &stacks->rows, &stacks->capacity, count, sizeof *stacks->rows))
        return ID_NONE;
    struct recent_stack *recent = recent_of(stacks, pid, tid, process);
    if (!recent) return ID_NONE;
    size_t shared_count = count_shared(recent, places, count), new_count = count - shared_count;
    uint32_t stack = shared_count ? (uint32_t)recent->depths[shared_count - 1].row : ID_NONE;
    for (size_t i = 0; i < new_count; i++)
        stacks->rows[i] = perf_places_row(code, process, places[i].address, (uint32_t)places[i].flags);
    for (size_t i = new_count, depth = shared_count; i-- > 0; depth++) {
        stack = perf_places_stack(code, stack, stacks->rows[i]);
        if (depth >= RECENT_DEPTH_MAX) continue;
        recent->depths[depth].place = places[i];
        recent->depths[depth].row = stack;
    }
    recent->count = count < RECENT_DEPTH_MAX ? (uint32_t)count : RECENT_DEPTH_MAX;
    return stack;
}
