/* What processed and Gecko profiles have in common. */
#pragma once

#include "format.h"

/* Members of meta, of categories, of libraries, and of the periods in which nothing was recorded. */
extern const struct shape common_meta_shape, category_shape, common_lib_shape, paused_range_shape;
/* Members of a marker schema, and columns of a table of markers. */
extern const struct shape common_schema_shape, common_marker_table;
/* A graph and a field of a marker schema; a field that is only a text, in Gecko profiles. */
extern const struct shape graph_shape, field_shape, static_field_shape;
extern const struct shape extension_table, page_shape;

extern const struct member text_items;

/* Choices end with NULL. */
extern const char *const counter_graph_names[]; /* by enum counter_graph */
/* By the bits of enum marker_display. */
enum { MARKER_LOCATION_COUNT = 8 };
extern const char *const marker_locations[MARKER_LOCATION_COUNT + 1];
