/* Lays runs of one program after or over each other. A merge of merges has the same layout as one merge of all, because
 * a run begins at the same distance from the end of the one before, whatever that consists of. */
#include "merge_steps.h"

/* No run begins at the time at which another one ends, since samples of one time would belong to both. */
static const int64_t GAP_NS = 1000000;

void merge_lay_out(struct merge *merge) {
    int64_t next_ns = TIME_NONE;
    for (uint32_t i = 0; i < merge->input_count; i++) {
        struct merge_input *input = &merge->inputs[i];
        struct time_range events = profile_events(&input->profile);
        bool is_empty = events.first_ns > events.last_ns;
        input->timeline = GECKO_CONVERT_TIMELINE_RUN;
        if (is_empty) continue;
        if (next_ns == TIME_NONE) next_ns = events.first_ns;
        input->offset_ns = merge_difference(next_ns, events.first_ns);
        profile_shift_times(&input->profile, input->offset_ns);
        if (merge->runs->layout == MERGE_LAYOUT_AFTER)
            next_ns = merge_sum(merge_sum(events.last_ns, input->offset_ns), GAP_NS);
    }
}
