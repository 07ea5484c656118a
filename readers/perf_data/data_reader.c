/* The reader of perf.data. */
#include "data_parser.h"
#include "readers/code/script_frames.h"
#include "readers/perf/perf_addresses.h"
#include "readers/perf/perf_filter.h"
#include "readers/perf/perf_finish.h"
#include "readers/perf/perf_records.h"

static void run(struct input *input, struct profile *profile, const struct reader_options *options) {
    struct perf_recording recording;
    struct perf_addresses addresses;
    perf_recording_init(&recording, profile, options);
    perf_addresses_init(&addresses, &recording, input, options);
    if (options->job_count > 1) input_make_ahead(input);
    data_parse(input, perf_records_sink(&recording), &recording.tallies, profile->failure);
    if (!failure_is_set(profile->failure)) perf_finish(&recording, options);
    perf_addresses_fini(&addresses);
    perf_recording_fini(&recording);
}

static enum probe_score probe(struct text start, bool is_whole) {
    (void)is_whole;
    return text_starts_with(start, TEXT("PERFILE2")) ? PROBE_SURE : PROBE_NO;
}

const struct reader reader_perf_data = {
    .name = "perf-data",
    .title = "perf.data",
    .probe = probe,
    .run = run,
    .is_of_perf = true,
    .takes_perf_maps = true,
    .filter_kinds = PERF_FILTER_KINDS,
    .name_func = script_frames_name,
};
