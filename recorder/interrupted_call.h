/* System calls that end with EINTR when any handler ran, SA_RESTART or not (task_wait.c lists them): a thread that
 * begins one just when the sampler has asked for its stack makes it again behind the handler, and sees nothing of it
 * but that a time limit begins anew. */
#ifndef GREC_INTERRUPTED_CALL_H
#define GREC_INTERRUPTED_CALL_H

/* In the handler of that signal, whose third argument `interrupted` is. Nothing happens where the call cannot be told,
 * or may have ended because of another handler: then it ends with EINTR. On x86-64, with a C library that loads the
 * number of the call right before it (glibc before 2.41). [signal-safe] */
void interrupted_call_repeat(int signal_number, void *interrupted);

#endif
