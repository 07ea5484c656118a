#include "machine_facts.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "recorder/gecko_recorder.h"
#include "recorder/state/text_file.h"
#include "recorder/trace_format.h"
#include "recorder/write/definitions.h"

enum { FACT_COUNT_MAX = 32, FACT_KEY_BYTES = 64, FACT_VALUE_BYTES = 256, TOPOLOGY_PATH_BYTES = 96 };

/* Guarded by the session's mutex. */
static struct fact {
    char key[FACT_KEY_BYTES];
    char value[FACT_VALUE_BYTES];
} facts[FACT_COUNT_MAX];
static size_t fact_count;

static void describe_cpu(void) {
    char info[4096];
    if (!text_file_read("/proc/cpuinfo", info, sizeof info)) return;
    char *name = strstr(info, "model name");
    if (name) name = strchr(name, ':');
    if (!name) return;
    name += strspn(name, ": \t");
    name[strcspn(name, "\n")] = '\0';
    definition_add_meta("CPUName", name);
}

/* Tells converters whether clocks and pids of several traces mean the same. */
static void describe_boot(void) {
    char id[64];
    if (!text_file_read("/proc/sys/kernel/random/boot_id", id, sizeof id)) return;
    id[strcspn(id, "\n")] = '\0';
    definition_add_meta("bootID", id);
}

/* The command line of the process that recorded first, with blanks between the arguments. */
static void describe_arguments(void) {
    char arguments[GREC_NAME_BYTES_MAX + 1];
    size_t bytes_count = text_file_read("/proc/self/cmdline", arguments, sizeof arguments);
    for (size_t i = 0; i + 1 < bytes_count; i++)
        if (!arguments[i]) arguments[i] = ' ';
    definition_add_meta("arguments", arguments);
}

static void describe_number(const char *key, uint64_t number) {
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    definition_add_meta(key, text);
}

/* Counts the cores. Of the processors that share a core, only the first one is counted. */
static uint64_t count_cores(long processor_count) {
    uint64_t count = 0;
    for (long i = 0; i < processor_count; i++) {
        char path[TOPOLOGY_PATH_BYTES], siblings[TOPOLOGY_PATH_BYTES];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%ld/topology/thread_siblings_list", i);
        if (text_file_read(path, siblings, sizeof siblings)) count += strtol(siblings, NULL, 10) == i;
    }
    return count;
}

void machine_describe_process(const struct settings *settings) {
    char arguments[DEFINITION_ARGUMENTS_BYTES_MAX + 2]; /* a byte too many tells that some are lost */
    if (settings->flags & GREC_NO_ARGUMENTS) return;
    definition_add_arguments(arguments, text_file_read("/proc/self/cmdline", arguments, sizeof arguments));
}

void machine_describe_settings(const struct settings *settings) {
    char features[TOPOLOGY_PATH_BYTES];
    snprintf(features, sizeof features, "%s%s%s",
             !(settings->flags & GREC_SAMPLER)  ? ""
             : settings->flags & GREC_NO_STACKS ? "cpu,"
                                                : "stackwalk,cpu,",
             settings->flags & GREC_ALL_THREADS ? "allthreads," : "",
             settings->flags & GREC_NO_CHILDREN ? "nochildren," : "");
    size_t bytes_count = strlen(features);
    if (bytes_count) features[bytes_count - 1] = '\0';
    definition_add_meta("features", features);
    definition_add_meta("threadFilter", settings->threads);
    if (settings->duration_s) describe_number("durationLimit", settings->duration_s);
}

static void describe_fact(const struct fact *fact) {
    char key[FACT_KEY_BYTES + sizeof TRACE_FACT_PREFIX];
    snprintf(key, sizeof key, TRACE_FACT_PREFIX "%.*s", FACT_KEY_BYTES - 1, fact->key);
    definition_add_meta(key, fact->value);
}

static struct fact *find_fact(const char *key) {
    for (size_t i = 0; i < fact_count; i++)
        if (!strcmp(facts[i].key, key)) return &facts[i];
    return fact_count < FACT_COUNT_MAX ? &facts[fact_count++] : NULL;
}

void machine_set_fact(const char *key, const char *value, bool is_recording) {
    struct fact fact;
    snprintf(fact.key, sizeof fact.key, "%s", key ? key : "");
    snprintf(fact.value, sizeof fact.value, "%s", value ? value : "");
    struct fact *known = fact.key[0] ? find_fact(fact.key) : NULL;
    if (!known) return;
    *known = fact;
    if (is_recording) describe_fact(known);
}

void machine_describe(const struct settings *settings) {
    char os[sizeof(struct utsname)];
    struct utsname machine;
    definition_add_meta("recorder", GREC_VERSION);
    definition_add_meta("product", *settings->product ? settings->product : program_invocation_short_name);
    if (!(settings->flags & GREC_NO_ARGUMENTS)) describe_arguments();
    if (uname(&machine) == 0) {
        snprintf(os, sizeof os, "%s %s %s", machine.sysname, machine.release, machine.machine);
        definition_add_meta("oscpu", os);
        definition_add_meta("platform", machine.sysname);
        definition_add_meta("abi", machine.machine);
    }
    describe_boot();
    describe_cpu();
    long cpu_count = sysconf(_SC_NPROCESSORS_ONLN), pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t core_count = count_cores(sysconf(_SC_NPROCESSORS_CONF));
    if (cpu_count > 0) describe_number("logicalCPUs", (uint64_t)cpu_count);
    if (core_count) describe_number("physicalCPUs", core_count);
    if (pages > 0 && page > 0) describe_number("mainMemory", (uint64_t)pages * (uint64_t)page);
    machine_describe_settings(settings);
    for (size_t i = 0; i < fact_count; i++) describe_fact(&facts[i]);
}
