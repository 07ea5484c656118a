#include "libarchive.h"

/* What is linked statically: all of it for the program, what reads for the library. */
#ifdef GECKO_LINKS_LIBARCHIVE

/* clang-format off */
struct libarchive libarchive = {
    .error_number = archive_errno,
#define LINKED(name) .name = archive_##name,
    LIBARCHIVE_READ_FUNCTIONS(LINKED)
#ifdef GECKO_LINKS_LIBARCHIVE_WRITER
    LIBARCHIVE_WRITE_FUNCTIONS(LINKED)
#endif
#undef LINKED
};
/* clang-format on */

bool libarchive_load(const char *name, struct failure *failure) {
    (void)name;
    (void)failure;
    return true;
}

#else

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "libarchive.so.13"
_Static_assert(ARCHIVE_VERSION_NUMBER / 1000000 == 3, "which is the name of version 3");

struct libarchive libarchive;

/* In the order of struct libarchive. */
/* clang-format off */
static const char *const names[] = {
    "archive_errno",
#define NAME(name) "archive_" #name,
    LIBARCHIVE_READ_FUNCTIONS(NAME)
    LIBARCHIVE_WRITE_FUNCTIONS(NAME)
#undef NAME
};
/* clang-format on */

_Static_assert(sizeof libarchive == sizeof names / sizeof *names * sizeof(void *), "one pointer for each name");

/* The dynamic linker has words for memory that ran out, or not even that: then the error number of the allocation that
 * failed is left. */
static void fail(const char *name, int error, struct failure *failure) {
    const char *reason = dlerror();
    if (!reason) reason = "for no reason that is told";
    if (error == ENOMEM || strstr(reason, strerror(ENOMEM)) || strstr(reason, "out of memory"))
        failure_set_memory(failure);
    else
        failure_set(failure, FAILURE_IO,
                    "%s: this needs libarchive, which cannot be loaded (%s); install it, or do without archives and "
                    "compression",
                    name, reason);
}

static bool find_functions(void *library) {
    void *functions[sizeof names / sizeof *names];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!(functions[i] = dlsym(library, names[i]))) return false;
    memcpy(&libarchive, functions, sizeof libarchive);
    return true;
}

/* The dynamic linker ends the process when it has no memory for its tables. It needs less than this. */
static bool has_memory(void) {
    enum { LINKER_BYTES = 1024 * 1024 };
    void *block = malloc(LINKER_BYTES);
    free(block);
    return block;
}

static bool load(const char *name, struct failure *failure) {
    if (!has_memory()) {
        failure_set_memory(failure);
        return false;
    }
    errno = 0;
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library && find_functions(library)) return true;
    fail(name, errno, failure);
    if (library) dlclose(library);
    return false;
}

/* Where memory ran out, there may be some when another thread, or a later one, tries again. */
bool libarchive_load(const char *name, struct failure *failure) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static bool is_loaded;
    pthread_mutex_lock(&mutex);
    is_loaded = is_loaded || load(name, failure);
    bool is_there = is_loaded;
    pthread_mutex_unlock(&mutex);
    return is_there;
}

#endif
