#include "fit_size.h"

#include <inttypes.h>

#include "libconvert/profile/sweep.h"
#include "libconvert/profile/thin.h"
#include "writer/sink.h"

/* The steps, the least harmful first. The first ones join samples within less than a pixel and threads that nobody
 * would look at, and leave out markers that are too many to look at. */
static const struct {
    void (*apply)(struct thinning *thinning, uint32_t level);
    uint32_t level;
    bool is_fine; /* a small step: skipped as long as the output is more than NEAR_FACTOR times too large */
} steps[] = {
    {thin_samples, 10000, false}, {thin_threads, 10, false},    {thin_markers, 1000000, false},
    {thin_markers, 500000, true}, {thin_markers, 200000, true}, {thin_markers, 100000, false},
    {thin_samples, 5000, true},   {thin_samples, 2000, false},  {thin_markers, 50000, true},
    {thin_markers, 20000, true},  {thin_markers, 10000, false}, {thin_threads, 100, false},
    {thin_samples, 1000, false},  {thin_markers, 5000, true},   {thin_markers, 2000, true},
    {thin_markers, 1000, false},  {thin_samples, 500, true},    {thin_samples, 200, true},
    {thin_samples, 100, false},   {thin_threads, 1000, false},  {thin_markers, 500, true},
    {thin_markers, 200, true},    {thin_markers, 100, false},   {thin_samples, 50, true},
    {thin_samples, 20, true},     {thin_samples, 10, false},    {thin_samples, 5, true},
    {thin_samples, 2, true},      {thin_samples, 1, false},
};
enum { NEAR_FACTOR = 4 };

/* ---- Measuring. ---- */

/* The function of a chunk_drain. */
static void measure_part(void *sink, struct chunk_list *chunks) { sink_put(sink, chunks, (struct progress){0}); }

/* Returns how many bytes the output would have. */
static uint64_t measure(const struct profile *profile, const struct fit_size *fit) {
    struct failure *failure = profile->failure;
    struct sink *sink = sink_open_measuring(fit->path, fit->thread_count, failure);
    struct chunk_drain drain = {measure_part, sink};
    struct sink_written written = {0};
    struct ledger ledger;
    struct chunk_list out;
    if (!sink) return 0;
    chunk_list_init(&out, failure);
    out.drain = &drain;
    ledger_init(&ledger, failure);
    fit->emitter->emit(profile, &ledger, &out, fit->options, (struct progress){0});
    measure_part(sink, &out);
    ledger_fini(&ledger);
    sink_close(sink, &written);
    return written.bytes_count;
}

/* Returns the most bytes of the facts that will describe the thinning. */
static uint64_t bytes_of_facts(const struct profile *profile) {
    enum { FACT_BYTES = 160, ESCAPED_BYTES_MAX = 6 };
    uint64_t bytes_count = 2 * FACT_BYTES;
    COLUMN_EACH(const struct marker_schema, marker_schema, &profile->marker_schemas)
        bytes_count += FACT_BYTES + ESCAPED_BYTES_MAX * marker_schema->name.bytes_count;
    return bytes_count;
}

/* ---- The whole. ---- */

void profile_fit_size(struct profile *profile, const struct fit_size *fit) {
    struct failure *failure = profile->failure;
    size_t entry_count = profile->ledger.entries.count;
    uint64_t bytes_count = measure(profile, fit), facts_bytes = bytes_of_facts(profile);
    struct thinning thinning;
    if (failure_is_set(failure) || bytes_count <= fit->max_bytes) return;
    thinning_init(&thinning, profile);
    for (size_t i = 0; i < sizeof steps / sizeof *steps && bytes_count + facts_bytes > fit->max_bytes; i++) {
        if (failure_is_set(failure)) break;
        if (steps[i].is_fine && bytes_count / NEAR_FACTOR > fit->max_bytes) continue;
        steps[i].apply(&thinning, steps[i].level);
        sweep_profile(profile);
        bytes_count = measure(profile, fit);
    }
    if (!failure_is_set(failure)) {
        thinning_enter(&thinning);
        profile_show_ledger(profile, entry_count);
    }
    thinning_fini(&thinning);
    if (bytes_count + facts_bytes > fit->max_bytes)
        failure_set(failure, FAILURE_USAGE,
                    "--max-size: the profile cannot be that small: it still has %" PRIu64
                    " bytes when all samples of a stack are added up; leave out a part of it (--time, --pid, --comm)",
                    bytes_count);
}
