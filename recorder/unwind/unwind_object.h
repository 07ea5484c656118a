/* Describes a loaded object of this process for reading its call frame information. */
#pragma once

#include <link.h>

#include "unwind_cfi.h"

/* Describes the object. The object's memory must stay mapped while the image is used: call this within dl_iterate_phdr,
 * or for an object that is never unloaded. Returns false if no part of the object is loaded. */
bool unwind_image_init(struct unwind_image *image, const struct dl_phdr_info *object);
