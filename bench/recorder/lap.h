/* Times a loop of events in pinned threads. Every program of this benchmark passes a table of cases to lap_main. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Laps per run. Each lap is long enough to include occasional work (new chunks, new pages), and short enough for some
 * laps to be undisturbed. */
enum { LAP_COUNT = 10 };

struct lap_case {
    const char *name;
    int (*start)(const char *folder); /* called before the threads start; writes below the folder. Returns 0 on success.
                                       * NULL: nothing to do */
    void (*run)(uint64_t count);      /* called in each thread, first for the warm-up; records `count` events */
    void (*finish)(void);             /* called after the threads end; may print lines. NULL: nothing to do */
    uint64_t warm_up_count;           /* untimed events of each thread before the timed ones */
    uint64_t event_limit;             /* maximum events of all threads, including the warm-up; 0: no limit */
};

/* PROGRAM CASE THREADS EVENTS FOLDER
 *
 * Prints lines of a word and a number: "events" is the count of all threads, including the warm-up. "ns" is the time of
 * one event, once per lap of each thread; a thread runs LAP_COUNT laps in a row. "PROGRAM cases" prints the names of
 * the cases. Returns the exit code. */
int lap_main(int argc, char **argv, const struct lap_case *cases, size_t case_count);

/* Prevents the compiler from merging or dropping the code before and after it. */
static inline void lap_barrier(void) { __asm__ volatile("" ::: "memory"); }

/* Repeats an event eight times. A loop around one event costs up to a cycle per event; a loop around eight, an eighth
 * of that. */
#define LAP_REPEAT_8(event) \
    event;                  \
    event;                  \
    event;                  \
    event;                  \
    event;                  \
    event;                  \
    event;                  \
    event
