#include "event_names.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "libconvert/base/cursor.h"
#include "libconvert/base/text.h"

static const struct {
    const char *name;
    const char *alias;
    uint32_t type;
    uint64_t config;
} plain_events[] = {
    {"cycles", "cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"instructions", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"cache-references", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
    {"cache-misses", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {"branches", "branch-instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    {"branch-misses", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    {"bus-cycles", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES},
    {"stalled-cycles-frontend", "idle-cycles-frontend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
    {"stalled-cycles-backend", "idle-cycles-backend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
    {"ref-cycles", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES},
    {"cpu-clock", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK},
    {"task-clock", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
    {"page-faults", "faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    {"context-switches", "cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
    {"cpu-migrations", "migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
    {"minor-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN},
    {"major-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ},
    {"alignment-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS},
    {"emulation-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS},
};

static bool find_plain(const char *name, struct perf_event_attr *attr) {
    for (size_t i = 0; i < sizeof plain_events / sizeof *plain_events; i++) {
        const char *alias = plain_events[i].alias;
        if (strcmp(name, plain_events[i].name) != 0 && (!alias || strcmp(name, alias) != 0)) continue;
        attr->type = plain_events[i].type;
        attr->config = plain_events[i].config;
        return true;
    }
    return false;
}

/* ---- Cache events, such as "L1-dcache-load-misses". ---- */

static const struct {
    struct text name;
    unsigned id;
} caches[] = {{TEXT("L1-dcache"), PERF_COUNT_HW_CACHE_L1D}, {TEXT("L1-icache"), PERF_COUNT_HW_CACHE_L1I},
              {TEXT("LLC"), PERF_COUNT_HW_CACHE_LL},        {TEXT("dTLB"), PERF_COUNT_HW_CACHE_DTLB},
              {TEXT("iTLB"), PERF_COUNT_HW_CACHE_ITLB},     {TEXT("branch"), PERF_COUNT_HW_CACHE_BPU},
              {TEXT("node"), PERF_COUNT_HW_CACHE_NODE}};

static const struct {
    struct text name;
    unsigned operation;
    unsigned result;
} cache_accesses[] = {
    {TEXT("-loads"), PERF_COUNT_HW_CACHE_OP_READ, PERF_COUNT_HW_CACHE_RESULT_ACCESS},
    {TEXT("-load-misses"), PERF_COUNT_HW_CACHE_OP_READ, PERF_COUNT_HW_CACHE_RESULT_MISS},
    {TEXT("-stores"), PERF_COUNT_HW_CACHE_OP_WRITE, PERF_COUNT_HW_CACHE_RESULT_ACCESS},
    {TEXT("-store-misses"), PERF_COUNT_HW_CACHE_OP_WRITE, PERF_COUNT_HW_CACHE_RESULT_MISS},
    {TEXT("-prefetches"), PERF_COUNT_HW_CACHE_OP_PREFETCH, PERF_COUNT_HW_CACHE_RESULT_ACCESS},
    {TEXT("-prefetch-misses"), PERF_COUNT_HW_CACHE_OP_PREFETCH, PERF_COUNT_HW_CACHE_RESULT_MISS},
};

static bool find_cache(const char *name, struct perf_event_attr *attr) {
    for (size_t i = 0; i < sizeof caches / sizeof *caches; i++) {
        if (!text_starts_with(text_of(name), caches[i].name)) continue;
        struct text access = text_from(text_of(name), caches[i].name.bytes_count);
        for (size_t j = 0; j < sizeof cache_accesses / sizeof *cache_accesses; j++) {
            if (!text_equal(access, cache_accesses[j].name)) continue;
            attr->type = PERF_TYPE_HW_CACHE;
            attr->config = caches[i].id | cache_accesses[j].operation << 8 | cache_accesses[j].result << 16;
            return true;
        }
    }
    return false;
}

static bool find_raw(const char *name, struct perf_event_attr *attr) {
    struct text digits = text_of(name + 1);
    uint64_t config;
    if (name[0] != 'r' || !cursor_take_number(&digits, 16, &config) || digits.bytes_count) return false;
    attr->type = PERF_TYPE_RAW;
    attr->config = config;
    return true;
}

/* ---- Tracepoints. ---- */

static bool find_tracepoint(const char *name, struct perf_event_attr *attr, struct failure *failure) {
    char path[256];
    unsigned id;
    const char *colon = strchr(name, ':');
    if (strchr(name, '/') || strstr(name, "..")) return false;
    snprintf(path, sizeof path, "/sys/kernel/tracing/events/%.*s/%s/id", (int)(colon - name), name, colon + 1);
    FILE *file = fopen(path, "re");
    if (!file && errno != ENOENT)
        failure_set(failure, FAILURE_IO, "cannot use the tracepoint %s: %s: %s; tracepoints are for root", name, path,
                    strerror(errno));
    if (!file) return false;
    bool is_good = fscanf(file, "%u", &id) == 1;
    fclose(file);
    attr->type = PERF_TYPE_TRACEPOINT;
    attr->config = id;
    return is_good;
}

/* ---- All. ---- */

/* Removes a modifier such as ":u" or ":pp" from the name and sets its attributes. */
static void take_modifier(char *name, struct perf_event_attr *attr) {
    enum { PRECISE_MAX = 3 };
    char *colon = strrchr(name, ':');
    if (!colon || !colon[1] || colon[1 + strspn(colon + 1, "ukpP")]) return;
    bool is_of_user = strchr(colon, 'u'), is_of_kernel = strchr(colon, 'k');
    const char *precise = strchr(colon, 'p');
    size_t precision = precise ? strspn(precise, "p") : 0;
    if (strchr(colon, 'P') || precision > PRECISE_MAX) precision = PRECISE_MAX;
    attr->precise_ip = precision & PRECISE_MAX;
    attr->exclude_user = is_of_kernel && !is_of_user;
    attr->exclude_kernel = attr->exclude_hv = is_of_user && !is_of_kernel;
    *colon = '\0';
}

bool event_name_parse(const char *name, struct perf_event_attr *attr, struct failure *failure) {
    char copy[128];
    snprintf(copy, sizeof copy, "%s", name);
    take_modifier(copy, attr);
    bool is_found = strchr(copy, ':') ? find_tracepoint(copy, attr, failure)
                                      : find_plain(copy, attr) || find_cache(copy, attr) || find_raw(copy, attr);
    if (!is_found)
        failure_set(failure, FAILURE_USAGE,
                    "--event: there is no event '%s' here; names are those of perf: cycles, cpu-clock, page-faults, "
                    "L1-dcache-load-misses, r01c2, sched:sched_switch",
                    name);
    return is_found;
}
