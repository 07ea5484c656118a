#include "exit_guard.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "libconvert/base/failure.h"

/* Globals, because functions registered with atexit get no context. */
static atomic_bool is_guarded;
static void (*clean_up_program)(void *context);
static void *clean_up_context;

static void end_without_memory(void) {
    if (!atomic_exchange(&is_guarded, false)) return;
    if (clean_up_program) clean_up_program(clean_up_context);
    static const char message[] = "gecko-convert: memory ran out\n";
    ssize_t written = write(STDERR_FILENO, message, sizeof message - 1);
    (void)written;
    _exit(FAILURE_MEMORY);
}

void exit_guard_begin(void) { atomic_store(&is_guarded, atexit(end_without_memory) == 0); }

void exit_guard_end(void) { atomic_store(&is_guarded, false); }

void exit_guard_set_clean_up(void (*clean_up)(void *context), void *context) {
    clean_up_program = clean_up;
    clean_up_context = context;
}
