/* Calls of the C library during which the sampler does not signal the thread. */
#ifndef GREC_PRELOAD_SPARED_CALL_H
#define GREC_PRELOAD_SPARED_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder/sample/own_signal.h"

enum spared_kind { SPARED_TRANSFER, SPARED_WAIT };

/* Calls `callee` with the arguments that follow. The thread is spared meanwhile if `is_spared`. Use this in functions
 * that interpose: the stack is that of their caller. The address is in the instruction that calls them. */
#define SPARING(kind, is_spared, callee, ...)                                               \
    __extension__({                                                                         \
        __auto_type called_function = (callee);                                             \
        const struct spared_call inner = {.is_wait = (kind) == SPARED_WAIT,                 \
                                          .function = (uintptr_t)called_function,           \
                                          .pc = (uintptr_t)__builtin_return_address(0) - 1, \
                                          .sp = (uintptr_t)__builtin_dwarf_cfa()};          \
        struct spared_call outer;                                                           \
        bool must_end = (is_spared) && own_signal_begin_spared_call(&inner, &outer);        \
        __auto_type call_result = called_function(__VA_ARGS__);                             \
        if (must_end) own_signal_end_spared_call(&outer);                                   \
        call_result;                                                                        \
    })

#endif
