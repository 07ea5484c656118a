/* Finds what a filter of system calls (seccomp) will do with those that the recorder makes in the program's threads. */
#pragma once

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>

struct call_filter {
    const struct sock_filter *code;
    unsigned count; /* how many instructions there are */
};

/* Borrows the instructions that the program is about to give to the kernel. Returns false if it could not read them
 * either: programs ask in this way whether the kernel has filters. */
bool call_filter_find(const struct sock_fprog *program, struct call_filter *filter);

/* Returns what the filter says to a system call whose arguments are 0: one of SECCOMP_RET_, with the value that the
 * filter adds to it. */
uint32_t call_filter_answer(const struct call_filter *filter, int number);

/* Whether handlers of signals can return. */
bool call_filter_allows_handlers(const struct call_filter *filter);

/* Whether the recorder may make its other calls. Otherwise the filter would end the process for one of them. */
bool call_filter_allows_calls(const struct call_filter *filter);
