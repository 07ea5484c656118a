/* Lays runs of one program after or over each other. A merge of merges has the same layout as one merge of all, because
 * a run begins at the same distance from the end of the one before, whatever that consists of. */
#include "merge_steps.h"

/* No run begins at the time at which another one ends, since samples of one time would belong to both. */
static const int64_t GAP_NS = 1000000;

/* Returns the range of time that the profile of the run states; if it states none, that of its events. */
static struct time_range range_of(const struct profile *profile) {
    struct time_range range = profile_events(profile);
    const struct recording_times *recording = &profile->recording;
    if (time_range_is_empty(&range)) return range;
    if (recording->start_ns != TIME_NONE) range.first_ns = recording->start_ns;
    if (recording->end_ns != TIME_NONE)
        range.last_ns = recording->end_ns;
    else if (profile->meta.has_times)
        range.last_ns = merge_sum(range.last_ns, profile->meta.interval_ns);
    return range;
}

/* Returns how long before that time the counters of the profile begin. A counter that is drawn from 0 on begins before
 * its recording; between samples of the run before, that sample would change what those show. */
static int64_t lead_of_counters(const struct profile *profile, int64_t first_ns) {
    int64_t counters_ns = first_ns;
    COLUMN_EACH(const struct counter, counter, &profile->counters) {
        struct counter_span span = counter_span_of(counter);
        if (span.first) counters_ns = time_earlier(counters_ns, span.first->time_ns);
    }
    return merge_difference(first_ns, counters_ns);
}

void merge_lay_out(struct merge *merge) {
    bool is_after = merge->runs->layout == MERGE_LAYOUT_AFTER;
    int64_t next_ns = TIME_NONE;
    for (uint32_t i = 0; i < merge->input_count; i++) {
        struct merge_input *input = &merge->inputs[i];
        struct profile *profile = &input->profile;
        struct time_range range = range_of(profile);
        input->timeline = GECKO_CONVERT_TIMELINE_RUN;
        if (time_range_is_empty(&range)) continue;
        profile->recording.start_ns = range.first_ns;
        profile->recording.end_ns = range.last_ns;
        if (next_ns == TIME_NONE)
            next_ns = range.first_ns;
        else if (is_after)
            next_ns = merge_sum(next_ns, lead_of_counters(profile, range.first_ns));
        input->offset_ns = merge_difference(next_ns, range.first_ns);
        profile_shift_times(profile, input->offset_ns);
        if (is_after) next_ns = merge_sum(merge_sum(range.last_ns, input->offset_ns), GAP_NS);
    }
}
