/* Requests and responses, independent of the HTTP library. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "libconvert/base/text.h"

enum http_method { HTTP_GET, HTTP_POST, HTTP_OPTIONS, HTTP_OTHER };

enum http_status {
    HTTP_OK = 200,
    HTTP_NO_CONTENT = 204,
    HTTP_BAD_REQUEST = 400,
    HTTP_FORBIDDEN = 403,
    HTTP_NOT_FOUND = 404,
    HTTP_WRONG_METHOD = 405,
    HTTP_TOO_LARGE = 413,
    HTTP_UNAVAILABLE = 503
};

/* All texts are borrowed and valid until the response is given. */
struct http_request {
    enum http_method method;
    struct text path; /* the path as it was sent: not percent-decoded, and without the query */
    unsigned host_count;
    struct text host; /* value of the last "Host" header */
    unsigned origin_count;
    struct text origin; /* value of the last "Origin" header */
    struct text body;
};

enum http_body_kind {
    HTTP_BODY_BORROWED, /* bytes that outlive the server */
    HTTP_BODY_OWNED,    /* bytes of malloc, freed after they are sent */
    HTTP_BODY_FILE      /* an open regular file, closed after it is sent */
};

struct http_response {
    enum http_status status;
    const char *content_type; /* static; NULL: there is no body */
    const char *allow_origin; /* outlives the server; NULL: no page of another origin may read the response */
    bool is_gzip;             /* the body is compressed */
    bool is_preflight;        /* the response says which requests the origin may send */
    bool forbids_scripts;     /* the document must not run scripts */
    enum http_body_kind body_kind;
    char *bytes; /* not changed if borrowed */
    size_t bytes_count;
    int file;
};

/* Returns a response of one line of text. The message is static. */
struct http_response http_refuse(enum http_status status, const char *message);
