/* What recorder and reader have to say of a trace: profilingLog and profileGatheringLog in a profile, which the client
 * keeps and does not show. */
#ifndef GECKO_LOG_LINES_H
#define GECKO_LOG_LINES_H

#include "column.h"
#include "ids.h"
#include "text.h"

/* One fact: a named number or a named text; lines at a time have a time. */
struct log_line {
    process_id process; /* none: of the trace as a whole */
    int64_t time_ns;    /* TIME_NONE: at no time; else as all times are */
    struct text key;    /* "chunksRecycled"; empty for lines at a time */
    struct text text;   /* when bytes is NULL the number is the value */
    int64_t number;
};

#endif
