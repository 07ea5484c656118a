/* Requests that each take a fraction of a millisecond, and a wait after each. The scheduler and the clocks of the wait
 * use a good part of the processor time. */
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "measure.h"

enum { REQUEST_US = 200, WAIT_NS = 700000 };
enum { HANDLE_REQUEST, AWAIT_REQUEST };

static volatile uint64_t sum;
static int silent_pipe[2];

__attribute__((noinline)) static void handle_request(uint64_t steps) { sum = work(sum, steps); }

__attribute__((noinline)) static void await_request(struct measure *measure, uint64_t ns) {
    struct pollfd pipe_end = {.fd = silent_pipe[0], .events = POLLIN};
    const struct timespec time = {.tv_nsec = (long)ns};
    if (ppoll(&pipe_end, 1, &time, NULL) < 0 && errno == EINTR) measure->cut_count++;
}

int main(int count, char **arguments) {
    static const char *const names[] = {"handle_request", "await_request"};
    uint64_t end_ns = wanted_ns(count, arguments);
    struct measure measure;
    if (pipe(silent_pipe) != 0) return 1;
    measure_begin(&measure, 1);
    for (uint64_t start_ns = thread_ns(); start_ns < end_ns;) {
        handle_request(about(&measure, REQUEST_US * STEPS_PER_US));
        uint64_t handled_ns = thread_ns();
        await_request(&measure, about(&measure, WAIT_NS));
        uint64_t awaited_ns = thread_ns();
        measure.ns[HANDLE_REQUEST] += span_ns(&measure, start_ns, handled_ns);
        measure.ns[AWAIT_REQUEST] += span_ns(&measure, handled_ns, awaited_ns);
        start_ns = awaited_ns;
    }
    measure_end(&measure);
    measure_print(&measure, names, sizeof names / sizeof *names);
    return 0;
}
