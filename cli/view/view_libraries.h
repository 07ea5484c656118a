/* The libraries that only `view` needs. They are loaded when it starts: every start of the program would take 4 ms more
 * if they were loaded with it. */
#pragma once

#include <capstone/capstone.h>
#include <microhttpd.h>
#include <stdbool.h>

#include "libconvert/base/failure.h"

#define VIEW_MICROHTTPD_FUNCTIONS(X)   \
    X(MHD_add_response_header)         \
    X(MHD_create_response_from_buffer) \
    X(MHD_create_response_from_fd64)   \
    X(MHD_destroy_response)            \
    X(MHD_get_connection_values)       \
    X(MHD_lookup_connection_value)     \
    X(MHD_queue_response)              \
    X(MHD_start_daemon)                \
    X(MHD_stop_daemon)

#define VIEW_CAPSTONE_FUNCTIONS(X) \
    X(cs_close) X(cs_disasm_iter) X(cs_free) X(cs_insn_group) X(cs_malloc) X(cs_open) X(cs_option)

#define VIEW_FUNCTION_POINTER(name) __typeof__(name) *name;

struct view_libraries {
    VIEW_MICROHTTPD_FUNCTIONS(VIEW_FUNCTION_POINTER)
    VIEW_CAPSTONE_FUNCTIONS(VIEW_FUNCTION_POINTER)
};

/* The functions of the libraries, once they are loaded. */
extern struct view_libraries view_libraries;

/* Returns false if a library is missing, or is another version (latched). */
bool view_libraries_load(struct failure *failure);
