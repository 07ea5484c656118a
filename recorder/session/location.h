/* Where a recording is, as a text by which other processes join it: "SESSION PATH", or the path alone. The environment
 * has the text of this process's recording (GECKO_RECORDER_JOIN), so programs that it executes can join. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct location {
    uint64_t session_id; /* 0: any recording at that path */
    const char *path;    /* borrowed from the text */
    bool is_over;        /* the process that set the variable has left the recording */
};

/* Returns false if the text is not a location, or is NULL. */
bool location_parse(const char *text, struct location *location);

/* Returns false if the text does not fit. */
bool location_format(const struct location *location, char *text, size_t bytes_max);

/* Returns the location in the environment; NULL: there is none, or the program has more rights than its caller. */
const char *location_of_environment(void);

/* Sets the variable in the environment. location NULL: there is nothing to join. Never moves or frees what other
 * threads may be reading by getenv. Call this with the session's mutex held. */
void location_export(const struct location *location);
