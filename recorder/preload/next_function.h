/* Helpers of functions that interpose those of the C library. */
#pragma once

#include <dlfcn.h>
#include <string.h>

#include "recorder/gecko_recorder.h"

/* Stores the address of the next function called `name` in `function`, a pointer to a pointer to such a function, or
 * NULL if there is none. Not async-signal-safe. */
static inline void find_next_function(void *function, const char *name) {
    void *address = dlsym(RTLD_NEXT, name);
    memcpy(function, &address, sizeof address);
}

/* The function that this library's function `name` hides. It is looked up when it is first needed, since most programs
 * call few of them. Several threads may do that at once: they store the same address. */
#define NEXT(name)                                                                  \
    __extension__({                                                                 \
        static __typeof__(&name) next;                                              \
        __typeof__(&name) next_function = __atomic_load_n(&next, __ATOMIC_RELAXED); \
        if (!next_function) {                                                       \
            find_next_function(&next_function, #name);                              \
            __atomic_store_n(&next, next_function, __ATOMIC_RELAXED);               \
        }                                                                           \
        next_function;                                                              \
    })
