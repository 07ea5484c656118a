/* Perf maps of processes that run already, kept open: a process in a container, or with a /tmp of its own, has its map
 * under another number in another place, which are gone when it ends. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

struct kept_maps {
    char **values; /* "PID=FILE", as --perf-map has it; owned */
    int *fds;
    size_t count;
    size_t left_out_count; /* maps that are not kept, as each needs a file */
};

/* Keeps the map of the process if it has one and owns it, unless a conversion finds it by itself. Maps take up a part
 * of the files that may be open. Without memory, fewer are kept. */
void kept_maps_take(struct kept_maps *maps, pid_t pid);
void kept_maps_fini(struct kept_maps *maps);
