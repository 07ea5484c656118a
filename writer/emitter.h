/* The seam between profiles and output formats. */
#ifndef GECKO_EMITTER_H
#define GECKO_EMITTER_H

#include "chunk_list.h"
#include "libconvert/profile.h"
#include "libconvert/progress.h"

struct emitter {
    const char *name;  /* as --format has it */
    const char *title; /* as the summary has it: "processed v70" */

    /* Appends the whole document to `out`. The profile is finished. What the format cannot carry is entered in
     * the ledger (as LEDGER_VALUES), which is the profile's own, passed beside it because all else is only
     * read. Failures are latched in profile->failure. */
    void (*emit)(const struct profile *profile, struct ledger *ledger, struct chunk_list *out,
                 struct progress progress);
};

extern const struct emitter emitter_processed;
extern const struct emitter emitter_gecko;

/* All of them, NULL at the end. */
extern const struct emitter *const emitters[];

/* The emitter of that name; NULL when there is none. */
const struct emitter *emitter_by_name(const char *name);

#endif
