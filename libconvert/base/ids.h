/* Ids: row numbers of the tables. Each is a type of its own, so that the compiler refuses to mix them up. Ids are dense
 * and assigned in order of first appearance. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define ID_NONE UINT32_MAX

#define DEFINE_ID(noun)                                                             \
    typedef struct {                                                                \
        uint32_t index;                                                             \
    } noun##_id;                                                                    \
    static inline noun##_id noun##_none(void) { return (noun##_id){ID_NONE}; }      \
    static inline bool noun##_is_none(noun##_id id) { return id.index == ID_NONE; } \
    static inline bool noun##_is_same(noun##_id a, noun##_id b) { return a.index == b.index; }

DEFINE_ID(string)
DEFINE_ID(lib)
DEFINE_ID(resource)
DEFINE_ID(source)
DEFINE_ID(native_symbol)
DEFINE_ID(func)
DEFINE_ID(frame)
DEFINE_ID(stack)
DEFINE_ID(marker_schema)
DEFINE_ID(process)
DEFINE_ID(thread)

#undef DEFINE_ID
