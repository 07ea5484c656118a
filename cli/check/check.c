#include "check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check_gecko.h"
#include "check_markers.h"
#include "check_processed.h"
#include "gzip_end.h"

/* Where reading ends in the whole work, by what both cost for a large profile. */
static const double READ_END = 0.70;

static const struct place root_place;

/* ---- What it is. ---- */

const struct node *profile_root(const struct document *document) {
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
    /* The front-end goes by the number alone, and would take these for Gecko profiles. */
    if (processed || node_is(document_member(document, root, TEXT("shared")), NODE_OBJECT))
        return (struct profile_identity){PROFILE_PROCESSED, NAN};
    return (struct profile_identity){PROFILE_GECKO, node_is(gecko, NODE_NUMBER) ? gecko->number : NAN};
}

bool profile_is_likely(struct text start) {
    static const struct text opening = TEXT("{"), meta = TEXT("\"meta\""), slabs = TEXT("\xdc\xdfJSLB");
    struct text content = start;
    while (content.bytes_count && strchr(" \t\r\n", content.bytes[0])) content = text_from(content, 1);
    if (text_starts_with(content, slabs)) return true;
    return text_starts_with(content, opening) &&
           memmem(content.bytes, content.bytes_count, meta.bytes, meta.bytes_count);
}

void profile_identity_write(struct profile_identity identity, char title[PROFILE_TITLE_BYTES]) {
    static const char *const names[] = {
        [PROFILE_UNKNOWN] = "no profile", [PROFILE_PROCESSED] = "processed", [PROFILE_GECKO] = "Gecko"};
    if (isnan(identity.version))
        snprintf(title, PROFILE_TITLE_BYTES, "%s", names[identity.kind]);
    else
        snprintf(title, PROFILE_TITLE_BYTES, "%s v%.10g", names[identity.kind], identity.version);
}

/* ---- Rules. ---- */

/* Firefox falls back to eight categories of its own. */
static void count_what_is_given(struct check *check) {
    enum { DEFAULT_CATEGORY_COUNT = 8, RESOURCE_TYPE_COUNT = 6 };
    const struct node *meta = check_member(check, check->root, "meta");
    check->is_known[TABLE_RESOURCE_TYPES] = true;
    check->row_counts[TABLE_RESOURCE_TYPES] = RESOURCE_TYPE_COUNT;
    check->is_known[TABLE_CATEGORIES] = !check_member(check, meta, "categories");
    check->row_counts[TABLE_CATEGORIES] = DEFAULT_CATEGORY_COUNT;
}

static void learn_schemas(struct check *check) {
    const struct node *meta = check_member(check, check->root, "meta");
    const struct node *processes = check_member(check, check->root, "processes");
    struct place meta_place = place_member(&root_place, "meta");
    struct place schemas_place = place_member(&meta_place, "markerSchema");
    check_markers_learn(check, check_member(check, meta, "markerSchema"), &schemas_place, true);
    for (size_t i = 0; check->is_gecko && node_is(processes, NODE_LIST) && i < processes->count; i++) {
        const struct node *child_meta = check_member(check, &processes->nodes[i], "meta");
        check_markers_learn(check, check_member(check, child_meta, "markerSchema"), &schemas_place, false);
    }
}

static void check_with(struct document *document, struct offences *offences, const struct shape *shape, bool is_gecko) {
    struct check check = {
        .document = document, .offences = offences, .root = profile_root(document), .is_gecko = is_gecko};
    strings_init(&check.schema_names, document->failure);
    column_init(&check.schemas, sizeof(struct marker_schema_view), document->failure);
    count_what_is_given(&check);
    learn_schemas(&check);
    struct place profile_place = place_member(&root_place, "profile");
    if (!failure_is_set(document->failure))
        check_shape(&check, shape, check.root, check.root == &document->root ? &root_place : &profile_place);
    column_fini(&check.schemas);
    strings_fini(&check.schema_names);
}

static void refuse_version(struct offences *offences, struct profile_identity identity, int known_version) {
    struct place meta = place_member(&root_place, "meta");
    bool is_processed = identity.kind == PROFILE_PROCESSED;
    struct place version = place_member(&meta, is_processed ? "preprocessedProfileVersion" : "version");
    char title[PROFILE_TITLE_BYTES];
    profile_identity_write(identity, title);
    if (isnan(identity.version))
        offences_add(offences, OFFENCE_ERROR, RULE_BROKEN_VERSION, &version, "must be there, and be the number %d",
                     known_version);
    else
        offences_add(offences, OFFENCE_ERROR, RULE_BROKEN_VERSION, &version,
                     "this is %s, and only the rules of v%d are known here: nothing else was checked (%s)", title,
                     known_version,
                     identity.version < known_version ? "the viewer upgrades older profiles when it loads them"
                                                      : "a viewer of that version or later is needed");
}

static void check_repeated_keys(struct document *document, struct offences *offences) {
    for (size_t i = 0; i < document->repeated_keys.count; i++) {
        const struct text *path = column_at(&document->repeated_keys, i);
        offences_add(offences, OFFENCE_ERROR, RULE_BROKEN_UNIQUENESS, &root_place,
                     "%.*s stands twice in its object: the last one counts", (int)path->bytes_count, path->bytes);
    }
}

void check_document(struct document *document, struct offences *offences) {
    struct profile_identity identity = profile_identify(document);
    if (document->has_byte_order_mark)
        offences_add(offences, OFFENCE_WARNING, RULE_BROKEN_JSON, &root_place,
                     "begins with a byte order mark: leave it out");
    check_repeated_keys(document, offences);
    if (!node_is(&document->root, NODE_OBJECT))
        offences_add(offences, OFFENCE_ERROR, RULE_BROKEN_TYPE, &root_place, "must be an object: this is no profile");
    else if (identity.kind == PROFILE_UNKNOWN)
        offences_add(offences, OFFENCE_ERROR, RULE_BROKEN_PRESENCE, &root_place,
                     "has no object meta: this is no profile");
    else if (identity.kind == PROFILE_PROCESSED && identity.version != PROCESSED_VERSION)
        refuse_version(offences, identity, PROCESSED_VERSION);
    else if (identity.kind == PROFILE_GECKO && identity.version != GECKO_VERSION)
        refuse_version(offences, identity, GECKO_VERSION);
    else if (identity.kind == PROFILE_PROCESSED)
        check_with(document, offences, &check_processed_profile, false);
    else
        check_with(document, offences, &check_gecko_profile, true);
}

/* ---- Files. ---- */

static void refuse_slabs(struct input *input, struct failure *failure) {
    static const struct text magic = TEXT("\xdc\xdfJSLB");
    if (text_starts_with(input_peek(input, magic.bytes_count), magic))
        failure_set(
            failure, FAILURE_INPUT,
            "%s: this is a profile in JsonSlabs, which gecko-convert does not write and cannot check: open it at "
            "https://profiler.firefox.com and save it there, as JSON",
            input_name(input));
}

/* Text that is no JSON is an offence like others. */
static bool take_syntax_error(struct failure *failure, struct offences *offences) {
    if (failure->code != FAILURE_INPUT || !failure->has_position) return false;
    struct failure syntax = *failure;
    failure_clear(failure);
    offences_add(offences, OFFENCE_ERROR, RULE_BROKEN_JSON, &root_place, "line %llu, byte %llu: %s",
                 (unsigned long long)syntax.position.line, (unsigned long long)syntax.position.offset, syntax.message);
    return true;
}

/* The viewer unpacks gzip, and nothing else. */
static void check_wrapping(const char *path, struct text wrapping, struct offences *offences) {
    if (!wrapping.bytes_count) return;
    if (text_equal(wrapping, TEXT("gzip"))) {
        if (gzip_goes_on(path, offences->failure))
            offences_add(
                offences, OFFENCE_ERROR, RULE_BROKEN_JSON, &root_place,
                "goes on behind the first gzip member, so browsers never finish loading it: compress it as one");
        return;
    }
    offences_add(offences, OFFENCE_WARNING, RULE_BROKEN_JSON, &root_place,
                 "is wrapped in %.*s: the viewer opens profiles that are plain, or compressed with gzip",
                 (int)wrapping.bytes_count, wrapping.bytes);
}

void check_input(struct input *input, const char *path, struct document *document, struct offences *offences,
                 struct progress progress) {
    if (!input) return;
    input_watch(input, progress_part(progress, 0, READ_END));
    refuse_slabs(input, document->failure);
    document_read(document, input);
    bool is_broken_text = take_syntax_error(document->failure, offences);
    if (!failure_is_set(document->failure)) check_wrapping(path, document->wrapping, offences);
    input_close(input);
    bool is_document = !failure_is_set(document->failure) && !is_broken_text;
    if (is_document) check_document(document, offences);
    progress_report(progress, 1, 1);
}
