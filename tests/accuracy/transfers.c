/* Checksums and system calls that transfer data: a checksum of each block before its `write`, which the kernel drops at
 * once, or with a second argument many `read` of 64 kB of zeros, and then many checksums.
 *
 * As in calls.c, the difference between blocks with and without calls is what the calls took. Long calls have none
 * between them: after a call that fills the cache, a checksum takes twice as long as without, so the difference would
 * be wrong. The kernel's own division into user and system time is no truth, because it too is sampled by clock ticks.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

#include "measure.h"

enum { SENT_BYTES = 4096, FETCHED_BYTES = 65536, DIGESTED_BYTES = 64 };
enum { CHECKSUM, TRANSFER };

/* How a round is made up. Rounds with calls and without take several milliseconds each, so that of two clock ticks, one
 * falls into each kind: the count of ticks then varies less than by chance. */
struct shape {
    const char *name; /* name of the function that makes the call */
    void (*transfer)(struct measure *measure);
    bool has_sums;      /* there is a checksum before each call */
    size_t bytes_count; /* bytes for each checksum */
    uint64_t call_count;
    uint64_t alone_count; /* checksums without a call */
};

static volatile uint32_t sum;
static int file;
static unsigned char block[FETCHED_BYTES];

__attribute__((noinline)) static void checksum(size_t bytes_count) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < bytes_count; i++) hash = (hash ^ block[i]) * 16777619u;
    sum = hash;
}

static void count_if_cut(struct measure *measure, ssize_t done, ssize_t wanted) {
    if (done < wanted) measure->cut_count++;
}

__attribute__((noinline)) static void send_block(struct measure *measure) {
    count_if_cut(measure, write(file, block, SENT_BYTES), SENT_BYTES);
}

__attribute__((noinline)) static void fetch_block(struct measure *measure) {
    count_if_cut(measure, read(file, block, FETCHED_BYTES), FETCHED_BYTES);
}

__attribute__((noinline)) static void transfer(struct measure *measure, const struct shape *shape,
                                               uint64_t call_count) {
    for (uint64_t i = 0; i < call_count; i++) {
        if (shape->has_sums) checksum(shape->bytes_count);
        shape->transfer(measure);
    }
}

__attribute__((noinline)) static void sum_alone(const struct shape *shape, uint64_t alone_count) {
    for (uint64_t i = 0; i < alone_count; i++) checksum(shape->bytes_count);
}

int main(int count, char **arguments) {
    static const struct shape sending = {"send_block", send_block, true, SENT_BYTES, 1000, 500};
    static const struct shape fetching = {"fetch_block", fetch_block, false, DIGESTED_BYTES, 5000, 100000};
    const struct shape *shape = count > 2 ? &fetching : &sending;
    const char *const names[] = {"checksum", shape->name};
    uint64_t end_ns = wanted_ns(count, arguments), calls_ns = 0, alone_ns = 0, paired_count = 0, alone_count = 0;
    struct measure measure;
    file = count > 2 ? open("/dev/zero", O_RDONLY) : open("/dev/null", O_WRONLY);
    if (file < 0) return 1;
    measure_begin(&measure, 3);
    while (thread_ns() < end_ns) {
        uint64_t calls = about(&measure, shape->call_count), start_ns = thread_ns();
        transfer(&measure, shape, calls);
        uint64_t done_ns = thread_ns();
        uint64_t sums = about(&measure, shape->alone_count), begun_ns = thread_ns();
        sum_alone(shape, sums);
        alone_ns += thread_ns() - begun_ns;
        calls_ns += done_ns - start_ns;
        if (shape->has_sums) paired_count += calls;
        alone_count += sums;
    }
    uint64_t sums_ns = (uint64_t)((double)alone_ns / (double)alone_count * (double)paired_count);
    measure.ns[CHECKSUM] = alone_ns + sums_ns;
    measure.ns[TRANSFER] = calls_ns > sums_ns ? calls_ns - sums_ns : 0;
    measure_end(&measure);
    measure_print(&measure, names, sizeof names / sizeof *names);
    return 0;
}
