/* Profiles in JsonSlabs (libconvert/base/json_slabs.h) as the JSON that they stand for. */
#ifndef GECKO_INPUT_JSON_SLABS_H
#define GECKO_INPUT_JSON_SLABS_H

#include "input_wrapper.h"

/* An input_wrapper_open. Slabs can be anywhere in the file, so it is in memory as a whole while it is read; the JSON is
 * not. */
bool input_json_slabs_open(struct input_source *source, const struct input_wrapper *wrapper, struct input *below);

#endif
