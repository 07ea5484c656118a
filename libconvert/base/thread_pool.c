#include "thread_pool.h"

#include <signal.h>
#include <stddef.h>

bool thread_start(pthread_t *thread, void *(*run)(void *context), void *context) {
    static const int faults[] = {SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP};
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(&blocked, faults[i]);
    /* The new thread inherits this mask, so it takes no signals but faults. */
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    bool is_started = pthread_create(thread, NULL, run, context) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return is_started;
}

/* ---- Jobs. Call these functions with the mutex locked. ---- */

/* Takes the oldest job with at least that number from the queue. Returns NULL if there is none. */
static struct thread_job *take(struct thread_pool *pool, uint64_t number) {
    struct thread_job **at = &pool->first;
    while (*at && (*at)->number < number) at = &(*at)->next;
    struct thread_job *job = *at;
    if (!job) return NULL;
    *at = job->next;
    if (!*at) pool->end = at;
    pool->queued_count--;
    return job;
}

/* Unlocks the mutex meanwhile. Afterwards the job may be gone. */
static void run_job(struct thread_pool *pool, struct thread_job *job, unsigned helper) {
    pthread_mutex_unlock(&pool->mutex);
    job->run(job->context, helper);
    pthread_mutex_lock(&pool->mutex);
    job->is_done = true;
    pthread_cond_broadcast(&pool->has_done);
}

static bool run_next(struct thread_pool *pool, uint64_t number) {
    struct thread_job *job = take(pool, number);
    if (job) run_job(pool, job, 0);
    return job;
}

/* ---- Helpers. ---- */

static void *help(void *context) {
    struct thread_pool *pool = context;
    pthread_mutex_lock(&pool->mutex);
    unsigned number = ++pool->numbered_count;
    while (!pool->is_ending) {
        struct thread_job *job = take(pool, 0);
        if (job) {
            pool->idle_count--;
            run_job(pool, job, number);
            pool->idle_count++;
        } else {
            pthread_cond_wait(&pool->has_job, &pool->mutex);
        }
    }
    pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

/* Call it with the mutex locked. After the system has refused a thread, none is tried again. */
static void start_helper(struct thread_pool *pool) {
    if (thread_start(&pool->helpers[pool->helper_count], help, pool)) {
        pool->helper_count++;
        pool->idle_count++;
    } else {
        pool->helper_limit = pool->helper_count;
    }
}

/* ---- The pool. ---- */

void thread_pool_set_limit(struct thread_pool *pool, unsigned thread_count) {
    unsigned helper_count = thread_count ? thread_count - 1 : 0;
    pool->helper_limit = helper_count < THREAD_POOL_HELPERS_MAX ? helper_count : THREAD_POOL_HELPERS_MAX;
}

void thread_pool_init(struct thread_pool *pool, unsigned thread_count) {
    *pool = (struct thread_pool){.end = &pool->first};
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->has_job, NULL);
    pthread_cond_init(&pool->has_done, NULL);
    thread_pool_set_limit(pool, thread_count);
}

void thread_pool_fini(struct thread_pool *pool) {
    pthread_mutex_lock(&pool->mutex);
    pool->is_ending = true;
    pthread_cond_broadcast(&pool->has_job);
    pthread_mutex_unlock(&pool->mutex);
    for (unsigned i = 0; i < pool->helper_count; i++) pthread_join(pool->helpers[i], NULL);
    pthread_mutex_destroy(&pool->mutex);
    pthread_cond_destroy(&pool->has_job);
    pthread_cond_destroy(&pool->has_done);
}

void thread_pool_submit(struct thread_pool *pool, struct thread_job *job, thread_job_run *run, void *context) {
    pthread_mutex_lock(&pool->mutex);
    *job = (struct thread_job){.run = run, .context = context, .number = pool->submitted_count++};
    *pool->end = job;
    pool->end = &job->next;
    if (++pool->queued_count > pool->idle_count && pool->helper_count < pool->helper_limit) start_helper(pool);
    pthread_cond_signal(&pool->has_job);
    if (pool->waiting_count) pthread_cond_broadcast(&pool->has_done);
    pthread_mutex_unlock(&pool->mutex);
}

void thread_pool_await(struct thread_pool *pool, const struct thread_job *job) {
    pthread_mutex_lock(&pool->mutex);
    while (!job->is_done) {
        if (run_next(pool, job->number)) continue;
        pool->waiting_count++;
        pthread_cond_wait(&pool->has_done, &pool->mutex);
        pool->waiting_count--;
    }
    pthread_mutex_unlock(&pool->mutex);
}

bool thread_pool_help(struct thread_pool *pool) {
    pthread_mutex_lock(&pool->mutex);
    bool has_run = run_next(pool, 0);
    pthread_mutex_unlock(&pool->mutex);
    return has_run;
}

unsigned thread_pool_spare_count(struct thread_pool *pool) {
    pthread_mutex_lock(&pool->mutex);
    unsigned free_count = pool->idle_count + pool->waiting_count + pool->helper_limit - pool->helper_count;
    unsigned spare_count = free_count > pool->queued_count ? free_count - pool->queued_count : 0;
    pthread_mutex_unlock(&pool->mutex);
    return spare_count;
}
