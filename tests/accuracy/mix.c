/* Five functions in each of four threads. A unit of work takes equally long in all of them, and their numbers of units
 * are their shares: 40, 25, 20, 10 and 5 %. */
#include "workers.h"

enum { UNIT_US = 2000, UNIT_COUNT = 20 };
enum { PARSE, PLAN, FILTER, SORT, PRINT, FUNCTION_COUNT };

static volatile uint64_t sum;

__attribute__((noinline)) static void parse(uint64_t steps) { sum = work(1, steps); }

__attribute__((noinline)) static void plan(uint64_t steps) { sum = work(2, steps); }

__attribute__((noinline)) static void filter(uint64_t steps) { sum = work(3, steps); }

__attribute__((noinline)) static void sort(uint64_t steps) { sum = work(4, steps); }

__attribute__((noinline)) static void print(uint64_t steps) { sum = work(5, steps); }

static const struct {
    void (*run)(uint64_t steps);
    uint64_t unit_count; /* this program's part of UNIT_COUNT */
} functions[FUNCTION_COUNT] = {
    [PARSE] = {parse, 8}, [PLAN] = {plan, 5}, [FILTER] = {filter, 4}, [SORT] = {sort, 2}, [PRINT] = {print, 1}};

/* The last round is whole, so that the shares are exact. */
static void *run(void *argument) {
    struct worker *worker = argument;
    struct measure *measure = &worker->measure;
    measure_begin(measure, worker->seed);
    while (thread_ns() < worker->end_ns) {
        uint64_t steps = about(measure, UNIT_US * STEPS_PER_US);
        for (int i = 0; i < FUNCTION_COUNT; i++) functions[i].run(steps * functions[i].unit_count);
    }
    measure_end(measure);
    for (int i = 0; i < FUNCTION_COUNT; i++) measure->ns[i] = measure->total_ns * functions[i].unit_count / UNIT_COUNT;
    return NULL;
}

int main(int count, char **arguments) {
    static const char *const names[] = {"parse", "plan", "filter", "sort", "print"};
    return run_workers(run, wanted_ns(count, arguments), names, sizeof names / sizeof *names);
}
