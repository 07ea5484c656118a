/* Gives stacks of addresses their meaning: walks copied stacks, and names the code at addresses from mappings, and from
 * the kernel's and generated code's symbols. */
#ifndef GECKO_DATA_ADDRESSES_H
#define GECKO_DATA_ADDRESSES_H

#include "data_code.h"
#include "data_jit.h"
#include "data_kernel_ahead.h"
#include "data_stacks.h"
#include "data_unwind.h"
#include "readers/perf/perf_recording.h"

struct data_addresses {
    struct perf_recording *recording; /* borrowed */
    const struct input *input;        /* borrowed */
    struct failure *failure;          /* borrowed */
    struct data_code code;
    struct data_kernel_ahead kernel;
    struct data_vdso vdso;
    struct data_unwind unwind;
    struct data_jit jit;
    struct data_stacks stacks;
    struct arena texts;
    struct text os_release;              /* stored in `texts`; empty: unknown */
    const struct debug_folders *folders; /* where to look for files; NULL: open none. Borrowed */
    bool has_threads;                    /* may start threads */
    struct data_kernel *loaded_kernel;   /* NULL: not loaded */
};

/* Initializes the addresses of a recording that is read from the input, and makes them the recording's code. */
void data_addresses_init(struct data_addresses *addresses, struct perf_recording *recording, const struct input *input,
                         const struct reader_options *options);
void data_addresses_fini(struct data_addresses *addresses);

#endif
