#include "view_libraries.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#define TEXT_OF_VALUE(value) #value
#define TEXT_OF(name)        TEXT_OF_VALUE(name)
#define MICROHTTPD           "libmicrohttpd.so.12"
#define CAPSTONE             "libcapstone.so." TEXT_OF(CS_API_MAJOR)

#define MICROHTTPD_ROW(name) {MICROHTTPD, #name, offsetof(struct view_libraries, name)},
#define CAPSTONE_ROW(name)   {CAPSTONE, #name, offsetof(struct view_libraries, name)},

struct view_libraries view_libraries;

bool view_libraries_load(struct failure *failure) {
    static const struct {
        const char *library;
        const char *function;
        size_t offset; /* in view_libraries */
    } functions[] = {VIEW_MICROHTTPD_FUNCTIONS(MICROHTTPD_ROW) VIEW_CAPSTONE_FUNCTIONS(CAPSTONE_ROW)};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *library = dlopen(functions[i].library, RTLD_NOW | RTLD_NODELETE);
        void *function = library ? dlsym(library, functions[i].function) : NULL;
        if (!function) {
            failure_set(failure, FAILURE_IO, "a library that view needs is missing: %s", dlerror());
            return false;
        }
        memcpy((char *)&view_libraries + functions[i].offset, &function, sizeof function);
    }
    return true;
}
