/* Perf maps of running processes, kept open. A process in a container, or with its own /tmp, has its map under
 * another number in another folder, and both are gone when it ends. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct kept_maps {
    char **values; /* "PID=FILE", as --perf-map has it; owned */
    int *fds;
    size_t count;
    size_t left_out_count; /* maps that are not kept because no more files may be open */
};

/* Keeps the map of the process if it has one and owns it, unless a conversion finds it by itself. Maps use only a part
 * of the files that may be open. If memory runs out, the map is not kept. Returns false if there is no map yet. */
bool kept_maps_take(struct kept_maps *maps, pid_t pid);
void kept_maps_fini(struct kept_maps *maps);
