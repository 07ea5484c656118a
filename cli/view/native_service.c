#include "native_service.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "libconvert/base/child_process.h"
#include "libconvert/base/cursor.h"

/* Larger answers are refused. */
static const uint64_t ANSWER_BYTES_MAX = 256u << 20;

/* ---- Responses. ---- */

/* Returns a response that owns the bytes. */
static struct http_response json_response(char *bytes, size_t bytes_count) {
    return (struct http_response){.status = HTTP_OK,
                                  .content_type = "application/json",
                                  .forbids_scripts = true,
                                  .body_kind = HTTP_BODY_OWNED,
                                  .bytes = bytes,
                                  .bytes_count = bytes_count};
}

void native_write_error(struct json *json, const char *message) { json_key_string(json, "error", message); }

void native_respond_json(struct http_response *response, struct json *json) {
    struct chunk_list chunks = json_take_chunks(json);
    char *bytes = failure_is_set(chunks.failure) ? NULL : malloc(chunks.total_bytes);
    size_t bytes_count = (size_t)chunks.total_bytes;
    if (bytes) chunk_list_copy(&chunks, bytes);
    chunk_list_fini(&chunks);
    if (!bytes) {
        *response = http_refuse(HTTP_UNAVAILABLE, "There is not enough memory.\n");
        return;
    }
    *response = json_response(bytes, bytes_count);
}

void native_respond_error(struct http_response *response, enum http_status status, const char *message) {
    struct failure failure = {0};
    struct json json;
    json_init(&json, &failure);
    json_object_begin(&json);
    native_write_error(&json, message);
    json_object_end(&json);
    native_respond_json(response, &json);
    if (response->status == HTTP_OK) response->status = status;
}

/* ---- Requests. ---- */

bool native_request_read(struct document *document, struct failure *failure, struct text body,
                         struct http_response *response) {
    document_init(document, failure);
    struct input *input = input_from_memory(body, 0, failure);
    if (input) document_read(document, input);
    input_close(input);
    if (!failure_is_set(failure)) return true;
    bool is_bad = failure->code == FAILURE_INPUT;
    native_respond_error(response, is_bad ? HTTP_BAD_REQUEST : HTTP_UNAVAILABLE, failure->message);
    return false;
}

const struct lib *native_requested_lib(const struct native_service *service, const struct document *request) {
    return served_profile_lib(service->profiles, document_text_member(request, &request->root, "debugName"),
                              document_text_member(request, &request->root, "debugId"));
}

bool native_hex_member(const struct document *document, const struct node *node, const char *key, uint32_t *number) {
    struct text text = document_text_member(document, node, key);
    uint64_t value;
    if (!cursor_take(&text, TEXT("0x")) || !cursor_parse_number(text, 16, &value) || value > UINT32_MAX) return false;
    *number = (uint32_t)value;
    return true;
}

void native_write_hex(struct json *json, const char *key, uint64_t number) {
    char text[32];
    snprintf(text, sizeof text, "0x%llx", (unsigned long long)number);
    json_key_string(json, key, text);
}

/* ---- In the child. ---- */

struct question {
    const struct native_service *service;
    native_write *write;
    const struct document *request;
};

/* Sends the number of bytes and the bytes. */
static void answer_question(void *context, struct channel *channel) {
    const struct question *question = context;
    struct failure failure = {0};
    struct json json;
    json_init(&json, &failure);
    json_object_begin(&json);
    question->write(question->service, question->request, &json, &failure);
    json_object_end(&json);
    struct chunk_list chunks = json_take_chunks(&json);
    uint64_t bytes_count = chunks.total_bytes;
    if (failure_is_set(&failure) || !channel_send(channel, &bytes_count, sizeof bytes_count)) child_leave();
    for (const struct chunk *chunk = chunks.first; chunk; chunk = chunk->next)
        if (!channel_send(channel, chunk->bytes, chunk->used_bytes)) child_leave();
    chunk_list_fini(&chunks);
}

/* ---- In the parent. ---- */

void native_service_init(struct native_service *service, struct debug_folders folders, struct source_search sources) {
    *service = (struct native_service){.folders = folders, .sources = sources, .mutex = PTHREAD_MUTEX_INITIALIZER};
}

void native_service_fini(struct native_service *service) { pthread_mutex_destroy(&service->mutex); }

/* A child in the list has not been waited for, so no other process can have its pid. */
void native_service_cancel(struct native_service *service) {
    pthread_mutex_lock(&service->mutex);
    service->is_cancelled = true;
    for (size_t i = 0; i < NATIVE_CHILDREN_MAX; i++)
        if (service->children[i] > 0) kill(service->children[i], SIGKILL);
    pthread_mutex_unlock(&service->mutex);
}

/* Starts the child while the lock is held, so that native_service_cancel misses none. Returns NULL if the child cannot
 * be started. */
static pid_t *start(struct native_service *service, struct child_process *child, struct question *question) {
    pid_t *place = NULL;
    pthread_mutex_lock(&service->mutex);
    for (size_t i = 0; i < NATIVE_CHILDREN_MAX && !place; i++)
        if (!service->children[i]) place = &service->children[i];
    if (service->is_cancelled || !place || !child_start(child, answer_question, question, service->memory))
        place = NULL;
    else
        *place = child->pid;
    pthread_mutex_unlock(&service->mutex);
    return place;
}

/* Returns the bytes of the answer, or NULL. */
static char *receive(struct channel *channel, uint64_t *bytes_count) {
    if (!channel_receive(channel, bytes_count, sizeof *bytes_count) || *bytes_count > ANSWER_BYTES_MAX) return NULL;
    char *bytes = malloc(*bytes_count);
    if (bytes && channel_receive(channel, bytes, *bytes_count)) return bytes;
    free(bytes);
    return NULL;
}

static const char *describe_end(enum child_end end) {
    switch (end) {
        case CHILD_DONE: return "the answer is too large";
        case CHILD_NO_MEMORY: return "there is not enough memory to read the library";
        case CHILD_LOST_BYTES: return "the library became shorter while it was read";
        case CHILD_CRASHED: break;
    }
    return "the library cannot be read: it may be damaged";
}

void native_service_ask(struct native_service *service, native_write *write, const struct document *request,
                        struct http_response *response) {
    struct question question = {service, write, request};
    struct child_process child;
    pid_t *place = start(service, &child, &question);
    if (!place) {
        native_respond_error(response, HTTP_UNAVAILABLE, "too many requests at a time");
        return;
    }
    uint64_t bytes_count;
    char *bytes = receive(&child.channel, &bytes_count);
    pthread_mutex_lock(&service->mutex);
    *place = 0;
    pthread_mutex_unlock(&service->mutex);
    enum child_end end = child_await(&child);
    if (!bytes) {
        native_respond_error(response, HTTP_OK, describe_end(end));
        return;
    }
    *response = json_response(bytes, bytes_count);
}

void native_service_answer(struct native_service *service, native_write *write, struct text body,
                           struct http_response *response) {
    if (!service) {
        native_respond_error(response, HTTP_OK,
                             "with --symbols none, gecko-convert opens no file that the profile names");
        return;
    }
    struct failure failure = {0};
    struct document request;
    if (native_request_read(&request, &failure, body, response)) native_service_ask(service, write, &request, response);
    document_fini(&request);
}
