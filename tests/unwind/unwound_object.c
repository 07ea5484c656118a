/* Functions with frames of many shapes, for tests/unit/unwind/test_unwinder_real.c, which loads this as a library. */
#include <alloca.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

typedef void probe(void);

#define FRAME __attribute__((noinline))

/* Keeps a call from being the last thing that a function does, and values from being computed ahead of time. */
#define KEEP(value) __asm__ volatile("" : "+r"(value)::"memory")

FRAME int unwound_recurse(probe *at_end, int depth) {
    volatile int padding[8] = {depth};
    if (depth == 0)
        at_end();
    else
        padding[1] = unwound_recurse(at_end, depth - 1);
    return padding[0] + padding[1];
}

FRAME int unwound_sized(probe *at_end, size_t bytes_count) {
    char *bytes = alloca(bytes_count);
    KEEP(bytes);
    memset(bytes, 1, bytes_count);
    at_end();
    return bytes[bytes_count - 1];
}

FRAME int unwound_aligned(probe *at_end, size_t bytes_count) {
    _Alignas(64) char aligned[128];
    char *bytes = aligned, *sized = alloca(bytes_count);
    KEEP(bytes);
    KEEP(sized);
    memset(sized, 1, bytes_count);
    at_end();
    return bytes[0] + sized[0];
}

FRAME long unwound_registers(probe *at_end, const long *values) {
    long a = values[0], b = values[1], c = values[2], d = values[3], e = values[4], f = values[5];
    for (int i = 0; i < 3; i++) {
        __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
        at_end();
    }
    return a + b + c + d + e + f;
}

static probe *compare_probe;

static int compare(const void *left, const void *right) {
    if (compare_probe) compare_probe();
    compare_probe = NULL;
    return *(const int *)left - *(const int *)right;
}

FRAME int unwound_sort(probe *at_compare) {
    int values[] = {3, 2, 1, 5, 4};
    compare_probe = at_compare;
    qsort(values, sizeof values / sizeof *values, sizeof *values, compare);
    return values[0];
}

static probe *handler_probe;

static void handle(int number) {
    (void)number;
    unwound_recurse(handler_probe, 2);
}

/* Calls the probe from a handler of SIGUSR2, which may run on the alternate stack. */
FRAME int unwound_handler(probe *in_handler, int flags) {
    struct sigaction action = {.sa_handler = handle, .sa_flags = flags}, before;
    handler_probe = in_handler;
    sigaction(SIGUSR2, &action, &before);
    int result = raise(SIGUSR2);
    sigaction(SIGUSR2, &before, NULL);
    return result + 1;
}

FRAME static int leaf(int value) {
    KEEP(value);
    return value * 3;
}

static void nothing(void) {}

/* Does a little of everything, to be executed one instruction at a time. */
FRAME int unwound_work(int depth) {
    static const long values[6] = {1, 2, 3, 4, 5, 6};
    char text[32];
    int sum = leaf(depth);
    strcpy(text, "work");
    KEEP(sum);
    sum += (int)strtol("17", NULL, 10) + (int)strlen(text);
    sum += unwound_recurse(nothing, 3) + unwound_sized(nothing, 100) + unwound_aligned(nothing, 50);
    sum += (int)unwound_registers(nothing, values) + unwound_sort(NULL);
    return depth ? sum + unwound_work(depth - 1) : sum;
}
