/* Types of markers for which the front-end has code, and schemas of its own in place of those of a profile (its
 * src/profile-logic/marker-schema.ts and src/types/markers.ts). Firefox does not describe them. */
#include "saved_reader.h"

#define FIELD(format_, key_) \
    { .key = TEXT(key_), .format = MARKER_##format_ }

static const struct marker_field network_fields[] = {
    FIELD(INTEGER, "id"),
    FIELD(STRING, "status"),
    FIELD(URL, "URI"),
    FIELD(URL, "RedirectURI"),
    FIELD(STRING, "redirectType"),
    FIELD(INTEGER, "isHttpToHttpsRedirect"),
    FIELD(INTEGER, "redirectId"),
    FIELD(INTEGER, "pri"),
    FIELD(STRING, "priorityHeader"),
    FIELD(BYTES, "count"),
    FIELD(STRING, "cache"),
    FIELD(STRING, "contentType"),
    FIELD(INTEGER, "isPrivateBrowsing"),
    FIELD(STRING, "httpVersion"),
    FIELD(STRING, "classOfService"),
    FIELD(STRING, "requestStatus"),
    FIELD(INTEGER, "responseStatus"),
    FIELD(STRING, "secPurpose"),
    FIELD(STRING, "deliveryType"),
    FIELD(TIME, "startTime"),
    FIELD(TIME, "endTime"),
    FIELD(TIME, "domainLookupStart"),
    FIELD(TIME, "domainLookupEnd"),
    FIELD(TIME, "connectStart"),
    FIELD(TIME, "tcpConnectEnd"),
    FIELD(TIME, "secureConnectionStart"),
    FIELD(TIME, "connectEnd"),
    FIELD(TIME, "requestStart"),
    FIELD(TIME, "responseStart"),
    FIELD(TIME, "responseEnd"),
};

static const struct marker_field ipc_fields[] = {
    FIELD(TIME, "startTime"),       FIELD(TIME, "endTime"), FIELD(PID, "otherPid"),     FIELD(STRING, "messageType"),
    FIELD(INTEGER, "messageSeqno"), FIELD(STRING, "side"),  FIELD(STRING, "direction"), FIELD(STRING, "phase"),
    FIELD(INTEGER, "sync"),         FIELD(TID, "threadId"),
};

static const struct marker_field screenshot_fields[] = {
    FIELD(UNIQUE_STRING, "url"),
    FIELD(STRING, "windowID"),
    FIELD(INTEGER, "windowWidth"),
    FIELD(INTEGER, "windowHeight"),
};

#define FIELDS(fields_) .fields = (fields_), .field_count = sizeof(fields_) / sizeof *(fields_)

const struct marker_schema *saved_built_in_schema(struct text name) {
    static const struct marker_schema schemas[] = {
        {.name = TEXT("Network"),
         FIELDS(network_fields),
         .chart_label = TEXT("{marker.data.URI}"),
         .display = MARKER_DISPLAY_CHART | MARKER_DISPLAY_TABLE | MARKER_DISPLAY_NETWORK},
        {.name = TEXT("IPC"),
         FIELDS(ipc_fields),
         .chart_label = TEXT("{marker.data.messageType}"),
         .table_label = TEXT("{marker.data.messageType}"),
         .display = MARKER_DISPLAY_CHART | MARKER_DISPLAY_TABLE | MARKER_DISPLAY_IPC},
        {.name = TEXT("CompositorScreenshot"),
         FIELDS(screenshot_fields),
         .display = MARKER_DISPLAY_CHART | MARKER_DISPLAY_TABLE},
    };
    for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++)
        if (text_equal(name, schemas[i].name)) return &schemas[i];
    return NULL;
}
