/* Memory in use, as the tracepoint kmem:rss_stat tells it: a track for each process. */
#pragma once

#include "perf_payloads.h"

/* Adds a counter for each process whose memory is told. Running out of memory is latched. */
void perf_memory_count(struct perf_payloads *payloads);
