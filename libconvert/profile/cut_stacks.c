#include "cut_stacks.h"

#include <math.h>

#include "libconvert/base/memory.h"

/* What is known of a stack. A frame has one of these facts, or none. */
enum { HAS_FUNCTION = 1, HAS_CALLER = 2, IS_TRUNCATED = 4, IS_BARE_WAIT = 8 };

/* Returns what the frame tells. A frame that stands for a wait is idle or has no category. */
static uint8_t fact_of(const struct profile *profile, const struct frame *frame) {
    static const struct text waits[] = {TEXT("Preempted"), TEXT("Idle")}, others[] = {TEXT("Kernel"), TEXT("Other")};
    struct text name = strings_text(&profile->strings, profile_func_at(profile, frame->func)->name);
    struct text category = categories_at(&profile->categories, frame->category)->name;
    if (text_equal(name, TEXT(TRUNCATED_STACK_NAME))) return IS_TRUNCATED;
    if (TEXT_IS_IN(category, waits)) return IS_BARE_WAIT;
    return frame->inline_depth || TEXT_IS_IN(category, others) ? 0 : HAS_FUNCTION;
}

/* Returns whether no caller of the wait was recorded. profile_root_waits may have hung it below functions, which have
 * no addresses there. */
static bool is_bare(const struct profile *profile, const struct stack *wait) {
    return stack_is_none(wait->prefix) ||
           lib_is_none(profile_frame_at(profile, profile_stack_at(profile, wait->prefix)->frame)->lib);
}

/* Stacks come after their prefixes. fact: of the stack's frame. */
static uint8_t facts_of(const struct profile *profile, const struct stack *stack, uint8_t fact, const uint8_t *facts) {
    uint8_t known = stack_is_none(stack->prefix) ? 0 : facts[stack->prefix.index];
    if (fact == IS_TRUNCATED || (fact == IS_BARE_WAIT && is_bare(profile, stack))) return fact;
    if (fact != HAS_FUNCTION) return known;
    return known | (known & HAS_FUNCTION ? HAS_CALLER : HAS_FUNCTION);
}

/* Returns the facts of each stack, which the caller frees; NULL if memory ran out (latched). */
static uint8_t *find_facts(const struct profile *profile) {
    uint32_t frame_count = row_table_count(&profile->frames), stack_count = stack_table_count(&profile->stacks);
    uint8_t *of_frames = memory_allocate(profile->failure, frame_count + 1);
    uint8_t *facts = of_frames ? memory_allocate(profile->failure, stack_count + 1) : NULL;
    for (uint32_t i = 0; facts && i < frame_count; i++)
        of_frames[i] = fact_of(profile, profile_frame_at(profile, (frame_id){i}));
    for (uint32_t i = 0; facts && i < stack_count; i++) {
        const struct stack *stack = profile_stack_at(profile, (stack_id){i});
        facts[i] = facts_of(profile, stack, of_frames[stack->frame.index], facts);
    }
    memory_free(of_frames);
    return facts;
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
    uint8_t *facts = find_facts(profile);
    if (!facts) return sum;
    COLUMN_EACH(const struct thread, thread, &profile->threads) {
        if (thread_is_track(thread)) continue;
        COLUMN_EACH(const struct sample, sample, &thread->samples.rows) {
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
