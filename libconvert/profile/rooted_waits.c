#include "rooted_waits.h"

#include "cut_stacks.h"
#include "libconvert/base/memory.h"
#include "weighed_sample.h"

#define GOROUTINE_START "runtime.goexit"

/* Functions that a thread enters once, callers first, and leaves when it ends. A coroutine begins with others: the
 * thread waits outside of it. Go's threads wait in the scheduler. Once a thread has run a goroutine, only goroutines
 * call the scheduler, so its callers are the functions with which all of them begin. */
static const struct text start_names[] = {
    TEXT(TRUNCATED_STACK_NAME), /* whatever it stands for */
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
    TEXT("ret_from_fork_asm"),
    TEXT("ret_from_fork"),
    TEXT("kthread"),
    TEXT(GOROUTINE_START),
};

/* The innermost frames of samples that have no stack otherwise; of waits, the name may go on: "(waits in futex)". */
static const struct text bare_names[] = {PREEMPTED_FRAME, TEXT("(not sampled)")};
static const struct text wait_start = TEXT("(waits");
enum { NOT_BARE, BARE_PREEMPTED, BARE_NOT_SAMPLED, BARE_WAIT };

static const struct frame *frame_at(const struct profile *profile, stack_id id) {
    return profile_frame_at(profile, profile_stack_at(profile, id)->frame);
}

/* Returns the place of the function's name among these, from 1 on; 0: it is not there. */
static uint8_t find_name(const struct profile *profile, func_id func, const struct text *names, size_t count) {
    struct text name = strings_text(&profile->strings, profile_func_at(profile, func)->name);
    name = text_slice(name, 0, text_find(name, '@')); /* "__libc_start_main@@GLIBC_2.34" */
    for (size_t i = 0; i < count; i++)
        if (text_equal(name, names[i])) return (uint8_t)(i + 1);
    return 0;
}

/* The outermost part of a stack that consists of such functions. */
struct start {
    stack_id stack; /* its functions, without lines; none: the stack begins with another function */
    uint8_t place;  /* place of the innermost one among their names; 0: there is none */
    bool is_whole;  /* the stack has no other functions */
};

/* Returns the start of each stack; NULL if memory ran out (latched). */
static struct start *find_starts(struct profile *profile) {
    uint32_t count = stack_table_count(&profile->stacks);
    struct start *starts = memory_allocate(profile->failure, (count + 1) * sizeof *starts);
    for (uint32_t i = 0; starts && i < count; i++) {
        stack_id prefix = profile_stack_at(profile, (stack_id){i})->prefix;
        bool is_root = stack_is_none(prefix);
        struct start before = is_root ? (struct start){stack_none(), 0, true} : starts[prefix.index];
        const struct frame *frame = frame_at(profile, (stack_id){i});
        struct frame whole = frame_of_func(frame->func, (struct category_pair){frame->category, frame->subcategory});
        uint8_t place = 0;
        if (before.is_whole)
            place = find_name(profile, frame->func, start_names, sizeof start_names / sizeof *start_names);
        starts[i] = (struct start){before.stack, before.place, false};
        if (place > before.place)
            starts[i] =
                (struct start){profile_stack(profile, before.stack, profile_frame(profile, &whole)), place, true};
    }
    return starts;
}

/* Returns why the sample is bare, or NOT_BARE. The recorder reads the stack of a thread that waits without its
 * registers, so it may end at the function that waits: such a wait is bare with its caller. */
static uint8_t bareness(const struct profile *profile, const struct start *starts, const struct sample *sample) {
    if (stack_is_none(sample->stack)) return NOT_BARE;
    const struct stack *stack = profile_stack_at(profile, sample->stack);
    bool has_caller = !stack_is_none(stack->prefix), is_trace = profile->meta.has_every_state;
    if (has_caller && (!is_trace || starts[stack->prefix.index].is_whole)) return NOT_BARE;
    if (has_caller && !stack_is_none(profile_stack_at(profile, stack->prefix)->prefix)) return NOT_BARE;
    func_id func = frame_at(profile, sample->stack)->func;
    bool is_wait = text_starts_with(strings_text(&profile->strings, profile_func_at(profile, func)->name), wait_start);
    if (is_wait) return BARE_WAIT;
    return has_caller ? NOT_BARE : find_name(profile, func, bare_names, sizeof bare_names / sizeof *bare_names);
}

/* Returns the callers that both stacks have in common. Callers have lower numbers than what they call. */
static stack_id common_callers(const struct profile *profile, stack_id a, stack_id b) {
    while (!stack_is_same(a, b) && !stack_is_none(a) && !stack_is_none(b)) {
        stack_id *inner = a.index > b.index ? &a : &b;
        *inner = profile_stack_at(profile, *inner)->prefix;
    }
    return stack_is_same(a, b) ? a : stack_none();
}

static uint32_t depth_of(const struct profile *profile, stack_id id) {
    uint32_t depth = 0;
    for (; !stack_is_none(id); id = profile_stack_at(profile, id)->prefix) depth++;
    return depth;
}

/* A row of samples without stacks, and those around it. */
struct gap {
    const struct sample *before; /* NULL: none */
    const struct sample *after;
    bool is_preempted; /* it consists of samples of a thread that is preempted */
};

static stack_id start_of(const struct start *starts, const struct sample *sample) {
    return stack_is_none(sample->stack) ? sample->stack : starts[sample->stack.index].stack;
}

/* Returns what the callers call in the stack; none: the stack ends there. */
static stack_id called_by(const struct profile *profile, stack_id callers, stack_id stack) {
    stack_id called = stack_none();
    for (; !stack_is_same(stack, callers); stack = profile_stack_at(profile, stack)->prefix) called = stack;
    return called;
}

/* Returns what both stacks have in common. If they are at different places of one function, it ends with that function,
 * without its line. */
static stack_id common_functions(struct profile *profile, stack_id a, stack_id b) {
    stack_id callers = common_callers(profile, a, b);
    stack_id in_a = called_by(profile, callers, a), in_b = called_by(profile, callers, b);
    if (stack_is_none(in_a) || stack_is_none(in_b)) return callers;
    const struct frame *frame = frame_at(profile, in_a);
    if (frame->func.index != frame_at(profile, in_b)->func.index) return callers;
    struct frame whole = frame_of_func(frame->func, (struct category_pair){frame->category, frame->subcategory});
    whole.inherits_category = frame->inherits_category;
    return profile_stack(profile, callers, profile_frame(profile, &whole));
}

/* Returns the callers of the samples in the gap. A thread is preempted wherever it is when its time is up: most likely
 * in the functions in which it is both before and after. */
static stack_id callers_of(struct profile *profile, const struct start *starts, const struct gap *gap) {
    stack_id start = common_callers(profile, start_of(starts, gap->before), start_of(starts, gap->after));
    if (!gap->is_preempted) return start;
    stack_id callers = common_functions(profile, gap->before->stack, gap->after->stack);
    return depth_of(profile, callers) < depth_of(profile, start) ? start : callers;
}

/* Returns the callers of a sample at the beginning or at the end of a thread; none if the thread executes a program
 * between the sample and its neighbour. A thread of Go may wait before its first goroutine, too. */
static stack_id callers_at_end(const struct profile *profile, const struct thread *thread, const struct start *starts,
                               const struct gap *gap, const struct sample *sample) {
    const struct sample *first = gap->before ? gap->before : sample, *neighbour = gap->before ? first : gap->after;
    if (!neighbour || first->time_ns < thread->executed_ns) return stack_none();
    stack_id start = start_of(starts, neighbour);
    if (gap->before || stack_is_none(start)) return start;
    func_id innermost = frame_at(profile, start)->func;
    bool is_goroutine = find_name(profile, innermost, &TEXT(GOROUTINE_START), 1);
    return is_goroutine ? profile_stack_at(profile, start)->prefix : start;
}

static stack_id put_below(struct profile *profile, stack_id callers, stack_id bare) {
    const struct stack *stack = profile_stack_at(profile, bare);
    frame_id frame = stack->frame;
    if (!stack_is_none(stack->prefix)) callers = put_below(profile, callers, stack->prefix);
    return profile_stack(profile, callers, frame);
}

static void fill(struct profile *profile, struct thread *thread, const struct start *starts, uint32_t row,
                 uint32_t end) {
    struct samples *samples = &thread->samples;
    struct gap gap = {row ? samples_at(samples, row - 1) : NULL,
                      end < samples_count(samples) ? samples_at(samples, end) : NULL, true};
    for (uint32_t i = row; i < end; i++)
        gap.is_preempted = gap.is_preempted && bareness(profile, starts, samples_at(samples, i)) == BARE_PREEMPTED;
    bool is_inside = gap.before && gap.after;
    bool has_executed =
        is_inside && thread->executed_ns > gap.before->time_ns && thread->executed_ns <= gap.after->time_ns;
    stack_id callers = is_inside && !has_executed ? callers_of(profile, starts, &gap) : stack_none();
    for (; row < end; row++) {
        struct sample *sample = samples_at(samples, row);
        if (!is_inside) callers = callers_at_end(profile, thread, starts, &gap, sample);
        sample->stack = put_below(profile, callers, sample->stack);
    }
}

void profile_root_waits(struct profile *profile) {
    const struct profile_meta *meta = &profile->meta;
    if (failure_is_set(profile->failure) || meta->was_profile || !(meta->has_waits || meta->has_every_state)) return;
    struct start *starts = find_starts(profile);
    for (size_t i = 0; starts && i < profile->threads.count; i++) {
        struct thread *thread = column_at(&profile->threads, i);
        uint32_t count = samples_count(&thread->samples);
        for (uint32_t row = 0, end; row < count; row = end + 1) {
            for (end = row; end < count && bareness(profile, starts, samples_at(&thread->samples, end));) end++;
            if (row < end) fill(profile, thread, starts, row, end);
        }
    }
    memory_free(starts);
}
