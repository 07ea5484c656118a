/* The list of output formats. */
#include <string.h>

#include "emitter.h"

#define EMITTER_ADDRESS(name) &emitter_##name,
const struct emitter *const emitters[] = {EMITTERS(EMITTER_ADDRESS) NULL};

const struct emitter *emitter_by_name(const char *name) {
    if (!name) return emitters[0];
    for (size_t i = 0; emitters[i]; i++)
        if (strcmp(emitters[i]->name, name) == 0) return emitters[i];
    return NULL;
}
