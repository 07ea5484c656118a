/* The profiles to show: made from recordings, or read from finished profiles. */
#pragma once

#include "cli/command.h"
#include "served_profile.h"

enum shown_as {
    SHOWN_ALONE,    /* one profile */
    SHOWN_COMPARED, /* each input is a profile; the viewer compares a thread of each */
    SHOWN_TO_CHOOSE /* profiles from an archive; the viewer lists them */
};

struct profile_loading {
    const struct options *options;   /* borrowed; they have at least one input */
    struct failure *failure;         /* borrowed */
    struct memory_limit *memory;     /* borrowed */
    struct command_output *output;   /* for progress and messages, unless --quiet is given; borrowed */
    const char *input_path;          /* the input that is being loaded, for messages about failures */
    struct served_profile *profiles; /* a list that the caller owns */
};

/* Loads the inputs: finished profiles, several of which are compared; an archive of finished profiles; or recordings,
 * which become one profile, or one each if the options ask for a comparison. Prints on standard error what was read.
 */
enum shown_as profile_loading_run(struct profile_loading *loading);
