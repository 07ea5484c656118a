/* The fields that perf script prints besides a sample's stack: on the event line, before and after the only frame of a
 * recording without -g, or on a line of their own after a stack. They have no separators, and nothing in the text says
 * which fields were printed.
 *
 * Layout: Linux tools/perf/builtin-script.c, process_event and perf_sample__fprintf_bts: flags of a branch, payload,
 * address of data (with its symbol and library), data source, weights, control group; the frame; the target of a branch
 * ("=> …"), registers, branches, instruction, physical address, sizes of pages, cycles. */
#pragma once

#include <stdint.h>

#include "libconvert/base/text.h"

/* Returns the only frame among the fields; an empty text if there is none. `rest` is what follows the event on its
 * line. */
struct text script_fields_frame(struct text rest);

/* Takes the address of data, which begins the fields of a fault, off *text, with its symbol and library. *has_name:
 * whether it has one of them. Returns false if the address is not there. */
bool script_fields_take_address(struct text *text, uint64_t *address, bool *has_name);

/* Returns what precedes the only frame, with its symbol or library, that ends a tracepoint's line: the payload and
 * fields. */
struct text script_fields_cut_frame(struct text payload);

/* Takes the address of data, in 16 columns, off the end of a tracepoint's payload. Returns false if it is not there. */
bool script_fields_cut_address(struct text *payload, uint64_t *address);

/* Returns what precedes the first field that can follow a frame: all of the text if there is none. The first word of
 * the text is never taken for a field. */
struct text script_fields_cut(struct text text);

/* Returns whether the line consists of fields that can follow a frame. */
bool script_fields_are(struct text line);

/* Kinds of fields. */
enum script_field {
    SCRIPT_FIELD_NONE,
    SCRIPT_FIELD_DATA, /* address, source, latency or size of the page of data */
    SCRIPT_FIELD_TARGET,
    SCRIPT_FIELD_REGISTERS,
    SCRIPT_FIELD_BRANCHES,
    SCRIPT_FIELD_INSTRUCTION,
    SCRIPT_FIELD_CYCLES,
    SCRIPT_FIELD_OTHER, /* flags, control group */
    SCRIPT_FIELD_COUNT
};

/* Returns which fields the text has: a bit for each of enum script_field. */
uint32_t script_fields_kinds(struct text text);

/* Returns whether the event is a tracepoint, "subsystem:name", and not a hardware event with a colon in its name or a
 * breakpoint. `rest` is what follows the event on the first line that has it. Old kernels named tracepoints without the
 * subsystem. */
bool script_fields_are_payload(struct text event, bool has_period, struct text rest);
