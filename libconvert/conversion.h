/* Runs a whole conversion. Commands use it for inputs and outputs that the public header does not offer. */
#pragma once

#include "gecko_convert.h"
#include "input_loader.h"
#include "libconvert/base/memory.h"
#include "libconvert/merge/merge.h"
#include "libconvert/profile/profile.h"
#include "writer/sink.h"

/* Looks at a finished profile, which is valid during the call. A failure that is latched in the profile's latch fails
 * the conversion. */
typedef void profile_visitor(void *context, const struct profile *profile);

/* Zero is the default of every member. All pointers are borrowed for the duration of the call. */
struct conversion_ends {
    struct given_input input;
    bool *is_empty; /* set to true if the input has no content without a loss, or filters left all out; may be NULL */
    const struct sink_batch *batch;
    const struct merge_runs *runs; /* several inputs are runs of one program; NULL: they lie on one timeline */
    bool is_compared;              /* the front-end compares the profile, and then ignores processor times of samples */
    struct memory_limit *memory; /* shared by several conversions, and used in place of the options' max_memory_bytes */

    /* Gets the finished profile, which is then not written. The options and the result for the output mean nothing in
     * that case. */
    profile_visitor *replace_writing;
    void *visitor_context;

    /* Gets the finished profile before it is written. The context is visitor_context. */
    profile_visitor *before_writing;
};

/* The result before a conversion: zero, and texts that are empty. */
extern const struct gecko_convert_result conversion_no_result;

/* Does what gecko_convert does, with these inputs and outputs, and for structs of this library's size. If `written` is
 * not NULL, describes the written file there. */
enum gecko_convert_status conversion_run(const struct gecko_convert_options *options,
                                         const struct conversion_ends *ends, struct gecko_convert_result *result,
                                         struct sink_written *written);
