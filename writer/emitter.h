/* The interface between profiles and output formats. An emitter writes one format. */
#pragma once

#include "chunk_list.h"
#include "libconvert/base/progress.h"
#include "libconvert/profile/profile.h"

struct emit_options {
    unsigned frame_parts; /* enum frame_part; for emitters that have them */
};

struct emitter {
    const char *name;       /* value of --format */
    const char *title;      /* used in the summary, for instance "processed v70" */
    const char *suffix;     /* the end of the names of files, for instance ".profile.json" */
    const char *media_type; /* the media type of the document, for instance "application/json" */
    bool has_frame_parts;   /* the format obeys --frames */
    bool has_weights;       /* each sample has a weight of its own */
    bool has_tracks;        /* viewers of the format show a track for each thread */

    /* Appends the whole document to `out`. The profile must be finished. Values that the format cannot represent are
     * entered in the ledger (LEDGER_VALUES). The ledger is the profile's own; it is a separate parameter because
     * everything else in the profile is read-only. Failures are latched in profile->failure. */
    void (*emit)(const struct profile *profile, struct ledger *ledger, struct chunk_list *out,
                 const struct emit_options *options, struct progress progress);
};

/* All emitters: EMITTER(gecko) stands for `emitter_gecko`. */
#define EMITTERS(EMITTER) \
    EMITTER(processed)    \
    EMITTER(gecko)        \
    EMITTER(collapsed)    \
    EMITTER(jslb)

#define DECLARE_EMITTER(name) extern const struct emitter emitter_##name;
EMITTERS(DECLARE_EMITTER)

/* All emitters in the same order, terminated by NULL. */
extern const struct emitter *const emitters[];

/* Returns the emitter of that name, or NULL if there is none. The first emitter is the default, named NULL. */
const struct emitter *emitter_by_name(const char *name);

/* Returns the first emitter whose suffix the path has, perhaps before ".gz"; the default one if there is none. */
const struct emitter *emitter_by_path(struct text path);
