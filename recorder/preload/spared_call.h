/* Calls of the C library during which the sampler does not signal the thread. */
#ifndef GREC_PRELOAD_SPARED_CALL_H
#define GREC_PRELOAD_SPARED_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder/sample/late_start.h"
#include "recorder/sample/own_signal.h"

/* Processor time that the kernel uses at most for a wait, and for allocating a file. */
#define SPARED_WAIT_NS       ((uint64_t)10000000)
#define SPARED_ALLOCATION_NS UINT64_MAX

/* Calls `callee` with the arguments that follow. The thread is spared meanwhile. A sampler that begins late begins
 * before if `starts_sampler`: the signal that starts it could come during the call. Use this in functions that
 * interpose: the stack is that of their caller. The address is in the instruction that calls them. */
#define SPARING(maximum_ns, starts_sampler, callee, ...)                                    \
    __extension__({                                                                         \
        __auto_type called_function = (callee);                                             \
        const struct spared_call inner = {.cpu_ns_max = maximum_ns,                         \
                                          .function = (uintptr_t)called_function,           \
                                          .pc = (uintptr_t)__builtin_return_address(0) - 1, \
                                          .sp = (uintptr_t)__builtin_dwarf_cfa()};          \
        struct spared_call outer;                                                           \
        if (starts_sampler) late_start_now();                                               \
        bool must_end = own_signal_begin_spared_call(&inner, &outer);                       \
        __auto_type call_result = called_function(__VA_ARGS__);                             \
        if (must_end) own_signal_end_spared_call(&outer);                                   \
        call_result;                                                                        \
    })

#endif
