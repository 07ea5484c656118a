/* The mappings that MMAP records tell: which file lies where in which process, and with which build id. They make
 * absolute addresses relative to their library. */
#ifndef GECKO_PERF_MAPS_H
#define GECKO_PERF_MAPS_H

#include "libconvert/column.h"
#include "libconvert/ids.h"
#include "libconvert/strings.h"
#include "libconvert/text.h"

enum { PERF_PID_KERNEL = -1 };

struct perf_maps {
    struct strings texts;
    struct column rows;      /* struct perf_map; the newest of a place counts */
    struct column pid_heads; /* struct pid_head: the newest mapping of each process */
    struct column build_ids; /* struct path_build_id */
};

struct perf_map {
    uint64_t start;
    uint64_t length;
    uint64_t file_offset;
    uint32_t older; /* the process' mapping before this one; ID_NONE */
};

void perf_maps_init(struct perf_maps *maps, struct failure *failure);
void perf_maps_fini(struct perf_maps *maps);

/* Reads what stands behind "PERF_RECORD_MMAP" or "PERF_RECORD_MMAP2":
 * " 12/34: [0x400000(0x1000) @ 0x2000 fe:00 12 34]: r-xp /bin/app", with a build id in angle brackets instead of the
 * device. *pid and *tid get its ids. False when it is malformed. */
bool perf_maps_add_record(struct perf_maps *maps, struct text payload, int64_t *pid, int64_t *tid);

/* The address relative to the file that is mapped there; false when nothing is known to be mapped there. */
bool perf_maps_relative_address(const struct perf_maps *maps, int64_t pid, uint64_t address, uint64_t *relative);

/* The build id of the file, as hex text; empty when no record told it. */
struct text perf_maps_build_id(const struct perf_maps *maps, struct text path);

#endif
