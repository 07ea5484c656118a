/* Divides members of groups among lanes, so that the members of a lane follow each other, or run in turns. */
#pragma once

#include "libconvert/base/failure.h"
#include "libconvert/profile/time_range.h"

struct lane_member {
    uint32_t group;
    uint32_t row; /* the member's number, which is unique */
    int64_t start_ns;
    int64_t end_ns; /* later than the start */
    /* When the member runs, in order; the ends are not part of the ranges. Borrowed. */
    struct time_range *turns;
    uint32_t turn_count;
    /* How long the last turn takes, if lanes_assign may move it so that it begins earlier, from `loose_since_ns` on,
     * but not between other turns; 0: it may not. The member has begun by then. */
    int64_t loose_ns;
    int64_t loose_since_ns;
    int64_t loose_end_ns; /* when that turn ends; lanes_assign changes it if it moves the turn */
    uint32_t head;        /* set by lanes_assign: the row of the first member of its lane */
};

/* Sorts the members by group and start, and sets their heads. A member gets the first lane of its group that is free,
 * and a new lane if none is. So there are no more lanes than members at a time, and the first ones have most members.
 * If a group has many members for each lane, or more than 64 lanes, and at most 1024, a lane is also free while its
 * members do not run, and loose turns move to where one of the first lanes is free. Running out of memory is latched;
 * the heads are not set then. */
void lanes_assign(struct lane_member *members, size_t count, struct failure *failure);
