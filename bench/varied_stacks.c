/* Writes text of perf script as a program of many functions would make it, of any length. See bench/README.md.
 *
 * usage: varied_stacks SAMPLES THREADS FUNCTIONS > OUTPUT
 *
 * Each function calls up to eight others, the first ones more often. Between two samples, a thread returns from some of
 * its calls and makes others, so stacks share their callers with the previous stack of the thread, and some are new
 * however long the recording is. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    CALLEE_COUNT = 8,
    LIBRARY_COUNT = 60,
    DEPTH_MAX = 64,
    DEPTH_USUAL = 6,
    FUNCTION_BYTES = 512, /* bytes of a function's code */
    SITE_COUNT = 24       /* places in a function where a sample may be taken */
};

struct frame {
    uint32_t function;
    uint32_t offset;
};

struct thread {
    struct frame frames[DEPTH_MAX]; /* the outermost one first */
    unsigned depth;
};

static uint64_t state = 1;

static uint64_t mix(uint64_t number) {
    number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9u;
    number = (number ^ number >> 27) * 0x94d049bb133111ebu;
    return number ^ number >> 31;
}

static uint32_t below(uint32_t limit) { return (uint32_t)(mix(state += 0x9e3779b97f4a7c15u) % limit); }

/* Returns n with a probability of 2^-(n+1). */
static unsigned few(void) { return (unsigned)__builtin_ctzll(mix(state += 0x9e3779b97f4a7c15u) | 1ull << 40); }

static uint32_t callee_of(uint32_t function, unsigned number, uint32_t function_count) {
    return (uint32_t)(mix((uint64_t)function * CALLEE_COUNT + number + 77) % function_count);
}

static void push(struct thread *thread, uint32_t function, uint32_t site) {
    thread->frames[thread->depth++] = (struct frame){function, 16 + site * (FUNCTION_BYTES - 32) / SITE_COUNT};
}

static void run_on(struct thread *thread, uint32_t function_count) {
    unsigned returned = 1 + 2 * few();
    thread->depth = thread->depth > returned ? thread->depth - returned : 0;
    if (!thread->depth) push(thread, below(4), 0);
    unsigned depth = DEPTH_USUAL + few() * 3 - below(5);
    while (thread->depth < depth && thread->depth < DEPTH_MAX - 1) {
        unsigned number = few() / 3 % CALLEE_COUNT;
        thread->frames[thread->depth - 1].offset = 16 + number * 40;
        push(thread, callee_of(thread->frames[thread->depth - 1].function, number, function_count), 0);
    }
    push(thread, callee_of(thread->frames[thread->depth - 1].function, few() / 3 % CALLEE_COUNT, function_count),
         below(SITE_COUNT));
}

/* Names are as long as those of C++ programs: most short, some very long. */
static void write_name(uint32_t function) {
    static const char *const words[] = {"std",      "detail", "vector", "parse", "Node",      "visit",
                                        "operator", "string", "handle", "map",   "allocator", "impl",
                                        "Frame",    "read",   "append", "tree"};
    uint64_t random = mix(function + 1);
    for (unsigned left = 1 + (random % 16 ? random % 4 : random % 12); left; left--, random >>= 4) {
        fputs(words[random % 16], stdout);
        fputs("::", stdout);
    }
    printf("f%u", function);
}

static void write_sample(const struct thread *thread, uint32_t tid, uint64_t time_us) {
    printf("app 7/%u [%03u] %llu.%06llu: 1000003 cycles:P: \n", tid, tid % 4, (unsigned long long)(time_us / 1000000),
           (unsigned long long)(time_us % 1000000));
    for (unsigned i = thread->depth; i; i--) {
        const struct frame *frame = &thread->frames[i - 1];
        printf("\t%16llx ", 0x7f0000000000ull + (uint64_t)frame->function * FUNCTION_BYTES + frame->offset);
        write_name(frame->function);
        printf("+0x%x (/usr/lib/x86_64-linux-gnu/lib%u.so.1)\n", frame->offset, frame->function % LIBRARY_COUNT);
    }
    fputs("\n", stdout);
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    uint64_t sample_count = strtoull(argv[1], NULL, 10);
    uint32_t thread_count = (uint32_t)atoi(argv[2]), function_count = (uint32_t)atoi(argv[3]);
    if (setvbuf(stdout, NULL, _IOFBF, 1 << 20)) return 1;
    struct thread *threads = calloc(thread_count, sizeof *threads);
    if (!threads) return 1;
    for (uint64_t i = 0; i < sample_count; i++) {
        uint32_t number = below(thread_count);
        run_on(&threads[number], function_count);
        write_sample(&threads[number], 7 + number, i * 10);
    }
    free(threads);
    return fflush(stdout) == 0 ? 0 : 1;
}
