/* The mappings that MMAP records tell: which file lies where in which process, and with which build id. They make
 * absolute addresses relative to their library. */
#ifndef GECKO_PERF_MAPS_H
#define GECKO_PERF_MAPS_H

#include "libconvert/column.h"
#include "libconvert/ids.h"
#include "libconvert/index_set.h"
#include "libconvert/strings.h"
#include "libconvert/text.h"

enum { PERF_PID_KERNEL = -1 };

/* What stands behind "PERF_RECORD_MMAP" or "PERF_RECORD_MMAP2". */
struct perf_map_record {
    int64_t pid; /* PERF_PID_KERNEL: the kernel's own */
    int64_t tid;
    uint64_t start;
    uint64_t length;
    uint64_t file_offset;
    struct text path;
    struct text build_id; /* hex; empty when not told */
};

/* Reads " 12/34: [0x400000(0x1000) @ 0x2000 fe:00 12 34]: r-xp /bin/app", with a build id in angle brackets instead of
 * the device. False when it is malformed. The texts lie in the payload. */
bool perf_map_record_parse(struct text payload, struct perf_map_record *out);

/* A mapping is no longer than the block of 2^level bytes, so it lies in at most two blocks of that size. It is found
 * through them: a look-up costs a probe for each size in use, however many mappings there are. */
struct perf_maps {
    struct index_set block_index; /* of blocks */
    struct column blocks;         /* struct map_block: the newest mapping in each */
    struct column rows;           /* struct perf_map; the newest of a place counts */
    uint64_t levels;              /* bit n: there are blocks of 2^n bytes */
    struct strings paths;
    struct strings texts;
    struct column build_ids; /* struct text, one for each path; empty when not told */
};

void perf_maps_init(struct perf_maps *maps, struct failure *failure);
void perf_maps_fini(struct perf_maps *maps);

void perf_maps_add(struct perf_maps *maps, const struct perf_map_record *record);

/* The address relative to the file that is mapped there; false when nothing is known to be mapped there. Of a place
 * with more than 64 mappings the oldest are forgotten. */
bool perf_maps_relative_address(const struct perf_maps *maps, int64_t pid, uint64_t address, uint64_t *relative);

/* The build id of the file, as hex text; empty when no record told it. */
struct text perf_maps_build_id(struct perf_maps *maps, struct text path);

#endif
