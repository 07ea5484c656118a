/* Tracepoints that come in pairs: one reports that something begins, the other that it ends. */
#pragma once

#include "perf_payloads.h"

/* Where the end of something comes after its start. */
enum perf_pair_lane {
    LANE_THREAD,        /* in the same thread, which does one such thing at a time */
    LANE_THREAD_NESTED, /* in the same thread, where they nest like calls */
    LANE_REQUEST,       /* anywhere: the payloads name the device and the sector */
};

/* Which events are pairs. "*" stands for any text, which is the same in all four. */
struct perf_pair_rule {
    struct text start;
    struct text end;
    struct text name; /* name of the markers: "futex" */
    struct text type; /* name of their schema: "syscalls:futex" */
    enum perf_pair_lane lane;
    bool has_result; /* the end has the result of a system call */
    struct text key; /* a number that both payloads have; empty: none */
};

/* What an event is in a pair. */
struct perf_pair_role {
    const struct perf_pair_rule *rule; /* NULL: the event is in no pair */
    uint32_t start;                    /* the event that begins what this one ends; ID_NONE: this one begins it */
    bool has_end;                      /* the recording has the other event */
};

struct perf_pairs {
    struct perf_payloads *payloads;
    struct perf_pair_role *roles; /* one for each event */
};

/* Finds which payloads belong together, and swaps their places, so that the order of one leads to the other. payloads
 * is borrowed. Running out of memory is latched. */
void perf_pairs_init(struct perf_pairs *pairs, struct perf_payloads *payloads);
void perf_pairs_fini(struct perf_pairs *pairs);

/* Returns whether another payload ends what this one of the series begins, or begins what it ends.
 * perf_payloads_series, _at and _sample find that one by the order of this one. */
static inline bool perf_pairs_has_partner(const struct perf_pairs *pairs, const struct perf_series *series,
                                          const struct perf_payload *payload) {
    return perf_payloads_series(pairs->payloads, payload->order) != series;
}

/* What payloads of an event can be of a pair. */
enum perf_pair_part { PAIR_START, PAIR_END, PAIR_NONE, PAIR_PART_COUNT };

static inline enum perf_pair_part perf_pairs_part(const struct perf_pairs *pairs, uint32_t event) {
    if (!pairs->roles[event].rule) return PAIR_NONE;
    return pairs->roles[event].has_end ? PAIR_START : PAIR_END;
}

/* Returns the pattern, which is the rule's name or type, for an event that it matches, as a text of the profile. */
struct text perf_pair_fill(const struct perf_pair_rule *rule, struct text pattern, struct text start,
                           struct profile *profile);
