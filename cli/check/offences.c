#include "offences.h"

#include <stdio.h>
#include <string.h>

#include "cli/document.h"
#include "libconvert/printable.h"

/* ---- Places. ---- */

static void append_step(const struct place *place, char *path, size_t capacity_bytes, bool has_numbers) {
    if (place->key.bytes) {
        document_append_key(path, capacity_bytes, place->key);
        return;
    }
    size_t used_bytes = strlen(path);
    if (has_numbers)
        snprintf(path + used_bytes, capacity_bytes - used_bytes, "[%zu]", place->index);
    else
        snprintf(path + used_bytes, capacity_bytes - used_bytes, "[*]");
}

/* Recursion as deep as the rules nest. */
static void write_path(const struct place *place, char *path, size_t capacity_bytes, bool has_numbers) {
    if (!place->parent) {
        snprintf(path, capacity_bytes, "$");
        return;
    }
    write_path(place->parent, path, capacity_bytes, has_numbers);
    append_step(place, path, capacity_bytes, has_numbers);
}

void place_write(const struct place *place, char *path, size_t capacity_bytes) {
    write_path(place, path, capacity_bytes, true);
}

/* ---- Offences. ---- */

struct kind_key {
    string_id path;
    uint32_t rule;
    uint32_t severity;
};

const char *offence_rule_name(enum offence_rule rule) {
    static const char *const names[RULE_BROKEN_COUNT] = {
        [RULE_BROKEN_JSON] = "json",         [RULE_BROKEN_VERSION] = "version",
        [RULE_BROKEN_PRESENCE] = "presence", [RULE_BROKEN_TYPE] = "type",
        [RULE_BROKEN_VALUE] = "value",       [RULE_BROKEN_INDEX] = "index",
        [RULE_BROKEN_LENGTH] = "length",     [RULE_BROKEN_ORDER] = "order",
        [RULE_BROKEN_UNIQUENESS] = "unique", [RULE_BROKEN_CONSISTENCY] = "consistency",
        [RULE_BROKEN_SCHEMA] = "schema",
    };
    return names[rule];
}

void offences_init(struct offences *offences, struct failure *failure) {
    *offences = (struct offences){.failure = failure};
    strings_init(&offences->texts, failure);
    row_table_init(&offences->keys, sizeof(struct kind_key), failure);
    column_init(&offences->kinds, sizeof(struct offence_kind), failure);
}

void offences_fini(struct offences *offences) {
    column_fini(&offences->kinds);
    row_table_fini(&offences->keys);
    strings_fini(&offences->texts);
}

/* NULL when memory ran out. */
static struct offence_kind *find_kind(struct offences *offences, enum offence_severity severity, enum offence_rule rule,
                                      const struct place *place) {
    char path[PLACE_PATH_BYTES];
    write_path(place, path, sizeof path, false);
    struct kind_key key = {strings_intern(&offences->texts, text_of(path)), (uint32_t)rule, (uint32_t)severity};
    uint32_t row = row_table_intern(&offences->keys, &key);
    if (failure_is_set(offences->failure)) return NULL;
    if (row < offences->kinds.count) return column_at(&offences->kinds, row);
    struct offence_kind *kind = column_push(&offences->kinds);
    if (kind)
        *kind =
            (struct offence_kind){.path = strings_text(&offences->texts, key.path), .rule = rule, .severity = severity};
    return kind;
}

void offences_add_list(struct offences *offences, enum offence_severity severity, enum offence_rule rule,
                       const struct place *place, const char *format, va_list arguments) {
    enum { MESSAGE_BYTES = 512 };
    struct offence_kind *kind = find_kind(offences, severity, rule, place);
    if (!kind) return;
    kind->count++;
    offences->counts[severity]++;
    if (kind->shown_count == OFFENCES_SHOWN_MAX) return;
    char path[PLACE_PATH_BYTES], message[MESSAGE_BYTES], shown[MESSAGE_BYTES];
    place_write(place, path, sizeof path);
    vsnprintf(message, sizeof message, format, arguments);
    printable_copy(shown, sizeof shown, text_of(message));
    kind->shown_paths[kind->shown_count] = strings_copy(&offences->texts, text_of(path));
    kind->messages[kind->shown_count] = strings_copy(&offences->texts, text_of(shown));
    kind->shown_count++;
}

void offences_add(struct offences *offences, enum offence_severity severity, enum offence_rule rule,
                  const struct place *place, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    offences_add_list(offences, severity, rule, place, format, arguments);
    va_end(arguments);
}
