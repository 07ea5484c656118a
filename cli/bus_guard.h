/* If a mapped file becomes shorter while it is read, the kernel sends SIGBUS. In a guarded thread, the missing bytes
 * then read as zeros, and a flag reports that. In any other thread, the program ends. */
#pragma once

#include <signal.h>
#include <stdbool.h>

/* Installs a handler of SIGBUS for the process, unless SIGBUS is ignored. The handler calls `end` before it ends the
 * program with `exit_code`; `end` must be async-signal-safe. */
void bus_guard_install(void (*end)(void), int exit_code);

/* Guards this thread until bus_guard_end. The returned flag becomes nonzero when bytes are missing; it may be read at
 * any time. */
const volatile sig_atomic_t *bus_guard_begin(void);
void bus_guard_end(void);
