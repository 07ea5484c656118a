#include "site.h"

#include <stdio.h>
#include <sys/random.h>

#include "writer/emitter.h"

/* Browsers leave this port out of addresses. */
enum { HTTP_PORT = 80, RANDOM_BYTES = SITE_TOKEN_DIGITS / 2 };

bool site_init(struct site *site, uint16_t port) {
    char bytes[RANDOM_BYTES];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) return false;
    text_hex((struct text){bytes, sizeof bytes}, site->token);
    if (port == HTTP_PORT)
        snprintf(site->host, sizeof site->host, "127.0.0.1");
    else
        snprintf(site->host, sizeof site->host, "127.0.0.1:%u", (unsigned)port);
    return true;
}

void site_profile_name(unsigned number, char name[SITE_PROFILE_NAME_BYTES]) {
    if (number == 1)
        snprintf(name, SITE_PROFILE_NAME_BYTES, "profile.json");
    else
        snprintf(name, SITE_PROFILE_NAME_BYTES, "profile-%u.json", number);
}

/* ---- Routes. ---- */

typedef void route_answer(struct site *site, const struct http_request *request, struct http_response *response);

/* Returns the profile of "profile.json", "profile-2.json"…; NULL if there is none. */
static const struct served_profile *find_profile(const struct site *site, struct text path) {
    char name[SITE_PROFILE_NAME_BYTES];
    unsigned number = 1;
    for (const struct served_profile *profile = site->profiles; profile; profile = profile->next) {
        site_profile_name(number++, name);
        if (text_equal(text_base_name(path), text_of(name))) return profile;
    }
    return NULL;
}

static void answer_profile(struct site *site, const struct http_request *request, struct http_response *response) {
    const struct served_profile *profile = find_profile(site, request->path);
    *response = (struct http_response){.status = HTTP_OK,
                                       .content_type = emitter_by_name(NULL)->media_type,
                                       .is_gzip = true,
                                       .forbids_scripts = true,
                                       .bytes = profile->json.bytes,
                                       .bytes_count = profile->json.bytes_count};
}

static void answer_archive(struct site *site, const struct http_request *request, struct http_response *response) {
    (void)request;
    *response = (struct http_response){.status = HTTP_OK,
                                       .content_type = "application/zip",
                                       .forbids_scripts = true,
                                       .bytes = site->archive->bytes,
                                       .bytes_count = site->archive->bytes_count};
}

static void answer_symbolicate(struct site *site, const struct http_request *request, struct http_response *response) {
    native_service_answer(site->native, symbolicate_api_write, request->body, response);
}

static void answer_source(struct site *site, const struct http_request *request, struct http_response *response) {
    source_api_answer(site->native, request->body, response);
}

static void answer_asm(struct site *site, const struct http_request *request, struct http_response *response) {
    native_service_answer(site->native, asm_api_write, request->body, response);
}

struct route {
    struct text path; /* the path after the token */
    enum http_method method;
    route_answer *answer;
};

static const struct route profile_route = {.method = HTTP_GET, .answer = answer_profile};
static const struct route archive_route = {TEXT(SITE_ARCHIVE_NAME), HTTP_GET, answer_archive};

static const struct route routes[] = {
    {TEXT("/symbolicate/v5"), HTTP_POST, answer_symbolicate},
    {TEXT("/source/v1"), HTTP_POST, answer_source},
    {TEXT("/asm/v1"), HTTP_POST, answer_asm},
};

/* Takes equally long for every wrong token, so that the time does not reveal how much of a guess is right. */
static bool is_token(const struct site *site, struct text guess) {
    unsigned difference = guess.bytes_count != SITE_TOKEN_DIGITS;
    for (size_t i = 0; i < SITE_TOKEN_DIGITS && i < guess.bytes_count; i++)
        difference |= (unsigned char)(site->token[i] ^ guess.bytes[i]);
    return difference == 0;
}

/* Returns NULL if no route has the path. */
static const struct route *find_route(const struct site *site, struct text path) {
    if (!text_starts_with(path, TEXT("/")) || !is_token(site, text_slice(path, 1, SITE_TOKEN_DIGITS + 1))) return NULL;
    struct text rest = text_from(path, SITE_TOKEN_DIGITS + 1);
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
        if (text_equal(rest, routes[i].path)) return &routes[i];
    if (text_find_last(rest, '/') != 0) return NULL;
    if (site->archive) return text_equal(text_from(rest, 1), archive_route.path) ? &archive_route : NULL;
    return find_profile(site, rest) ? &profile_route : NULL;
}

/* ---- Access. ---- */

static bool is_for_this_host(const struct site *site, const struct http_request *request) {
    return request->host_count == 1 && text_equal(request->host, text_of(site->host));
}

/* Programs other than browsers send no origin. */
static bool has_good_origin(const struct site *site, const struct http_request *request) {
    if (!request->origin_count) return true;
    return request->origin_count == 1 && text_equal(request->origin, text_of(site->viewer_origin));
}

static bool refuse(struct http_response *response, enum http_status status, const char *message) {
    *response = http_refuse(status, message);
    return false;
}

static bool admit_to_route(const struct route *route, const struct http_request *request,
                           struct http_response *response) {
    if (request->method == route->method) return true;
    /* Browsers send a preflight request before some requests to another origin. */
    if (request->method == HTTP_OPTIONS && request->origin_count) return true;
    return refuse(response, HTTP_WRONG_METHOD, "This path does not take such requests.\n");
}

bool site_admit(void *context, const struct http_request *request, struct http_response *response) {
    const struct site *site = context;
    if (!is_for_this_host(site, request))
        return refuse(response, HTTP_FORBIDDEN, "Use the address that gecko-convert has printed.\n");
    if (!has_good_origin(site, request))
        return refuse(response, HTTP_FORBIDDEN, "Only the viewer's pages may ask for this.\n");
    const struct route *route = find_route(site, request->path);
    if (route) return admit_to_route(route, request, response);
    if (!site->folder || !text_starts_with(request->path, TEXT("/")))
        return refuse(response, HTTP_NOT_FOUND, "There is nothing here.\n");
    if (request->method != HTTP_GET) return refuse(response, HTTP_WRONG_METHOD, "Files can only be read.\n");
    return true;
}

/* ---- Answers. ---- */

static void answer_route(struct site *site, const struct route *route, const struct http_request *request,
                         struct http_response *response) {
    if (request->method == HTTP_OPTIONS)
        *response = (struct http_response){.status = HTTP_NO_CONTENT, .is_preflight = true};
    else
        route->answer(site, request, response);
    if (request->origin_count) response->allow_origin = site->viewer_origin;
}

void site_answer(void *context, const struct http_request *request, struct http_response *response) {
    struct site *site = context;
    if (!site_admit(site, request, response)) return;
    const struct route *route = find_route(site, request->path);
    if (route)
        answer_route(site, route, request, response);
    else
        viewer_folder_answer(site->folder, request->path, response);
}
