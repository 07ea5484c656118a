/* The folder of a front-end that was built. Files are served from no other folder. */
#pragma once

#include "http.h"
#include "libconvert/base/failure.h"

struct viewer_folder {
    int descriptor;
};

/* Opens the folder. Returns false if it cannot be opened (FAILURE_IO, latched) or is not a front-end (FAILURE_USAGE,
 * latched). */
bool viewer_folder_open(struct viewer_folder *folder, const char *path, struct failure *failure);
void viewer_folder_close(struct viewer_folder *folder);

/* Answers with the file at that path of a URL, or with the front-end's page, because the front-end interprets paths
 * itself. Neither ".." nor a symbolic link leads out of the folder. Thread-safe. */
void viewer_folder_answer(const struct viewer_folder *folder, struct text path, struct http_response *response);
