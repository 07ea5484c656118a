#include "call_filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCH AUDIT_ARCH_AARCH64
#endif

#if defined(OWN_ARCH)

enum { PAGE_BYTES = 4096, PROBED_BYTES = 8 };

/* The kernel reads the new mask before it finds that there is no such operation. Of all system calls that read memory,
 * filters forbid this one least often: process_vm_readv would end many services. */
static bool is_readable(const void *address) {
    enum { NO_OPERATION = -1 };
    int saved_errno = errno;
    bool is_bad = syscall(SYS_rt_sigprocmask, NO_OPERATION, address, NULL, PROBED_BYTES) != 0 && errno == EFAULT;
    errno = saved_errno;
    return !is_bad;
}

static bool are_readable(const void *address, size_t bytes_count) {
    const unsigned char *bytes = address;
    if (bytes_count < PROBED_BYTES) return false;
    for (size_t i = 0; i < bytes_count; i += PAGE_BYTES)
        if (!is_readable(bytes + (i < bytes_count - PROBED_BYTES ? i : bytes_count - PROBED_BYTES))) return false;
    return is_readable(bytes + bytes_count - PROBED_BYTES);
}

bool call_filter_find(const struct sock_fprog *program, struct call_filter *filter) {
    if (!are_readable(program, sizeof *program)) return false;
    *filter = (struct call_filter){program->filter, program->len};
    return are_readable(filter->code, filter->count * sizeof *filter->code);
}

/* ---- The instructions: see Linux, Documentation/networking/filter.rst, and seccomp_check_filter in kernel/seccomp.c,
 * which allows some of them. ---- */

static uint32_t compute(uint16_t operation, uint32_t left, uint32_t right) {
    switch (operation) {
        case BPF_ADD: return left + right;
        case BPF_SUB: return left - right;
        case BPF_MUL: return left * right;
        case BPF_DIV: return right ? left / right : 0;
        case BPF_OR: return left | right;
        case BPF_AND: return left & right;
        case BPF_XOR: return left ^ right;
        case BPF_LSH: return right < 32 ? left << right : 0;
        case BPF_RSH: return right < 32 ? left >> right : 0;
        default: return -left; /* BPF_NEG */
    }
}

static bool is_met(uint16_t operation, uint32_t left, uint32_t right) {
    switch (operation) {
        case BPF_JEQ: return left == right;
        case BPF_JGT: return left > right;
        case BPF_JGE: return left >= right;
        default: return (left & right) != 0; /* BPF_JSET */
    }
}

static uint32_t word_at(const struct seccomp_data *data, uint32_t offset) {
    uint32_t word = 0;
    if (offset <= sizeof *data - sizeof word) memcpy(&word, (const unsigned char *)data + offset, sizeof word);
    return word;
}

struct machine {
    uint32_t accumulator, index, memory[BPF_MEMWORDS];
};

static uint32_t load(const struct machine *machine, const struct sock_filter *at, const struct seccomp_data *data) {
    switch (BPF_MODE(at->code)) {
        case BPF_ABS: return word_at(data, at->k);
        case BPF_LEN: return sizeof *data;
        case BPF_MEM: return machine->memory[at->k % BPF_MEMWORDS];
        default: return at->k; /* BPF_IMM */
    }
}

/* Returns a SECCOMP_RET_ value. The kernel refuses a filter that runs off its end. */
static uint32_t run(const struct call_filter *filter, const struct seccomp_data *data) {
    struct machine machine = {0};
    for (size_t i = 0; i < filter->count; i++) {
        const struct sock_filter *at = &filter->code[i];
        uint32_t operand = BPF_SRC(at->code) == BPF_X ? machine.index : at->k, *accumulator = &machine.accumulator;
        switch (BPF_CLASS(at->code)) {
            case BPF_LD: *accumulator = load(&machine, at, data); break;
            case BPF_LDX: machine.index = load(&machine, at, data); break;
            case BPF_ST: machine.memory[at->k % BPF_MEMWORDS] = *accumulator; break;
            case BPF_STX: machine.memory[at->k % BPF_MEMWORDS] = machine.index; break;
            case BPF_ALU: *accumulator = compute(BPF_OP(at->code), *accumulator, operand); break;
            case BPF_JMP:
                if (BPF_OP(at->code) == BPF_JA)
                    i += at->k;
                else
                    i += is_met(BPF_OP(at->code), *accumulator, operand) ? at->jt : at->jf;
                break;
            case BPF_RET: return BPF_RVAL(at->code) == BPF_A ? *accumulator : at->k;
            default: /* BPF_MISC */
                if (BPF_MISCOP(at->code) == BPF_TAX)
                    machine.index = *accumulator;
                else
                    *accumulator = machine.index;
        }
    }
    return SECCOMP_RET_KILL_PROCESS;
}

/* ---- System calls. ---- */

uint32_t call_filter_answer(const struct call_filter *filter, int number) {
    const struct seccomp_data data = {.nr = number, .arch = OWN_ARCH};
    return run(filter, &data);
}

static uint32_t action(const struct call_filter *filter, int number) {
    return call_filter_answer(filter, number) & SECCOMP_RET_ACTION_FULL;
}

bool call_filter_allows_handlers(const struct call_filter *filter) {
    uint32_t result = action(filter, SYS_rt_sigreturn);
    return result == SECCOMP_RET_ALLOW || result == SECCOMP_RET_LOG;
}

static bool is_fatal(uint32_t result) {
    return result == SECCOMP_RET_KILL_PROCESS || result == SECCOMP_RET_KILL_THREAD || result == SECCOMP_RET_TRAP;
}

/* The list has the system calls of the functions that interpose, and those at the end of a recording. */
bool call_filter_allows_calls(const struct call_filter *filter) {
    static const int numbers[] = {SYS_rt_sigprocmask, SYS_rt_sigaction,    SYS_futex,        SYS_getpid,
                                  SYS_gettid,         SYS_tgkill,          SYS_membarrier,   SYS_prctl,
                                  SYS_fcntl,          SYS_fstat,           SYS_newfstatat,   SYS_sched_yield,
                                  SYS_ftruncate,      SYS_clock_nanosleep, SYS_clock_gettime};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (is_fatal(action(filter, numbers[i]))) return false;
    return true;
}

#endif
