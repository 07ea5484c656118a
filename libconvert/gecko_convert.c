/* The functions of the public header. Structs have the size that their caller knows. */
#include "gecko_convert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conversion.h"
#include "readers/reader.h"
#include "report.h"
#include "writer/emitter.h"

/* ---- Structs of other versions. ---- */

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

/* Copies the caller's options; members that the caller does not know become zero. Returns false if the caller's
 * struct_bytes is too small for any version, or if the caller has set a member that this library does not know. */
static bool take_options(struct gecko_convert_options *known, const struct gecko_convert_options *given) {
    return take(known, sizeof *known, given, OPTIONS_BYTES_MIN);
}

/* Copies the caller's result in the same way. */
static bool take_result(struct gecko_convert_result *known, const struct gecko_convert_result *given) {
    return take(known, sizeof *known, given, RESULT_BYTES_MIN);
}

/* Copies to *given the members that its caller knows, and zeros those that this library does not know. Keeps
 * given->struct_bytes. Returns false and writes nothing if struct_bytes is too small for any version. */
static bool give_result(struct gecko_convert_result *given, const struct gecko_convert_result *known) {
    size_t given_bytes = given->struct_bytes;
    if (given_bytes < RESULT_BYTES_MIN) return false;
    size_t common_bytes = given_bytes < sizeof *known ? given_bytes : sizeof *known;
    memcpy(given, known, common_bytes);
    memset((char *)given + common_bytes, 0, given_bytes - common_bytes);
    given->struct_bytes = given_bytes;
    return true;
}

/* ---- Converting. ---- */

enum gecko_convert_status gecko_convert(const struct gecko_convert_options *options,
                                        struct gecko_convert_result *result) {
    static const struct conversion_ends no_others = {0};
    struct gecko_convert_options known_options;
    struct gecko_convert_result known_result = conversion_no_result;
    if (!give_result(result, &conversion_no_result)) return GECKO_CONVERT_BAD_USAGE;
    if (take_options(&known_options, options)) {
        conversion_run(&known_options, &no_others, &known_result, NULL);
    } else {
        known_result.status = GECKO_CONVERT_BAD_USAGE;
        snprintf(known_result.message, sizeof known_result.message,
                 "struct_bytes of the options is wrong, or they set a member that version %s of the library lacks",
                 GECKO_CONVERT_VERSION);
    }
    give_result(result, &known_result);
    return known_result.status;
}

char *gecko_convert_report(const struct gecko_convert_options *options, const struct gecko_convert_result *result,
                           size_t *bytes_count) {
    struct gecko_convert_options known_options;
    struct gecko_convert_result known_result;
    if (!take_options(&known_options, options) || !take_result(&known_result, result)) return NULL;
    struct failure failure = {0};
    struct chunk_list chunks;
    chunk_list_init(&chunks, &failure);
    report_json(&known_options, &known_result, &chunks);
    char *report = failure_is_set(&failure) ? NULL : malloc(chunks.total_bytes + 1);
    if (report) {
        chunk_list_copy(&chunks, report);
        report[chunks.total_bytes] = '\0';
        if (bytes_count) *bytes_count = (size_t)chunks.total_bytes;
    }
    chunk_list_fini(&chunks);
    return report;
}

/* ---- Names. ---- */

const char *gecko_convert_input_format(size_t number) {
    size_t i = 0;
    while (i < number && readers[i]) i++;
    return readers[i] ? readers[i]->name : NULL;
}

const char *gecko_convert_output_format(size_t number) {
    size_t i = 0;
    while (i < number && emitters[i]) i++;
    return emitters[i] ? emitters[i]->name : NULL;
}

const char *gecko_convert_version(void) { return GECKO_CONVERT_VERSION; }
