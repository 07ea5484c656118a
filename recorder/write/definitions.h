/* The log of definitions, which events refer to by number. Appending is lock-free between threads, signal handlers and
 * processes: a compare-and-swap claims the first word of a definition and stores its length there, so others can walk
 * past the definition even if its writer is killed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "recorder/gecko_recorder.h"
#include "recorder/state/shared.h"
#include "recorder/trace_format.h"

/* Return the id of a description in the current recording, which its first use assigns. Return 0, and count the loss,
 * if there is no room. Call these in a recording call. [signal-safe] */
uint32_t definition_of_category(struct grec_category *category);
uint32_t definition_of_marker(struct grec_marker *marker) GREC_SHARED(definition_of_marker);
uint32_t definition_of_label(struct grec_label *label);
uint32_t definition_of_counter(struct grec_counter *counter);
uint32_t definition_of_string(struct grec_string *string);

/* Whether a description with that cache_ has an id in this recording: its other members are not needed then.
 * [signal-safe] */
bool definition_is_known(uint64_t cache) GREC_SHARED(definition_is_known);

/* Returns the id of a definition that is these parts: numbers (GREC_UINT), texts (GREC_TEXT), which are cut, and bytes
 * (GREC_TEXT_OF). Equal calls return the same id. Returns 0, and counts the loss, if there is no room. Call these in a
 * recording call. [signal-safe] */
uint32_t definition_of_parts(enum trace_definition_kind kind, const struct grec_value *parts, size_t count)
    GREC_SHARED(definition_of_parts);

/* Adds a definition even if there is an equal one. */
uint32_t definition_add(enum trace_definition_kind kind, const struct grec_value *parts, size_t count)
    GREC_SHARED(definition_add);

/* Defines a fact about the program or the machine. Texts are cut to GREC_NAME_BYTES_MAX bytes. */
void definition_add_meta(const char *key, const char *value) GREC_SHARED(definition_add_meta);

/* Defines the command line of this process, in which each argument ends with a zero byte. It is cut to
 * DEFINITION_ARGUMENTS_BYTES_MAX bytes. */
enum { DEFINITION_ARGUMENTS_BYTES_MAX = 1024 };
void definition_add_arguments(const char *bytes, size_t bytes_count);
