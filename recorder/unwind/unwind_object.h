/* Describes a loaded object of this process for reading its call frame information. */
#ifndef GREC_UNWIND_OBJECT_H
#define GREC_UNWIND_OBJECT_H

#include <link.h>

#include "unwind_cfi.h"

/* Describes the object. The object's memory must stay mapped while the image is used: call this within dl_iterate_phdr,
 * or for an object that is never unloaded. Returns false if no part of the object is loaded. */
bool unwind_image_init(struct unwind_image *image, const struct dl_phdr_info *object);

#endif
