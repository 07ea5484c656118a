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
    const struct options *options; /* they have at least one input */
    struct failure *failure;       /* borrowed, as are all below */
    struct memory_limit *memory;
    struct command_output *output;   /* for progress and messages, which the option --quiet forbids */
    const char *input_path;          /* the input that is being loaded, for messages about failures */
    struct served_profile *profiles; /* a list that the caller owns */
};

/* Loads the inputs: finished profiles, of which several are compared; an archive of finished profiles; and otherwise
 * recordings, which become one profile, or one each if the options ask for a comparison. Says on standard error what
 * was read. */
enum shown_as profile_loading_run(struct profile_loading *loading);
