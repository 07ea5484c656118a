#include "perf_cut_stacks.h"

#include "libconvert/profile/cut_stacks.h"

static struct text advice(const struct profile *profile, bool has_copies) {
    if (!has_copies) return TEXT(CUT_STACKS_WITHOUT_COPIES);
    if (text_starts_with(profile->meta.arguments, TEXT("gecko-convert record ")))
        return TEXT(CUT_STACKS_CAUSE
                    "record Go, and what else keeps frame pointers, with --call-graph fp, other programs "
                    "with a --stack-size of up to 65528, or name their libraries with --debug-dir");
    return TEXT(CUT_STACKS_CAUSE
                "record with a larger --call-graph dwarf,BYTES, or name its libraries with --debug-dir");
}

void perf_cut_stacks_note(struct profile *profile, bool has_copies) {
    enum { COUNT_MIN = 20, STACKS_PER_CUT_ONE_MAX = 10 };
    struct cut_stacks sum = cut_stacks_count(profile, has_copies);
    if (sum.sample_count < COUNT_MIN || sum.cut_weight <= sum.weight / STACKS_PER_CUT_ONE_MAX) return;
    ledger_enter(&profile->ledger, LEDGER_SAMPLES, LEDGER_NOTED, advice(profile, has_copies), sum.cut_count, NULL);
}
