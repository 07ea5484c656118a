/* Facts of a profile: processed or Gecko. */
#ifndef GECKO_INFO_DOCUMENT_H
#define GECKO_INFO_DOCUMENT_H

#include "cli/document.h"
#include "info.h"

/* Fills the empty info from a document in which check_document has found no error. Failures (memory) are latched in the
 * info. */
void info_take_document(struct info *info, const struct document *document);

#endif
