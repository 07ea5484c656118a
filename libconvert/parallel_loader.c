#include "parallel_loader.h"

#include <pthread.h>

#include "libconvert/base/memory.h"
#include "libconvert/base/thread_pool.h"

enum { PERMILLE = 1000 };

struct group;

/* One loader. Its progress_root makes the group's progress the sum of all. */
struct member {
    struct thread_job job;
    struct group *group;
    struct input_loader *loader; /* borrowed */
    struct progress_root root;
    struct gecko_convert_progress told; /* guarded by the mutex */
    bool is_begun;                      /* guarded by the mutex */
    bool is_ended;                      /* guarded by the mutex */
};

struct group {
    struct member *members; /* owned */
    size_t member_count;
    struct progress progress;
    struct failure *failure; /* borrowed; only the calling thread uses it */
    pthread_t caller;
    struct loaded loaded;
    size_t taken_count; /* only the calling thread uses it */
    struct thread_pool pool;

    pthread_mutex_t mutex; /* guards the members below */
    pthread_cond_t has_news;
    size_t ended_count;
    size_t first_failed; /* member_count: none has failed */
    bool is_cancelled;
};

/* ---- Progress. ---- */

/* Reports the progress of all members. Call it in the calling thread with the mutex held. It releases the mutex during
 * the callback, which may do anything. */
static void report(struct group *group) {
    struct gecko_convert_progress sum = {0};
    bool is_size_known = true;
    for (size_t i = 0; i < group->member_count; i++) {
        if (!group->members[i].is_begun) continue;
        const struct gecko_convert_progress *told = &group->members[i].told;
        sum.permille += told->permille;
        sum.read_bytes += told->read_bytes;
        sum.total_bytes += told->total_bytes;
        is_size_known = is_size_known && told->total_bytes;
    }
    pthread_mutex_unlock(&group->mutex);
    progress_tell_source(group->progress, sum.read_bytes, is_size_known ? sum.total_bytes : 0);
    progress_report(group->progress, sum.permille, group->member_count * PERMILLE);
    pthread_mutex_lock(&group->mutex);
    group->is_cancelled = failure_is_set(group->failure);
}

/* Call it with the mutex locked. Returns false if the member comes after one that has failed, or all are cancelled. */
static bool may_go_on(const struct member *member) {
    const struct group *group = member->group;
    return !group->is_cancelled && (size_t)(member - group->members) <= group->first_failed;
}

/* A gecko_convert_progress_callback. */
static bool take_progress(void *context, const struct gecko_convert_progress *told) {
    struct member *member = context;
    struct group *group = member->group;
    pthread_mutex_lock(&group->mutex);
    member->told = *told;
    if (pthread_equal(pthread_self(), group->caller))
        report(group);
    else
        pthread_cond_signal(&group->has_news);
    bool continues = may_go_on(member);
    pthread_mutex_unlock(&group->mutex);
    return continues;
}

/* ---- Reading. ---- */

/* Call it with the mutex locked. */
static void note_failure(struct group *group, size_t number) {
    bool has_failed = failure_is_set(group->members[number].loader->profile->failure);
    if (has_failed && number < group->first_failed) group->first_failed = number;
}

/* A thread_job_run. */
static void run_member(void *context, unsigned helper) {
    struct member *member = context;
    struct group *group = member->group;
    (void)helper;
    pthread_mutex_lock(&group->mutex);
    bool is_begun = member->is_begun = may_go_on(member);
    pthread_mutex_unlock(&group->mutex);
    if (is_begun) {
        input_loader_read(member->loader);
        input_loader_symbolize(member->loader);
    }
    pthread_mutex_lock(&group->mutex);
    note_failure(group, (size_t)(member - group->members));
    member->told.permille = PERMILLE;
    member->is_ended = true;
    group->ended_count++;
    pthread_cond_signal(&group->has_news);
    pthread_mutex_unlock(&group->mutex);
}

/* Takes the next inputs that have ended. Call it in the calling thread with the mutex held. It releases the mutex while
 * it takes an input. */
static void take_ended(struct group *group) {
    for (size_t next; (next = group->taken_count) < group->first_failed && group->members[next].is_ended;) {
        pthread_mutex_unlock(&group->mutex);
        if (!failure_is_set(group->failure)) group->loaded.take(group->loaded.context, next);
        group->taken_count++;
        pthread_mutex_lock(&group->mutex);
        note_failure(group, next);
    }
}

static bool help(struct group *group) {
    bool has_helped = thread_pool_help(&group->pool);
    pthread_mutex_lock(&group->mutex);
    take_ended(group);
    pthread_mutex_unlock(&group->mutex);
    return has_helped;
}

static void run(struct group *group) {
    for (size_t i = 0; i < group->member_count; i++)
        thread_pool_submit(&group->pool, &group->members[i].job, run_member, &group->members[i]);
    while (help(group)) {
    }
    pthread_mutex_lock(&group->mutex);
    while (group->ended_count < group->member_count) {
        report(group);
        take_ended(group);
        if (group->ended_count < group->member_count) pthread_cond_wait(&group->has_news, &group->mutex);
    }
    take_ended(group);
    pthread_mutex_unlock(&group->mutex);
}

static void begin_members(struct group *group, struct input_loader *loaders, unsigned jobs_per_loader) {
    for (size_t i = 0; i < group->member_count; i++) {
        struct member *member = &group->members[i];
        *member = (struct member){.group = group, .loader = &loaders[i]};
        member->root = (struct progress_root){.callback = take_progress, .context = member};
        loaders[i].progress = progress_whole(&member->root);
        loaders[i].job_count = jobs_per_loader;
    }
}

void parallel_loader_run(struct input_loader *loaders, size_t loader_count, unsigned job_count, struct loaded loaded,
                         struct progress progress, struct failure *failure) {
    struct group group = {.member_count = loader_count,
                          .first_failed = loader_count,
                          .progress = progress,
                          .loaded = loaded,
                          .failure = failure,
                          .caller = pthread_self()};
    unsigned thread_count = job_count < loader_count ? job_count : (unsigned)loader_count;
    group.members = memory_allocate_zeroed(failure, loader_count, sizeof *group.members);
    if (!group.members) return;
    begin_members(&group, loaders, job_count / thread_count);
    pthread_mutex_init(&group.mutex, NULL);
    pthread_cond_init(&group.has_news, NULL);
    thread_pool_init(&group.pool, thread_count);
    run(&group);
    thread_pool_fini(&group.pool);
    bool has_failed = group.first_failed < loader_count;
    if (has_failed && !failure_is_set(failure)) *failure = *loaders[group.first_failed].profile->failure;
    pthread_mutex_destroy(&group.mutex);
    pthread_cond_destroy(&group.has_news);
    memory_free(group.members);
}
