/* Code that a process generated: what perf maps and jitdumps say of it. Such files lie beside a trace, on the machine
 * that it was recorded on; docs/profile-mapping.md says when they are believed. */
#ifndef GECKO_NATIVE_JIT_H
#define GECKO_NATIVE_JIT_H

#include "native_clock.h"
#include "native_definitions.h"
#include "native_tasks.h"
#include "reader.h"

struct native_jit {
    struct profile *profile; /* borrowed, like the others */
    struct native_definitions *definitions;
    struct native_clock *clock;
    bool ignores_files;
    const char *map_folder;  /* of perf maps */
    int64_t epoch_offset_ns; /* Unix time less CLOCK_MONOTONIC, when the trace was recorded */
    bool is_of_this_boot;    /* the trace was recorded since this machine was started */
    bool has_owner;          /* the trace is a file, and `owner` is its owner */
    uid_t owner;
    bool is_ready;           /* all is read and the clock is settled: files can be read */
    bool has_files;          /* of any process */
    struct arena texts;
    struct column names;          /* struct text: of generated code */
    struct native_mappings codes; /* the "library" of a code is its name's number, from 1 */
    struct column processes;      /* struct jit_process, by the number of the process */
};

enum native_jit_answer {
    NATIVE_JIT_NONE,  /* nothing is known of the address, at any time */
    NATIVE_JIT_FOUND, /* at this time */
    NATIVE_JIT_GONE,  /* not at this time */
    NATIVE_JIT_OPEN   /* to be asked again when all of the trace is read */
};

struct native_jit_code {
    struct text name;     /* borrowed */
    resource_id resource; /* the file that names it */
};

/* Larger files are not read. This many bytes are ten million lines of a usual perf map. */
#define NATIVE_JIT_FILE_BYTES_MAX (UINT64_C(1) << 30)

void native_jit_init(struct native_jit *jit, struct profile *profile, struct native_definitions *definitions,
                     struct native_clock *clock, const struct reader_options *options);
void native_jit_fini(struct native_jit *jit);

/* Where the trace's clocks were: Unix time less CLOCK_MONOTONIC. Once, before the first question. */
void native_jit_set_epoch(struct native_jit *jit, int64_t epoch_offset_ns);

/* Trusts files of the owner of the trace, too, if the input is a file. Call it before the first question. */
void native_jit_trust_owner(struct native_jit *jit, const struct input *trace);

/* All of the trace is read, but for what was set aside, and the clock is settled. */
void native_jit_make_ready(struct native_jit *jit);

enum native_jit_answer native_jit_find(struct native_jit *jit, const struct native_process *process, uint64_t address,
                                       int64_t ticks, struct native_jit_code *out);

#endif
