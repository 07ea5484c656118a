/* Threads that share a lock, and work a little with and a little without it. Threads wait for the lock nearly every
 * time.
 *
 * Reading a clock takes long while other threads use the same processor. So only few units of work are measured. The
 * steps of the others are taken to last as long. */
#include <stdbool.h>

#include "workers.h"

enum { UPDATE_US = 20, PREPARE_US = 30, MEASURED_PART = 16 };
enum { UPDATE_SHARED, PREPARE_NEXT };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile uint64_t shared_sum;

__attribute__((noinline)) static void update_shared(uint64_t steps) { shared_sum = work(shared_sum, steps); }

__attribute__((noinline)) static uint64_t prepare_next(uint64_t value, uint64_t steps) { return work(value, steps); }

/* How many steps one function did: in all, and while it was measured. */
struct steps {
    uint64_t all;
    uint64_t measured;
    uint64_t measured_ns;
};

/* start_ns: when the steps began; 0: they were not measured. */
static void add_steps(struct steps *steps, const struct measure *measure, uint64_t count, uint64_t start_ns) {
    steps->all += count;
    if (!start_ns) return;
    steps->measured_ns += span_ns(measure, start_ns, thread_ns());
    steps->measured += count;
}

static uint64_t all_ns(const struct steps *steps) {
    return (uint64_t)((double)steps->measured_ns / (double)steps->measured * (double)steps->all);
}

static void *run(void *argument) {
    struct worker *worker = argument;
    struct measure *measure = &worker->measure;
    struct steps update = {0}, prepare = {0};
    uint64_t value = worker->seed;
    measure_begin(measure, worker->seed);
    for (uint64_t i = 0; i % MEASURED_PART || thread_ns() < worker->end_ns; i++) {
        uint64_t update_steps = about(measure, UPDATE_US * STEPS_PER_US);
        uint64_t prepare_steps = about(measure, PREPARE_US * STEPS_PER_US);
        bool is_measured = i % MEASURED_PART == 1;
        pthread_mutex_lock(&lock);
        uint64_t start_ns = is_measured ? thread_ns() : 0;
        update_shared(update_steps);
        add_steps(&update, measure, update_steps, start_ns);
        pthread_mutex_unlock(&lock);
        start_ns = is_measured ? thread_ns() : 0;
        value = prepare_next(value, prepare_steps);
        add_steps(&prepare, measure, prepare_steps, start_ns);
    }
    measure->ns[UPDATE_SHARED] = all_ns(&update);
    measure->ns[PREPARE_NEXT] = all_ns(&prepare);
    measure_end(measure);
    return NULL;
}

int main(int count, char **arguments) {
    static const char *const names[] = {"update_shared", "prepare_next"};
    return run_workers(run, wanted_ns(count, arguments), names, sizeof names / sizeof *names);
}
