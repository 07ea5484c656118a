/* The code that a process generated, as perf maps and jitdumps describe it. These files are on the machine where the
 * trace was recorded. docs/profile-mapping.md says when they are trusted. */
#ifndef GECKO_TRACE_JIT_H
#define GECKO_TRACE_JIT_H

#include "readers/reader.h"
#include "trace_clock.h"
#include "trace_definitions.h"
#include "trace_tasks.h"

struct trace_jit {
    struct profile *profile;               /* borrowed */
    struct trace_definitions *definitions; /* borrowed */
    struct trace_clock *clock;             /* borrowed */
    bool ignores_files;
    const char *map_folder;  /* where perf maps are */
    int64_t epoch_offset_ns; /* Unix time less CLOCK_MONOTONIC, when the trace was recorded */
    bool is_of_this_boot;    /* the trace was recorded since this machine booted */
    bool has_owner;          /* the trace is a file; `owner` is valid */
    uid_t owner;
    bool is_ready;  /* the trace is read and the clock is complete, so files can be read */
    bool has_files; /* some process has a file */
    struct arena texts;
    struct column names;        /* struct text: names of generated code */
    struct code_mappings codes; /* library_id is the row in `names`, plus 1 */
    struct column processes;    /* struct jit_process, by process number */
};

enum trace_jit_answer {
    TRACE_JIT_NONE,  /* no file can name the address */
    TRACE_JIT_FOUND, /* the address has a name at this time */
    TRACE_JIT_GONE,  /* the process has files, but the address has no name at this time */
    TRACE_JIT_OPEN   /* ask again once the whole trace is read */
};

struct trace_jit_code {
    struct text name;     /* borrowed */
    resource_id resource; /* the file that has the name */
};

/* Larger files are not read. A perf map of this size has about ten million lines. */
#define TRACE_JIT_FILE_BYTES_MAX (UINT64_C(1) << 30)

void trace_jit_init(struct trace_jit *jit, struct profile *profile, struct trace_definitions *definitions,
                    struct trace_clock *clock, const struct reader_options *options);
void trace_jit_fini(struct trace_jit *jit);

/* Sets the offset of the trace's clocks: Unix time less CLOCK_MONOTONIC. Call it once, before the first look-up. */
void trace_jit_set_epoch(struct trace_jit *jit, int64_t epoch_offset_ns);

/* Also trusts files that belong to the owner of the trace, if the input is a file. Call it before the first look-up. */
void trace_jit_trust_owner(struct trace_jit *jit, const struct input *trace);

/* Allows files to be read. Call it when the clock is complete and the whole trace is read except for postponed
 * chunks. */
void trace_jit_make_ready(struct trace_jit *jit);

enum trace_jit_answer trace_jit_find(struct trace_jit *jit, const struct trace_process *process, uint64_t address,
                                     int64_t ticks, struct trace_jit_code *out);

#endif
