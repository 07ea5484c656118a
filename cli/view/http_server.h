/* An HTTP server on one listening socket, with a few threads, made of libmicrohttpd.
 *
 * Clients can use only limited resources: connections, bytes of headers, bytes of a body, bytes of all bodies together,
 * and the time for which a connection may be inactive. */
#pragma once

#include "http.h"

enum { HTTP_BODY_BYTES_MAX = 8 << 20, HTTP_THREAD_COUNT = 4 };

/* The functions of a site. Several threads call them at a time. */
struct http_site {
    void *context;
    /* Decides on a request before its body is read. To refuse it, fills *response and returns false. */
    bool (*admit)(void *context, const struct http_request *request, struct http_response *response);
    /* Answers an admitted request, whose body is complete. */
    void (*answer)(void *context, const struct http_request *request, struct http_response *response);
};

struct http_server;

/* Starts the threads of the server. `socket` is listening; it and the site are borrowed until http_server_stop. Returns
 * NULL, with errno set, if the server cannot start. */
struct http_server *http_server_start(int socket, const struct http_site *site);

/* Waits for answers that are being made, closes all connections and frees the server. */
void http_server_stop(struct http_server *server);

/* Returns for how long there has been no request, in nanoseconds; 0 while there is one. */
uint64_t http_server_idle_ns(struct http_server *server);
