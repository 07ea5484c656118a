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

const struct emitter *emitter_by_path(struct text path) {
    if (text_ends_with(path, TEXT(".gz"))) path.bytes_count -= strlen(".gz");
    for (size_t i = 0; emitters[i]; i++)
        if (text_ends_with(path, text_of(emitters[i]->suffix))) return emitters[i];
    return emitters[0];
}
