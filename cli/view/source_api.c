/* /source/v1: the text of a source file of this machine, if the profile names it. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "libconvert/base/regular_file.h"
#include "libconvert/source_names.h"
#include "libconvert/source_rules.h"
#include "native_library.h"
#include "native_service.h"

/* Larger files are not shown. Generated sources have some megabytes. */
enum { SOURCE_BYTES_MAX = 32 << 20 };

/* ---- Files that only debug information names. ---- */

static bool names_file(const struct native_place *place, struct text path) {
    char bytes[SOURCE_NAME_BYTES];
    for (size_t i = 0; place->is_found && i < place->call_count; i++) {
        struct text file = place->calls[i].file;
        if (text_equal(file, path) || text_equal(source_name_on_web(NULL, file, bytes), path)) return true;
    }
    return false;
}

/* Writes whether one of the functions at the request's address is in the request's file. */
static void write_is_named(const struct native_service *service, const struct document *request, struct json *json,
                           struct failure *failure) {
    const struct node *root = &request->root;
    const struct lib *lib = native_requested_lib(service, request);
    struct native_library library;
    uint32_t address;
    bool is_named = false;
    if (lib && native_hex_member(request, root, "moduleOffset", &address) &&
        native_library_open(&library, lib, &service->folders, failure)) {
        struct arena memory;
        arena_init(&memory, failure);
        struct native_place place = native_library_find(&library, address, &memory);
        is_named = names_file(&place, document_text_member(request, root, "file"));
        arena_fini(&memory);
        native_library_close(&library);
    }
    json_key_bool(json, "isNamed", is_named);
}

static bool is_named_by_debug_info(struct native_service *service, const struct document *request) {
    struct http_response response = {0};
    native_service_ask(service, write_is_named, request, &response);
    struct text answer = {response.bytes, response.bytes_count};
    bool is_named = text_equal(answer, TEXT("{\"isNamed\":true}"));
    if (response.body_kind == HTTP_BODY_OWNED) free(response.bytes);
    return is_named;
}

/* ---- Reading. ---- */

/* Reads the open file. On SOURCE_FOUND, the caller frees *bytes. On SOURCE_UNREADABLE, errno is set. */
static enum source_outcome read_bytes(int file, const struct stat *status, char **bytes, size_t *bytes_count) {
    if (status->st_size > SOURCE_BYTES_MAX) return SOURCE_TOO_LARGE;
    *bytes_count = (size_t)status->st_size;
    *bytes = malloc(*bytes_count + 1);
    enum source_outcome outcome = SOURCE_UNREADABLE;
    if (*bytes && regular_file_read(file, *bytes, bytes_count))
        outcome = source_is_text((struct text){*bytes, *bytes_count}) ? SOURCE_FOUND : SOURCE_NOT_TEXT;
    if (outcome != SOURCE_FOUND) free(*bytes); /* keeps errno */
    return outcome;
}

/* A source file that is requested. */
struct wanted_source {
    struct text name; /* in the profile */
    struct text path;
    struct text build_id; /* the library whose debug information names it; empty: unknown */
    bool is_vouched;      /* debug information names the file */
};

static int fetch_source(const struct wanted_source *wanted, struct stat *status, enum source_outcome *outcome) {
    struct debug_server server;
    if (!debug_server_open(&server, NULL)) return -1;
    int file = source_search_fetch(&server, wanted->build_id, wanted->path, status, outcome);
    int error = errno;
    debug_server_close(&server);
    errno = error;
    return file;
}

/* Finds the file and reads it, as read_bytes does. On SOURCE_MISSING, errno is set, too. */
static enum source_outcome read_source(const struct native_service *service, const struct wanted_source *wanted,
                                       char **bytes, size_t *bytes_count) {
    struct stat status;
    enum source_outcome outcome;
    int file = source_search_open(&service->sources, wanted->path, wanted->is_vouched, &status, &outcome);
    if (file < 0 && outcome == SOURCE_MISSING && wanted->is_vouched && service->asks_servers)
        file = fetch_source(wanted, &status, &outcome);
    if (file < 0) return outcome;
    outcome = read_bytes(file, &status, bytes, bytes_count);
    int error = errno;
    close(file);
    errno = error;
    return outcome;
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

static void respond_with_file(const struct native_service *service, struct http_response *response,
                              const struct wanted_source *wanted) {
    struct text name = wanted->name;
    char message[PATH_MAX + 256], buffer[128];
    char *bytes = NULL;
    size_t bytes_count;
    enum source_outcome outcome = read_source(service, wanted, &bytes, &bytes_count);
    if (outcome == SOURCE_FOUND) {
        respond_source(response, name, (struct text){bytes, bytes_count});
        free(bytes);
        return;
    }
    bool has_error = outcome == SOURCE_MISSING || outcome == SOURCE_UNREADABLE;
    const char *reason = has_error ? strerror_r(errno, buffer, sizeof buffer) : source_outcome_name(outcome);
    snprintf(message, sizeof message, "cannot read %.*s: %s%s", TEXT_ARGS(name), has_error ? "" : "the file is ",
             reason);
    native_respond_error(response, HTTP_OK, message);
}

/* Returns whether the file can be on this machine. The viewer also asks for files with a name on the web. */
static bool has_place(struct text name, struct text path) {
    char bytes[SOURCE_NAME_BYTES];
    return text_starts_with(path, TEXT("/")) || !text_equal(name, path) || source_name_local(name, bytes).bytes_count;
}

static void answer(struct native_service *service, const struct document *request, struct http_response *response) {
    struct text name = document_text_member(request, &request->root, "file");
    bool has_zero = text_find(name, '\0') < name.bytes_count;
    const struct served_source *source = served_profile_source(service->profiles, name);
    struct wanted_source wanted = {.name = name, .path = source ? source->path : name};
    if (!has_place(name, wanted.path) || has_zero || wanted.path.bytes_count >= PATH_MAX) {
        native_respond_error(response, HTTP_OK, "the file has no absolute path, so nobody knows where it is");
        return;
    }
    wanted.is_vouched = (source && source->is_looked_up) || is_named_by_debug_info(service, request);
    const struct lib *lib = native_requested_lib(service, request);
    if (wanted.is_vouched && lib) wanted.build_id = lib->code_id;
    if (source || wanted.is_vouched)
        respond_with_file(service, response, &wanted);
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
