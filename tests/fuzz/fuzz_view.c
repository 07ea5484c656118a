/* Reads any bytes as a request to the server of `view`: its method, host, origin and path, or the body for one of the
 * API's paths. Checks that the server returns only files that the profile names. */
#include <stdio.h>
#include <stdlib.h>

#include "checked_conversion.h"
#include "cli/view/site.h"

static const char served_json[] =
    "{\"meta\":{},\"libs\":[{\"name\":\"a\",\"path\":\"/bin/"
    "true\",\"debugName\":\"a\",\"breakpadId\":\"\",\"codeId\":\"\"}],"
    "\"shared\":{\"stringArray\":[\"/etc/hostname\"],\"sources\":{\"length\":1,\"filename\":[0]}}}";

static struct failure failure;
static struct served_profile *profiles;
static struct native_service native;
static struct site site = {.viewer_origin = "https://profiler.firefox.com", .native = &native};

static void set_up(void) {
    struct served_profile *profile = served_profile_append(&profiles, TEXT("a.json"), &failure);
    struct input *input = input_from_memory(text_of(served_json), 0, &failure);
    served_profile_read(profile, input);
    input_close(input);
    native_service_init(&native, (struct debug_folders){0}, (struct source_search){0});
    native.profiles = site.profiles = profiles;
    FUZZ_CHECK(site_init(&site, 4000) && !failure_is_set(&failure), "%s", failure.message);
}

/* Removes the first line from the text and returns it. */
static struct text take_line(struct text *text) {
    size_t end = text_find(*text, '\n');
    struct text line = text_slice(*text, 0, end);
    *text = text_from(*text, end + 1);
    return line;
}

static void ask(const struct http_request *request) {
    struct http_response response = {0};
    if (site_admit(&site, request, &response)) {
        FUZZ_CHECK(text_equal(request->host, text_of(site.host)), "a foreign host is admitted");
        site_answer(&site, request, &response);
    }
    FUZZ_CHECK(response.status >= HTTP_OK, "no status");
    FUZZ_CHECK(!response.allow_origin || text_equal(request->origin, text_of(site.viewer_origin)), "a foreign origin");
    if (response.body_kind == HTTP_BODY_OWNED) free(response.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t bytes_count) {
    static const char *const api_paths[] = {"/symbolicate/v5", "/source/v1", "/asm/v1", "/profile.json"};
    if (!profiles) set_up();
    struct text text = {(const char *)bytes, bytes_count};
    if (!bytes_count) return 0;
    unsigned choice = bytes[0] & 7u;
    text = text_from(text, 1);
    struct http_request request = {.method = (enum http_method)(choice & 3u), .host_count = 1, .origin_count = 1};
    if (choice < 4) {
        request.host = take_line(&text);
        request.origin = take_line(&text);
        request.path = take_line(&text);
        request.body = text;
        ask(&request);
        return 0;
    }
    char path[64];
    snprintf(path, sizeof path, "/%s%s", site.token, api_paths[choice & 3u]);
    request = (struct http_request){.method = choice == 7 ? HTTP_GET : HTTP_POST,
                                    .path = text_of(path),
                                    .host_count = 1,
                                    .host = text_of(site.host),
                                    .body = text};
    ask(&request);
    return 0;
}
