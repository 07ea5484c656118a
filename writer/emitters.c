/* The output formats there are. */
#include <string.h>

#include "emitter.h"

const struct emitter *const emitters[] = {&emitter_processed, &emitter_gecko, NULL};

const struct emitter *emitter_by_name(const char *name) {
    for (size_t i = 0; emitters[i]; i++)
        if (strcmp(emitters[i]->name, name) == 0) return emitters[i];
    return NULL;
}
