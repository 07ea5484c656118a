#include "check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check_common.h"
#include "check_markers.h"
#include "libconvert/format/gecko_format.h"
#include "libconvert/format/processed_format.h"

/* The share of the work that is reading a large profile. The rest is checking it. */
static const double READ_END = 0.70;

static const struct node_path root_path;

/* ---- Identification. ---- */

/* Returns the profile in the document: the root or, as old tools wrapped it, its member "profile". */
static const struct node *profile_root(const struct document *document) {
    const struct node *profile = document_member(document, &document->root, TEXT("profile"));
    bool is_wrapped = !document_member(document, &document->root, TEXT("meta")) && node_is(profile, NODE_OBJECT);
    return is_wrapped ? profile : &document->root;
}

struct profile_identity profile_identify(const struct document *document) {
    const struct node *root = profile_root(document);
    const struct node *meta = document_member(document, root, TEXT("meta"));
    const struct node *processed = document_member(document, meta, TEXT("preprocessedProfileVersion"));
    const struct node *gecko = document_member(document, meta, TEXT("version"));
    if (node_is(processed, NODE_NUMBER)) return (struct profile_identity){PROFILE_PROCESSED, processed->number};
    if (!node_is(meta, NODE_OBJECT)) return (struct profile_identity){PROFILE_UNKNOWN, NAN};
    /* Documents of these shapes are processed profiles without a version. The front-end looks only at the number and
     * would take them for Gecko profiles. */
    if (processed || node_is(document_member(document, root, TEXT("shared")), NODE_OBJECT))
        return (struct profile_identity){PROFILE_PROCESSED, NAN};
    return (struct profile_identity){PROFILE_GECKO, node_is(gecko, NODE_NUMBER) ? gecko->number : NAN};
}

bool profile_is_likely(struct text start) {
    return text_starts_with(text_content(start), TEXT("{")) && text_has(start, TEXT("\"meta\""));
}

void profile_identity_write(struct profile_identity identity, char title[PROFILE_TITLE_BYTES]) {
    static const char *const names[] = {
        [PROFILE_UNKNOWN] = "not a profile", [PROFILE_PROCESSED] = "processed", [PROFILE_GECKO] = "Gecko"};
    if (isnan(identity.version))
        snprintf(title, PROFILE_TITLE_BYTES, "%s", names[identity.kind]);
    else
        snprintf(title, PROFILE_TITLE_BYTES, "%s v%.10g", names[identity.kind], identity.version);
}

/* ---- Comparison with the format. ---- */

/* Counts the rows that exist without a table in the profile: six resource types and, in a profile without categories,
 * the eight categories that Firefox then uses. */
static void count_implicit_rows(struct check *check) {
    enum { DEFAULT_CATEGORY_COUNT = 8, RESOURCE_TYPE_COUNT = 6 };
    const struct node *meta = check_member(check, check->root, "meta");
    check->table_names[TABLE_RESOURCE_TYPES] = "the resource types";
    check->table_names[TABLE_CATEGORIES] = "meta.categories";
    check->is_known[TABLE_RESOURCE_TYPES] = true;
    check->row_counts[TABLE_RESOURCE_TYPES] = RESOURCE_TYPE_COUNT;
    check->is_known[TABLE_CATEGORIES] = !check_member(check, meta, "categories");
    check->row_counts[TABLE_CATEGORIES] = DEFAULT_CATEGORY_COUNT;
}

static void learn_schemas(struct check *check) {
    const struct node *meta = check_member(check, check->root, "meta");
    const struct node *processes = check_member(check, check->root, "processes");
    const struct node_path *path = AT_MEMBER(AT_MEMBER(&root_path, "meta"), "markerSchema");
    check_markers_learn(check, check_member(check, meta, "markerSchema"), path, true);
    for (size_t i = 0; check->is_gecko && node_is(processes, NODE_LIST) && i < processes->count; i++) {
        const struct node *child_meta = check_member(check, &processes->nodes[i], "meta");
        check_markers_learn(check, check_member(check, child_meta, "markerSchema"), path, false);
    }
}

static void check_with(struct document *document, struct violations *violations, bool is_gecko) {
    struct check check = {
        .document = document, .violations = violations, .root = profile_root(document), .is_gecko = is_gecko};
    shape_check *const *own = is_gecko ? check_gecko_shapes : check_processed_shapes;
    for (size_t i = 0; i < SHAPE_COUNT; i++) check.checks[i] = own[i] ? own[i] : check_common_shapes[i];
    strings_init(&check.schema_names, document->failure);
    column_init(&check.schemas, sizeof(struct marker_schema_view), document->failure);
    count_implicit_rows(&check);
    learn_schemas(&check);
    if (!failure_is_set(document->failure))
        check_shape(&check, is_gecko ? &gecko_profile : &processed_profile, check.root,
                    check.root == &document->root ? &root_path : AT_MEMBER(&root_path, "profile"));
    column_fini(&check.schemas);
    strings_fini(&check.schema_names);
}

/* Returns advice on what to do with a profile of another version. */
static const char *advice_on(struct profile_identity identity, int oldest_read, int known_version) {
    bool is_read = identity.kind == PROFILE_PROCESSED && identity.version <= PROCESSED_NEWEST_READ;
    if (identity.version > known_version)
        return is_read ? "a viewer of that version or later is needed, or gecko-convert PROFILE -o NEW"
                       : "a viewer of that version or later is needed";
    if (identity.version < oldest_read) return "the viewer upgrades older profiles when it loads them";
    return "the viewer upgrades older profiles when it loads them, and gecko-convert PROFILE -o NEW does it now";
}

static void refuse_version(struct violations *violations, struct profile_identity identity, int oldest_read,
                           int known_version) {
    bool is_processed = identity.kind == PROFILE_PROCESSED;
    const struct node_path *version =
        AT_MEMBER(AT_MEMBER(&root_path, "meta"), is_processed ? "preprocessedProfileVersion" : "version");
    char title[PROFILE_TITLE_BYTES];
    profile_identity_write(identity, title);
    if (isnan(identity.version))
        violations_add(violations, VIOLATION_ERROR, RULE_BROKEN_VERSION, version,
                       "must be present, and must be the number %d", known_version);
    else
        violations_add(violations, VIOLATION_ERROR, RULE_BROKEN_VERSION, version,
                       "this is %s, but only the rules of v%d are known: nothing else was checked (%s)", title,
                       known_version, advice_on(identity, oldest_read, known_version));
}

static void check_repeated_keys(struct document *document, struct violations *violations) {
    COLUMN_EACH(const struct text, path, &document->repeated_keys)
        violations_add(violations, VIOLATION_ERROR, RULE_BROKEN_UNIQUENESS, &root_path,
                       "%.*s occurs twice in its object: the last one counts", TEXT_ARGS(*path));
}

void check_document(struct document *document, struct violations *violations) {
    struct profile_identity identity = profile_identify(document);
    if (document->has_byte_order_mark)
        violations_add(violations, VIOLATION_WARNING, RULE_BROKEN_JSON, &root_path,
                       "begins with a byte order mark: leave it out");
    check_repeated_keys(document, violations);
    if (!node_is(&document->root, NODE_OBJECT))
        violations_add(violations, VIOLATION_ERROR, RULE_BROKEN_TYPE, &root_path,
                       "must be an object: this is not a profile");
    else if (identity.kind == PROFILE_UNKNOWN)
        violations_add(violations, VIOLATION_ERROR, RULE_BROKEN_PRESENCE, &root_path,
                       "has no object meta: this is not a profile");
    else if (identity.kind == PROFILE_PROCESSED && identity.version != PROCESSED_VERSION)
        refuse_version(violations, identity, PROCESSED_OLDEST_READ, PROCESSED_VERSION);
    else if (identity.kind == PROFILE_GECKO && identity.version != GECKO_VERSION)
        refuse_version(violations, identity, GECKO_OLDEST_READ, GECKO_VERSION);
    else
        check_with(document, violations, identity.kind == PROFILE_GECKO);
}

/* ---- Files. ---- */

/* Turns a failure because the text is not JSON into a violation. Returns whether there was one. */
static bool take_syntax_error(struct failure *failure, struct violations *violations) {
    if (failure->code != FAILURE_INPUT || !failure->has_position) return false;
    struct failure syntax = *failure;
    failure_clear(failure);
    violations_add(violations, VIOLATION_ERROR, RULE_BROKEN_JSON, &root_path, "line %llu, byte %llu: %s",
                   (unsigned long long)syntax.position.line, (unsigned long long)syntax.position.offset,
                   syntax.message);
    return true;
}

/* The viewer decompresses gzip only, of which browsers read only the first member, and reads JsonSlabs. */
static void check_wrapping(const struct input *input, struct violations *violations) {
    struct text wrapping = input_wrapping(input);
    bool is_gzip = text_equal(wrapping, TEXT("gzip")) || text_equal(wrapping, TEXT("gzip > JsonSlabs"));
    if (!wrapping.bytes_count || text_equal(wrapping, TEXT("JsonSlabs"))) return;
    if (is_gzip) {
        if (input_has_more_members(input))
            violations_add(
                violations, VIOLATION_ERROR, RULE_BROKEN_JSON, &root_path,
                "has data after its first gzip member, so browsers never finish loading it: compress it as one member");
        return;
    }
    violations_add(violations, VIOLATION_WARNING, RULE_BROKEN_JSON, &root_path,
                   "is wrapped in %.*s: the viewer opens only profiles that are plain or compressed with gzip",
                   TEXT_ARGS(wrapping));
}

void check_input(struct input *input, struct document *document, struct violations *violations,
                 struct progress progress) {
    if (!input) return;
    input_watch(input, progress_part(progress, 0, READ_END));
    document_read(document, input);
    bool is_broken_text = take_syntax_error(document->failure, violations);
    if (!failure_is_set(document->failure)) check_wrapping(input, violations);
    input_close(input);
    bool is_document = !failure_is_set(document->failure) && !is_broken_text;
    if (is_document) check_document(document, violations);
    progress_report(progress, 1, 1);
}
