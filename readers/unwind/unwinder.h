/* Finds the callers of a sampled user thread after the recording. The inputs are the registers and the copied stack of
 * a sample, and the call frame information of the files that the process had mapped.
 *
 * The recording may come from another kind of machine. All input is untrusted: a wrong sample, mapping or file costs
 * frames, but causes no fault and no endless loop.
 *
 * One unwinder serves all processes of a conversion. Do not use an unwinder or its files in two threads at a time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libconvert/base/text.h"
#include "libconvert/profile/libs.h"
#include "unwind_access.h"

struct unwinder;
struct unwind_file;

/* Creates an unwinder. The pointers in the options must stay valid until it is destroyed. Returns NULL if there is no
 * memory (latched). */
struct unwinder *unwinder_create(const struct unwinder_options *options);

/* Destroys the unwinder and its files. Does nothing if the unwinder is NULL. */
void unwinder_destroy(struct unwinder *unwinder);

/* ---- Files. ---- */

/* Adds a program or a library. Call this once for each library, not once for each process: the unwinder keeps what it
 * read from a file. The file is looked up (debug_files_open) and read when a walk first reaches it. If the file is
 * missing, has another build id than the library, or is for another machine, it has no call frame information. The
 * library's texts are copied. Returns NULL if there is no memory (latched). */
struct unwind_file *unwinder_add_library(struct unwinder *unwinder, const struct lib *lib);

/* Adds an ELF file from memory, such as the vDSO. The bytes must stay valid until the unwinder is destroyed. Returns
 * NULL if there is no memory (latched). */
struct unwind_file *unwinder_add_bytes(struct unwinder *unwinder, struct text bytes);

/* Adds generated code of that size, whose offset 0 is its start. eh_frame: the bytes of its call frame information,
 * which begins at the next multiple of 8 after the code; they are copied. Returns NULL if there is no memory (latched).
 */
struct unwind_file *unwinder_add_code(struct unwinder *unwinder, uint64_t bytes_count, struct text eh_frame);

enum unwind_file_state unwind_file_state(const struct unwind_file *file);

/* ---- Samples. ---- */

/* User registers by their DWARF numbers. x86-64: rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to r15. aarch64: x0 to x30,
 * sp. */
enum { UNWIND_REGISTER_COUNT_MAX = 32 };

struct unwind_registers {
    uint64_t pc;
    uint64_t values[UNWIND_REGISTER_COUNT_MAX];
    uint32_t known; /* bit N: values[N] is the register's value */
};

/* Converts the registers of a perf sample. `mask` is the event's sample_regs_user, and `values` has one value per bit
 * of the mask, lowest bit first. `abi` comes from the sample. Returns false if the thread is not a 64-bit one, or if
 * the stack pointer or the program counter is missing. */
bool unwind_registers_of_perf(enum unwinder_machine machine, uint64_t abi, uint64_t mask, const uint64_t *values,
                              size_t value_count, struct unwind_registers *registers);

/* A copy of the thread's memory at [start, start + bytes_count). `start` is the stack pointer. bytes_count includes
 * only the valid bytes (perf's dyn_size). The bytes are borrowed during a walk. */
struct unwind_stack {
    uint64_t start;
    const void *bytes; /* may have any alignment */
    size_t bytes_count;
};

/* A part of a file in a process's memory. */
struct unwind_mapping {
    uint64_t start;
    uint64_t end;
    uint64_t file_offset;     /* file offset of the byte at `start` */
    struct unwind_file *file; /* NULL: no file, as with generated code */
    uint32_t frame_bytes;     /* between the sp of the calls of generated code and its return address; 0: unknown */
    bool is_aligned;          /* generated code for x86-64, whose frames are multiples of 16 bytes, as the ABI says */
};

/* Finds the mapping that contains the address. Returns false if there is none: then the address is not code. Only
 * executable mappings are looked up. */
typedef bool unwind_find_mapping(void *context, uint64_t address, struct unwind_mapping *mapping);

struct unwind_process {
    unwind_find_mapping *find_mapping;
    void *context; /* passed to find_mapping */
};

/* ---- Walks. ---- */

struct unwound_frame {
    uint64_t address;
    bool is_exact; /* `address` is the next instruction to run, in the first frame and in a frame interrupted by a
                    * signal. Otherwise it is a return address: look up address - 1, which is inside the call */
};

enum unwind_end {
    UNWIND_END_OUTERMOST,  /* complete: the last frame is the start function of a thread or a program */
    UNWIND_END_STACK_CUT,  /* truncated: the caller's frame lies beyond the copied bytes */
    UNWIND_END_LOST,       /* truncated: the caller is unknown, or the data that locate it are wrong */
    UNWIND_END_FRAMES_MAX, /* truncated: frames_max was reached */
};

/* Walks one stack and writes its frames, innermost first. There is always a first frame unless frames_max is 0.
 * Authentication codes are removed from addresses. Returns the count of frames; *end is the reason why the walk
 * ended. */
size_t unwinder_walk(struct unwinder *unwinder, const struct unwind_process *process,
                     const struct unwind_registers *registers, const struct unwind_stack *stack,
                     struct unwound_frame *frames, size_t frames_max, enum unwind_end *end);

/* Returns how many walks reached a file that was not read for that reason, and ended before the outermost frame. */
uint64_t unwinder_lost_count(const struct unwinder *unwinder, enum unwind_loss loss);
