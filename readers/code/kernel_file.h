/* The symbols of an uncompressed kernel ("vmlinux") or of a kernel module, which may be compressed. A child process
 * reads the file and lists the symbols in the format of /proc/kallsyms. */
#pragma once

#include "libconvert/base/child_process.h"
#include "libconvert/symbols/debug_file_search.h"

/* The kernel or module of which symbols are wanted. All texts are borrowed. */
struct kernel_file {
    struct text build_id;  /* hex; only a file with this build id is read */
    struct text release;   /* release of the kernel, as uname reports it; empty: unknown */
    struct text reference; /* name of a kernel symbol to list in any case; empty: none */
    struct text path;      /* path of the module, as recorded; empty: the kernel itself is wanted */
    struct text module;    /* its name, "[nf_tables]" */
    uint64_t address;      /* address of the module's code */
    const struct debug_folders *folders;
    const struct memory_limit *memory; /* limits the process that reads the file; NULL: none */
};

struct kernel_file_reading {
    const struct kernel_file *file;
    struct child_process child;
    char block[CHANNEL_BYTES];
};

/* Starts to read the file, which has a build id. Returns false if no process can be started; otherwise call
 * kernel_file_end. */
bool kernel_file_begin(struct kernel_file_reading *reading, const struct kernel_file *file);

/* Returns the next bytes of the list; empty at its end, or at once if the file is not found. This is an
 * input_next_block. */
struct text kernel_file_next(void *reading);

/* Returns false if the process ended before it had read the file. */
bool kernel_file_end(struct kernel_file_reading *reading);
