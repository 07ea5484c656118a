#include "cut_stacks.h"

#include <math.h>

#include "libconvert/base/memory.h"

/* What is known of a stack. */
enum { HAS_FUNCTION = 1, HAS_CALLER = 2, IS_TRUNCATED = 4, IS_BARE_WAIT = 8 };

static struct text category_of(const struct profile *profile, const struct frame *frame) {
    return categories_at(&profile->categories, frame->category)->name;
}

/* Returns whether the frame is a function of the program. A frame that stands for a wait is idle or has no category. */
static bool is_of_program(const struct profile *profile, const struct frame *frame) {
    static const struct text others[] = {TEXT("Kernel"), TEXT("Preempted"), TEXT("Idle"), TEXT("Other")};
    return !TEXT_IS_IN(category_of(profile, frame), others);
}

/* Returns whether the stack is a wait of which no caller was recorded. profile_root_waits may have hung it below
 * functions, which have no addresses there. */
static bool is_bare_wait(const struct profile *profile, const struct stack *stack) {
    static const struct text waits[] = {TEXT("Preempted"), TEXT("Idle")};
    if (!TEXT_IS_IN(category_of(profile, profile_frame_at(profile, stack->frame)), waits)) return false;
    return stack_is_none(stack->prefix) ||
           lib_is_none(profile_frame_at(profile, profile_stack_at(profile, stack->prefix)->frame)->lib);
}

/* Stacks come after their prefixes. */
static uint8_t facts_of(const struct profile *profile, const struct stack *stack, const uint8_t *facts) {
    const struct frame *frame = profile_frame_at(profile, stack->frame);
    uint8_t known = stack_is_none(stack->prefix) ? 0 : facts[stack->prefix.index];
    if (text_equal(strings_text(&profile->strings, profile_func_at(profile, frame->func)->name),
                   TEXT(TRUNCATED_STACK_NAME)))
        return IS_TRUNCATED;
    if (is_bare_wait(profile, stack)) return IS_BARE_WAIT;
    if (frame->inline_depth || !is_of_program(profile, frame)) return known;
    return known | (known & HAS_FUNCTION ? HAS_CALLER : HAS_FUNCTION);
}

/* Without copies, stacks are truncated at the kernel's limit, and copies would not make them longer. */
static bool is_cut(uint8_t known, bool has_copies) {
    return !(known & (HAS_CALLER | IS_TRUNCATED)) || (has_copies && known & IS_TRUNCATED);
}

static void count_sample(struct cut_stacks *sum, double weight, uint8_t known, bool has_copies) {
    if (known & IS_BARE_WAIT) return;
    sum->stack_weight += weight;
    if (!(known & HAS_FUNCTION)) return;
    sum->sample_count++;
    sum->weight += weight;
    if (!is_cut(known, has_copies)) return;
    sum->cut_count++;
    sum->cut_weight += weight;
}

struct cut_stacks cut_stacks_count(const struct profile *profile, bool has_copies) {
    struct cut_stacks sum = {0};
    uint32_t stack_count = stack_table_count(&profile->stacks);
    uint8_t *facts = memory_allocate(profile->failure, stack_count + 1);
    if (!facts) return sum;
    for (uint32_t i = 0; i < stack_count; i++)
        facts[i] = facts_of(profile, profile_stack_at(profile, (stack_id){i}), facts);
    COLUMN_EACH(const struct thread, thread, &profile->threads) {
        for (uint32_t i = 0; !thread_is_track(thread) && i < samples_count(&thread->samples); i++) {
            const struct sample *sample = samples_at(&thread->samples, i);
            double weight = fabs(profile_weight_of(profile, sample->weight));
            if (!stack_is_none(sample->stack)) count_sample(&sum, weight, facts[sample->stack.index], has_copies);
        }
    }
    memory_free(facts);
    return sum;
}

bool cut_stacks_are_many(const struct cut_stacks *sum) {
    enum { COUNT_MIN = 20, STACKS_PER_CUT_ONE_MAX = 10 };
    return sum->sample_count >= COUNT_MIN && sum->cut_weight > sum->weight / STACKS_PER_CUT_ONE_MAX;
}
