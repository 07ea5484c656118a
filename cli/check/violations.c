#include "violations.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "libconvert/base/printable.h"
#include "readers/json/document.h"

/* ---- Paths. ---- */

static void append_step(const struct node_path *path, char *text, size_t capacity_bytes, bool has_numbers) {
    if (path->key.bytes) {
        document_append_key(text, capacity_bytes, path->key);
        return;
    }
    size_t used_bytes = strlen(text);
    if (has_numbers)
        snprintf(text + used_bytes, capacity_bytes - used_bytes, "[%zu]", path->index);
    else
        snprintf(text + used_bytes, capacity_bytes - used_bytes, "[*]");
}

enum { NODE_PATH_BYTES = 512 };

/* Writes "$.threads[3].samples.stack[17]", or "$.threads[*].samples.stack[*]" without numbers, cut to the capacity and
 * terminated. Recurses as deep as the rules are nested. */
static void write_path(const struct node_path *path, char *text, size_t capacity_bytes, bool has_numbers) {
    if (!path->parent) {
        snprintf(text, capacity_bytes, "$");
        return;
    }
    write_path(path->parent, text, capacity_bytes, has_numbers);
    append_step(path, text, capacity_bytes, has_numbers);
}

/* ---- Violations. ---- */

struct kind_key {
    string_id path;
    uint32_t rule;
    uint32_t severity;
};

const char *violation_rule_name(enum violation_rule rule) {
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

void violations_init(struct violations *violations, struct failure *failure) {
    *violations = (struct violations){.failure = failure};
    strings_init(&violations->texts, failure);
    row_table_init(&violations->keys, sizeof(struct kind_key), failure);
    column_init(&violations->kinds, sizeof(struct violation_kind), failure);
}

void violations_fini(struct violations *violations) {
    column_fini(&violations->kinds);
    row_table_fini(&violations->keys);
    strings_fini(&violations->texts);
}

/* Returns NULL if memory ran out. */
static struct violation_kind *find_kind(struct violations *violations, enum violation_severity severity,
                                        enum violation_rule rule, const struct node_path *path) {
    char text[NODE_PATH_BYTES];
    write_path(path, text, sizeof text, false);
    struct kind_key key = {strings_intern(&violations->texts, text_of(text)), (uint32_t)rule, (uint32_t)severity};
    uint32_t row = row_table_intern(&violations->keys, &key);
    if (failure_is_set(violations->failure)) return NULL;
    if (row < violations->kinds.count) return column_at(&violations->kinds, row);
    struct violation_kind *kind = column_push(&violations->kinds);
    if (kind)
        *kind = (struct violation_kind){
            .path = strings_text(&violations->texts, key.path), .rule = rule, .severity = severity};
    return kind;
}

void violations_add(struct violations *violations, enum violation_severity severity, enum violation_rule rule,
                    const struct node_path *path, const char *format, ...) {
    enum { MESSAGE_BYTES = 512 };
    struct violation_kind *kind = find_kind(violations, severity, rule, path);
    if (!kind) return;
    kind->count++;
    violations->counts[severity]++;
    if (kind->shown_count == VIOLATIONS_SHOWN_MAX) return;
    char path_text[NODE_PATH_BYTES], message[MESSAGE_BYTES], shown[MESSAGE_BYTES];
    va_list arguments;
    write_path(path, path_text, sizeof path_text, true);
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    printable_copy(shown, sizeof shown, text_of(message));
    kind->shown_paths[kind->shown_count] = strings_copy(&violations->texts, text_of(path_text));
    kind->messages[kind->shown_count] = strings_copy(&violations->texts, text_of(shown));
    kind->shown_count++;
}
