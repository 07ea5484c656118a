#include "failure.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void failure_clear(struct failure *failure) { *failure = (struct failure){.memory = failure->memory}; }

static void latch(struct failure *failure, enum gecko_convert_status code, const char *format, va_list arguments) {
    failure->code = code;
    vsnprintf(failure->message, sizeof failure->message, format, arguments);
}

void failure_set(struct failure *failure, enum gecko_convert_status code, const char *format, ...) {
    if (failure_is_set(failure)) return;
    va_list arguments;
    va_start(arguments, format);
    latch(failure, code, format, arguments);
    va_end(arguments);
}

void failure_set_at(struct failure *failure, enum gecko_convert_status code, struct position position,
                    const char *format, ...) {
    if (failure_is_set(failure)) return;
    failure->has_position = true;
    failure->position = position;
    va_list arguments;
    va_start(arguments, format);
    latch(failure, code, format, arguments);
    va_end(arguments);
}

void failure_set_memory(struct failure *failure) {
    if (failure_is_set(failure)) return;
    failure->code = FAILURE_MEMORY;
    static const char message[] = "memory ran out";
    memcpy(failure->message, message, sizeof message);
}
