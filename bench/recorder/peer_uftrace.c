/* Measures uftrace: calls of a function compiled with -pg. Each call is two records. */
#include "lap.h"

static __attribute__((noinline)) void called(void) { lap_barrier(); }

static void run_call(uint64_t count) {
    uint64_t index;
    for (index = 0; index < count; index++) called();
}

static const struct lap_case cases[] = {{"call", NULL, run_call, NULL, 100000, 0}};

int main(int argc, char **argv) { return lap_main(argc, argv, cases, sizeof cases / sizeof cases[0]); }
