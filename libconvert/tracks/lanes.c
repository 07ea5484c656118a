#include "lanes.h"

#include "libconvert/base/memory.h"
#include "libconvert/base/value_table.h"

static int compare_starts(const void *left, const void *right) {
    const struct lane_member *a = left, *b = right;
    return ORDER(a->group, b->group) ?: ORDER(a->start_ns, b->start_ns) ?: ORDER(a->row, b->row);
}

/* The end of a member. */
struct lane_end {
    uint32_t group;
    uint32_t place; /* place of the member in the order of starts */
    int64_t end_ns;
};

static int compare_ends(const void *left, const void *right) {
    const struct lane_end *a = left, *b = right;
    return ORDER(a->group, b->group) ?: ORDER(a->end_ns, b->end_ns) ?: ORDER(a->place, b->place);
}

/* ---- Free lanes: a binary heap, with the lowest number first. ---- */

struct free_lanes {
    uint32_t *numbers;
    size_t count;
};

static void swap(uint32_t *a, uint32_t *b) {
    uint32_t number = *a;
    *a = *b;
    *b = number;
}

static void push(struct free_lanes *lanes, uint32_t number) {
    size_t i = lanes->count++;
    lanes->numbers[i] = number;
    for (; i && lanes->numbers[i] < lanes->numbers[(i - 1) / 2]; i = (i - 1) / 2)
        swap(&lanes->numbers[i], &lanes->numbers[(i - 1) / 2]);
}

static uint32_t pop(struct free_lanes *lanes) {
    uint32_t first = lanes->numbers[0];
    lanes->numbers[0] = lanes->numbers[--lanes->count];
    for (size_t i = 0, child; (child = 2 * i + 1) < lanes->count; i = child) {
        if (child + 1 < lanes->count && lanes->numbers[child + 1] < lanes->numbers[child]) child++;
        if (lanes->numbers[i] <= lanes->numbers[child]) break;
        swap(&lanes->numbers[i], &lanes->numbers[child]);
    }
    return first;
}

/* ---- Turns. ---- */

enum {
    /* The most lanes among which turns are shared. */
    SHARED_LANES_MAX = 1024,
    /* A group with fewer members for each lane is a pool of workers, each of which is worth a look. */
    SHARED_MEMBERS_MIN = 10,
    POOL_LANES_MAX = 30, /* unless there are more of them than anybody looks at */
    /* A member with more than one in this many of all turns is worth a look, too. */
    OWN_LANE_PART = 10,
    /* A member has its own lane if its turns take more periods on average, as those of an unknown processor time may.
     * That bounds time and memory. */
    PERIODS_PER_TURN_MAX = 8
};

/* How long the turns of a member, or of a lane, take in one period. */
struct period_use {
    int64_t period;
    int64_t used_ns;
};

struct lane_period {
    int64_t period;
    int64_t lane;
};

struct lane {
    int64_t last_end_ns;  /* when the last of its members ends */
    int64_t own_until_ns; /* until then, a member has the lane for itself */
};

struct sharing {
    int64_t period_ns;
    uint64_t turns_max;      /* members with more turns have lanes of their own */
    struct value_table used; /* nanoseconds by struct lane_period */
    struct lane *lanes;      /* with room for one for each member */
    uint32_t lane_count;
    struct column uses; /* struct period_use: those of the present member */
    uint32_t tight_use; /* one of them, for which the last lane that was tried has no room; 0 at first */
};

/* Adds the time of a turn to the periods that it is in. Returns false if the member has more than periods_max. */
static bool add_uses(struct sharing *sharing, struct time_range turn, uint64_t periods_max) {
    int64_t start_ns = turn.first_ns, period_ns = sharing->period_ns, length_ns;
    if (__builtin_sub_overflow(turn.last_ns, start_ns, &length_ns) || (uint64_t)(length_ns / period_ns) > periods_max)
        return false;
    while (start_ns < turn.last_ns) {
        int64_t period = start_ns / period_ns - (start_ns % period_ns < 0), end_ns;
        if (__builtin_mul_overflow(period + 1, period_ns, &end_ns) || end_ns > turn.last_ns) end_ns = turn.last_ns;
        struct period_use *last =
            sharing->uses.count ? column_at(&sharing->uses, (uint32_t)sharing->uses.count - 1) : NULL;
        if (last && last->period == period)
            last->used_ns += end_ns - start_ns;
        else
            column_add(&sharing->uses, &(struct period_use){period, end_ns - start_ns});
        start_ns = end_ns;
    }
    return sharing->uses.count <= periods_max;
}

/* Finds the uses of the member. Returns false if it has a lane of its own. */
static bool find_uses(struct sharing *sharing, const struct lane_member *member) {
    uint64_t periods_max = (uint64_t)member->turn_count * PERIODS_PER_TURN_MAX;
    sharing->uses.count = sharing->tight_use = 0;
    if (member->turn_count > sharing->turns_max) return false;
    for (uint32_t i = 0; i < member->turn_count; i++)
        if (!add_uses(sharing, member->turns[i], periods_max)) return false;
    return true;
}

static bool has_room_for(const struct sharing *sharing, uint32_t lane, uint32_t use_row) {
    const struct period_use *use = column_at(&sharing->uses, use_row);
    const struct lane_period key = {use->period, lane};
    const int64_t *used_ns = value_table_find(&sharing->used, &key);
    return !used_ns || *used_ns <= sharing->period_ns - use->used_ns;
}

/* Lanes often lack room in the same period, when all threads run. So that one is tried first. */
static bool has_room(struct sharing *sharing, uint32_t lane) {
    uint32_t count = (uint32_t)sharing->uses.count;
    if (count && !has_room_for(sharing, lane, sharing->tight_use)) return false;
    for (uint32_t i = 0; i < count; i++) {
        if (has_room_for(sharing, lane, i)) continue;
        sharing->tight_use = i;
        return false;
    }
    return true;
}

static void take_room(struct sharing *sharing, uint32_t lane) {
    COLUMN_EACH(const struct period_use, use, &sharing->uses) {
        const struct lane_period key = {use->period, lane};
        int64_t *used_ns = value_table_intern(&sharing->used, &key, &(int64_t){0});
        if (used_ns) *used_ns += use->used_ns;
    }
}

/* Returns whether the member, which begins later than all others of the lane, has to have another lane. */
static bool is_busy(struct sharing *sharing, uint32_t number, const struct lane_member *member, bool shares) {
    const struct lane *lane = &sharing->lanes[number];
    if (member->start_ns < (shares ? lane->own_until_ns : lane->last_end_ns)) return true;
    return shares && !has_room(sharing, number);
}

static void place_member(struct sharing *sharing, struct lane_member *member, uint32_t *heads) {
    bool shares = find_uses(sharing, member);
    member->head = 0;
    while (member->head < sharing->lane_count && is_busy(sharing, member->head, member, shares)) member->head++;
    struct lane *lane = &sharing->lanes[member->head];
    if (member->head == sharing->lane_count) {
        heads[sharing->lane_count++] = member->row;
        *lane = (struct lane){INT64_MIN, INT64_MIN};
    }
    if (member->end_ns > lane->last_end_ns) lane->last_end_ns = member->end_ns;
    if (shares)
        take_room(sharing, member->head);
    else
        lane->own_until_ns = member->end_ns;
}

/* Sets the heads of the members of a group to the numbers of lanes, in which members run in turns. */
static void share_lanes(struct lane_member *members, size_t count, int64_t period_ns, uint32_t *heads,
                        struct failure *failure) {
    struct sharing sharing = {.period_ns = period_ns, .lanes = memory_allocate(failure, count * sizeof(struct lane))};
    value_table_init(&sharing.used, sizeof(struct lane_period), sizeof(int64_t), failure);
    column_init(&sharing.uses, sizeof(struct period_use), failure);
    for (size_t i = 0; i < count; i++) sharing.turns_max += members[i].turn_count;
    sharing.turns_max /= OWN_LANE_PART;
    for (size_t i = 0; i < count && !failure_is_set(failure); i++) place_member(&sharing, &members[i], heads);
    value_table_fini(&sharing.used);
    column_fini(&sharing.uses);
    memory_free(sharing.lanes);
}

/* ---- All members. ---- */

static bool are_lanes_shared(uint32_t lane_count, size_t member_count) {
    bool is_pool = member_count / SHARED_MEMBERS_MIN < lane_count;
    return lane_count > 1 && lane_count <= SHARED_LANES_MAX && (!is_pool || lane_count > POOL_LANES_MAX);
}

/* Sets the heads of the members of one group. Until the end, they are the numbers of lanes. `heads` has room for the
 * heads of all lanes. */
static void assign_group(struct lane_member *members, const struct lane_end *ends, size_t count, int64_t period_ns,
                         struct free_lanes *free_lanes, uint32_t *heads, struct failure *failure) {
    uint32_t lane_count = 0;
    size_t next_end = 0;
    free_lanes->count = 0;
    for (size_t i = 0; i < count; i++) {
        /* A member that has ended by now began earlier, so its lane is known. */
        for (; ends[next_end].end_ns <= members[i].start_ns; next_end++)
            push(free_lanes, members[ends[next_end].place].head);
        bool is_new = !free_lanes->count;
        members[i].head = is_new ? lane_count : pop(free_lanes);
        if (is_new) heads[lane_count++] = members[i].row;
    }
    if (period_ns && are_lanes_shared(lane_count, count)) share_lanes(members, count, period_ns, heads, failure);
    for (size_t i = 0; i < count; i++) members[i].head = heads[members[i].head];
}

static void assign_all(struct lane_member *members, struct lane_end *ends, size_t count, int64_t period_ns,
                       struct free_lanes *free_lanes, uint32_t *heads, struct failure *failure) {
    for (size_t i = 0, group_count; i < count; i += group_count) {
        for (group_count = 1; i + group_count < count && members[i + group_count].group == members[i].group;)
            group_count++;
        for (size_t j = i; j < i + group_count; j++) ends[j].place -= (uint32_t)i;
        assign_group(&members[i], &ends[i], group_count, period_ns, free_lanes, heads, failure);
    }
}

void lanes_assign(struct lane_member *members, size_t count, int64_t period_ns, struct failure *failure) {
    struct lane_end *ends = memory_allocate(failure, count * sizeof *ends);
    struct free_lanes free_lanes = {memory_allocate(failure, count * sizeof *free_lanes.numbers), 0};
    uint32_t *heads = memory_allocate(failure, count * sizeof *heads);
    if (!failure_is_set(failure)) {
        memory_sort(failure, members, count, sizeof *members, compare_starts);
        for (uint32_t i = 0; i < count; i++) ends[i] = (struct lane_end){members[i].group, i, members[i].end_ns};
        memory_sort(failure, ends, count, sizeof *ends, compare_ends);
    }
    if (!failure_is_set(failure)) assign_all(members, ends, count, period_ns, &free_lanes, heads, failure);
    MEMORY_FREE_ALL(heads, free_lanes.numbers, ends);
}
