/* The profile that is shown: its bytes, compressed once, and the libraries and source files that it names. Nothing else
 * on this machine can be requested. */
#ifndef GECKO_SERVED_PROFILE_H
#define GECKO_SERVED_PROFILE_H

#include "gzip_buffer.h"
#include "libconvert/base/arena.h"
#include "libconvert/base/column.h"
#include "libconvert/profile/libs.h"
#include "readers/input/input.h"

struct profile;

struct served_source {
    struct text path;
    bool is_looked_up; /* the debug information of a library names it */
};

struct served_profile {
    struct failure *failure; /* borrowed */
    struct gzip_buffer json;
    struct arena memory;
    struct column libs;    /* struct lib */
    struct column sources; /* struct served_source, sorted by path */
};

/* Initializes an empty profile. What fills it later latches failures in `failure`, which is borrowed. */
void served_profile_init(struct served_profile *served, struct failure *failure);
void served_profile_fini(struct served_profile *served);

/* Fill the empty served profile from a conversion. The first function is the conversion's `inspect`, the second one its
 * write function; `context` is the struct served_profile. Call served_profile_finish after the conversion. */
void served_profile_inspect(void *context, const struct profile *profile);
bool served_profile_write(void *context, const void *bytes, size_t bytes_count);
void served_profile_finish(struct served_profile *served);

/* Fills the empty served profile from a finished profile, which may be compressed. Does not close the input. */
void served_profile_read(struct served_profile *served, struct input *input);

/* Returns the library of that name in the profile, or NULL. This function and the next one only read, so they are
 * thread-safe. */
const struct lib *served_profile_lib(const struct served_profile *served, struct text debug_name,
                                     struct text breakpad_id);

/* Returns the source file of that path, if the profile names it, or NULL. */
const struct served_source *served_profile_source(const struct served_profile *served, struct text path);

#endif
