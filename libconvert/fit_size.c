#include "fit_size.h"

#include <inttypes.h>

#include "libconvert/profile/sweep.h"
#include "libconvert/profile/thin.h"
#include "writer/sink.h"

/* What matters least comes first: a part of the time that has less than a pixel, threads that nobody would look at,
 * markers that are too many to be looked at. */
static const struct {
    void (*apply)(struct thinning *thinning, uint32_t level);
    uint32_t level;
} steps[] = {
    {thin_samples, 10000}, {thin_threads, 10},   {thin_markers, 100000}, {thin_samples, 3000}, {thin_markers, 10000},
    {thin_threads, 100},   {thin_samples, 1000}, {thin_markers, 1000},   {thin_samples, 100},  {thin_threads, 1000},
    {thin_markers, 100},   {thin_samples, 10},   {thin_samples, 1},
};

/* ---- Measuring. ---- */

/* A drain. */
static void measure_part(void *sink, struct chunk_list *chunks) { sink_put(sink, chunks, (struct progress){0}); }

/* Returns how many bytes the output would have. */
static uint64_t measure(const struct profile *profile, const struct fit_size *fit) {
    struct failure *failure = profile->failure;
    struct sink *sink = sink_open_measuring(fit->path, fit->options->thread_count, failure);
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

/* Returns at most how many bytes the facts will have that tell what was done. */
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
