/* An HTTP server on one listening socket, with a few threads. Sole user of libmicrohttpd.
 *
 * What a client can take is bounded: connections, bytes of headers, bytes of a body, bytes of all bodies together, and
 * the time for which a connection may stand still. */
#pragma once

#include "http.h"

enum { HTTP_BODY_BYTES_MAX = 8 << 20, HTTP_THREAD_COUNT = 4 };

/* Called by several threads at a time. */
struct http_site {
    void *context;
    /* Decides by everything but the body, before a body is read. Returns false to refuse, with *response filled. */
    bool (*admit)(void *context, const struct http_request *request, struct http_response *response);
    /* Answers an admitted request, whose body is complete. */
    void (*answer)(void *context, const struct http_request *request, struct http_response *response);
};

struct http_server;

/* Starts the threads of the server; `socket` is listening and stays the caller's. All is borrowed until
 * http_server_stop. Returns NULL, with errno set, when the server cannot start. */
struct http_server *http_server_start(int socket, const struct http_site *site);

/* Waits for answers that are being made, closes all connections and frees the server. */
void http_server_stop(struct http_server *server);

/* Returns for how long there has been no request, in nanoseconds; 0 while there is one. */
uint64_t http_server_idle_ns(struct http_server *server);
