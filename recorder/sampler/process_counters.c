#include "process_counters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recorder/gecko_recorder.h"
#include "recorder/pool/chunk_pool.h"
#include "recorder/state/clock.h"
#include "recorder/state/own_files.h"
#include "recorder/state/text_file.h"
#include "recorder/write/writer.h"

enum {
    ZONE_COUNT_MAX = 8,
    ZONE_NAME_BYTES = 64,
    PATH_BYTES = 320,
    /* Reading memory and power costs a system call each, and they change slowly. */
    SLOW_PERIOD_NS = 10000000,
};

/* Counts nanoseconds of processor time: the viewer divides them by the time that has passed. */
static struct grec_counter cpu_counter = {.name = "processCPU",
                                          .category = "CPU",
                                          .description = "Process CPU utilization",
                                          .label = "Process CPU",
                                          .unit = "percent",
                                          .graph = GREC_COUNTER_RATE,
                                          .color = GREC_GRAPH_GREY,
                                          .sort_weight = 40};
static struct grec_counter memory_counter = {.name = "resident set",
                                             .category = "Memory",
                                             .description = "Memory of the process that is in RAM",
                                             .label = "Memory (resident)",
                                             .unit = "bytes",
                                             .graph = GREC_COUNTER_ACCUMULATED,
                                             .color = GREC_GRAPH_ORANGE,
                                             .sort_weight = 20};

/* A zone of the kernel's powercap interface, "package-0" for instance. */
struct zone {
    struct own_file file;
    char path[PATH_BYTES];
    uint64_t last_uj;
    uint64_t range_uj; /* where the kernel's count starts again from 0; 0: unknown */
    char name[ZONE_NAME_BYTES];
    struct grec_counter counter;
};

static struct {
    uint64_t page_bytes;
    uint64_t last_cpu_ns;
    uint64_t next_slow_ns;
    int64_t last_bytes;
    uint32_t zone_count;
    struct zone zones[ZONE_COUNT_MAX];
} counters;

static bool read_number(struct own_file *own, const char *path, uint64_t *number) {
    char text[64];
    int file = own_file_open_at(own, path);
    ssize_t count = file >= 0 ? own_file_read_at(file, text, sizeof text - 1, 0) : -1;
    own_file_release(own, file);
    if (count <= 0) return false;
    text[count] = '\0';
    *number = strtoull(text, NULL, 10);
    return true;
}

/* ---- Power. ---- */

#define ZONES "/sys/class/powercap"

static void path_in(char path[PATH_BYTES], const char *folder, const char *name) {
    snprintf(path, PATH_BYTES, ZONES "/%s/%s", folder, name);
}

static void read_zone_name(const char *folder, struct zone *zone) {
    char path[PATH_BYTES];
    path_in(path, folder, "name");
    if (!text_file_read(path, zone->name, sizeof zone->name)) snprintf(zone->name, sizeof zone->name, "power");
    zone->name[strcspn(zone->name, "\n")] = '\0';
}

static void read_zone_range(const char *folder, struct zone *zone) {
    char path[PATH_BYTES];
    struct own_file file = {0};
    path_in(path, folder, "max_energy_range_uj");
    read_number(&file, path, &zone->range_uj);
    own_file_close(&file);
}

static void open_zone(const char *folder, void *unused) {
    struct zone *zone = &counters.zones[counters.zone_count];
    (void)unused;
    bool is_zone = folder[0] != '.' && strlen(folder) < PATH_BYTES / 2;
    if (!is_zone || counters.zone_count == ZONE_COUNT_MAX) return;
    *zone = (struct zone){.file = {0}};
    path_in(zone->path, folder, "energy_uj");
    if (!read_number(&zone->file, zone->path, &zone->last_uj)) {
        own_file_close(&zone->file);
        return;
    }
    read_zone_range(folder, zone);
    read_zone_name(folder, zone);
    zone->counter = (struct grec_counter){.name = zone->name,
                                          .category = "power",
                                          .description = "Energy that the processor counts",
                                          .unit = "pWh",
                                          .graph = GREC_COUNTER_RATE,
                                          .color = GREC_GRAPH_GREY,
                                          .sort_weight = 30};
    counters.zone_count++;
}

static void open_zones(void) {
    struct own_file folder = {0};
    counters.zone_count = 0;
    int file = own_file_open_at(&folder, ZONES);
    if (file >= 0) own_folder_each(file, open_zone, NULL);
    own_file_release(&folder, file);
    own_file_close(&folder);
    if (!counters.zone_count) recording_write_message("power: the kernel offers no powercap zone that can be read");
}

uint64_t process_counters_used_uj(uint64_t last_uj, uint64_t now_uj, uint64_t range_uj) {
    if (now_uj >= last_uj) return now_uj - last_uj;
    return range_uj > last_uj ? range_uj - last_uj + now_uj : now_uj;
}

static void sample_zone(struct zone *zone) {
    uint64_t now_uj;
    if (!read_number(&zone->file, zone->path, &now_uj)) return;
    uint64_t used_uj = process_counters_used_uj(zone->last_uj, now_uj, zone->range_uj);
    zone->last_uj = now_uj;
    /* A watt-hour is 3600 joules. */
    if (used_uj) grec_counter_add(&zone->counter, (int64_t)((double)used_uj * 1e6 / 3600.0));
}

/* ---- Memory. ---- */

static void sample_memory(void) {
    char path[OWN_FILE_PATH_BYTES], text[128], *at;
    own_file_of_process(path, "statm");
    if (!own_file_read(NULL, path, text, sizeof text)) return;
    strtoull(text, &at, 10); /* skip the mapped pages */
    uint64_t all_bytes = strtoull(at, NULL, 10) * counters.page_bytes;
    if (!all_bytes) return; /* the thread whose file it is has just ended */
    uint64_t own_bytes = pool_resident_bytes(&recording_pool);
    int64_t bytes = all_bytes > own_bytes ? (int64_t)(all_bytes - own_bytes) : 0;
    if (bytes == counters.last_bytes) return;
    counters.last_bytes = bytes;
    grec_counter_set(&memory_counter, bytes);
}

/* ---- All. ---- */

void process_counters_open(void) {
    counters.page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    counters.last_cpu_ns = clock_ns_of(CLOCK_PROCESS_CPUTIME_ID);
    counters.next_slow_ns = 0;
    counters.last_bytes = -1;
    /* The level at the end of the last recording is not that at the start of this one. */
    __atomic_store_n(&memory_counter.sum_, 0, __ATOMIC_RELAXED);
    open_zones();
}

void process_counters_sample(uint64_t now_ns, uint32_t flags) {
    uint64_t cpu_ns = clock_ns_of(CLOCK_PROCESS_CPUTIME_ID);
    if (cpu_ns > counters.last_cpu_ns && !(flags & GREC_NO_PROCESS_CPU))
        grec_counter_add(&cpu_counter, (int64_t)(cpu_ns - counters.last_cpu_ns));
    counters.last_cpu_ns = cpu_ns;
    if (now_ns < counters.next_slow_ns) return;
    counters.next_slow_ns = now_ns + SLOW_PERIOD_NS;
    if (!(flags & GREC_NO_MEMORY)) sample_memory();
    for (uint32_t i = 0; i < counters.zone_count && !(flags & GREC_NO_POWER); i++) sample_zone(&counters.zones[i]);
}
