/* Starts the threads that help a conversion. */
#ifndef GECKO_THREAD_H
#define GECKO_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* Starts a thread that runs the function and takes none of the program's signals, since the program's handlers may
 * expect a thread of its own. Signals that report a fault of the thread itself are not blocked. Returns false if the
 * system cannot start one more thread; otherwise the caller joins it. */
bool thread_start(pthread_t *thread, void *(*run)(void *context), void *context);

#endif
