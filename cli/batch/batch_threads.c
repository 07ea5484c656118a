#include "batch_threads.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/ending_signals.h"
#include "libconvert/base/monotonic_clock.h"

enum { TICK_MS = 100, GRACE_NS = 300000000, THREADS_MAX = 1024 };

/* One thread. It stays in place until the thread has finished. */
struct worker {
    pthread_t thread;
    batch_threads_work *work;
    void *context;
    unsigned number;
    int finished;
};

void batch_threads_init(struct batch_threads *threads, struct failure *failure) {
    /* If ignored signals were blocked, they would be delivered through the descriptor. */
    *threads = (struct batch_threads){.signals = -1, .finished = -1, .blocked = ending_signals_get()};
    pthread_sigmask(SIG_BLOCK, &threads->blocked, NULL);
    threads->signals = signalfd(-1, &threads->blocked, SFD_CLOEXEC | SFD_NONBLOCK);
    threads->finished = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (threads->signals < 0 || threads->finished < 0)
        failure_set(failure, FAILURE_IO, "cannot wait for threads: %s", strerror(errno));
}

/* ---- Running. ---- */

static void *run_worker(void *argument) {
    struct worker *worker = argument;
    worker->work(worker->context, worker->number);
    uint64_t one = 1;
    ssize_t written = write(worker->finished, &one, sizeof one);
    (void)written; /* an eventfd counts up to 2^64 - 2 */
    return NULL;
}

/* Returns the number of threads that were started. */
static unsigned start_workers(const struct batch_threads *threads, batch_threads_work *work, void *context,
                              struct worker *workers, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        workers[i] = (struct worker){.work = work, .context = context, .number = i, .finished = threads->finished};
        if (pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]) != 0) return i;
    }
    return count;
}

/* Returns 0 if there is none. */
static int read_signal(int signals) {
    struct signalfd_siginfo info;
    return read(signals, &info, sizeof info) == sizeof info ? (int)info.ssi_signo : 0;
}

/* Signals that arrived after all threads finished are dropped. */
void batch_threads_fini(struct batch_threads *threads) {
    while (threads->signals >= 0 && read_signal(threads->signals)) {
    }
    if (threads->signals >= 0) close(threads->signals);
    if (threads->finished >= 0) close(threads->finished);
    pthread_sigmask(SIG_UNBLOCK, &threads->blocked, NULL);
}

static void take_signal(struct batch_threads *threads) {
    int number = read_signal(threads->signals);
    if (!number) return;
    if (!threads->ended_by) threads->ended_by = number;
    atomic_store(&threads->is_stopping, true);
}

static unsigned take_finished(struct batch_threads *threads) {
    uint64_t count = 0;
    return read(threads->finished, &count, sizeof count) == sizeof count ? (unsigned)count : 0;
}

static bool wait_for_all(struct batch_threads *threads, unsigned running, batch_threads_tick *tick,
                         void *tick_context) {
    uint64_t deadline_ns = 0;
    while (running) {
        struct pollfd waited[] = {{.fd = threads->finished, .events = POLLIN},
                                  {.fd = threads->signals, .events = POLLIN}};
        poll(waited, 2, TICK_MS);
        running -= take_finished(threads);
        take_signal(threads);
        if (tick && !threads->ended_by) tick(tick_context);
        if (!threads->ended_by) continue;
        if (!deadline_ns) deadline_ns = monotonic_now_ns() + GRACE_NS;
        if (running && monotonic_now_ns() >= deadline_ns) return false;
    }
    return true;
}

bool batch_threads_run(struct batch_threads *threads, unsigned count, batch_threads_work *work, void *context,
                       batch_threads_tick *tick, void *tick_context, struct failure *failure) {
    take_signal(threads);
    if (failure_is_set(failure) || threads->ended_by) return true;
    if (count > THREADS_MAX) count = THREADS_MAX;
    struct worker *workers = malloc(count * sizeof *workers);
    unsigned started = workers ? start_workers(threads, work, context, workers, count) : 0;
    if (!started) failure_set(failure, FAILURE_MEMORY, "memory ran out: no thread can be started");
    if (!wait_for_all(threads, started, tick, tick_context)) return false;
    for (unsigned i = 0; i < started; i++) pthread_join(workers[i].thread, NULL);
    free(workers);
    return true;
}
