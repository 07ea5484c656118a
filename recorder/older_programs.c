/* Functions for programs that were built with version 0.1.0, whose structs were smaller: see GREC_SYMBOL_. */
#include <stddef.h>
#include <string.h>

#include "gecko_recorder.h"

enum {
    OLD_OPTIONS_BYTES = offsetof(struct grec_options, duration_s),
    OLD_STATUS_BYTES = offsetof(struct grec_status, flags),
};

GREC_API enum grec_error start_as_before(const void *options) __asm__("grec_start");
enum grec_error start_as_before(const void *options) {
    struct grec_options whole = {.duration_s = 0};
    if (options) memcpy(&whole, options, OLD_OPTIONS_BYTES);
    return grec_start(options ? &whole : NULL);
}

GREC_API void get_status_as_before(void *status) __asm__("grec_get_status");
void get_status_as_before(void *status) {
    struct grec_status whole;
    grec_get_status(&whole);
    if (status) memcpy(status, &whole, OLD_STATUS_BYTES);
}
