/* Checks of processed profiles. */
#ifndef GECKO_CHECK_PROCESSED_H
#define GECKO_CHECK_PROCESSED_H

#include "check_rules.h"

/* By enum shape_id. */
extern shape_check *const check_processed_shapes[SHAPE_COUNT];

#endif
