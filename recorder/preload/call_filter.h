/* Finds out what a filter of system calls (seccomp) does with the calls that the recorder makes in the program's
 * threads. */
#pragma once

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>

struct call_filter {
    const struct sock_filter *code;
    unsigned count; /* how many instructions there are */
};

/* Borrows the instructions that the program is about to give to the kernel. Returns false if they cannot be read:
 * programs pass an invalid address to find out whether the kernel has filters. */
bool call_filter_find(const struct sock_fprog *program, struct call_filter *filter);

/* Returns the filter's answer to a system call whose arguments are 0: a SECCOMP_RET_ value and the data that the filter
 * adds to it. */
uint32_t call_filter_answer(const struct call_filter *filter, int number);

/* Returns whether signal handlers can return under the filter. */
bool call_filter_allows_handlers(const struct call_filter *filter);

/* Returns whether the recorder may make its other system calls. If not, the filter would end the process for one of
 * them. */
bool call_filter_allows_calls(const struct call_filter *filter);
