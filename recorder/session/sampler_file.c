#include "sampler_file.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define FILE_NAME "libgecko_sampler.so." GREC_ABI

static void *open_beside(void) {
    char path[PATH_MAX];
    Dl_info own;
    if (!dladdr((const void *)sampler_file_open, &own) || !own.dli_fname) return NULL;
    const char *name = strrchr(own.dli_fname, '/');
    if (!name) return NULL;
    int folder_bytes = (int)(name - own.dli_fname);
    bool fits = snprintf(path, sizeof path, "%.*s/" FILE_NAME, folder_bytes, own.dli_fname) < (int)sizeof path;
    return fits ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

const struct sampler_hooks *sampler_file_open(void) {
    void *library = open_beside();
    if (!library) library = dlopen(FILE_NAME, RTLD_NOW | RTLD_LOCAL);
    return library ? dlsym(library, "grec_sampler_hooks_") : NULL;
}
