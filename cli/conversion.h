/* A conversion whose ends are not just two paths: one of many, or of a member of an archive. */
#ifndef GECKO_CONVERSION_H
#define GECKO_CONVERSION_H

#include <signal.h>

#include "gecko_convert.h"
#include "libconvert/memory.h"
#include "libconvert/profile.h"
#include "readers/input.h"
#include "writer/sink.h"

/* The profile is valid until it returns. What fails is latched in the profile's failure, and fails the conversion. */
typedef void profile_look(void *context, const struct profile *profile);

/* Zero of every member is what gecko_convert does. All is borrowed for the time of the call. */
struct conversion_ends {
    /* Gives the trace, which the conversion closes; NULL after a failure. That, and those of the input, are latched in
     * `failure`, or in input_failure when there is one. */
    struct input *(*open)(void *context, struct failure *failure);
    void *context;
    const struct failure *input_failure;
    const volatile sig_atomic_t *has_lost_bytes; /* not 0 once the input has become shorter; asked after reading */
    const char *input_name; /* for messages; the options' input_path remains the file that must not be written */
    bool *is_empty; /* becomes true when nothing of the trace was lost and there is no sample or marker; NULL: nobody asks */
    const struct sink_batch *batch;
    struct memory_limit *memory; /* of several conversions together, in place of the options' max_memory_bytes */

    /* How much of the input has been read, for those whom a part of the whole is not enough: with the options'
     * progress_context. NULL: nobody. */
    progress_source_callback *source_progress;

    /* Gets the finished profile, which then is not written: what options and result have of the output means nothing.
     */
    profile_look *look;
    void *look_context;
};

/* gecko_convert between other ends. *written is of the file that was written; NULL: nobody asks. */
enum gecko_convert_status conversion_run(const struct gecko_convert_options *options,
                                         const struct conversion_ends *ends, struct gecko_convert_result *result,
                                         struct sink_written *written);

#endif
