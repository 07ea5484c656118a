/* Tracepoints that come in pairs: one tells that something begins, the other one that it ends. */
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
    bool has_result; /* the end tells the result of a system call */
    struct text key; /* a number that both payloads tell; empty: none */
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
    uint32_t *partners;           /* one for each payload, by order; ID_NONE: it has none. NULL: there are no pairs */
};

/* Finds which payloads belong together; payloads is borrowed. Running out of memory is latched. */
void perf_pairs_init(struct perf_pairs *pairs, struct perf_payloads *payloads);
void perf_pairs_fini(struct perf_pairs *pairs);

/* Returns the order of the payload that ends what this one begins, or begins what it ends. Returns ID_NONE if there is
 * none. */
static inline uint32_t perf_pairs_partner(const struct perf_pairs *pairs, const struct perf_payload *payload) {
    return pairs->partners ? pairs->partners[payload->order] : ID_NONE;
}

/* Returns whether payloads of the event end what others begin. */
static inline bool perf_pairs_is_end(const struct perf_pairs *pairs, uint32_t event) {
    return pairs->roles[event].rule && !pairs->roles[event].has_end;
}

/* Returns the pattern, which is the rule's name or type, for an event that it matches, as a text of the profile. */
struct text perf_pair_fill(const struct perf_pair_rule *rule, struct text pattern, struct text start,
                           struct profile *profile);
