/* What the threads of a process of a Gecko profile share while they are read. */
#pragma once

#include "saved_reader.h"

/* A library, and where the process has mapped it. */
struct gecko_lib {
    struct lib lib;
    uint64_t start; /* the first address; `end` is after the last one */
    uint64_t end;
    uint64_t offset; /* where `start` is in the library */
};

struct gecko_process {
    bool is_child;
    struct column libs;     /* struct gecko_lib */
    struct column sources;  /* source_id, by the number in locations */
    struct column pauses;   /* struct paused_range */
    int64_t end_ns;         /* TIME_NONE: it ended after the profile */
    thread_id first_thread; /* none: it has no threads */
    thread_id main_thread;
    struct text title; /* what the main thread calls the process */
    struct text name;  /* what another thread calls it; empty: there is none */
};

/* Reads a thread of the process, a struct gecko_process. */
saved_element_reader saved_gecko_thread_read;
