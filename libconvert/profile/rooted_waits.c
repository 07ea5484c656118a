#include "rooted_waits.h"

#include "libconvert/base/memory.h"
#include "weighed_sample.h"

/* Functions that a thread enters once, and leaves when it ends. A goroutine or a coroutine begins with others: the
 * thread waits outside of it. */
static const struct text start_names[] = {
    TEXT("_start"),
    TEXT("__libc_start_main"),
    TEXT("__libc_start_main_impl"),
    TEXT("__libc_start_call_main"),
    TEXT("main"),
    TEXT("clone"),
    TEXT("__clone"),
    TEXT("clone3"),
    TEXT("__clone3"),
    TEXT("start_thread"),
    TEXT("ret_from_fork"),
    TEXT("ret_from_fork_asm"),
    TEXT("kthread"),
};

/* The only frames of samples that have no stack otherwise. */
static const struct text bare_names[] = {TEXT("(waits)"), PREEMPTED_FRAME, TEXT("(not sampled)")};

static struct text name_of(const struct profile *profile, stack_id id) {
    func_id func = profile_frame_at(profile, profile_stack_at(profile, id)->frame)->func;
    return strings_text(&profile->strings, profile_func_at(profile, func)->name);
}

static bool is_among(struct text name, const struct text *names, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (text_equal(name, names[i])) return true;
    return false;
}

static bool is_start(const struct profile *profile, stack_id id) {
    struct text name = name_of(profile, id);
    name = text_slice(name, 0, text_find(name, '@')); /* "__libc_start_main@@GLIBC_2.34" */
    return is_among(name, start_names, sizeof start_names / sizeof *start_names);
}

static bool is_bare(const struct profile *profile, const struct sample *sample) {
    return !stack_is_none(sample->stack) && stack_is_none(profile_stack_at(profile, sample->stack)->prefix) &&
           is_among(name_of(profile, sample->stack), bare_names, sizeof bare_names / sizeof *bare_names);
}

/* Returns the outermost part of each stack that consists of such functions, which may be none; NULL if memory ran out
 * (latched). */
static stack_id *find_starts(struct profile *profile) {
    uint32_t count = stack_table_count(&profile->stacks);
    stack_id *starts = memory_allocate(profile->failure, (count + 1) * sizeof *starts);
    for (uint32_t i = 0; starts && i < count; i++) {
        stack_id prefix = profile_stack_at(profile, (stack_id){i})->prefix;
        stack_id before = stack_is_none(prefix) ? prefix : starts[prefix.index];
        bool begins = stack_is_same(before, prefix) && is_start(profile, (stack_id){i});
        starts[i] = begins ? (stack_id){i} : before;
    }
    return starts;
}

/* Callers have lower numbers than what they call. */
static stack_id common_callers(const struct profile *profile, stack_id a, stack_id b) {
    while (!stack_is_same(a, b) && !stack_is_none(a) && !stack_is_none(b)) {
        stack_id *inner = a.index > b.index ? &a : &b;
        *inner = profile_stack_at(profile, *inner)->prefix;
    }
    return stack_is_same(a, b) ? a : stack_none();
}

/* Returns what the sample hangs below, one without a stack between the others, which may be NULL. */
static stack_id callers_of(const struct profile *profile, const struct thread *thread, const stack_id *starts,
                           const struct sample *neighbours[2], const struct sample *sample) {
    stack_id found[2];
    for (size_t i = 0; i < 2; i++) {
        bool has_stack = neighbours[i] && !stack_is_none(neighbours[i]->stack);
        found[i] = has_stack ? starts[neighbours[i]->stack.index] : stack_none();
    }
    if (neighbours[0] && neighbours[1]) return common_callers(profile, found[0], found[1]);
    const struct sample *first = neighbours[0] ? neighbours[0] : sample;
    return first->time_ns < thread->executed_ns ? stack_none() : found[neighbours[0] ? 0 : 1];
}

static void root_waits(struct profile *profile, struct thread *thread, const stack_id *starts) {
    struct samples *samples = &thread->samples;
    uint32_t count = samples_count(samples);
    for (uint32_t row = 0, end; row < count; row = end + 1) {
        for (end = row; end < count && is_bare(profile, samples_at(samples, end));) end++;
        const struct sample *neighbours[] = {row ? samples_at(samples, row - 1) : NULL,
                                             end < count ? samples_at(samples, end) : NULL};
        for (; row < end; row++) {
            struct sample *sample = samples_at(samples, row);
            stack_id callers = callers_of(profile, thread, starts, neighbours, sample);
            sample->stack = profile_stack(profile, callers, profile_stack_at(profile, sample->stack)->frame);
        }
    }
}

void profile_root_waits(struct profile *profile) {
    if (failure_is_set(profile->failure) || !profile->meta.has_waits) return;
    stack_id *starts = find_starts(profile);
    for (size_t i = 0; starts && i < profile->threads.count; i++)
        root_waits(profile, column_at(&profile->threads, i), starts);
    memory_free(starts);
}
