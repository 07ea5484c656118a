#include "interrupted_call.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "task_wait.h"
#include "unwind_table.h"

#if defined(__x86_64__)

/* The kernel's. */
struct signal_action {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};

/* Those that faults raise do not come in calls of the system. */
static bool is_of_faults(int number) {
    static const int of_faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    for (size_t i = 0; i < sizeof of_faults / sizeof *of_faults; i++)
        if (of_faults[i] == number) return true;
    return false;
}

/* Another handler may have run before this one and ended the call, which the program may want to know: where it holds
 * this signal back, which else would interrupt it. */
static bool is_held_back_by_handler(int signal_number) {
    enum { SIGNAL_COUNT = 64 };
    struct signal_action action;
    for (int number = 1; number <= SIGNAL_COUNT; number++) {
        if (number == signal_number || is_of_faults(number)) continue;
        if (syscall(SYS_rt_sigaction, number, NULL, &action, sizeof action.mask) != 0) continue;
        bool is_handled = action.handler != SIG_DFL && action.handler != SIG_IGN;
        if (is_handled && action.mask & (uint64_t)1 << (signal_number - 1)) return true;
    }
    return false;
}

/* The number that the code before `syscall` puts into eax; -1: it does something else. Other threads of the program
 * make the wrapper load the first argument in between. */
static long number_before(const unsigned char *syscall_instruction) {
    static const unsigned char first_argument[] = {0x8b, 0x7c, 0x24}; /* mov disp8(%rsp), %edi */
    const unsigned char *at = syscall_instruction;
    int32_t number;
    if (!memcmp(at - 4, first_argument, sizeof first_argument)) at -= 4;
    if (at[-5] != 0xb8) return -1; /* mov imm32, %eax */
    memcpy(&number, at - 4, sizeof number);
    return number;
}

/* Behind the instruction; of an object's code, which can be read. */
static const unsigned char *syscall_before(uint64_t pc) {
    enum { LOOKED_AT_BYTES = 16 };
    const struct unwind_snapshot *snapshot = unwind_snapshot_current();
    const unsigned char *at = (const unsigned char *)(uintptr_t)pc - 2;
    bool is_code =
        snapshot && unwind_snapshot_find(snapshot, pc) && unwind_snapshot_find(snapshot, pc - LOOKED_AT_BYTES);
    return is_code && at[0] == 0x0f && at[1] == 0x05 ? at : NULL;
}

/* The thread sanitizer does not know that a stack is gone with its thread, and its place another's. */
__attribute__((no_sanitize_thread)) void interrupted_call_repeat(int signal_number, void *interrupted) {
    ucontext_t *context = interrupted;
    greg_t *registers = context->uc_mcontext.gregs;
    if (registers[REG_RAX] != -EINTR) return;
    const unsigned char *instruction = syscall_before((uint64_t)registers[REG_RIP]);
    long number = instruction ? number_before(instruction) : -1;
    if (!task_wait_is_repeatable(number) || is_held_back_by_handler(signal_number)) return;
    /* Its arguments are where they were: the kernel changes rax, rcx and r11 alone. */
    registers[REG_RAX] = number;
    registers[REG_RIP] = (greg_t)(uintptr_t)instruction;
}

#else

void interrupted_call_repeat(int signal_number, void *interrupted) {
    (void)signal_number;
    (void)interrupted;
}

#endif
