/* Tracepoints of peer_lttng.c. LTTng includes this file several times. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "bench/recorder/lttng_events.h"

#if !defined(BENCH_LTTNG_EVENTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define BENCH_LTTNG_EVENTS_H

#include <lttng/tracepoint.h>
#include <stdint.h>

/* clang-format off */
LTTNG_UST_TRACEPOINT_EVENT(bench, tick, LTTNG_UST_TP_ARGS(), LTTNG_UST_TP_FIELDS())

LTTNG_UST_TRACEPOINT_EVENT(bench, request,
    LTTNG_UST_TP_ARGS(int64_t, size, int64_t, status),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(int64_t, size, size)
        lttng_ust_field_integer(int64_t, status, status)))

LTTNG_UST_TRACEPOINT_EVENT(bench, count,
    LTTNG_UST_TP_ARGS(int64_t, change),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int64_t, change, change)))
/* clang-format on */

#endif

#include <lttng/tracepoint-event.h>
