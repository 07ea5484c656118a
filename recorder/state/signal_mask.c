#include "signal_mask.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { KERNEL_MASK_BYTES = 8, RESERVED_FIRST = 32, RESERVED_LAST = 33 };

uint64_t signal_mask_all(void) { return ~((uint64_t)1 << (RESERVED_FIRST - 1) | (uint64_t)1 << (RESERVED_LAST - 1)); }

uint64_t signal_mask_of(const sigset_t *set) {
    uint64_t bits;
    memcpy(&bits, set, sizeof bits);
    return bits & signal_mask_all();
}

int signal_mask_change(int how, const uint64_t *set, uint64_t *before) {
    int saved_errno = errno;
    int error = syscall(SYS_rt_sigprocmask, how, set, before, KERNEL_MASK_BYTES) == 0 ? 0 : errno;
    errno = saved_errno;
    return error;
}

void signal_mask_block_all(sigset_t *before) {
    uint64_t all = signal_mask_all();
    signal_mask_change(SIG_BLOCK, &all, (uint64_t *)(void *)before);
}

void signal_mask_restore(const sigset_t *before) {
    uint64_t blocked = signal_mask_of(before);
    signal_mask_change(SIG_SETMASK, &blocked, NULL);
}
