#include "processors.h"

#include <sched.h>
#include <stdbool.h>
#include <unistd.h>

#include "machine.h"

unsigned processors_available(void) {
    cpu_set_t allowed;
    /* sched_getaffinity fails if the machine has more processors than the set has room for. */
    bool has_set = sched_getaffinity(0, sizeof allowed, &allowed) == 0;
    long count = has_set ? CPU_COUNT(&allowed) : sysconf(_SC_NPROCESSORS_ONLN);
    unsigned limit = machine_processor_limit("");
    if (count < 1) return 1;
    return (unsigned long)count < limit ? (unsigned)count : limit;
}
