/* Markers against their schemas: what a table of rules cannot say, since the profile brings the rules along. */
#ifndef GECKO_CHECK_MARKERS_H
#define GECKO_CHECK_MARKERS_H

#include "check_rules.h"

/* The schema of a payload's type. */
struct marker_schema_view {
    const struct node *fields; /* a list; NULL: no good one */
    const struct node *graphs; /* the same */
    bool has_table_label;
};

/* Rules of one schema; the member of the fields has another name in each format. */
extern const struct shape check_processed_schema, check_gecko_schema;

/* Takes in the schemas of the list, so that payloads can be checked; those of a name that it has are an offence when
 * they are repeated in the same list (is_first_list), and ignored. */
void check_markers_learn(struct check *check, const struct node *schemas, const struct place *place,
                         bool is_first_list);

/* Tables of markers: columns, and what holds between times, phases and payloads. */
extern const struct shape check_processed_markers, check_gecko_markers;

/* A value against a field's format: of a payload, or of meta.extra. */
void check_formatted(struct check *check, const struct node *format, const struct node *value,
                     const struct place *place);

/* The format itself. */
void check_format(struct check *check, const struct node *field, const struct place *place);

extern const char *const marker_locations[], *const graph_colors[];

#endif
