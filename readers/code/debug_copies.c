#include "debug_copies.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The copies are in the folder's subfolder `below`. */
static bool find_in(const char *folder, const char *below, struct text id, const char *name, char path[PATH_MAX]) {
    int wanted = snprintf(path, PATH_MAX, "%s%s/.build-id/%.2s/%.*s/%s", folder, below, id.bytes,
                          (int)id.bytes_count - 2, id.bytes + 2, name);
    return wanted > 0 && wanted < PATH_MAX && access(path, R_OK) == 0;
}

bool debug_copies_find(const struct debug_folders *folders, struct text build_id, const char *name,
                       char path[PATH_MAX]) {
    const char *home = getenv("HOME");
    if (build_id.bytes_count <= 2) return false;
    for (size_t i = 0; i < folders->count; i++)
        if (find_in(folders->paths[i], "", build_id, name, path)) return true;
    return home && find_in(home, "/.debug", build_id, name, path);
}
