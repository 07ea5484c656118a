#include "perf_sources.h"

#include "libconvert/base/memory.h"
#include "libconvert/profile/stack_rebuild.h"

/* The file of a function. Votes of other files cancel those for it, so a file that has the majority wins. */
struct candidate {
    source_id file;
    uint32_t vote_count;
};

struct unifying {
    struct profile *profile;      /* borrowed */
    struct candidate *candidates; /* one for each native symbol: functions of other files can have the same name */
    frame_id *new_frames;         /* one for each frame */
};

/* Functions that are inlined have no native symbol of their own. Their lines are of one file. */
static bool has_own_symbol(const struct frame *frame) {
    return !native_symbol_is_none(frame->native_symbol) && !frame->inline_depth;
}

static void vote(struct unifying *unifying, const struct frame *frame) {
    source_id file = profile_func_at(unifying->profile, frame->func)->source;
    if (!has_own_symbol(frame) || source_is_none(file)) return;
    struct candidate *candidate = &unifying->candidates[frame->native_symbol.index];
    if (!candidate->vote_count) candidate->file = file;
    if (candidate->file.index == file.index)
        candidate->vote_count++;
    else
        candidate->vote_count--;
}

static frame_id make_frame(struct unifying *unifying, frame_id old) {
    struct profile *profile = unifying->profile;
    struct frame frame = *profile_frame_at(profile, old);
    if (!has_own_symbol(&frame)) return old;
    source_id file = unifying->candidates[frame.native_symbol.index].file;
    struct func func = *profile_func_at(profile, frame.func);
    if (source_is_none(file) || func.source.index == file.index) return old;
    func.source = file;
    frame.func = profile_func(profile, &func);
    frame.line = frame.column = 0;
    return profile_frame(profile, &frame);
}

static stack_id rebuild(void *context, stack_id prefix, frame_id frame) {
    const struct unifying *unifying = context;
    return profile_stack(unifying->profile, prefix, unifying->new_frames[frame.index]);
}

static void unify(struct unifying *unifying) {
    struct profile *profile = unifying->profile;
    uint32_t frame_count = row_table_count(&profile->frames);
    bool is_changed = false;
    for (uint32_t i = 0; i < row_table_count(&profile->native_symbols); i++)
        unifying->candidates[i] = (struct candidate){.file = source_none()};
    for (uint32_t i = 0; i < frame_count; i++) vote(unifying, profile_frame_at(profile, (frame_id){i}));
    for (uint32_t i = 0; i < frame_count; i++) {
        unifying->new_frames[i] = make_frame(unifying, (frame_id){i});
        is_changed |= unifying->new_frames[i].index != i;
    }
    if (is_changed && !failure_is_set(profile->failure)) profile_rebuild_stacks(profile, rebuild, unifying);
}

void perf_sources_unify(struct profile *profile) {
    struct unifying unifying = {.profile = profile};
    if (!row_table_count(&profile->sources) || !row_table_count(&profile->native_symbols)) return;
    unifying.candidates =
        memory_allocate(profile->failure, row_table_count(&profile->native_symbols) * sizeof *unifying.candidates);
    unifying.new_frames =
        memory_allocate(profile->failure, row_table_count(&profile->frames) * sizeof *unifying.new_frames);
    if (unifying.candidates && unifying.new_frames) unify(&unifying);
    MEMORY_FREE_ALL(unifying.candidates, unifying.new_frames);
}
