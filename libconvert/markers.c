#include "markers.h"

const char *marker_format_name(enum marker_format format) {
    static const char *const names[MARKER_FORMAT_COUNT] = {
        [MARKER_UNIQUE_STRING] = "unique-string",
        [MARKER_DECIMAL] = "decimal",
    };
    return names[format];
}
