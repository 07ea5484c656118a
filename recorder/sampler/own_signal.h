/* The signal by which threads interrupt themselves, and how the program keeps the use of it.
 *
 * The signal is ignored by default, so it does no harm if it reaches a thread that has executed another program. The
 * recorder takes SIGURG, or SIGWINCH if the program uses SIGURG, and changes to the other one when the program begins
 * to use the signal. GECKO_RECORDER_SIGNAL names another signal.
 *
 * A signal number that the recorder has taken once keeps the recorder's handler, since a signal may still be on its
 * way. The handler that the program sets is stored here, and called for signals that are not the sampler's. If the
 * recorder interposes the C library's functions (signal_preload.c), the program sees the handler that it has set, and
 * cannot block the sampler's signal: its block is noted, and becomes a real one when the program's own signal
 * arrives. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "recorder/state/shared.h"

/* ---- For the sampler's thread. ---- */

/* Takes a signal. The handler calls `answer` with its second and third argument; `answer` returns false if the signal
 * is not one of the thread's clocks. `await_round` waits until the sampler has made one more round, or a moment if it
 * makes none. */
void own_signal_begin(bool (*answer)(const siginfo_t *info, const void *interrupted), void (*await_round)(void));

/* Returns the signal to send; 0: none is free. If the program has begun to use the signal, takes the next one. */
int own_signal_find(void);

/* Returns the signal that the sampler takes if the program uses none. */
int own_signal_first(void);

/* Lets threads block the signal from now on. */
void own_signal_end(void);

/* Forbids the sampler to interrupt any thread, and waits until no clock sends a signal. */
void own_signal_forbid(void);

/* Whether own_signal_forbid has been called. [signal-safe] */
bool own_signal_is_forbidden(void);

/* Returns the name of a signal that own_signal_find has returned: "SIGURG". */
const char *own_signal_name(int number);

/* Parses the value of GECKO_RECORDER_SIGNAL. Returns false if it is not a signal that may be used. */
bool own_signal_parse(const char *text, int *number);

/* ---- For the functions that interpose those of the C library. ---- */

/* Call this if the program's calls reach the functions below. Only then does the sampler rely on them. */
void own_signal_set_interposed(void) GREC_SHARED(own_signal_set_interposed);
bool own_signal_is_interposed(void);

/* Call this in a forked child. */
void own_signal_enter_child(void);

/* Whether the sampler uses the signal, or may use it later. */
bool own_signal_is_candidate(int number) GREC_SHARED(own_signal_is_candidate);

/* Replaces sigaction for a signal that the sampler may use. If the sampler gives the signal up, waits until no
 * clock sends it. */
int own_signal_set_action(int number, const struct sigaction *action, struct sigaction *before)
    GREC_SHARED(own_signal_set_action);

/* rt_sigprocmask, except that it does not block the sampler's signal. Returns 0 or an error number. [signal-safe] */
int own_signal_set_mask(int how, const sigset_t *set, sigset_t *before) GREC_SHARED(own_signal_set_mask);

/* Signals that a thread has blocked as far as the program knows, but not in fact (bit 0 is signal 1), and the mask that
 * the thread got at that time. */
struct own_signal_note {
    uint64_t blocks;
    uint64_t mask;
};

/* The calling thread's note, which new threads inherit. */
struct own_signal_note own_signal_get_note(void) GREC_SHARED(own_signal_get_note);
void own_signal_set_note(const struct own_signal_note *noted) GREC_SHARED(own_signal_set_note);

/* Call this when the program is about to read these signals other than by a handler. */
void own_signal_give_up(const sigset_t *set) GREC_SHARED(own_signal_give_up);

/* Forbids or allows the sampler to interrupt the calling thread, and returns whether it was forbidden before. A thread
 * must not be interrupted if its alternate stack is too small for the kernel's frame. */
bool own_signal_spare_thread(bool is_spared) GREC_SHARED(own_signal_spare_thread);
