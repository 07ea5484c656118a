#include "location.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recorder/gecko_recorder.h"

#define VARIABLE    "GECKO_RECORDER_JOIN"
#define OVER        "over "
#define NOT_TO_JOIN "0"

enum { VARIABLE_BYTES = sizeof VARIABLE + GREC_LOCATION_BYTES };

bool location_parse(const char *text, struct location *location) {
    char *end;
    if (!text) return false;
    *location = (struct location){.is_over = !strncmp(text, OVER, sizeof OVER - 1)};
    if (location->is_over) text += sizeof OVER - 1;
    location->path = text;
    if (*text == '/') return true;
    location->session_id = strtoull(text, &end, 16);
    location->path = end + 1;
    return end != text && *end == ' ' && end[1];
}

bool location_format(const struct location *location, char *text, size_t bytes_max) {
    int bytes = snprintf(text, bytes_max, "%s%llx %s", location->is_over ? OVER : "",
                         (unsigned long long)location->session_id, location->path);
    return bytes >= 0 && (size_t)bytes < bytes_max;
}

const char *location_of_environment(void) { return secure_getenv(VARIABLE); }

/* ---- The environment. ----
 *
 * setenv may free the array of variables while another thread reads it by getenv. So the array is replaced by a larger
 * one here, and the old one stays. */

static bool replace_variable(char *text) {
    for (char **place = environ; place && *place; place++) {
        if (strncmp(*place, VARIABLE "=", sizeof VARIABLE) != 0) continue;
        if (strcmp(*place, text) != 0) __atomic_store_n(place, text, __ATOMIC_RELEASE);
        return true;
    }
    return false;
}

/* Returns false if another thread has replaced the array meanwhile, or if there is no memory. */
static bool add_variable(char *text) {
    char **old = __atomic_load_n(&environ, __ATOMIC_ACQUIRE);
    size_t count = 0;
    while (old && old[count]) count++;
    char **larger = malloc((count + 2) * sizeof *larger);
    if (!larger) return false;
    if (count) memcpy(larger, old, count * sizeof *larger);
    larger[count] = text;
    larger[count + 1] = NULL;
    if (!__atomic_compare_exchange_n(&environ, &old, larger, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
        free(larger);
        return false;
    }
    /* Another thread may have changed a variable after it was copied. */
    for (size_t i = 0; i < count && old[i]; i++)
        if (larger[i] != old[i]) __atomic_store_n(&larger[i], old[i], __ATOMIC_RELEASE);
    return true;
}

/* Another thread, or a child that shares the memory, may be reading the text that was set before: the two texts take
 * turns. */
static void set_variable(const char *value) {
    static char texts[2][VARIABLE_BYTES];
    static unsigned turn;
    enum { TRIES = 3 };
    char *text = texts[turn++ % 2];
    snprintf(text, VARIABLE_BYTES, "%s=%s", VARIABLE, value);
    for (int i = 0; i < TRIES && !replace_variable(text) && !add_variable(text); i++) continue;
}

void location_export(const struct location *location) {
    char text[GREC_LOCATION_BYTES];
    set_variable(location && location_format(location, text, sizeof text) ? text : NOT_TO_JOIN);
}
