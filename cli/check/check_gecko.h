/* Checks of Gecko profiles. */
#ifndef GECKO_CHECK_GECKO_H
#define GECKO_CHECK_GECKO_H

#include "check_rules.h"

/* By enum shape_id. */
extern shape_check *const check_gecko_shapes[SHAPE_COUNT];

#endif
