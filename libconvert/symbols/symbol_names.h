/* Demangles the names of functions of C++, Rust, D and OCaml. Only this module uses libiberty. */
#pragma once

#include "libconvert/base/text.h"

/* Longer names, mangled or not, are cut and end in "...". */
enum { SYMBOL_NAME_BYTES_MAX = 4096 };

/* Returns whether the name has the prefix of mangled names of C++, Rust and D; on macOS it has one more underscore. */
bool symbol_name_is_mangled(struct text name);

/* Returns the name as in the source, without return type and hash, and with the parameters of a C++ function only if
 * they are wanted: perf prints none. A name of Rust may be one that a demangler for C++ has taken apart. A name of
 * another language is returned as it is. What compilers and linkers append ("@@GLIBC_2.14", ".llvm.123", ".part.0" to a
 * mangled name) is removed, except "@plt". The result lies in `out` or in `name`, and is empty only if the name is.
 * Thread-safe. If memory runs out, returns the name as it is and sets errno to ENOMEM; libiberty ends the process at a
 * name of D. Needs up to 1 MiB of stack. Time and memory are bounded even for a name that would demangle to gigabytes.
 */
struct text symbol_name_demangle(struct text name, bool has_parameters, char out[SYMBOL_NAME_BYTES_MAX]);

/* Does what symbol_name_demangle does to a name that another program printed, if it is mangled or has the hash of a
 * Rust function: "core::fmt::write::h0123456789abcdef". Any other name is returned as it is, of whatever length. */
struct text symbol_name_demangle_printed(struct text name, bool has_parameters, char out[SYMBOL_NAME_BYTES_MAX]);
