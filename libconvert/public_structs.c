#include "public_structs.h"

#include <string.h>

/* What every version of the structs has. gecko_convert_result_fini uses no other member. */
enum {
    OPTIONS_BYTES_MIN = sizeof(size_t),
    RESULT_BYTES_MIN = offsetof(struct gecko_convert_result, owned) + sizeof(void *)
};

static bool is_zero(const char *bytes, size_t bytes_count) {
    for (size_t i = 0; i < bytes_count; i++)
        if (bytes[i]) return false;
    return true;
}

/* Copies the members that both sides know. Both structs begin with struct_bytes; that of `known` is set. */
static bool take(void *known, size_t known_bytes, const void *given, size_t least_bytes) {
    size_t given_bytes;
    memcpy(&given_bytes, given, sizeof given_bytes);
    if (given_bytes < least_bytes) return false;
    size_t common_bytes = given_bytes < known_bytes ? given_bytes : known_bytes;
    memset(known, 0, known_bytes);
    memcpy(known, given, common_bytes);
    memcpy(known, &known_bytes, sizeof known_bytes);
    return is_zero((const char *)given + common_bytes, given_bytes - common_bytes);
}

bool public_options_take(struct gecko_convert_options *known, const struct gecko_convert_options *given) {
    return take(known, sizeof *known, given, OPTIONS_BYTES_MIN);
}

bool public_result_take(struct gecko_convert_result *known, const struct gecko_convert_result *given) {
    return take(known, sizeof *known, given, RESULT_BYTES_MIN);
}

bool public_result_give(struct gecko_convert_result *given, const struct gecko_convert_result *known) {
    size_t given_bytes = given->struct_bytes;
    if (given_bytes < RESULT_BYTES_MIN) return false;
    size_t common_bytes = given_bytes < sizeof *known ? given_bytes : sizeof *known;
    memcpy(given, known, common_bytes);
    memset((char *)given + common_bytes, 0, given_bytes - common_bytes);
    given->struct_bytes = given_bytes;
    return true;
}
