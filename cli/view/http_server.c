#include "http_server.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "libconvert/base/byte_buffer.h"
#include "libconvert/base/monotonic_clock.h"
#include "view_libraries.h"

enum {
    CONNECTION_COUNT_MAX = 256,
    CONNECTION_BYTES_MAX = 32 * 1024, /* memory of a connection: for headers, and for what is sent at a time */
    INACTIVITY_S_MAX = 30,
    BODIES_BYTES_MAX = 64 << 20 /* bodies of all requests together */
};

struct http_server {
    struct MHD_Daemon *daemon;
    struct http_site site;
    _Atomic(uint64_t) active_count; /* requests that have begun and not ended */
    /* When a request last ended, on the monotonic clock; at first, when the server started. */
    _Atomic(uint64_t) last_end_ns;
    struct memory_limit bodies; /* memory of the bodies of all requests together */
};

/* One request. */
struct exchange {
    struct byte_buffer body;
    struct failure failure; /* failure to read the body */
};

struct http_response http_refuse(enum http_status status, const char *message) {
    return (struct http_response){.status = status,
                                  .content_type = "text/plain; charset=utf-8",
                                  .bytes = (char *)(uintptr_t)message,
                                  .bytes_count = strlen(message)};
}

/* ---- Requests. ---- */

static enum http_method method_of(const char *name) {
    static const struct {
        const char *name;
        enum http_method method;
    } methods[] = {{"GET", HTTP_GET}, {"POST", HTTP_POST}, {"OPTIONS", HTTP_OPTIONS}};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strcmp(methods[i].name, name) == 0) return methods[i].method;
    return HTTP_OTHER;
}

static enum MHD_Result take_header(void *context, enum MHD_ValueKind kind, const char *key, const char *value) {
    struct http_request *request = context;
    (void)kind;
    struct text text = text_of(value ? value : "");
    if (strcasecmp(key, MHD_HTTP_HEADER_HOST) == 0) {
        request->host = text;
        request->host_count++;
    } else if (strcasecmp(key, MHD_HTTP_HEADER_ORIGIN) == 0) {
        request->origin = text;
        request->origin_count++;
    }
    return MHD_YES;
}

static struct http_request read_request(struct MHD_Connection *connection, const char *path, const char *method) {
    struct http_request request = {.method = method_of(method), .path = text_of(path)};
    view_libraries.MHD_get_connection_values(connection, MHD_HEADER_KIND, take_header, &request);
    return request;
}

static bool is_declared_too_large(struct MHD_Connection *connection) {
    const char *length =
        view_libraries.MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
    return length && strtoull(length, NULL, 10) > HTTP_BODY_BYTES_MAX;
}

/* Returns false if the body is too large, alone or with those of other requests, or if memory ran out. */
static bool take_body(struct exchange *exchange, struct text bytes) {
    return exchange->body.bytes_count + bytes.bytes_count <= HTTP_BODY_BYTES_MAX &&
           byte_buffer_append(&exchange->body, bytes);
}

/* ---- Responses. ---- */

/* Takes the body, which is freed or closed even if memory runs out. */
static struct MHD_Response *make_body(const struct http_response *response) {
    struct MHD_Response *made = NULL;
    switch (response->body_kind) {
        case HTTP_BODY_BORROWED:
            return view_libraries.MHD_create_response_from_buffer(response->bytes_count, response->bytes,
                                                                  MHD_RESPMEM_PERSISTENT);
        case HTTP_BODY_OWNED:
            made = view_libraries.MHD_create_response_from_buffer(response->bytes_count, response->bytes,
                                                                  MHD_RESPMEM_MUST_FREE);
            if (!made) free(response->bytes);
            return made;
        case HTTP_BODY_FILE:
            made = view_libraries.MHD_create_response_from_fd64(response->bytes_count, response->file);
            if (!made) close(response->file);
            return made;
    }
    return NULL;
}

static void add_headers(struct MHD_Response *made, const struct http_response *response) {
    if (response->content_type)
        view_libraries.MHD_add_response_header(made, MHD_HTTP_HEADER_CONTENT_TYPE, response->content_type);
    view_libraries.MHD_add_response_header(made, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    view_libraries.MHD_add_response_header(made, "X-Content-Type-Options", "nosniff");
    view_libraries.MHD_add_response_header(made, "Referrer-Policy", "no-referrer");
    /* No page of another origin may embed a response. A page that may read it does so through CORS. */
    view_libraries.MHD_add_response_header(made, "Cross-Origin-Resource-Policy", "same-origin");
    view_libraries.MHD_add_response_header(made, "X-Frame-Options", "DENY");
    if (response->forbids_scripts)
        view_libraries.MHD_add_response_header(made, "Content-Security-Policy", "default-src 'none'; sandbox");
    if (response->is_gzip) view_libraries.MHD_add_response_header(made, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip");
    if (response->status == HTTP_WRONG_METHOD)
        view_libraries.MHD_add_response_header(made, MHD_HTTP_HEADER_ALLOW, "GET, POST");
    if (!response->allow_origin) return;
    view_libraries.MHD_add_response_header(made, MHD_HTTP_HEADER_ACCESS_CONTROL_ALLOW_ORIGIN, response->allow_origin);
    view_libraries.MHD_add_response_header(made, MHD_HTTP_HEADER_VARY, MHD_HTTP_HEADER_ORIGIN);
    if (!response->is_preflight) return;
    view_libraries.MHD_add_response_header(made, "Access-Control-Allow-Methods", "GET, POST");
    view_libraries.MHD_add_response_header(made, "Access-Control-Allow-Headers", "Content-Type");
    view_libraries.MHD_add_response_header(made, "Access-Control-Allow-Private-Network", "true");
}

/* Sends the response. After a failure, MHD_NO closes the connection without an answer. */
static enum MHD_Result queue_response(struct MHD_Connection *connection, const struct http_response *response) {
    struct MHD_Response *made = make_body(response);
    if (!made) return MHD_NO;
    add_headers(made, response);
    enum MHD_Result result = view_libraries.MHD_queue_response(connection, (unsigned)response->status, made);
    view_libraries.MHD_destroy_response(made);
    return result;
}

/* ---- What libmicrohttpd calls. ---- */

static enum MHD_Result begin(struct http_server *server, struct MHD_Connection *connection, const char *path,
                             const char *method, void **exchange_place) {
    struct exchange *exchange = calloc(1, sizeof *exchange);
    if (!exchange) return MHD_NO;
    exchange->failure.memory = &server->bodies;
    exchange->body.failure = &exchange->failure;
    *exchange_place = exchange;
    atomic_fetch_add(&server->active_count, 1);
    struct http_request request = read_request(connection, path, method);
    struct http_response response = {0};
    if (!server->site.admit(server->site.context, &request, &response)) return queue_response(connection, &response);
    if (!is_declared_too_large(connection)) return MHD_YES;
    response = http_refuse(HTTP_TOO_LARGE, "The request is too large.\n");
    return queue_response(connection, &response);
}

/* Called once when the headers are there, for each piece of the body, and once after that. */
static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *path, const char *method,
                              const char *version, const char *bytes, size_t *bytes_count, void **exchange_place) {
    struct http_server *server = context;
    struct exchange *exchange = *exchange_place;
    (void)version;
    if (!exchange) return begin(server, connection, path, method, exchange_place);
    if (*bytes_count) {
        if (!take_body(exchange, (struct text){bytes, *bytes_count})) return MHD_NO;
        *bytes_count = 0;
        return MHD_YES;
    }
    struct http_request request = read_request(connection, path, method);
    request.body = byte_buffer_text(&exchange->body);
    struct http_response response = {0};
    server->site.answer(server->site.context, &request, &response);
    return queue_response(connection, &response);
}

static void complete(void *context, struct MHD_Connection *connection, void **exchange_place,
                     enum MHD_RequestTerminationCode code) {
    struct http_server *server = context;
    struct exchange *exchange = *exchange_place;
    (void)connection;
    (void)code;
    if (!exchange) return;
    byte_buffer_fini(&exchange->body);
    free(exchange);
    *exchange_place = NULL;
    atomic_store(&server->last_end_ns, monotonic_now_ns());
    atomic_fetch_sub(&server->active_count, 1);
}

/* Leaves percent-encoded paths alone: they are compared as they were sent. */
static size_t keep_escapes(void *context, struct MHD_Connection *connection, char *text) {
    (void)context;
    (void)connection;
    return strlen(text);
}

/* ---- The whole. ---- */

struct http_server *http_server_start(int socket, const struct http_site *site) {
    struct http_server *server = calloc(1, sizeof *server);
    if (!server) return NULL;
    server->site = *site;
    memory_limit_init(&server->bodies, BODIES_BYTES_MAX);
    atomic_store(&server->last_end_ns, monotonic_now_ns());
    /* With epoll, libmicrohttpd misses that a client closes the connection together with its last bytes. */
    server->daemon = view_libraries.MHD_start_daemon(
        MHD_USE_POLL_INTERNAL_THREAD, 0, NULL, NULL, handle, server, MHD_OPTION_LISTEN_SOCKET, socket,
        MHD_OPTION_THREAD_POOL_SIZE, (unsigned)HTTP_THREAD_COUNT, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)CONNECTION_COUNT_MAX, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES_MAX,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)INACTIVITY_S_MAX, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL, MHD_OPTION_NOTIFY_COMPLETED, complete, server,
        MHD_OPTION_END);
    if (server->daemon) return server;
    int error = errno;
    free(server);
    errno = error;
    return NULL;
}

void http_server_stop(struct http_server *server) {
    view_libraries.MHD_stop_daemon(server->daemon);
    free(server);
}

uint64_t http_server_idle_ns(struct http_server *server) {
    if (atomic_load(&server->active_count)) return 0;
    uint64_t last_end_ns = atomic_load(&server->last_end_ns), now = monotonic_now_ns();
    return now > last_end_ns ? now - last_end_ns : 0;
}
