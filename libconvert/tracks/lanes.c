#include "lanes.h"

#include "libconvert/base/first_row.h"
#include "libconvert/base/memory.h"

static int compare_starts(const void *left, const void *right) {
    const struct lane_member *a = left, *b = right;
    if (a->group != b->group) return a->group < b->group ? -1 : 1;
    if (a->start_ns != b->start_ns) return a->start_ns < b->start_ns ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

/* The end of a member. */
struct lane_end {
    uint32_t group;
    uint32_t place; /* of the member in the order of starts */
    int64_t end_ns;
};

static int compare_ends(const void *left, const void *right) {
    const struct lane_end *a = left, *b = right;
    if (a->group != b->group) return a->group < b->group ? -1 : 1;
    if (a->end_ns != b->end_ns) return a->end_ns < b->end_ns ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
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
    POOL_LANES_MAX = 64 /* unless there are more of them than anybody looks at */
};

/* Returns whether the member runs within the range. */
static bool runs_within(const struct lane_member *member, struct time_range range) {
    size_t first = FIRST_ROW(i, member->turn_count, member->turns[i].last_ns > range.first_ns);
    return first < member->turn_count && member->turns[first].first_ns < range.last_ns;
}

/* Returns whether one of the members runs while the other one does. */
static bool run_together(const struct lane_member *a, const struct lane_member *b) {
    const struct lane_member *fewer = a->turn_count < b->turn_count ? a : b, *more = fewer == a ? b : a;
    for (size_t i = 0; i < fewer->turn_count; i++)
        if (runs_within(more, fewer->turns[i])) return true;
    return false;
}

/* Sets the heads of the members of a group to the numbers of lanes, in which members run in turns. There are at most
 * PRESENT_MAX members at a time, so a lane is always free. */
static void share_lanes(struct lane_member *members, size_t count, uint32_t *heads) {
    const struct lane_member *present[PRESENT_MAX];
    size_t present_count = 0;
    uint32_t lane_count = 0;
    for (size_t i = 0; i < count; i++) {
        struct lane_member *member = &members[i];
        bool are_busy[PRESENT_MAX] = {false};
        size_t kept_count = 0;
        for (size_t j = 0; j < present_count; j++) {
            if (present[j]->end_ns <= member->start_ns) continue;
            if (run_together(present[j], member)) are_busy[present[j]->head] = true;
            present[kept_count++] = present[j];
        }
        present_count = kept_count;
        present[present_count++] = member;
        for (member->head = 0; are_busy[member->head];) member->head++;
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
    memory_free(heads);
    memory_free(free_lanes.numbers);
    memory_free(ends);
}
