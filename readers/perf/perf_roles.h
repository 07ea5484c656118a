/* What follows from the description of an event alone. */
#pragma once

#include <stdint.h>

#include "libconvert/base/text.h"

/* The units of an event's period that matter for weights and CPU time. */
enum perf_event_unit { PERF_EVENT_OTHER, PERF_EVENT_CLOCK_NS, PERF_EVENT_CYCLES };

/* Returns the name without its modifiers and terms: "cpu-clock" for "cpu-clock:ppp", "page-faults" for
 * "page-faults/period=1/u". A tracepoint keeps its colon, and an event of a processor's unit its terms. */
struct text perf_event_base_name(struct text name);

/* Returns whether the name can be that of a tracepoint, "subsystem:name". One that was hit without a stack is a marker.
 * Names of hardware events can look the same: "br_inst_exec:taken". */
bool perf_role_is_tracepoint(struct text name);

/* Returns whether each sample of the event is something that happened there, not one of many events that were counted:
 * a fault of memory, a switch of threads, a tracepoint. */
bool perf_role_is_occurrence(struct text name);

/* Returns the name without its modifiers and the unit of the processor that counts it: "cycles" for
 * "cpu_atom/cycles/P". */
struct text perf_role_plain_name(struct text name);

/* Returns whether the event happens where a program accesses data: the data's address tells where. */
bool perf_role_has_address(struct text name);

/* Returns whether the event is the tracepoint at which a thread leaves its processor. */
bool perf_role_is_switch(struct text name);

/* Returns whether the kernel counts the event each time a thread leaves its processor. */
bool perf_role_counts_switches(struct text name);

/* Returns whether perf record --off-cpu makes the event: the period of a sample is the time in which a thread waited
 * there. Samples without a time, most of them, have the sum of all times. */
bool perf_role_is_off_cpu_time(struct text name);

enum perf_event_unit perf_role_unit(struct text name);

/* Returns what the event measures: events of one measure are told apart by their modifiers or by the kind of their
 * processor alone. "cycles" for "cycles:u" and for "cpu_atom/cycles/P". */
struct text perf_role_measure(struct text name);

/* Returns the parts of the machine in which the event is measured, as bits: modes of each kind of processor. Events of
 * one measure that have bits in common measure the same twice. */
uint32_t perf_role_scope(struct text name);
