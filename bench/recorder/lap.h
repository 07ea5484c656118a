/* Times a loop of events in pinned threads. Every program of this benchmark is a table of cases handed to lap_main. */
#ifndef BENCH_LAP_H
#define BENCH_LAP_H

#include <stddef.h>
#include <stdint.h>

/* Long enough for what comes now and then (new chunks, new pages) to be in each, short enough for some to be quiet. */
enum { LAP_COUNT = 10 };

struct lap_case {
    const char *name;
    int (*start)(const char *folder); /* before the threads; output goes below the folder. 0, or not. NULL: nothing */
    void (*run)(uint64_t count);      /* in each thread, first for the warm-up: so many events */
    void (*finish)(void);             /* after the threads; may print lines of its own. NULL: nothing */
    uint64_t warm_up_count;           /* events of each thread before those that are timed */
    uint64_t event_limit;             /* events of all threads at most, warm-up included; 0: none */
};

/* PROGRAM CASE THREADS EVENTS FOLDER
 *
 * Prints lines of a word and a number: "events" of all threads, warm-up included, and for each lap (LAP_COUNT in a row
 * in each thread) "ns" of one event as that thread saw it. PROGRAM cases: prints the names of the cases. Returns the
 * exit code. */
int lap_main(int argc, char **argv, const struct lap_case *cases, size_t case_count);

/* Keeps the compiler from joining or dropping what stands on its two sides. */
static inline void lap_barrier(void) { __asm__ volatile("" ::: "memory"); }

/* A loop around one event costs up to a cycle; around eight of them, an eighth. */
#define LAP_REPEAT_8(event) \
    event;                  \
    event;                  \
    event;                  \
    event;                  \
    event;                  \
    event;                  \
    event;                  \
    event

#endif
