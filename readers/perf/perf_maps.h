/* The mappings in MMAP records: which file is mapped where in which process, and its build id. They make absolute
 * addresses relative to their library. */
#ifndef GECKO_PERF_MAPS_H
#define GECKO_PERF_MAPS_H

#include "libconvert/base/column.h"
#include "libconvert/base/strings.h"
#include "perf_record.h"
#include "readers/code/code_mappings.h"

struct perf_maps {
    struct code_mappings mappings; /* ids are the order of the records; library_id is always 1 */
    uint64_t last_id;
    uint64_t kernel_start; /* start of the kernel's image; 0: no record has it */
    struct strings paths;
    struct strings texts;
    struct column build_ids; /* struct text, one for each path; empty if unknown */
};

void perf_maps_init(struct perf_maps *maps, struct failure *failure);
void perf_maps_fini(struct perf_maps *maps);

void perf_maps_add(struct perf_maps *maps, const struct perf_record *mapping);

/* Sets *relative to the address relative to the file that is mapped there. Returns false if no such mapping is known.
 */
bool perf_maps_relative_address(const struct perf_maps *maps, int64_t pid, uint64_t address, uint64_t *relative);

/* Returns the build id of the file as hex text, or an empty text if no record had it. */
struct text perf_maps_build_id(struct perf_maps *maps, struct text path);

#endif
