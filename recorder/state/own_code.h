/* Where the recorder's code is in this process, so that no stack shows it. The Makefile moves the code of its libraries
 * into a section of their own, whose ends the linker defines in each library, and in each program that is linked with
 * the static ones. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shared.h"

/* The linker's names. Each library has its own, since they are hidden. */
extern const unsigned char __start_grec_text[] __attribute__((visibility("hidden")));
extern const unsigned char __stop_grec_text[] __attribute__((visibility("hidden")));

void own_code_add(const void *start, const void *end) GREC_SHARED(own_code_add);

/* Call this when a library has been loaded. */
static inline void own_code_register(void) { own_code_add(__start_grec_text, __stop_grec_text); }

/* Whether the instruction at the address is the recorder's. [any thread] [signal-safe] */
bool own_code_has(uint64_t address) GREC_SHARED(own_code_has);
