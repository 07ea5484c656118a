/* Collects facts from a profile document, processed or Gecko. */
#ifndef GECKO_INFO_DOCUMENT_H
#define GECKO_INFO_DOCUMENT_H

#include "info.h"
#include "readers/json/document.h"

/* Fills the empty info from a document in which check_document found no error. Failures (memory) are latched in the
 * info's failure. */
void info_fill_from_document(struct info *info, const struct document *document);

#endif
