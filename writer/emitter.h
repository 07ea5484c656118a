/* The interface between profiles and output formats. An emitter writes one format. */
#ifndef GECKO_EMITTER_H
#define GECKO_EMITTER_H

#include "chunk_list.h"
#include "libconvert/base/progress.h"
#include "libconvert/profile/profile.h"

struct emitter {
    const char *name;       /* value of --format */
    const char *title;      /* used in the summary, for instance "processed v70" */
    const char *suffix;     /* of the names of files, for instance ".profile.json" */
    const char *media_type; /* of the document, for instance "application/json" */

    /* Appends the whole document to `out`. The profile must be finished. Values that the format cannot represent are
     * entered in the ledger (LEDGER_VALUES). The ledger is the profile's own; it is a separate parameter because
     * everything else in the profile is read-only. At most thread_count threads write, including the calling one; the
     * document does not depend on their number. Failures are latched in profile->failure. */
    void (*emit)(const struct profile *profile, struct ledger *ledger, struct chunk_list *out, unsigned thread_count,
                 struct progress progress);
};

/* All emitters: EMITTER(gecko) stands for `emitter_gecko`. */
#define EMITTERS(EMITTER) \
    EMITTER(processed)    \
    EMITTER(gecko)

#define DECLARE_EMITTER(name) extern const struct emitter emitter_##name;
EMITTERS(DECLARE_EMITTER)

/* All emitters in the same order, terminated by NULL. */
extern const struct emitter *const emitters[];

/* Returns the emitter of that name, or NULL if there is none. The first emitter is the default, named NULL. */
const struct emitter *emitter_by_name(const char *name);

#endif
