/* The violations found in a profile: the first few of each kind with their paths and messages, and the counts of all.
 */
#pragma once

#include "libconvert/base/row_table.h"
#include "libconvert/base/strings.h"

/* The path to a node from the root. Paths live on the stacks of the functions that walk the document. */
struct node_path {
    const struct node_path *parent; /* NULL: this is the root */
    struct text key;                /* key of a member; if bytes is NULL, the node is element `index` of a list */
    size_t index;
};

static inline struct node_path node_path_member(const struct node_path *parent, const char *key) {
    return (struct node_path){.parent = parent, .key = text_of(key)};
}
static inline struct node_path node_path_element(const struct node_path *parent, size_t index) {
    return (struct node_path){.parent = parent, .index = index};
}

/* Errors: the front-end refuses the profile, hangs, loses data or shows something wrong. Warnings: it tolerates them,
 * but the profile could be better. */
enum violation_severity { VIOLATION_ERROR, VIOLATION_WARNING };

/* The kinds of rules. Their names appear in reports and must not change. */
enum violation_rule {
    RULE_BROKEN_JSON,    /* "json" */
    RULE_BROKEN_VERSION, /* "version" */
    RULE_BROKEN_PRESENCE,
    RULE_BROKEN_TYPE,
    RULE_BROKEN_VALUE,
    RULE_BROKEN_INDEX,
    RULE_BROKEN_LENGTH,
    RULE_BROKEN_ORDER,
    RULE_BROKEN_UNIQUENESS,
    RULE_BROKEN_CONSISTENCY,
    RULE_BROKEN_SCHEMA,
    RULE_BROKEN_COUNT
};
const char *violation_rule_name(enum violation_rule rule);

enum { VIOLATIONS_SHOWN_MAX = 5 };

/* Violations of one rule whose paths differ only in indexes. */
struct violation_kind {
    struct text path; /* "$.threads[*].samples.stack[*]" */
    enum violation_rule rule;
    enum violation_severity severity;
    uint64_t count;
    size_t shown_count; /* at most VIOLATIONS_SHOWN_MAX */
    struct text shown_paths[VIOLATIONS_SHOWN_MAX];
    struct text messages[VIOLATIONS_SHOWN_MAX];
};

struct violations {
    struct failure *failure; /* borrowed */
    struct strings texts;
    struct row_table keys; /* struct kind_key; the row numbers are the numbers of the kinds */
    struct column kinds;   /* struct violation_kind, in order of first appearance */
    uint64_t counts[2];    /* number of violations, by severity */
};

void violations_init(struct violations *violations, struct failure *failure);
void violations_fini(struct violations *violations);

/* Adds a violation. The message is one line that says what is wrong or what is required. Failures (memory) are latched.
 */
void violations_add(struct violations *violations, enum violation_severity severity, enum violation_rule rule,
                    const struct node_path *path, const char *format, ...) __attribute__((format(printf, 5, 6)));
