/* The signal that the sampler interrupts threads by, and how the program keeps the use of it.
 *
 * It is one whose default is to be ignored: a signal that is on its way to a thread which executes another program does
 * no harm there. The first one that the program does not use is taken, SIGURG or SIGWINCH; when the program begins to
 * use it, the next one. GECKO_RECORDER_SIGNAL names another.
 *
 * Once taken, a signal keeps the recorder's handler, since one may be on its way. What the program sets is kept here,
 * and called for signals that are not the sampler's. Where the recorder stands before the C library's functions
 * (signal_preload.c) the program is told what it has set, and cannot block the sampler's signal: a block is noted, and
 * made a real one when the program's own signal comes. */
#ifndef GREC_OWN_SIGNAL_H
#define GREC_OWN_SIGNAL_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- Of the sampler's thread. ---- */

/* Takes a signal, and answers it by `answer`, which gets the handler's first and third argument and returns false if
 * that signal was not sent to the thread. */
void own_signal_begin(bool (*answer)(int number, void *interrupted));

/* The signal to send; 0: there is none to be had. Looks whether the program has taken it for itself, and takes the next
 * one then. */
int own_signal_find(void);

/* The signal that is taken if the program uses none. */
int own_signal_first(void);

/* Threads may block what they like from now on. */
void own_signal_end(void);

/* "SIGURG", of a signal that own_signal_find has returned. */
const char *own_signal_name(int number);

/* What GECKO_RECORDER_SIGNAL may be. False: it is none of that. */
bool own_signal_parse(const char *text, int *number);

/* ---- For the recorder's own use of masks: what these do is not noted, and holds for the sampler's signal too.
 * [signal-safe] ---- */

void own_signal_block_all(sigset_t *before);
void own_signal_restore_mask(const sigset_t *before);

/* ---- For what stands before the C library's functions. ---- */

/* The C library's sigaction, even where this library has a function of that name. */
int own_signal_next_sigaction(int number, const struct sigaction *action, struct sigaction *before);

/* These functions are called by the program, and so can be relied on. */
void own_signal_set_interposed(void);

/* In a forked child. */
void own_signal_enter_child(void);

/* Whether the sampler uses the signal, or may come to. */
bool own_signal_is_candidate(int number);

/* As sigaction, for a candidate. */
int own_signal_set_action(int number, const struct sigaction *action, struct sigaction *before);

/* As rt_sigprocmask, which it is but for the sampler's signal. Returns 0 or an error number. [signal-safe] */
int own_signal_set_mask(int how, const sigset_t *set, sigset_t *before);

/* Signals that a thread believes to be blocked, and that are not (bit 0 is signal 1), and the mask that it has had since.
 */
struct own_signal_note {
    uint64_t blocks;
    uint64_t mask;
};

/* Of the calling thread, which new threads inherit. */
struct own_signal_note own_signal_get_note(void);
void own_signal_set_note(const struct own_signal_note *noted);

/* The program is about to read these signals by other means than a handler. */
void own_signal_give_up(const sigset_t *set);

/* The calling thread is not to be signalled, since it has a stack for signals on which not even the kernel's frame has
 * room; or it may be again. */
void own_signal_spare_thread(bool is_spared);

/* A signal that a wait of the calling thread has returned is the sampler's. */
bool own_signal_is_ours(int number, const siginfo_t *info);

#endif
