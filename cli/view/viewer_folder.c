#include "viewer_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char page[] = "index.html";

/* Opens a regular file in the folder. Returns -1 if there is none. Follows nothing that leads out of the folder. */
static int open_file(const struct viewer_folder *folder, const char *path, size_t *bytes_count) {
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    int file = (int)syscall(SYS_openat2, folder->descriptor, path, &how, sizeof how);
    struct stat status;
    if (file < 0) return -1;
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode)) {
        *bytes_count = (size_t)status.st_size;
        return file;
    }
    close(file);
    return -1;
}

bool viewer_folder_open(struct viewer_folder *folder, const char *path, struct failure *failure) {
    folder->descriptor = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder->descriptor < 0) {
        failure_set(failure, FAILURE_IO, "cannot open the viewer's folder %s: %s", path, strerror(errno));
        return false;
    }
    size_t bytes_count;
    errno = 0;
    int file = open_file(folder, page, &bytes_count);
    if (file >= 0) {
        close(file);
        return true;
    }
    if (errno == ENOSYS)
        failure_set(failure, FAILURE_IO, "this kernel cannot open files safely below %s: Linux 5.6 or later is needed",
                    path);
    else
        failure_set(failure, FAILURE_USAGE, "%s is not a built viewer: it has no readable %s (see docs/offline.md)",
                    path, page);
    viewer_folder_close(folder);
    return false;
}

void viewer_folder_close(struct viewer_folder *folder) {
    if (folder->descriptor >= 0) close(folder->descriptor);
    folder->descriptor = -1;
}

static const char *content_type_of(struct text path) {
    static const struct {
        struct text end;
        const char *type;
    } types[] = {
        {TEXT(".html"), "text/html; charset=utf-8"},
        {TEXT(".js"), "text/javascript; charset=utf-8"},
        {TEXT(".css"), "text/css; charset=utf-8"},
        {TEXT(".json"), "application/json"},
        {TEXT(".map"), "application/json"},
        {TEXT(".wasm"), "application/wasm"},
        {TEXT(".svg"), "image/svg+xml"},
        {TEXT(".png"), "image/png"},
        {TEXT(".jpg"), "image/jpeg"},
        {TEXT(".ico"), "image/x-icon"},
        {TEXT(".woff2"), "font/woff2"},
        {TEXT(".ftl"), "text/plain; charset=utf-8"},
        {TEXT(".txt"), "text/plain; charset=utf-8"},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (text_ends_with(path, types[i].end)) return types[i].type;
    return "application/octet-stream";
}

void viewer_folder_answer(const struct viewer_folder *folder, struct text path, struct http_response *response) {
    char wanted[PATH_MAX];
    struct text relative = text_from(path, 1); /* without the first slash */
    size_t bytes_count;
    int file = -1;
    if (relative.bytes_count && text_copy(relative, wanted, sizeof wanted))
        file = open_file(folder, wanted, &bytes_count);
    if (file < 0) {
        relative = text_of(page);
        file = open_file(folder, page, &bytes_count);
    }
    if (file < 0) {
        *response = http_refuse(HTTP_NOT_FOUND, "The viewer's folder has no index.html any more.\n");
        return;
    }
    *response = (struct http_response){.status = HTTP_OK,
                                       .content_type = content_type_of(relative),
                                       .body_kind = HTTP_BODY_FILE,
                                       .bytes_count = bytes_count,
                                       .file = file};
}
