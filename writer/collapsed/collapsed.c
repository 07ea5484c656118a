/* Writes collapsed ("folded") stacks, the text from which flame graphs are made: "thread;frame;frame WEIGHT". Samples
 * with the same line are added up. The format has no times, so it carries far less than the others; losses are entered
 * in the ledger. */
#include "collapsed_losses.h"
#include "frame_texts.h"
#include "line_tree.h"
#include "writer/emitter.h"
#include "writer/frame_parts.h"

/* A stack of the profile that is a row below a root. While the row is looked for, `row` is the callee from which the
 * search came. */
struct known_row {
    uint32_t root; /* the index of the root's row */
    stack_id row;
};

struct collapsed {
    const struct profile *profile;
    struct frame_texts texts;
    struct line_tree tree;
    struct known_row *known_rows; /* owned; one for each stack of the profile */
    uint64_t sample_count;
    uint64_t large_count; /* samples whose weight was not added, because the sum is too large */
};

static const uint32_t NO_ROOT = ID_NONE - 1;

static void begin(struct collapsed *collapsed, unsigned parts) {
    const struct profile *profile = collapsed->profile;
    uint32_t stack_count = stack_table_count(&profile->stacks);
    frame_texts_init(&collapsed->texts, profile, parts);
    line_tree_init(&collapsed->tree, &collapsed->texts.texts, profile->failure);
    collapsed->known_rows = memory_allocate(profile->failure, stack_count * sizeof *collapsed->known_rows);
    if (failure_is_set(profile->failure)) return;
    for (uint32_t i = 0; i < stack_count; i++) collapsed->known_rows[i].root = NO_ROOT;
}

static void end(struct collapsed *collapsed) {
    memory_free(collapsed->known_rows);
    line_tree_fini(&collapsed->tree);
    frame_texts_fini(&collapsed->texts);
}

/* Returns the row of the stack below the root, which may be none. Goes up to a caller whose row is known, and back. */
static stack_id find_row(struct collapsed *collapsed, stack_id root, stack_id stack) {
    struct known_row *known = collapsed->known_rows;
    const struct profile *profile = collapsed->profile;
    stack_id callee = stack_none();
    while (!stack_is_none(stack) && known[stack.index].root != root.index) {
        known[stack.index].row = callee;
        callee = stack;
        stack = profile_stack_at(profile, stack)->prefix;
    }
    stack_id row = stack_is_none(stack) ? root : known[stack.index].row;
    while (!stack_is_none(callee)) {
        stack_id next = known[callee.index].row;
        string_id text = frame_texts_of_frame(&collapsed->texts, profile_stack_at(profile, callee)->frame);
        if (string_is_none(text)) return stack_none();
        row = line_tree_row(&collapsed->tree, row, text);
        known[callee.index] = (struct known_row){root.index, row};
        callee = next;
    }
    return row;
}

static void add_samples(struct collapsed *collapsed, const struct thread *thread) {
    const struct profile *profile = collapsed->profile;
    struct line_tree *tree = &collapsed->tree;
    const struct decimal one = {.mantissa = 1};
    bool is_weighed = profile->meta.weight_type != WEIGHT_ONE;
    bool has_root = collapsed->texts.parts & FRAME_PART_COMM && !thread->is_made_up;
    stack_id root = stack_none();
    uint32_t count = samples_count(&thread->samples);
    if (has_root && count) root = line_tree_row(tree, root, frame_texts_of_thread(&collapsed->texts, thread));
    for (uint32_t i = 0; i < count && !failure_is_set(profile->failure); i++) {
        const struct sample *sample = samples_at(&thread->samples, i);
        stack_id row = find_row(collapsed, root, sample->stack);
        if (stack_is_none(row)) row = line_tree_row(tree, row, frame_texts_of_nothing(&collapsed->texts));
        struct decimal weight = is_weighed ? profile_weight_decode(profile, sample->weight) : one;
        bool is_added = line_tree_add(tree, row, weight);
        collapsed->large_count += !is_added;
    }
    collapsed->sample_count += count;
}

static void add_threads(struct collapsed *collapsed, struct progress progress) {
    const struct profile *profile = collapsed->profile;
    size_t count = profile->thread_order.count;
    for (size_t i = 0; i < count && !failure_is_set(profile->failure); i++) {
        const struct thread *thread = profile_ordered_thread(profile, i);
        if (!thread_is_track(thread)) add_samples(collapsed, thread);
        progress_report(progress, i + 1, count);
    }
    if (!collapsed->sample_count)
        failure_set(profile->failure, FAILURE_INPUT,
                    "there are no samples, of which collapsed stacks are made: use --format processed");
}

static void emit_collapsed(const struct profile *profile, struct ledger *ledger, struct chunk_list *out,
                           const struct emit_options *options, struct progress progress) {
    struct collapsed collapsed = {.profile = profile};
    begin(&collapsed, options->frame_parts);
    if (!failure_is_set(profile->failure)) add_threads(&collapsed, progress_part(progress, 0, 0.5));
    if (!failure_is_set(profile->failure)) line_tree_write(&collapsed.tree, out, progress_part(progress, 0.5, 1));
    if (!failure_is_set(profile->failure)) collapsed_losses_enter(&collapsed.texts, ledger);
    losses_enter(ledger, "weight of a sample (the sum of its stack is too large)", collapsed.large_count);
    ledger_enter(ledger, LEDGER_VALUES, LEDGER_NOTED, TEXT("weight of a sample (the sum is rounded to 18 digits)"),
                 collapsed.tree.rounded_count, NULL);
    end(&collapsed);
}

const struct emitter emitter_collapsed = {.name = "collapsed",
                                          .title = "collapsed stacks",
                                          .suffix = ".folded",
                                          .media_type = "text/plain",
                                          .has_frame_parts = true,
                                          .emit = emit_collapsed};
