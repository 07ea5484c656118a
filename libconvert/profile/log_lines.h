/* What recorder and reader report about a trace: profilingLog and profileGatheringLog in a profile. The front-end keeps
 * them and does not show them. */
#pragma once

#include "libconvert/base/column.h"
#include "libconvert/base/ids.h"
#include "libconvert/base/text.h"

/* One fact: a named number, a named text, or a text with a time. */
struct log_line {
    process_id process; /* none: the whole trace */
    union {
        int64_t time_ns; /* TIME_NONE: none; otherwise see profile.h on times */
        int64_t time_ticks;
    };
    struct text key;  /* "chunksRecycled"; empty for a text with a time */
    struct text text; /* if its bytes are NULL, the number is the value */
    int64_t number;
};
