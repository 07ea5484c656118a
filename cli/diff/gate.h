/* The limits of a comparison, and their outcomes. */
#pragma once

#include "comparison.h"
#include "writer/json.h"

struct gate_limit {
    struct limit limit;
    size_t group; /* group of the runs, if the limit is of functions */
    struct outcome outcome;
};

struct gate {
    struct failure *failure; /* borrowed */
    struct column limits;    /* struct gate_limit */
    struct column globs;     /* struct text: the groups that the runs need */
    struct column lines;     /* char *, owned: the expressions of budgets */
    bool allows_missing;
};

/* Reads the expressions of the options and of their budgets. Failures are latched. Call gate_fini in any case. */
void gate_init(struct gate *gate, const struct options *options, struct failure *failure);
void gate_fini(struct gate *gate);

void gate_judge(struct gate *gate, struct comparison *comparison);

/* Returns the exit code for the outcomes: 0, 6 if a limit was exceeded, or that of a wrong command line if an
 * expression matched nothing. */
enum { GATE_EXIT_CODE = 6 };
int gate_exit_code(const struct gate *gate);

/* Returns "passed", "failed", "missing" or "error", which is missing without --allow-missing. */
const char *gate_verdict(const struct gate *gate, const struct gate_limit *limit);

/* Describes the outcome in words: "12.1 % to 13.5 %: +11.6 %, at least +7.2 %". */
enum { GATE_WORDS_BYTES = 512 };
void gate_describe(const struct gate_limit *limit, char words[GATE_WORDS_BYTES]);

/* Appends the whole document: a test case for each limit. */
void gate_append_junit(const struct gate *gate, struct chunk_list *out);
