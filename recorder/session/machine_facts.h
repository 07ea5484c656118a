/* Facts about the machine and the program, for the information panel of the profile. Call these with the session's
 * mutex held. */
#pragma once

#include <stdbool.h>

#include "settings.h"

/* Writes all facts into a trace that has just begun. */
void machine_describe(const struct settings *settings);

/* Writes the command line of this process, which is about to record, unless the settings leave it out. */
void machine_describe_process(const struct settings *settings);

/* Writes the options that say what the trace has and what it lacks. */
void machine_describe_settings(const struct settings *settings);

/* Keeps a fact that the program reports, for recordings that begin later. If is_recording, also writes it into the
 * trace. */
void machine_set_fact(const char *key, const char *value, bool is_recording);
