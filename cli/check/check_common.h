/* Checks that processed and Gecko profiles have in common. */
#pragma once

#include "check_rules.h"

/* The checks of shapes, by enum shape_id; NULL: there is none. The common checks apply where a format has no check of
 * its own. */
extern shape_check *const check_gecko_shapes[SHAPE_COUNT], *const check_processed_shapes[SHAPE_COUNT],
                                                               *const check_common_shapes[SHAPE_COUNT];

void check_lib(struct check *check, const struct node *lib, const struct node_path *path);

/* Checks that the subcategory of each frame belongs to its category. */
void check_subcategories(struct check *check, const struct node *frames, const struct node_path *path);

/* Checks that no two samples of a counter shown as a rate have the same time. */
void check_rates(struct check *check, const struct node *samples, const struct node_path *path);
