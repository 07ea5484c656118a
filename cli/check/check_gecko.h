/* The rules of Gecko profiles, version 36. */
#ifndef GECKO_CHECK_GECKO_H
#define GECKO_CHECK_GECKO_H

#include "check_rules.h"

enum { GECKO_VERSION = 36 };

extern const struct shape check_gecko_profile;

#endif
