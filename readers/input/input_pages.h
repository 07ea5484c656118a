/* A thread that maps the pages of a mapped file before they are read, and releases them when they are not needed any
 * more. Otherwise the reading thread does so by page faults and system calls, which take a fifth of the time in which
 * it reads copied stacks. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "libconvert/base/text.h"

/* Zeroed: not started. */
struct input_pages {
    struct text map; /* page-aligned; borrowed */
    pthread_t thread;
    bool is_running;
    atomic_bool is_ending;
    atomic_size_t offset;        /* where the map is read */
    atomic_size_t needed_offset; /* the bytes before it are not needed any more */
    atomic_size_t released;      /* the bytes before it have been released */
};

/* Starts the thread. If the system cannot start one, is_running stays false. The struct must stay in place. */
void input_pages_start(struct input_pages *pages, struct text map);

/* Tells the thread where the map is read and what is not needed any more. Both may go back. Returns false if the thread
 * is so late that the caller must release pages itself. */
bool input_pages_move(struct input_pages *pages, size_t offset, size_t needed_offset);

/* Ends the thread, if it has been started. Call it before the map is unmapped. */
void input_pages_end(struct input_pages *pages);
