#include "source_api.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "libconvert/base/regular_file.h"
#include "native_library.h"

/* Larger files are not shown. Generated sources have some megabytes. */
enum { SOURCE_BYTES_MAX = 32 << 20 };

/* ---- Files that only debug information names. ---- */

static bool names_file(const struct native_place *place, struct text path) {
    for (size_t i = 0; place->is_found && i < place->call_count; i++)
        if (text_equal(place->calls[i].file, path)) return true;
    return false;
}

/* Writes whether one of the functions at the request's address is in the request's file. */
static void write_whether_named(const struct native_service *service, const struct document *request, struct json *json,
                                struct failure *failure) {
    const struct node *root = &request->root;
    const struct lib *lib = served_profile_lib(service->profile, native_text_member(request, root, "debugName"),
                                               native_text_member(request, root, "debugId"));
    struct native_library library;
    uint32_t address;
    bool is_named = false;
    if (lib && native_hex_member(request, root, "moduleOffset", &address) &&
        native_library_open(&library, lib, &service->folders, failure)) {
        struct arena memory;
        arena_init(&memory, failure);
        struct native_place place = native_library_find(&library, address, &memory);
        is_named = names_file(&place, native_text_member(request, root, "file"));
        arena_fini(&memory);
        native_library_close(&library);
    }
    json_key_bool(json, "isNamed", is_named);
}

static bool debug_information_names(struct native_service *service, const struct document *request) {
    struct http_response response = {0};
    native_service_ask(service, write_whether_named, request, &response);
    struct text answer = {response.bytes, response.bytes_count};
    bool is_named = text_equal(answer, TEXT("{\"isNamed\":true}"));
    if (response.body_kind == HTTP_BODY_OWNED) free(response.bytes);
    return is_named;
}

/* ---- Reading. ---- */

/* Returns the bytes of the file, which the caller frees, or NULL with errno set. */
static char *read_source(const struct source_search *search, struct text path, size_t *bytes_count) {
    struct stat status;
    int file = source_search_open(search, path, &status);
    if (file < 0) return NULL;
    *bytes_count = (size_t)status.st_size;
    bool is_small = *bytes_count <= SOURCE_BYTES_MAX;
    errno = is_small ? ENOMEM : EFBIG;
    char *bytes = is_small ? malloc(*bytes_count + 1) : NULL;
    bool is_read = bytes && regular_file_read(file, bytes, bytes_count);
    int error = errno;
    close(file);
    if (!is_read) free(bytes);
    errno = error;
    return is_read ? bytes : NULL;
}

/* ---- Answering. ---- */

static void respond_source(struct http_response *response, struct text path, struct text source) {
    struct failure failure = {0};
    struct json json;
    json_init(&json, &failure);
    json_object_begin(&json);
    json_key_null(&json, "symbolsLastModified");
    json_key_null(&json, "sourceLastModified");
    json_key_value_text(&json, "file", path);
    json_key_value_text(&json, "source", source);
    json_object_end(&json);
    native_respond_json(response, &json);
}

static void respond_with_file(const struct source_search *search, struct http_response *response, struct text path) {
    char message[PATH_MAX + 128];
    size_t bytes_count;
    char *bytes = read_source(search, path, &bytes_count);
    if (bytes) {
        respond_source(response, path, (struct text){bytes, bytes_count});
        free(bytes);
        return;
    }
    char reason[128];
    snprintf(message, sizeof message, "cannot read %.*s: %s", (int)path.bytes_count, path.bytes,
             strerror_r(errno, reason, sizeof reason));
    native_respond_error(response, HTTP_OK, message);
}

static void answer(struct native_service *service, const struct document *request, struct http_response *response) {
    struct text path = native_text_member(request, &request->root, "file");
    bool has_zero = text_find(path, '\0') < path.bytes_count;
    if (!text_starts_with(path, TEXT("/")) || has_zero || path.bytes_count >= PATH_MAX)
        native_respond_error(response, HTTP_OK, "the file has no absolute path, so nobody knows where it is");
    else if (served_profile_names_source(service->profile, path) || debug_information_names(service, request))
        respond_with_file(&service->sources, response, path);
    else
        native_respond_error(response, HTTP_OK, "the profile does not name this file");
}

void source_api_answer(struct native_service *service, struct text body, struct http_response *response) {
    if (!service) {
        native_service_answer(service, NULL, body, response);
        return;
    }
    struct failure failure = {0};
    struct document request;
    if (native_request_read(&request, &failure, body, response)) answer(service, &request, response);
    document_fini(&request);
}
