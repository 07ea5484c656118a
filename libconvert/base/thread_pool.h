/* A few threads that run jobs. Any thread may submit jobs and wait for them; a thread that waits runs jobs meanwhile.
 *
 * Jobs begin in the order in which they were submitted. A pool whose threads cannot be started works too: whoever waits
 * for a job runs it. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { THREAD_POOL_HELPERS_MAX = 16 };

/* Runs in any thread. `helper` is the number of the pool's thread, from 1 on, or 0 in a thread that waits. */
typedef void thread_job_run(void *context, unsigned helper);

/* Belongs to the caller. It must stay in place until it has been awaited or the pool has ended. */
struct thread_job {
    thread_job_run *run;
    void *context;
    uint64_t number; /* how many jobs were submitted earlier */
    struct thread_job *next;
    bool is_done; /* guarded by the pool's mutex */
};

struct thread_pool {
    pthread_mutex_t mutex; /* guards the members below */
    pthread_cond_t has_job;
    pthread_cond_t has_done;
    struct thread_job *first; /* the queue of jobs that nobody has begun */
    struct thread_job **end;
    unsigned queued_count;
    uint64_t submitted_count;
    pthread_t helpers[THREAD_POOL_HELPERS_MAX];
    unsigned helper_limit;
    unsigned helper_count;
    unsigned numbered_count; /* helpers that have their numbers */
    unsigned idle_count;     /* helpers without a job */
    unsigned waiting_count;  /* threads that wait for a job and have nothing else to run */
    bool is_ending;
};

/* At most thread_count threads run jobs, including the one that waits. Threads start when they are needed. */
void thread_pool_init(struct thread_pool *pool, unsigned thread_count);

/* Drops the jobs that nobody has begun, and waits for the others. */
void thread_pool_fini(struct thread_pool *pool);

/* Changes the number of threads. Call it before the first one has started. */
void thread_pool_set_limit(struct thread_pool *pool, unsigned thread_count);

void thread_pool_submit(struct thread_pool *pool, struct thread_job *job, thread_job_run *run, void *context);

/* Waits until the job is done. Meanwhile the calling thread runs this job or later ones, never an earlier one, so a job
 * may wait for jobs that it has submitted. */
void thread_pool_await(struct thread_pool *pool, const struct thread_job *job);

/* Runs the oldest job that nobody has begun. Returns false if there is none. */
bool thread_pool_help(struct thread_pool *pool);

/* Returns how many more jobs would find a thread that has nothing to do. */
unsigned thread_pool_spare_count(struct thread_pool *pool);

/* Starts a thread that runs the function and takes none of the program's signals, since the program's handlers may
 * expect a thread of its own. Signals that report a fault of the thread itself are not blocked. Returns false if the
 * system cannot start one more thread; otherwise the caller joins it. */
bool thread_start(pthread_t *thread, void *(*run)(void *context), void *context);
