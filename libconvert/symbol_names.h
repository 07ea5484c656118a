/* Functions' names as their source has them, from the ones that linkers see: C++ and Rust. Sole user of libiberty. */
#ifndef GECKO_SYMBOL_NAMES_H
#define GECKO_SYMBOL_NAMES_H

#include "text.h"

/* Longer names, written out or not, are cut and end in "...". */
enum { SYMBOL_NAME_BYTES_MAX = 4096 };

/* Whether the name begins as all that C++ and Rust make; on macOS with one more underscore. */
bool symbol_name_is_mangled(struct text name);

/* The name as its source has it, without return type and hash; a name of neither language as it is. Whatever the
 * linker added ("@@GLIBC_2.14", ".llvm.123") goes; "@plt" stays. The result lies in `out` or in `name`; it is empty
 * only when the name is. Thread-safe; leaves errno at ENOMEM and the name as it is when memory ran out; needs up to 1
 * MiB of stack, and neither much time nor memory for a name that was made to unfold to gigabytes. */
struct text symbol_name_demangle(struct text name, char out[SYMBOL_NAME_BYTES_MAX]);

#endif
