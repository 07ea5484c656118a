/* Preloaded into `record`, makes it slow to find out what processes have mapped. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

FILE *fopen(const char *path, const char *mode) {
    enum { DELAY_US = 20000 };
    FILE *(*open_file)(const char *, const char *) = (FILE * (*)(const char *, const char *)) dlsym(RTLD_NEXT, "fopen");
    const char *name = strrchr(path, '/');
    if (name && strcmp(name, "/maps") == 0) usleep(DELAY_US);
    return open_file(path, mode);
}
