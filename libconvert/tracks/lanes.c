#include "lanes.h"

#include "libconvert/base/first_row.h"
#include "libconvert/base/memory.h"

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
    PRESENT_MAX = 1024, /* each member is compared with as many others */
    /* A group with fewer members for each lane is a pool of workers, each of which is worth a look. */
    SHARED_MEMBERS_MIN = 10,
    POOL_LANES_MAX = 64, /* unless there are more of them than anybody looks at */
    /* A member with more than this part of all turns is as much worth a look. */
    OWN_LANE_PART = 10,
    /* How many lanes are tried for a loose turn, and how often each: bounds the time that a member takes. */
    LOOSE_LANES_MAX = 4,
    LOOSE_TRIES_MAX = 32
};

/* Returns the first turn of the member within the range; NULL if there is none. */
static const struct time_range *turn_within(const struct lane_member *member, struct time_range range) {
    size_t first = FIRST_ROW(i, member->turn_count, member->turns[i].last_ns > range.first_ns);
    return first < member->turn_count && member->turns[first].first_ns < range.last_ns ? &member->turns[first] : NULL;
}

/* Returns whether one of the members runs while the other one does. */
static bool run_together(const struct lane_member *a, const struct lane_member *b) {
    const struct lane_member *fewer = a->turn_count < b->turn_count ? a : b, *more = fewer == a ? b : a;
    for (size_t i = 0; i < fewer->turn_count; i++)
        if (turn_within(more, fewer->turns[i])) return true;
    return false;
}

struct present_members {
    const struct lane_member *rows[PRESENT_MAX];
    size_t count;
    size_t turns_max; /* members with more turns have lanes of their own */
};

static bool share_no_lane(const struct present_members *present, const struct lane_member *a,
                          const struct lane_member *b) {
    return a->turn_count > present->turns_max || b->turn_count > present->turns_max;
}

/* Returns the end of a turn within the range of the lane; the start of the range if the lane is free. INT64_MAX: the
 * member may not share the lane. */
static int64_t lane_busy_until(const struct present_members *present, uint32_t lane, const struct lane_member *member,
                               struct time_range range) {
    for (size_t i = 0; i < present->count; i++) {
        if (present->rows[i]->head != lane) continue;
        if (share_no_lane(present, present->rows[i], member)) return INT64_MAX;
        const struct time_range *turn = turn_within(present->rows[i], range);
        if (turn) return turn->last_ns;
    }
    return range.first_ns;
}

/* Returns the end of the member's other turns if the range reaches into the time from the first to the last of them,
 * when the member may have been seen to wait; otherwise the start of the range. */
static int64_t member_busy_until(const struct lane_member *member, struct time_range range) {
    uint32_t other_count = member->turn_count - 1;
    if (!other_count || range.last_ns <= member->turns->first_ns) return range.first_ns;
    return time_later(range.first_ns, member->turns[other_count - 1].last_ns);
}

static void move_last_turn(struct lane_member *member, struct time_range place) {
    uint32_t i = member->turn_count - 1;
    for (; i && member->turns[i - 1].last_ns > place.last_ns; i--) member->turns[i] = member->turns[i - 1];
    member->turns[i] = place;
    member->loose_end_ns = place.last_ns;
}

/* Moves the last turn of the member to the first time at which the lane is free. Returns false if none is found. */
static bool place_loose_turn(struct lane_member *member, const struct present_members *present, uint32_t lane) {
    int64_t start_ns = member->loose_since_ns;
    for (int i = 0; i < LOOSE_TRIES_MAX && start_ns <= member->loose_end_ns - member->loose_ns; i++) {
        const struct time_range place = {start_ns, start_ns + member->loose_ns};
        start_ns = member_busy_until(member, place);
        if (start_ns == place.first_ns) start_ns = lane_busy_until(present, lane, member, place);
        if (start_ns != place.first_ns) continue;
        move_last_turn(member, place);
        return true;
    }
    return false;
}

/* The lane after the `count` ones that exist is free. */
static bool place_in_first_lanes(struct lane_member *member, const struct present_members *present, uint32_t count) {
    for (member->head = 0; member->loose_ns && member->head <= count && member->head < LOOSE_LANES_MAX; member->head++)
        if (place_loose_turn(member, present, member->head)) return true;
    return false;
}

static void find_first_free_lane(struct lane_member *member, const struct present_members *present) {
    bool are_busy[PRESENT_MAX] = {false};
    for (size_t i = 0; i < present->count; i++)
        if (share_no_lane(present, present->rows[i], member) || run_together(present->rows[i], member))
            are_busy[present->rows[i]->head] = true;
    for (member->head = 0; are_busy[member->head];) member->head++;
}

/* Sets the heads of the members of a group to the numbers of lanes, in which members run in turns. There are at most
 * PRESENT_MAX members at a time, so a lane is always free. */
static void share_lanes(struct lane_member *members, size_t count, uint32_t *heads) {
    struct present_members present = {.count = 0};
    uint32_t lane_count = 0;
    for (size_t i = 0; i < count; i++) present.turns_max += members[i].turn_count;
    present.turns_max /= OWN_LANE_PART;
    for (size_t i = 0; i < count; i++) {
        struct lane_member *member = &members[i];
        size_t kept_count = 0;
        for (size_t j = 0; j < present.count; j++)
            if (present.rows[j]->end_ns > member->start_ns) present.rows[kept_count++] = present.rows[j];
        present.count = kept_count;
        if (!place_in_first_lanes(member, &present, lane_count)) find_first_free_lane(member, &present);
        present.rows[present.count++] = member;
        if (member->head == lane_count) heads[lane_count++] = member->row;
    }
}

/* ---- All members. ---- */

static bool are_lanes_shared(uint32_t lane_count, size_t member_count) {
    bool is_pool = member_count / SHARED_MEMBERS_MIN < lane_count;
    return lane_count <= PRESENT_MAX && (!is_pool || lane_count > POOL_LANES_MAX);
}

/* Sets the heads of the members of one group. Until the end, they are the numbers of lanes. `heads` has room for the
 * heads of all lanes. */
static void assign_group(struct lane_member *members, const struct lane_end *ends, size_t count,
                         struct free_lanes *free_lanes, uint32_t *heads) {
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
    if (are_lanes_shared(lane_count, count)) share_lanes(members, count, heads);
    for (size_t i = 0; i < count; i++) members[i].head = heads[members[i].head];
}

static void assign_all(struct lane_member *members, struct lane_end *ends, size_t count, struct free_lanes *free_lanes,
                       uint32_t *heads) {
    for (size_t i = 0, group_count; i < count; i += group_count) {
        for (group_count = 1; i + group_count < count && members[i + group_count].group == members[i].group;)
            group_count++;
        for (size_t j = i; j < i + group_count; j++) ends[j].place -= (uint32_t)i;
        assign_group(&members[i], &ends[i], group_count, free_lanes, heads);
    }
}

void lanes_assign(struct lane_member *members, size_t count, struct failure *failure) {
    struct lane_end *ends = memory_allocate(failure, count * sizeof *ends);
    struct free_lanes free_lanes = {memory_allocate(failure, count * sizeof *free_lanes.numbers), 0};
    uint32_t *heads = memory_allocate(failure, count * sizeof *heads);
    if (!failure_is_set(failure)) {
        memory_sort(failure, members, count, sizeof *members, compare_starts);
        for (uint32_t i = 0; i < count; i++) ends[i] = (struct lane_end){members[i].group, i, members[i].end_ns};
        memory_sort(failure, ends, count, sizeof *ends, compare_ends);
    }
    if (!failure_is_set(failure)) assign_all(members, ends, count, &free_lanes, heads);
    MEMORY_FREE_ALL(heads, free_lanes.numbers, ends);
}
