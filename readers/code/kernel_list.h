/* A kernel's list of symbols as text. The running kernel takes tens of milliseconds to print its list. The first part
 * has the kernel's own code, by address, and does not change while the kernel runs. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "libconvert/base/memory.h"
#include "libconvert/base/text.h"

struct kernel_list {
    char *bytes; /* owned; of memory.h */
    size_t bytes_count;
    size_t code_bytes; /* the size of the part with the kernel's own code: lines up to that of "_etext" */
};

/* The path of the running kernel's list. */
extern const char kernel_list_running[];

/* Reads the list at the path, some megabytes, into memory that is counted against the limit; NULL: it is not counted.
 * Returns false, and the list is empty, if this user may not read it or may not see addresses, if it lacks a part of
 * the kernel's own code, or if memory ran out. */
bool kernel_list_read(struct kernel_list *list, const char *path, struct memory_limit *memory);
void kernel_list_fini(struct kernel_list *list);

struct text kernel_list_text(const struct kernel_list *list);

/* Returns the part with the kernel's own code. */
struct text kernel_list_code(const struct kernel_list *list);

/* Reads the running kernel's list and keeps that part for this process: later conversions find functions in it. Returns
 * it; an empty text if kernel_list_read fails. Call it before other threads convert. */
struct text kernel_list_keep(void);

/* Returns what is kept; an empty text if nothing is. */
struct text kernel_list_kept(void);

/* Frees what is kept. */
void kernel_list_forget(void);

/* Reads the build id of the running kernel, or of one of its modules, from that file of notes below /sys. Returns its
 * size in bytes; 0 if it is unknown. */
enum { KERNEL_BUILD_ID_BYTES_MAX = 64 };
size_t kernel_build_id_read(const char *path, char id[KERNEL_BUILD_ID_BYTES_MAX]);

/* Finds the address of the symbol in the list. Returns 0 if it is not there. */
uint64_t kernel_list_address(struct text list, struct text name);
