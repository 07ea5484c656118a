/* Frames whose functions have no name: they are called after their address. */
#pragma once

#include "profile.h"

/* Returns whether the name is an address: "0x12". */
bool name_is_address(struct text name);

/* Returns whether the name is "library+0x12", which readers use where there is no name. */
bool name_is_address_in(const struct lib *lib, struct text name);

/* Returns whether the frame's function has such a name, or the name that symbols give to functions without one. */
bool frame_is_nameless(const struct profile *profile, const struct frame *frame);
