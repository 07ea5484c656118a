#include "unsampled.h"

#include "recorder/write/definitions.h"
#include "recorder/write/writer.h"
#include "sampled_thread.h"

/* A process may end before the sampler's second round. */
static struct grec_marker unsampled_marker = GREC_MARKER("Process without samples", NULL, NULL);

/* Most forked children end with the marker, and inherit its definition. The recording call also claims a record for the
 * calling thread, so the sampler samples this thread even if it never registers. */
void unsampled_define(void) {
    struct recording recording = recording_enter();
    if (!recording.thread) return;
    definition_of_marker(&unsampled_marker);
    recording_leave(&recording);
}

void unsampled_mark(uint64_t start_ns, grec_time end) {
    struct grec_marker_options options = {.phase = GREC_PHASE_INTERVAL, .end = end};
    if (sampled_threads_are_there()) return;
    if (start_ns) options.start = grec_time_from_clock_ns(start_ns);
    grec_add_marker(&unsampled_marker, &options, NULL, 0);
}
