#include "last_mapping.h"

#include <stdbool.h>

#include "recorder/state/process.h"
#include "recorder/state/recording_state.h"
#include "recorder/write/definitions.h"

/* The last mapping that was defined. owner: the process that defined it. */
static struct {
    uint32_t id;
    uint32_t owner_pid;
    uint64_t owner_start_ns;
} last;

/* In a forked child: the process whose mappings the child has inherited, and that process's last mapping. The child
 * defines the inheritance only when it first writes an address. Until then, its own children inherit from the same
 * process. */
static struct {
    uint32_t generation; /* generation of the recording */
    uint32_t id;
    uint32_t owner_pid;
    uint64_t owner_start_ns;
} inherited;

uint32_t last_mapping_id(void) { return __atomic_load_n(&last.id, __ATOMIC_ACQUIRE); }

void last_mapping_forget(void) { __atomic_store_n(&last.id, 0, __ATOMIC_RELEASE); }

static void take_ownership(void) {
    const struct process_state *process = process_self();
    __atomic_store_n(&last.owner_start_ns, process->start_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&last.owner_pid, process->pid, __ATOMIC_RELAXED);
}

void last_mapping_set(uint32_t id) {
    take_ownership();
    __atomic_store_n(&last.id, id, __ATOMIC_RELEASE);
}

static bool has_inherited(void) { return inherited.generation == recording_generation && inherited.id != 0; }

void last_mapping_enter_child(void) {
    uint32_t id = last_mapping_id();
    if (has_inherited() && inherited.id == id) return;
    inherited.owner_pid = last.owner_pid;
    inherited.owner_start_ns = last.owner_start_ns;
    inherited.id = id;
    inherited.generation = recording_generation;
}

/* Several threads may do this at once: they define the same. */
void last_mapping_inherit(void) {
    uint32_t id = inherited.id;
    if (!has_inherited() || last_mapping_id() != id) return;
    const struct process_state *process = process_self();
    const struct grec_value parts[] = {GREC_UINT(process->pid), GREC_UINT(process->start_ns),
                                       GREC_UINT(inherited.owner_pid), GREC_UINT(inherited.owner_start_ns),
                                       GREC_UINT(id)};
    uint32_t own_id = definition_of_parts(TRACE_DEFINE_INHERITANCE, parts, sizeof parts / sizeof *parts);
    take_ownership();
    __atomic_compare_exchange_n(&last.id, &id, own_id, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}
