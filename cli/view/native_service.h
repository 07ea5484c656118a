/* Answers to questions about the libraries that the profile names. A child process makes each answer, because the
 * libraries that read symbols and code do not survive every damaged file. */
#pragma once

#include <pthread.h>

#include "http.h"
#include "libconvert/source_search.h"
#include "libconvert/symbols/debug_file_search.h"
#include "readers/json/document.h"
#include "served_profile.h"
#include "writer/json.h"

enum { NATIVE_CHILDREN_MAX = 8 };

struct native_service {
    const struct served_profile *profiles; /* a list; borrowed; set it before the first question */
    struct debug_folders folders;          /* borrowed */
    const struct memory_limit *memory;     /* limit of each child; borrowed; may be NULL */
    bool asks_servers; /* ask the servers of DEBUGINFOD_URLS for source files; set it after native_service_init */
    struct source_search sources;        /* borrowed */
    pthread_mutex_t mutex;               /* guards the members below */
    pid_t children[NATIVE_CHILDREN_MAX]; /* pids of working children; 0: the slot is free */
    bool is_cancelled;
};

void native_service_init(struct native_service *service, struct debug_folders folders, struct source_search sources);
void native_service_fini(struct native_service *service);

/* Kills the working children, so that nobody waits for them. Refuses all later questions. */
void native_service_cancel(struct native_service *service);

/* Answers one question: runs in the child, and writes one JSON object. Failures are latched in `failure`. */
typedef void native_write(const struct native_service *service, const struct document *request, struct json *json,
                          struct failure *failure);

/* Answers a request whose body is JSON. Refuses it if `service` is NULL. Thread-safe. */
void native_service_answer(struct native_service *service, native_write *write, struct text body,
                           struct http_response *response);

/* Answers a request that has already been read, as native_service_answer does. */
void native_service_ask(struct native_service *service, native_write *write, const struct document *request,
                        struct http_response *response);

/* Reads the body of a request. Call document_fini in any case. Returns false, with *response filled in, if the body is
 * not JSON or memory ran out. */
bool native_request_read(struct document *document, struct failure *failure, struct text body,
                         struct http_response *response);

/* Fills in a response {"error": MESSAGE}, which the viewer shows. */
void native_respond_error(struct http_response *response, enum http_status status, const char *message);

/* Fills in a response with the JSON value that was written, and takes the value. */
void native_respond_json(struct http_response *response, struct json *json);

/* Writes "error": MESSAGE. */
void native_write_error(struct json *json, const char *message);

/* Returns the library that the request names, if one of the profiles does, or NULL. */
const struct lib *native_requested_lib(const struct native_service *service, const struct document *request);

/* Reads a member such as "0x12ab". Returns false if it is missing, malformed or needs more than 32 bits. */
bool native_hex_member(const struct document *document, const struct node *node, const char *key, uint32_t *number);

/* Writes "0x12ab" as the member of that name. */
void native_write_hex(struct json *json, const char *key, uint64_t number);

/* ---- The questions. ---- */

/* Write the answers to /symbolicate/v5, names, files and lines of addresses as Mozilla's symbol server answers, and to
 * /asm/v1, the instructions of a function. */
native_write symbolicate_api_write;
native_write asm_api_write;

/* Answers /source/v1 with the text of a source file of this machine: one that the profile's table of sources names, or
 * that the debug information of one of the profile's libraries names for the address in the request, if
 * libconvert/source_search.h finds it. Only debug information vouches for a path. Refuses the request if `service` is
 * NULL. Thread-safe. */
void source_api_answer(struct native_service *service, struct text body, struct http_response *response);
