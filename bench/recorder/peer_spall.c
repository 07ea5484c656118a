/* Measures spall.h. Begin and end of a span are one event each. It has no other kind of event. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <spall.h>
#include "lap.h"

enum { BUFFER_BYTES = 1 << 20 };

static SpallProfile profile;

static int start(const char *folder) {
    char path[1024];
    snprintf(path, sizeof path, "%s/trace.spall", folder);
    return !spall_init_file(path, 1, &profile);
}

static void finish(void) { spall_quit(&profile); }

/* Follows spall's example for threads: each thread has a buffer and writes it when it is full. */
static void run_span(uint64_t count) {
    static __thread SpallBuffer buffer;
    uint64_t index;
    if (!buffer.data) {
        buffer.length = BUFFER_BYTES;
        buffer.data = calloc(1, BUFFER_BYTES);
        buffer.tid = (uint32_t)syscall(SYS_gettid);
        if (!buffer.data || !spall_buffer_init(&profile, &buffer)) abort();
    }
    for (index = 0; index < count / 2; index++) {
        spall_buffer_begin(&profile, &buffer, "tick", 4, __builtin_ia32_rdtsc());
        spall_buffer_end(&profile, &buffer, __builtin_ia32_rdtsc());
    }
    spall_buffer_flush(&profile, &buffer);
}

static const struct lap_case cases[] = {{"span", start, run_span, finish, 1000000, 0}};

int main(int argc, char **argv) { return lap_main(argc, argv, cases, sizeof cases / sizeof cases[0]); }
