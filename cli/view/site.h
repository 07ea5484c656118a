/* Decides about every request: what is served, and to whom.
 *
 *     GET  /TOKEN/profile.json       the profile
 *     GET  /TOKEN/profile-N.json     the N-th profile of several, N from 2 on
 *     GET  /TOKEN/profiles.zip       instead, an archive of profiles
 *     POST /TOKEN/symbolicate/v5     names of functions at addresses
 *     POST /TOKEN/source/v1          a source file that the profile names
 *     POST /TOKEN/asm/v1             the instructions of a function
 *     GET  anything else             files of the viewer's folder, if there is one
 *
 * A request must carry the address of this server as its host: a page that makes its own name resolve to this machine
 * is refused. A request with an origin must come from the viewer. No request makes the server write anything. */
#pragma once

#include "http.h"
#include "native_service.h"
#include "served_profile.h"
#include "viewer_folder.h"

enum { SITE_TOKEN_DIGITS = 32, SITE_HOST_BYTES = 32, SITE_PROFILE_NAME_BYTES = 32 };

#define SITE_ARCHIVE_NAME "profiles.zip"

struct site {
    char host[SITE_HOST_BYTES];            /* "127.0.0.1:4000", as browsers send it */
    char token[SITE_TOKEN_DIGITS + 1];     /* 128 random bits in hex */
    const char *viewer_origin;             /* origin of the pages that may ask: "https://profiler.firefox.com" */
    const struct served_profile *profiles; /* a list */
    const struct byte_buffer *archive;     /* the profiles, for the viewer to choose from; NULL: there is none */
    const struct viewer_folder *folder;    /* NULL: the viewer is elsewhere */
    struct native_service *native;         /* NULL: no file that the profile names may be opened */
};

/* Sets the host for that port of 127.0.0.1 and draws a token. Returns false with errno set if the kernel gives no
 * random bytes. */
bool site_init(struct site *site, uint16_t port);

/* Writes the last part of the path of a profile. Profiles are numbered from 1. */
void site_profile_name(unsigned number, char name[SITE_PROFILE_NAME_BYTES]);

/* The functions of an http_site, whose `context` is a struct site. Thread-safe. */
bool site_admit(void *context, const struct http_request *request, struct http_response *response);
void site_answer(void *context, const struct http_request *request, struct http_response *response);
