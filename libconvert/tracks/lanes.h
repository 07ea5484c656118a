/* Divides members of groups among lanes, so that the members of a lane follow each other, or run in turns. */
#pragma once

#include "libconvert/base/failure.h"
#include "libconvert/profile/time_range.h"

struct lane_member {
    uint32_t group;
    uint32_t row; /* the member's number, which is unique */
    int64_t start_ns;
    int64_t end_ns;           /* later than the start */
    struct time_range *turns; /* when the member runs, in order; the ends are not part of the ranges. Borrowed. */
    uint32_t turn_count;
    uint32_t head; /* set by lanes_assign: the row of the first member of its lane */
};

/* Sorts the members by group and start, and sets their heads. A member gets the first lane of its group that is free,
 * and a new lane if none is, so the first lanes have most members. There are no more lanes than members at a time. But
 * if a group would have several lanes, with many members for each, or more than 64, and at most 1024, and period_ns is
 * not 0, members of a lane may overlap: in any period of that length, their turns together take no longer than it
 * lasts. Running out of memory is latched; the heads are not set then. */
void lanes_assign(struct lane_member *members, size_t count, int64_t period_ns, struct failure *failure);
