/* The log of definitions: what events refer to by number. Appending is lock-free between threads, signal handlers and
 * processes: the first word of a definition is claimed by compare-and-swap with its length in it, so whoever comes next
 * can walk past it even if its writer is killed. */
#ifndef GREC_DEFINITIONS_H
#define GREC_DEFINITIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "gecko_recorder.h"

/* Ids of descriptions in the current recording, given at their first use; 0: there is no room for them (counted).
 * depth: of the recording call, whose scratch memory is used. [signal-safe] */
uint32_t definition_of_category(struct grec_category *category, uint32_t depth);
uint32_t definition_of_marker_type(struct grec_marker_type *type, uint32_t depth);
uint32_t definition_of_marker(struct grec_marker *marker, uint32_t depth);
uint32_t definition_of_label(struct grec_label *label, uint32_t depth);
uint32_t definition_of_counter(struct grec_counter *counter, uint32_t depth);
uint32_t definition_of_string(struct grec_string *string, uint32_t depth);

/* Whether a description with that cache_ has its id, for which nothing else of it is looked at. [signal-safe] */
bool definition_is_known(uint64_t cache);

/* What is mapped into this process, by the calling thread's recording call of depth 0. build_id: its bytes, not hex.
 * offset: of the address from the image base of the library. library_id 0: nothing is there any more. */
uint32_t definition_of_library(const char *path, const unsigned char *build_id, uint32_t build_id_bytes);
uint32_t definition_of_mapping(uint64_t address, uint64_t size_bytes, uint64_t offset, uint32_t library_id);

/* A function of a library that is no file. offset: from the image base. */
void definition_add_symbol(uint32_t library_id, uint64_t offset, uint64_t size_bytes, const char *name);

/* That this process has what that one, of whom it is a copy, had mapped by the definitions up to that id. Of the
 * calling thread's recording call of depth 0; the same again gives the same id. [signal-safe] */
uint32_t definition_of_inheritance(uint32_t parent_pid, uint64_t parent_start_ns, uint32_t last_mapping_id);

/* A fact about the program or the machine. Texts are cut to GREC_NAME_BYTES_MAX. */
void definition_add_meta(const char *key, const char *value);

#endif
