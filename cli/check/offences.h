/* What is wrong with a profile: each offence with its place in the document, a few of each kind, and how many more. */
#ifndef GECKO_OFFENCES_H
#define GECKO_OFFENCES_H

#include <stdarg.h>

#include "libconvert/row_table.h"
#include "libconvert/strings.h"

/* A place in the document: the way from the root. Places live on the stack of those who walk. */
struct place {
    const struct place *parent; /* NULL: the root */
    struct text key;            /* of a member; bytes NULL: element `index` of a list */
    size_t index;
};

static inline struct place place_member(const struct place *parent, const char *key) {
    return (struct place){.parent = parent, .key = text_of(key)};
}
static inline struct place place_element(const struct place *parent, size_t index) {
    return (struct place){.parent = parent, .index = index};
}

enum { PLACE_PATH_BYTES = 512 };

/* "$.threads[3].samples.stack[17]", terminated. */
void place_write(const struct place *place, char *path, size_t capacity_bytes);

/* Errors: the front-end refuses, hangs, loses or shows something else. Warnings: it copes, and the profile could be
 * better. */
enum offence_severity { OFFENCE_ERROR, OFFENCE_WARNING };

/* What kind of rule is broken; the names in reports stay the same. */
enum offence_rule {
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
const char *offence_rule_name(enum offence_rule rule);

enum { OFFENCES_SHOWN_MAX = 5 };

/* Offences of one rule at places that differ in their numbers only. */
struct offence_kind {
    struct text path; /* "$.threads[*].samples.stack[*]" */
    enum offence_rule rule;
    enum offence_severity severity;
    uint64_t count;
    size_t shown_count; /* at most OFFENCES_SHOWN_MAX */
    struct text shown_paths[OFFENCES_SHOWN_MAX];
    struct text messages[OFFENCES_SHOWN_MAX];
};

struct offences {
    struct failure *failure; /* borrowed */
    struct strings texts;
    struct row_table keys; /* of the kinds */
    struct column kinds;   /* struct offence_kind, in order of first appearance */
    uint64_t counts[2];    /* by severity */
};

void offences_init(struct offences *offences, struct failure *failure);
void offences_fini(struct offences *offences);

/* The message says what is wrong, and what must be, in one line. Failures (memory) are latched. */
void offences_add(struct offences *offences, enum offence_severity severity, enum offence_rule rule,
                  const struct place *place, const char *format, ...) __attribute__((format(printf, 5, 6)));
void offences_add_list(struct offences *offences, enum offence_severity severity, enum offence_rule rule,
                       const struct place *place, const char *format, va_list arguments)
    __attribute__((format(printf, 5, 0)));

#endif
