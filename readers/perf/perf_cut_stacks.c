#include "perf_cut_stacks.h"

#include "libconvert/base/memory.h"
#include "libconvert/profile/cut_stacks.h"

/* What is known of a stack. */
enum { HAS_FUNCTION = 1, HAS_CALLER = 2, IS_TRUNCATED = 4 };

/* Frames of waits, which are idle or of no category, are no functions. */
static bool is_of_program(const struct profile *profile, const struct frame *frame) {
    static const struct text others[] = {TEXT("Kernel"), TEXT("Preempted"), TEXT("Idle"), TEXT("Other")};
    struct text category = categories_at(&profile->categories, frame->category)->name;
    return !TEXT_IS_IN(category, others);
}

/* Stacks come after their prefixes. */
static uint8_t facts_of(const struct profile *profile, const struct stack *stack, const uint8_t *facts) {
    const struct frame *frame = profile_frame_at(profile, stack->frame);
    uint8_t known = stack_is_none(stack->prefix) ? 0 : facts[stack->prefix.index];
    if (text_equal(strings_text(&profile->strings, profile_func_at(profile, frame->func)->name),
                   TEXT(TRUNCATED_STACK_NAME)))
        return IS_TRUNCATED;
    if (frame->inline_depth || !is_of_program(profile, frame)) return known;
    return known | (known & HAS_FUNCTION ? HAS_CALLER : HAS_FUNCTION);
}

/* Without copies, stacks are truncated at the kernel's limit, and are not longer in copies. */
static bool is_cut(uint8_t known, bool has_copies) {
    return !(known & (HAS_CALLER | IS_TRUNCATED)) || (has_copies && known & IS_TRUNCATED);
}

static void count_samples(const struct profile *profile, const uint8_t *facts, bool has_copies, uint64_t *count,
                          uint64_t *cut_count) {
    for (size_t i = 0; i < profile->threads.count; i++) {
        const struct samples *samples = &((const struct thread *)column_at(&profile->threads, i))->samples;
        for (uint32_t j = 0; j < samples_count(samples); j++) {
            stack_id stack = samples_at(samples, j)->stack;
            uint8_t known = stack_is_none(stack) ? 0 : facts[stack.index];
            *count += (known & HAS_FUNCTION) != 0;
            *cut_count += (known & HAS_FUNCTION) && is_cut(known, has_copies);
        }
    }
}

static struct text advice(const struct profile *profile, bool has_copies) {
    if (!has_copies) return TEXT(CUT_STACKS_CAUSE "record with --call-graph dwarf");
    if (text_starts_with(profile->meta.arguments, TEXT("gecko-convert record ")))
        return TEXT(CUT_STACKS_CAUSE
                    "record Go, and what else keeps frame pointers, with --call-graph fp, other programs "
                    "with a --stack-size of up to 65528, or name their libraries with --debug-dir");
    return TEXT(CUT_STACKS_CAUSE
                "record with a larger --call-graph dwarf,BYTES, or name its libraries with --debug-dir");
}

void perf_cut_stacks_note(struct profile *profile, bool has_copies) {
    enum { COUNT_MIN = 20, STACKS_PER_CUT_ONE_MAX = 10 };
    uint32_t stack_count = stack_table_count(&profile->stacks);
    uint64_t count = 0, cut_count = 0;
    uint8_t *facts = memory_allocate(profile->failure, stack_count + 1);
    if (!facts) return;
    for (uint32_t i = 0; i < stack_count; i++)
        facts[i] = facts_of(profile, profile_stack_at(profile, (stack_id){i}), facts);
    count_samples(profile, facts, has_copies, &count, &cut_count);
    memory_free(facts);
    if (count < COUNT_MIN || cut_count <= count / STACKS_PER_CUT_ONE_MAX) return;
    ledger_enter(&profile->ledger, LEDGER_SAMPLES, LEDGER_NOTED, advice(profile, has_copies), cut_count, NULL);
}
