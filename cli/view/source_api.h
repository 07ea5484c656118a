/* /source/v1: the text of a source file of this machine, if the profile names it. */
#ifndef GECKO_SOURCE_API_H
#define GECKO_SOURCE_API_H

#include "native_service.h"

/* Answers with a file that the profile's table of sources names, or that the debug information of one of the profile's
 * libraries names for the address in the request, if libconvert/source_search.h finds it. Only debug information
 * vouches for a path. Refuses the request if `service` is NULL. Thread-safe. */
void source_api_answer(struct native_service *service, struct text body, struct http_response *response);

#endif
