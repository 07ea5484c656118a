/* The command `view` of the static program, which has no HTTP server. */
#include "cli/command.h"

#define EXPLANATION                                                                     \
    "this program was built without its HTTP server: convert to a file (--output) and " \
    "open that at https://profiler.firefox.com"

static void refuse(struct options *options, struct failure *failure) {
    (void)options;
    failure_set(failure, FAILURE_IO, EXPLANATION);
}

const struct command command_view = {
    .name = "view", .bit = VIEW, .usage = "Usage: none, " EXPLANATION "\n", .notes = "", .complete = refuse};
