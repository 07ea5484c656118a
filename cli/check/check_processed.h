/* The rules of processed profiles, version 70. */
#ifndef GECKO_CHECK_PROCESSED_H
#define GECKO_CHECK_PROCESSED_H

#include "check_rules.h"

enum { PROCESSED_VERSION = 70 };

extern const struct shape check_processed_profile;

#endif
