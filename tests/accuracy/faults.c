/* Touches fresh memory, whose pages the kernel clears and maps in page faults, and computes. The kernel works here
 * although no system call was made. With a second argument, pages are large if the system has them. */
#include <sys/mman.h>

#include "measure.h"

enum { PAGE_BYTES = 4096, COMPUTE_US = 10000 };
enum { TOUCH, COMPUTE, RELEASE };

static const size_t FRESH_BYTES = (size_t)32 << 20;

static volatile uint64_t sum;

__attribute__((noinline)) static void touch(volatile char *memory, size_t bytes_count) {
    for (size_t i = 0; i < bytes_count; i += PAGE_BYTES) memory[i] = 1;
}

__attribute__((noinline)) static void compute(uint64_t steps) { sum = work(sum, steps); }

__attribute__((noinline)) static void release(void *memory) { munmap(memory, FRESH_BYTES); }

int main(int count, char **arguments) {
    static const char *const names[] = {"touch", "compute", "release"};
    uint64_t end_ns = wanted_ns(count, arguments);
    struct measure measure;
    measure_begin(&measure, 5);
    for (uint64_t start_ns = thread_ns(); start_ns < end_ns;) {
        void *memory = mmap(NULL, FRESH_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) return 1;
        madvise(memory, FRESH_BYTES, count > 2 ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
        uint64_t mapped_ns = thread_ns();
        touch(memory, about(&measure, FRESH_BYTES / 2));
        uint64_t touched_ns = thread_ns();
        compute(about(&measure, COMPUTE_US * STEPS_PER_US));
        uint64_t computed_ns = thread_ns();
        release(memory);
        start_ns = thread_ns();
        measure.ns[TOUCH] += span_ns(&measure, mapped_ns, touched_ns);
        measure.ns[COMPUTE] += span_ns(&measure, touched_ns, computed_ns);
        measure.ns[RELEASE] += span_ns(&measure, computed_ns, start_ns);
    }
    measure_end(&measure);
    measure_print(&measure, names, sizeof names / sizeof *names);
    return 0;
}
