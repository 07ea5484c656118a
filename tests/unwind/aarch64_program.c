/* Writes samples of its own stack to standard output, for tests/unit/unwind/test_unwinder_aarch64.c. The program and
 * what it writes are fixtures: see make_aarch64_samples.sh.
 *
 * First come the addresses of the functions in `functions`. A sample is: the program counter, x0 to x30, sp, the count
 * of stack bytes, and the bytes from sp on. Numbers have 64 bits. */
#include <stddef.h>
#include <stdint.h>

/* A function takes at most 512 bytes and begins at a multiple of them: so an address identifies its function. */
#define FUNCTION __attribute__((noinline, noclone, used, aligned(512)))

enum { SYSTEM_WRITE = 64, SYSTEM_EXIT = 93, SYSTEM_KILL = 129, SYSTEM_SIGACTION = 134, SYSTEM_GETPID = 172 };
enum { USER_SIGNAL = 10, RESTORER_FLAG = 0x04000000 };

uint64_t probe_registers[33]; /* the program counter, then x0 to x30 and sp */
uint64_t first_sp;

static long call_system(long number, long first, long second, long third, long fourth) {
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = first, x1 __asm__("x1") = second;
    register long x2 __asm__("x2") = third, x3 __asm__("x3") = fourth;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
    return x0;
}

static void write_bytes(const void *bytes, size_t count) { call_system(SYSTEM_WRITE, 1, (long)bytes, (long)count, 0); }

void write_sample(void) {
    uint64_t sp = probe_registers[32], stack_bytes_count = first_sp - sp;
    write_bytes(probe_registers, sizeof probe_registers);
    write_bytes(&stack_bytes_count, sizeof stack_bytes_count);
    write_bytes((const void *)sp, stack_bytes_count);
}

void probe(void);
void start(void);
void return_from_signal(void);

/* clang-format off */
__asm__(
    ".pushsection .text\n"
    ".balign 512\n"
    ".globl probe\n"
    "probe:\n"
    "    .cfi_startproc\n"
    "    bti c\n"
    "    adrp x16, probe_registers\n"
    "    add x16, x16, :lo12:probe_registers\n"
    "    stp x0, x1, [x16, 8]\n    stp x2, x3, [x16, 24]\n    stp x4, x5, [x16, 40]\n    stp x6, x7, [x16, 56]\n"
    "    stp x8, x9, [x16, 72]\n    stp x10, x11, [x16, 88]\n    stp x12, x13, [x16, 104]\n"
    "    stp x14, x15, [x16, 120]\n    stp x16, x17, [x16, 136]\n    stp x18, x19, [x16, 152]\n"
    "    stp x20, x21, [x16, 168]\n    stp x22, x23, [x16, 184]\n    stp x24, x25, [x16, 200]\n"
    "    stp x26, x27, [x16, 216]\n    stp x28, x29, [x16, 232]\n"
    "    mov x17, sp\n"
    "    stp x30, x17, [x16, 248]\n"
    "    adr x17, .\n"
    "    str x17, [x16]\n"
    "    b write_sample\n"
    "    .cfi_endproc\n"
    ".balign 512\n"
    ".globl start\n"
    "start:\n"
    "    .cfi_startproc\n"
    "    .cfi_undefined x30\n"
    "    mov x0, sp\n"
    "    adrp x1, first_sp\n"
    "    str x0, [x1, :lo12:first_sp]\n"
    "    bl run\n"
    "    mov x8, 93\n"
    "    mov x0, 0\n"
    "    svc 0\n"
    "    .cfi_endproc\n"
    ".balign 512\n"
    "    nop\n"
    ".globl return_from_signal\n"
    "return_from_signal:\n" /* without an entry, as in the vDSO */
    "    mov x8, 139\n"
    "    svc 0\n"
    ".popsection\n");
/* clang-format on */

FUNCTION int recurse(int depth) {
    volatile int padding[12] = {depth};
    if (depth == 0)
        probe();
    else
        padding[1] = recurse(depth - 1);
    return padding[0] + padding[1];
}

FUNCTION int sized(size_t bytes_count) {
    volatile char bytes[bytes_count];
    bytes[0] = 1;
    recurse(1);
    return bytes[0];
}

FUNCTION long registers(const volatile long *values) {
    long a = values[0], b = values[1], c = values[2], d = values[3], e = values[4], f = values[5], g = values[6];
    long h = values[7], i = values[8], j = values[9];
    recurse(0);
    return a + b + c + d + e + f + g + h + i + j;
}

FUNCTION void handler(int number) {
    volatile int padding[4] = {number};
    recurse(1);
    padding[0]++;
}

FUNCTION int interrupted(void) {
    struct {
        void (*handler)(int);
        uint64_t flags;
        void (*restorer)(void);
        uint64_t mask;
    } action = {handler, RESTORER_FLAG, return_from_signal, 0};
    volatile int padding[4] = {1};
    call_system(SYSTEM_SIGACTION, USER_SIGNAL, (long)&action, 0, 8);
    call_system(SYSTEM_KILL, call_system(SYSTEM_GETPID, 0, 0, 0, 0), USER_SIGNAL, 0, 0);
    return padding[0] + 1;
}

void run(void);

static void *const functions[] = {probe,       recurse, sized, registers, handler, return_from_signal,
                                  interrupted, run,     start};

FUNCTION void run(void) {
    static const volatile long values[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    write_bytes(functions, sizeof functions);
    recurse(3);
    sized(1000);
    registers(values);
    interrupted();
    __asm__ volatile(""); /* the last call returns here */
}
