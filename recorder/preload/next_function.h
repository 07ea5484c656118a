/* Looks up the function that an interposing one hides. */
#ifndef GREC_NEXT_FUNCTION_H
#define GREC_NEXT_FUNCTION_H

#include <dlfcn.h>
#include <string.h>

/* Stores the address of the next function called `name` in `function`, a pointer to a pointer to such a function, or
 * NULL if there is none. Not async-signal-safe. */
static inline void find_next_function(void *function, const char *name) {
    void *address = dlsym(RTLD_NEXT, name);
    memcpy(function, &address, sizeof address);
}

#endif
