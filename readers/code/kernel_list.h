/* The part of the running kernel's list of symbols (/proc/kallsyms) that has the kernel's own code. The kernel takes
 * tens of milliseconds to print it, and it does not change while the kernel runs. */
#ifndef GECKO_KERNEL_LIST_H
#define GECKO_KERNEL_LIST_H

#include <stdint.h>

#include "libconvert/base/text.h"

/* Reads the part and keeps it for this process: later conversions find functions in it. Returns it: lines up to that of
 * "_etext". Returns an empty text if this user may not read the list or may not see addresses, or if memory ran out.
 * Call it before other threads convert. */
struct text kernel_list_keep(void);

/* Returns what is kept; an empty text if nothing is. */
struct text kernel_list_kept(void);

/* Frees what is kept. */
void kernel_list_forget(void);

/* Finds the address of the symbol in the list. Returns 0 if it is not there. */
uint64_t kernel_list_address(struct text list, struct text name);

#endif
