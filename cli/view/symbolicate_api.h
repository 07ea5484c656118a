/* /symbolicate/v5: names, files and lines of addresses, as Mozilla's symbol server answers. */
#ifndef GECKO_SYMBOLICATE_API_H
#define GECKO_SYMBOLICATE_API_H

#include "native_service.h"

/* Writes the answer. This is a native_write. */
void symbolicate_api_write(const struct native_service *service, const struct document *request, struct json *json,
                           struct failure *failure);

#endif
