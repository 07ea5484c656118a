/* Files that become shorter while they are mapped and read: the kernel tells by SIGBUS. In a thread that guards itself
 * the bytes that are gone read as zeros, and it is told in the end; in any other thread the program ends. */
#ifndef GECKO_BUS_GUARD_H
#define GECKO_BUS_GUARD_H

#include <signal.h>
#include <stdbool.h>

/* Handles SIGBUS in the whole process, unless it is ignored. `end` is called, in the handler, before the program ends
 * with `exit_code`: it must be async-signal-safe. */
void bus_guard_install(void (*end)(void), int exit_code);

/* From here to the end this thread is guarded. Returns where it is told, also meanwhile: not 0 once bytes were gone. */
const volatile sig_atomic_t *bus_guard_begin(void);
void bus_guard_end(void);

#endif
