/* /asm/v1: the instructions of a function. */
#ifndef GECKO_ASM_API_H
#define GECKO_ASM_API_H

#include "native_service.h"

/* Writes the answer. This is a native_write. */
void asm_api_write(const struct native_service *service, const struct document *request, struct json *json,
                   struct failure *failure);

#endif
