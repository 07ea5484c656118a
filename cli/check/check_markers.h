/* Checks markers against the schemas in the profile, which tables of rules cannot express. */
#pragma once

#include "check_rules.h"
#include "libconvert/profile/markers.h"

/* The schema of one type of payload. */
struct marker_schema_view {
    const struct node *fields; /* a list; NULL: the schema has no valid list */
    const struct node *graphs; /* like fields */
    bool has_table_label;
};

/* Check a schema, one of its fields, and a table of markers: how times, phases and payloads relate. */
void check_schema(struct check *check, const struct node *schema, const struct node_path *path);
void check_field(struct check *check, const struct node *field, const struct node_path *path);
void check_markers(struct check *check, const struct node *table, const struct node_path *path);

/* Adds the schemas of the list to those against which payloads are checked. A schema whose name already exists is
 * ignored. It is a violation if the list repeats a name itself; is_first_list is false for lists of child processes,
 * which may repeat names of the parent. */
void check_markers_learn(struct check *check, const struct node *schemas, const struct node_path *path,
                         bool is_first_list);

/* Checks a value, of a payload or of meta.extra, against the format of its field. */
void check_formatted(struct check *check, const struct node *format, const struct node *value,
                     const struct node_path *path);

/* Returns the format of that name; MARKER_FORMAT_COUNT if there is none. The format of a table has columns instead of a
 * name. */
enum marker_format check_format_of(const struct node *format);

/* Checks the format of a field. */
void check_format(struct check *check, const struct node *field, const struct node_path *path);
