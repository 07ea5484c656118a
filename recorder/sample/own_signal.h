/* The signal by which the sampler interrupts threads, and how the program keeps the use of it.
 *
 * The signal is ignored by default, so it does no harm if it reaches a thread that has executed another program. The
 * recorder takes SIGURG, or SIGWINCH if the program uses SIGURG, and changes when the program begins to use the signal.
 * GECKO_RECORDER_SIGNAL names another one.
 *
 * A signal number that the recorder has taken once keeps the recorder's handler, since a signal may still be on its
 * way. The handler that the program sets is stored here, and called for signals that are not the sampler's. If the
 * recorder interposes the C library's functions (signal_preload.c), the program sees the handler that it has set, and
 * cannot block the sampler's signal: its block is noted, and becomes a real one when the program's own signal arrives.
 */
#ifndef GREC_OWN_SIGNAL_H
#define GREC_OWN_SIGNAL_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include <sys/types.h>
#include "recorder/write/thread_registry.h"

/* ---- For the sampler's thread. ---- */

/* Takes a signal. The handler calls `answer` with its first and third argument; `answer` returns false if the sampler
 * has not sent the signal to this thread. */
void own_signal_begin(bool (*answer)(int number, void *interrupted));

/* Returns the signal to send; 0: none is free. If the program has begun to use the signal, takes the next one. */
int own_signal_find(void);

/* Returns the sampler's signal, or 0 if the calling thread must not be sent it now. */
int own_signal_for_self(void);

/* Whether the sampler still uses the signal. If it does not, it must not send it: store first that the signal is on its
 * way to the thread, and then call this. */
bool own_signal_is_current(int number);

/* Returns the signal that is taken if the program uses none of them. */
int own_signal_first(void);

/* Lets threads block the signal from now on. */
void own_signal_end(void);

/* Forbids the sampler to signal any thread, and waits until no signal is on its way. */
void own_signal_forbid(void);

/* Whether own_signal_forbid has been called. [signal-safe] */
bool own_signal_is_forbidden(void);

/* From now on, these functions make no system calls in the program's threads when it transfers or waits, since a filter
 * could end the process for them. */
void own_signal_silence(void);

/* Returns the name of a signal that own_signal_find has returned: "SIGURG". */
const char *own_signal_name(int number);

/* Parses the value of GECKO_RECORDER_SIGNAL. Returns false if it is not a signal that may be used. */
bool own_signal_parse(const char *text, int *number);

/* ---- For the functions that interpose those of the C library. ---- */

/* The C library's sigaction, which a function of this library may hide. */
int own_signal_next_sigaction(int number, const struct sigaction *action, struct sigaction *before);

/* Call this if the program's calls reach these functions, so that they can be relied on. */
void own_signal_set_interposed(void);

/* Call this in a forked child. */
void own_signal_enter_child(void);

/* Whether the sampler uses the signal, or may use it later. */
bool own_signal_is_candidate(int number);

/* Replaces sigaction for a signal that the sampler may use. If the sampler gives the signal up, waits until none is
 * pending. */
int own_signal_set_action(int number, const struct sigaction *action, struct sigaction *before);

/* rt_sigprocmask, except that it does not block the sampler's signal. Returns 0 or an error number. [signal-safe] */
int own_signal_set_mask(int how, const sigset_t *set, sigset_t *before);

/* Signals that a thread has blocked as far as the program knows, but not in fact (bit 0 is signal 1), and the mask that
 * the thread got at that time. */
struct own_signal_note {
    uint64_t blocks;
    uint64_t mask;
};

/* The calling thread's note, which new threads inherit. */
struct own_signal_note own_signal_get_note(void);
void own_signal_set_note(const struct own_signal_note *noted);

/* Call this when the program is about to read these signals in another way than by a handler. */
void own_signal_give_up(const sigset_t *set);

/* Forbids or allows the sampler to signal the calling thread, and returns whether that was forbidden before. A thread
 * must not be signalled if its alternate stack is too small for the kernel's frame. */
bool own_signal_spare_thread(bool is_spared);

/* Forbids the sampler to signal the calling thread until the end of a call. Of *call, the number is ignored, and
 * seen_cpu_ns is 0. Returns false if nothing samples. Otherwise call own_signal_end_spared_call with what was stored in
 * *outer: a handler may make such a call within another one. Both leave errno as it is. [signal-safe] */
bool own_signal_begin_spared_call(const struct spared_call *call, struct spared_call *outer);
void own_signal_end_spared_call(const struct spared_call *outer);

/* Call this in a thread of the recorder, which blocks all signals, and must not have a track because of such calls. */
void own_signal_exempt_thread(void);

/* Whether a signal that a wait of the calling thread has returned is the sampler's. */
bool own_signal_is_ours(int number, const siginfo_t *info);

#endif
