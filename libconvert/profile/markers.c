#include "markers.h"

#include <math.h>
#include <string.h>

#include "threads.h"

const struct marker_format_traits marker_formats[MARKER_FORMAT_COUNT] = {
    [MARKER_URL] = {"url", VALUE_TEXT},
    [MARKER_FILE_PATH] = {"file-path", VALUE_TEXT},
    [MARKER_SANITIZED_STRING] = {"sanitized-string", VALUE_TEXT},
    [MARKER_STRING] = {"string", VALUE_TEXT},
    [MARKER_UNIQUE_STRING] = {"unique-string", VALUE_STRING},
    [MARKER_FLOW_ID] = {"flow-id", VALUE_STRING},
    [MARKER_TERMINATING_FLOW_ID] = {"terminating-flow-id", VALUE_STRING},
    [MARKER_DURATION] = {"duration", VALUE_DURATION},
    [MARKER_TIME] = {"time", VALUE_TIME},
    [MARKER_SECONDS] = {"seconds", VALUE_NUMBER},
    [MARKER_MILLISECONDS] = {"milliseconds", VALUE_NUMBER},
    [MARKER_MICROSECONDS] = {"microseconds", VALUE_NUMBER},
    [MARKER_NANOSECONDS] = {"nanoseconds", VALUE_NUMBER},
    [MARKER_BYTES] = {"bytes", VALUE_NUMBER},
    [MARKER_PERCENTAGE] = {"percentage", VALUE_NUMBER},
    [MARKER_INTEGER] = {"integer", VALUE_NUMBER},
    [MARKER_DECIMAL] = {"decimal", VALUE_NUMBER},
    [MARKER_HEXADECIMAL] = {"hexadecimal", VALUE_NUMBER},
    [MARKER_PID] = {"pid", VALUE_TEXT},
    [MARKER_TID] = {"tid", VALUE_TEXT},
    [MARKER_LIST] = {"list", VALUE_CELLS},
    [MARKER_TABLE] = {"table", VALUE_CELLS},
};

union marker_value marker_value_absent(enum marker_value_kind kind) {
    switch (kind) {
        case VALUE_TEXT: return (union marker_value){.text = {0}};
        case VALUE_STRING: return (union marker_value){.string = string_none()};
        case VALUE_NUMBER: return (union marker_value){.number = {.scale = MARKER_ABSENT}};
        case VALUE_DURATION: return (union marker_value){.duration_ns = TIME_NONE};
        case VALUE_TIME: return (union marker_value){.time_ns = TIME_NONE};
        case VALUE_CELLS: break;
    }
    return (union marker_value){.cells = {.first = ID_NONE}};
}

union marker_value marker_value_real(double value) {
    if (!isfinite(value)) return marker_value_absent(VALUE_NUMBER);
    union marker_value real = {.number = {.scale = MARKER_REAL}};
    memcpy(&real.number.mantissa, &value, sizeof value);
    return real;
}

double marker_value_real_of(struct decimal number) {
    double value;
    memcpy(&value, &number.mantissa, sizeof value);
    return value;
}

uint64_t marker_value_bits(struct decimal number) {
    if (number.scale == MARKER_ABSENT) return 0;
    if (number.scale == MARKER_REAL) {
        double value = marker_value_real_of(number);
        if (value >= 0x1p64) return UINT64_MAX;
        if (value <= -0x1p63) return (uint64_t)INT64_MIN;
        return value < 0 ? (uint64_t)(int64_t)value : (uint64_t)value;
    }
    int64_t whole = number.mantissa;
    for (uint32_t i = 0; i < number.scale && whole; i++) whole /= 10;
    return (uint64_t)whole;
}

bool marker_value_is_wide(enum marker_format format, struct decimal number) {
    static const int64_t EXACT_MAX = INT64_C(1) << 53;
    if (format == MARKER_HEXADECIMAL) return marker_value_bits(number) > UINT32_MAX;
    return format == MARKER_INTEGER && !number.scale && !number.exponent &&
           (number.mantissa > EXACT_MAX || number.mantissa < -EXACT_MAX);
}

const char *const graph_color_names[GRAPH_COLOR_COUNT + 1] = {
    [GRAPH_BLUE] = "blue",       [GRAPH_GREEN] = "green",   [GRAPH_GREY] = "grey",     [GRAPH_INK] = "ink",
    [GRAPH_MAGENTA] = "magenta", [GRAPH_ORANGE] = "orange", [GRAPH_PURPLE] = "purple", [GRAPH_RED] = "red",
    [GRAPH_TEAL] = "teal",       [GRAPH_YELLOW] = "yellow",
};
