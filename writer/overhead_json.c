#include "overhead_json.h"

struct spread {
    int64_t min_ns;
    int64_t max_ns;
    __int128 sum_ns; /* wide enough for any number of rows */
    uint64_t count;
};

static void add(struct spread *spread, int64_t ns) {
    if (!spread->count || ns < spread->min_ns) spread->min_ns = ns;
    if (!spread->count || ns > spread->max_ns) spread->max_ns = ns;
    spread->sum_ns += ns;
    spread->count++;
}

static int64_t mean_ns(const struct spread *spread) {
    return spread->count ? (int64_t)(spread->sum_ns / spread->count) : 0;
}

/* Numbers of a profile that was read can be of any size. */
static int64_t bounded(__int128 ns) { return ns > INT64_MAX ? INT64_MAX : ns < INT64_MIN ? INT64_MIN : (int64_t)ns; }

static void write_us(struct json *json, const char *key, int64_t ns) {
    enum { US_DIGITS_OF_NS = 3 };
    json_key(json, key);
    json_decimal(json, decimal_make(ns, US_DIGITS_OF_NS));
}

/* The statistics of tools/profiler/core/ProfileBuffer.cpp. This recorder does no cleaning, so those are 0. */
enum spread_kind {
    SPREAD_CLEANING,
    SPREAD_COUNTER,
    SPREAD_INTERVAL,
    SPREAD_LOCKING,
    SPREAD_ALL,
    SPREAD_THREAD,
    SPREADS
};

static const struct {
    const char *max;
    const char *mean;
    const char *min;
} names[SPREADS] = {
    [SPREAD_CLEANING] = {"maxCleaning", "meanCleaning", "minCleaning"},
    [SPREAD_COUNTER] = {"maxCounter", "meanCounter", "minCounter"},
    [SPREAD_INTERVAL] = {"maxInterval", "meanInterval", "minInterval"},
    [SPREAD_LOCKING] = {"maxLockings", "meanLockings", "minLockings"},
    [SPREAD_ALL] = {"maxOverhead", "meanOverhead", "minOverhead"},
    [SPREAD_THREAD] = {"maxThread", "meanThread", "minThread"},
};

static const struct overhead *overhead_at(const struct profile *profile, size_t row) {
    return column_at(&profile->overheads, row);
}

static int64_t sum_ns(const struct overhead *overhead) {
    return bounded((__int128)overhead->locking_ns + overhead->counters_ns + overhead->threads_ns);
}

static int64_t distance_ns(const struct overhead *from, const struct overhead *to) {
    return bounded((__int128)to->time_ns - from->time_ns);
}

static void measure(const struct profile *profile, size_t first, size_t count, struct spread spreads[SPREADS]) {
    for (size_t row = first; row < first + count; row++) {
        const struct overhead *overhead = overhead_at(profile, row);
        add(&spreads[SPREAD_COUNTER], overhead->counters_ns);
        add(&spreads[SPREAD_LOCKING], overhead->locking_ns);
        add(&spreads[SPREAD_THREAD], overhead->threads_ns);
        add(&spreads[SPREAD_ALL], sum_ns(overhead));
        if (row > first) add(&spreads[SPREAD_INTERVAL], distance_ns(overhead_at(profile, row - 1), overhead));
    }
}

/* Writes the part of the time as a fraction between 0 and 1, with six digits. */
static void write_share(struct json *json, __int128 part_ns, int64_t whole_ns) {
    enum { SHARE_DIGITS = 6 };
    static const int64_t SHARE_ONE = 1000000;
    __int128 share = whole_ns > 0 ? part_ns * SHARE_ONE / whole_ns : 0;
    json_key(json, "overheadPercentage");
    json_decimal(json, decimal_make(bounded(share), SHARE_DIGITS));
}

void overhead_json_statistics(struct json *json, const struct profile *profile, size_t first, size_t count) {
    struct spread spreads[SPREADS] = {0};
    measure(profile, first, count, spreads);
    int64_t profiled_ns = distance_ns(overhead_at(profile, first), overhead_at(profile, first + count - 1));
    json_key_object_begin(json, "statistics");
    for (size_t i = 0; i < SPREADS; i++) {
        write_us(json, names[i].max, spreads[i].max_ns);
        write_us(json, names[i].mean, mean_ns(&spreads[i]));
        write_us(json, names[i].min, spreads[i].min_ns);
    }
    write_us(json, "overheadDurations", bounded(spreads[SPREAD_ALL].sum_ns));
    write_share(json, spreads[SPREAD_ALL].sum_ns, profiled_ns);
    write_us(json, "profiledDuration", profiled_ns);
    json_key_int(json, "samplingCount", (int64_t)count);
    json_object_end(json);
}
