#include "reserved_types.h"

#include <string.h>

#define ANY_TEXT     (RESERVED_TEXT | RESERVED_STRING)
#define PHASE(phase) (1u << (phase))
#define HAS_START    (PHASE(MARKER_INSTANT) | PHASE(MARKER_INTERVAL) | PHASE(MARKER_INTERVAL_START))

/* ---- Payloads. ---- */

static const char *const network_states[] = {"STATUS_START", "STATUS_STOP", "STATUS_REDIRECT", "STATUS_CANCEL", NULL};

static const struct reserved_member network[] = {
    {"id", RESERVED_NUMBER, true, NULL},
    {"URI", RESERVED_TEXT, true, NULL},
    {"status", RESERVED_TEXT, true, network_states},
    {"startTime", RESERVED_NUMBER, true, NULL},
    {"endTime", RESERVED_NUMBER, true, NULL},
    {0},
};
static const char *const ipc_phases[] = {"endpoint", "transferStart", "transferEnd", NULL};
static const struct reserved_member ipc[] = {
    {"startTime", RESERVED_NUMBER, true, NULL},
    {"messageType", RESERVED_TEXT, true, NULL},
    {"side", RESERVED_TEXT, true, NULL},
    {"direction", RESERVED_TEXT, true, NULL},
    {"otherPid", RESERVED_TEXT | RESERVED_NUMBER, true, NULL},
    {"phase", RESERVED_TEXT, false, ipc_phases},
    {0},
};
static const struct reserved_member screenshot[] = {
    {"windowID", RESERVED_TEXT, true, NULL},
    {"url", RESERVED_STRING, false, NULL},
    {"windowWidth", RESERVED_NUMBER, false, NULL},
    {"windowHeight", RESERVED_NUMBER, false, NULL},
    {0},
};
static const struct reserved_member collection[] = {{"timings", RESERVED_OTHER, true, NULL}, {0}};
static const struct reserved_member log_message[] = {
    {"level", RESERVED_STRING, true, NULL}, {"message", ANY_TEXT, true, NULL}, {0}};
static const struct reserved_member log_line[] = {
    {"name", RESERVED_TEXT, true, NULL},
    {"module", RESERVED_TEXT, true, NULL},
    {"message", 0, false, NULL}, /* must be missing: payloads with it are the other alternative */
    {0},
};
static const struct reserved_member text[] = {{"name", ANY_TEXT, true, NULL}, {0}};
static const struct reserved_member user_timing[] = {{"name", RESERVED_TEXT, true, NULL}, {0}};
static const struct reserved_member file_io[] = {
    {"operation", RESERVED_TEXT, true, NULL},
    {"source", RESERVED_TEXT, false, NULL},
    {"filename", RESERVED_TEXT, false, NULL},
    {0},
};
static const struct reserved_member preference[] = {{"prefValue", RESERVED_TEXT, false, NULL}, {0}};
static const struct reserved_member styles[] = {
    {"elementsTraversed", RESERVED_NUMBER, true, NULL},
    {"elementsStyled", RESERVED_NUMBER, true, NULL},
    {"elementsMatched", RESERVED_NUMBER, true, NULL},
    {0},
};

/* ---- Types. ---- */

static const struct reserved_type types[] = {
    /* marker-data.ts, deriveMarkersFromRawMarkerTable: pairs them by id, and fails on one without an end;
     * NetworkMarker.tsx; sanitize.ts; the front-end's own schema in marker-schema.ts. */
    {.name = TEXT("Network"), .members = network, .phases = PHASE(MARKER_INTERVAL), .is_named_by_url = true},
    /* marker-data.ts: correlates them across threads, drops others, and fails on other phases; process-profile.ts; the
     * front-end's own schema. Only Firefox knows both sides of a message. */
    {.name = TEXT("IPC"), .members = ipc, .is_never_free = true},
    /* marker-data.ts: extends each to the next one of its window; tracks.ts; TrackScreenshots.tsx. */
    {.name = TEXT("CompositorScreenshot"), .members = screenshot, .phases = HAS_START},
    /* GCMarker.tsx, process-profile.ts. */
    {.name = TEXT("GCMajor"), .members = collection},
    {.name = TEXT("GCSlice"), .members = collection},
    /* GCMarker.tsx: reads "nursery" if that is an object. */
    {.name = TEXT("GCMinor")},
    /* marker-data.ts, formatLogStatement, and marker-info.ts: the log in the format of MOZ_LOG. */
    {.name = TEXT("Log"),
     .members = log_message,
     .others = log_line,
     .says = "a Log needs name and module, or level and message"},
    /* sanitize.ts, sanitizeTextMarker: removes URLs from the text. */
    {.name = TEXT("Text"), .members = text},
    /* Canvas.tsx of the stack chart: draws the name. */
    {.name = TEXT("UserTiming"), .members = user_timing},
    /* marker-schema.ts: the label in the table. */
    {.name = TEXT("FileIO"), .members = file_io, .is_lenient = true, .is_label_enough = true},
    /* sanitize.ts: sets the value to an empty text. */
    {.name = TEXT("PreferenceRead"), .members = preference, .is_lenient = true},
    /* Marker.tsx of tooltips: "First invalidated … before the flush". */
    {.name = TEXT("Styles"), .members = styles, .is_lenient = true},
    /* marker-data.ts, deriveJankMarkers; the front-end's own schema. */
    {.name = TEXT("Jank"), .is_bare = true},
    /* per-thread/markers.ts: drawn with the jank. */
    {.name = TEXT("BHR-detected hang")},
    /* VerticalIndicators.tsx: navigations of pages. */
    {.name = TEXT("tracing")},
    /* process-profile.ts: makes tables of them when it reads a Gecko profile. */
    {.name = TEXT("JS allocation"), .is_never_free = true},
    {.name = TEXT("Native allocation"), .is_never_free = true},
    /* Firefox and the emitters use this type for payloads that hold only a stack. */
    {.name = TEXT("NoPayloadUserData"), .is_never_free = true},
};

/* marker-styles.ts, getMarkerStyle: looks up name and type in an object, and finds the members that every object has.
 * The strip of markers above a track is then not drawn. */
static const struct text object_members[] = {
    TEXT("constructor"),      TEXT("hasOwnProperty"),   TEXT("isPrototypeOf"),    TEXT("propertyIsEnumerable"),
    TEXT("toLocaleString"),   TEXT("toString"),         TEXT("valueOf"),          TEXT("__proto__"),
    TEXT("__defineGetter__"), TEXT("__defineSetter__"), TEXT("__lookupGetter__"), TEXT("__lookupSetter__"),
};

static bool is_object_member(struct text name) { return TEXT_IS_IN(name, object_members); }

const struct reserved_type *reserved_type_find(struct text name) {
    static const struct reserved_type object_member = {.is_never_free = true, .is_fatal = true};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (text_equal(name, types[i].name)) return &types[i];
    return is_object_member(name) ? &object_member : NULL;
}

/* ---- Whether something fits. ---- */

static unsigned kind_of(enum marker_format format) {
    switch (marker_format_kind(format)) {
        case VALUE_TEXT:
            return format == MARKER_TID ? RESERVED_OTHER : RESERVED_TEXT; /* written as a number or as a text */
        case VALUE_STRING: return RESERVED_STRING;
        case VALUE_NUMBER:
            /* The emitters write a hexadecimal as a number or as a text. */
            return format == MARKER_HEXADECIMAL ? RESERVED_OTHER : RESERVED_NUMBER;
        case VALUE_DURATION:
        case VALUE_TIME: return RESERVED_NUMBER;
        case VALUE_CELLS: break;
    }
    return RESERVED_OTHER;
}

/* Returns the number of the field, or field_count if there is none. */
static uint32_t find_field(const struct marker_schema *schema, const char *key) {
    uint32_t i = 0;
    while (i < schema->field_count && !text_equal(schema->fields[i].key, text_of(key))) i++;
    return i;
}

static bool members_fit(const struct reserved_member *members, const struct marker_schema *schema) {
    for (; members->key; members++) {
        uint32_t field = find_field(schema, members->key);
        bool is_there = field < schema->field_count;
        bool is_good = is_there ? kind_of(schema->fields[field].format) & members->kinds & ~(unsigned)RESERVED_OTHER
                                : !members->is_needed;
        if (!is_good) return false;
    }
    return true;
}

bool reserved_type_has_fields(const struct reserved_type *type, const struct marker_schema *schema) {
    if (!type->members || (type->is_label_enough && schema->table_label.bytes_count)) return true;
    return members_fit(type->members, schema) || (type->others && members_fit(type->others, schema));
}

bool reserved_type_fits(const struct reserved_type *type, const struct marker_schema *schema) {
    if (type->is_never_free) return false;
    return type->is_bare ? !schema->field_count : reserved_type_has_fields(type, schema);
}

static bool is_choice(struct text value, const char *const *choices) {
    for (; *choices; choices++)
        if (text_equal(value, text_of(*choices))) return true;
    return false;
}

static bool members_have_values(const struct reserved_member *members, const struct marker_schema *schema,
                                const union marker_value *values) {
    for (; members->key; members++) {
        uint32_t field = find_field(schema, members->key);
        if (field == schema->field_count) {
            if (members->is_needed) return false;
            continue;
        }
        bool is_absent = marker_value_is_absent(marker_format_kind(schema->fields[field].format), &values[field]);
        if (is_absent && members->is_needed) return false;
        if (!is_absent && members->choices && !is_choice(values[field].text, members->choices)) return false;
    }
    return true;
}

bool reserved_type_accepts(const struct reserved_type *type, const struct marker_schema *schema,
                           enum marker_phase phase, const union marker_value *values) {
    if (type->phases && !(type->phases & PHASE(phase))) return false;
    if (!type->members || (type->is_label_enough && schema->table_label.bytes_count)) return true;
    return (members_fit(type->members, schema) && members_have_values(type->members, schema, values)) ||
           (type->others && members_fit(type->others, schema) && members_have_values(type->others, schema, values));
}

/* tracks.ts, computeGlobalTracks: takes each marker of that name for a screenshot, and fails if it has no payload. */
bool reserved_marker_name(struct text name, const struct reserved_type *type) {
    static const struct text screenshots = TEXT("CompositorScreenshot");
    if (text_equal(name, screenshots)) return !type || !text_equal(type->name, screenshots);
    return is_object_member(name);
}
