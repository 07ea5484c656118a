/* A profile that is shown: its bytes, compressed once, and the libraries and source files that it names. Nothing else
 * on this machine can be requested. Several profiles are a list. */
#pragma once

#include "libconvert/base/arena.h"
#include "libconvert/base/byte_buffer.h"
#include "libconvert/base/column.h"
#include "libconvert/profile/libs.h"
#include "readers/input/input.h"
#include "writer/gzip_writer.h"

struct profile;

struct served_source {
    struct text name; /* in the profile: the path, or a name on the web */
    struct text path;
    bool is_looked_up; /* the debug information of a library names it */
};

struct served_thread {
    struct text name;
    struct text process_name;
    double cpu;            /* processor time, in the same unit for all threads of a profile; 0: unknown */
    uint64_t sample_count; /* without idle samples, as far as the profile marks them */
};

struct served_profile {
    struct failure *failure;    /* borrowed */
    struct text name;           /* its file's name, for the viewer; borrowed, or in `memory` */
    struct byte_buffer json;    /* a gzip member */
    struct gzip_writer *writer; /* makes the member; owned; NULL: it is complete, or memory ran out */
    struct arena memory;
    struct column libs;    /* struct lib */
    struct column sources; /* struct served_source, sorted by name */
    struct text unit;      /* unit of the weights; lives as long as this; empty: the profile was not converted */
    struct column threads; /* struct served_thread, as the viewer numbers them; none if the profile was not converted */
    struct served_profile *next; /* owned; NULL: this is the last one */
};

/* Appends an empty profile to the list, which may be empty. `failure` and the name are borrowed; functions that fill
 * the profile latch failures in `failure`. Returns NULL if memory ran out (latched). */
struct served_profile *served_profile_append(struct served_profile **list, struct text name, struct failure *failure);
void served_profile_destroy_all(struct served_profile *list); /* NULL is allowed */

/* Fill the empty served profile from a conversion. The first function is the conversion's `before_writing`, the second
 * one its write function; `context` is the struct served_profile. Call served_profile_finish after the conversion. */
void served_profile_inspect(void *context, const struct profile *profile);
bool served_profile_write(void *context, const void *bytes, size_t bytes_count);
void served_profile_finish(struct served_profile *served);

/* Fills the empty served profile from a finished profile, which may be compressed. Does not close the input. */
void served_profile_read(struct served_profile *served, struct input *input);

/* Returns the library of that name in one of the profiles, or NULL. This function and the next one only read, so they
 * are thread-safe. */
const struct lib *served_profile_lib(const struct served_profile *list, struct text debug_name,
                                     struct text breakpad_id);

/* Returns the source file of that name, if one of the profiles names it, or NULL. If several do, prefers one that debug
 * information names. */
const struct served_source *served_profile_source(const struct served_profile *list, struct text name);

/* Returns the number of the thread to compare with `like`: the busiest one of that name, or else of all. `like` may be
 * NULL. Returns 0 if the threads are not known. */
size_t served_profile_busiest_thread(const struct served_profile *served, const struct served_thread *reference);
