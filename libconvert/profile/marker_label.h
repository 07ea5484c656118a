/* Labels of marker types: templates such as "{marker.name}: {marker.data.key}". */
#pragma once

#include "libconvert/base/text.h"

/* Finds the first part in braces that the front-end cannot show: it would leave the whole label blank. Sets *part to
 * it, without the braces, and *label to what follows. Returns false if there is none. */
bool marker_label_find_fault(struct text *label, struct text *part);
