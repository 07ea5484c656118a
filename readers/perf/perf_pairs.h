/* Tracepoints that come in pairs: one tells that something begins, the other one that it ends. */
#pragma once

#include "perf_payloads.h"

struct perf_pair_rule;

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

/* Returns the name of the markers of a pair, as a text of the profile: "futex". */
struct text perf_pair_name(const struct perf_pair_rule *rule, struct profile *profile, struct text start);

/* Returns the name of their schema: "syscalls:futex". */
struct text perf_pair_type(const struct perf_pair_rule *rule, struct profile *profile, struct text start);

/* Returns whether the payload of the end tells the result of a system call. */
bool perf_pair_has_result(const struct perf_pair_rule *rule);
