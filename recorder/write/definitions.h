/* The log of definitions, which events refer to by number. Appending is lock-free between threads, signal handlers and
 * processes: a compare-and-swap claims the first word of a definition and stores its length there, so others can walk
 * past the definition even if its writer is killed. */
#ifndef GREC_DEFINITIONS_H
#define GREC_DEFINITIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder/gecko_recorder.h"
#include "recorder/state/shared.h"

/* Return the id of a description in the current recording, which its first use assigns. Return 0, and count the loss,
 * if there is no room. Call these in a recording call. [signal-safe] */
uint32_t definition_of_category(struct grec_category *category);
uint32_t definition_of_marker(struct grec_marker *marker);
uint32_t definition_of_label(struct grec_label *label);
uint32_t definition_of_counter(struct grec_counter *counter);
uint32_t definition_of_string(struct grec_string *string);

/* Whether a description with that cache_ has an id in this recording: its other members are not needed then.
 * [signal-safe] */
bool definition_is_known(uint64_t cache) GREC_SHARED(definition_is_known);

/* Define a library, and where it is mapped in this process. build_id: its bytes, not hex. offset: of the address from
 * the library's image base. library_id 0: the address is no longer mapped. Call these in a recording call.
 */
uint32_t definition_of_library(const char *path, const unsigned char *build_id, uint32_t build_id_bytes)
    GREC_SHARED(definition_of_library);
uint32_t definition_of_mapping(uint64_t address, uint64_t size_bytes, uint64_t offset, uint32_t library_id)
    GREC_SHARED(definition_of_mapping);

/* Defines a function of a library that is not a file. offset: from the image base. */
void definition_add_symbol(uint32_t library_id, uint64_t offset, uint64_t size_bytes, const char *name)
    GREC_SHARED(definition_add_symbol);

/* Defines that this process, a forked child, has inherited the mappings that its parent had defined up to that id.
 * Equal calls return the same id. Call this in a recording call. [signal-safe] */
uint32_t definition_of_inheritance(uint32_t parent_pid, uint64_t parent_start_ns, uint32_t last_mapping_id)
    GREC_SHARED(definition_of_inheritance);

/* Defines a fact about the program or the machine. Texts are cut to GREC_NAME_BYTES_MAX bytes. */
void definition_add_meta(const char *key, const char *value) GREC_SHARED(definition_add_meta);

/* Defines the command line of this process, in which each argument ends with a zero byte. It is cut to
 * DEFINITION_ARGUMENTS_BYTES_MAX bytes. */
enum { DEFINITION_ARGUMENTS_BYTES_MAX = 1024 };
void definition_add_arguments(const char *bytes, size_t bytes_count);

/* Call this in a forked child. */
void definitions_enter_child(void);

#endif
