/* Divides members of groups among lanes, so that the members of a lane follow each other. */
#ifndef GECKO_LANES_H
#define GECKO_LANES_H

#include "libconvert/base/failure.h"

struct lane_member {
    uint32_t group;
    uint32_t row; /* the member's number, which is unique */
    int64_t start_ns;
    int64_t end_ns; /* after the start */
    uint32_t head;  /* set by lanes_assign: the row of the first member of its lane */
};

/* Sorts the members by group and start, and sets their heads. A member gets the first lane of its group that is free,
 * and a new lane if none is. So there are no more lanes than members at a time, and the first ones have most members.
 * Running out of memory is latched; the heads are not set then. */
void lanes_assign(struct lane_member *members, size_t count, struct failure *failure);

#endif
