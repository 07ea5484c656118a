#include "run_weights.h"

#include <math.h>

#include "libconvert/base/glob.h"
#include "libconvert/base/memory.h"
#include "libconvert/profile/nameless.h"
#include "libconvert/profile/weighed_sample.h"
#include "matched_name.h"

/* What is needed while a run is filled. */
struct filling {
    struct run_weights *run;
    const struct profile *profile;
    uint32_t *rows;          /* owned; the row of each of the profile's functions */
    struct call_node *nodes; /* owned; one for each stack */
    struct outermost_nodes outermost;
    /* Owned; sums over the samples of each stack, and their squares. */
    double *sums[MEASURE_COUNT];
    double *squares[MEASURE_COUNT];
};

void run_weights_init(struct run_weights *run, unsigned ignored, struct failure *failure) {
    *run = (struct run_weights){.failure = failure, .ignored = ignored};
    strings_init(&run->names, failure);
    column_init(&run->functions, sizeof(struct run_function), failure);
    column_init(&run->groups, sizeof(struct run_group), failure);
}

void run_weights_fini(struct run_weights *run) {
    COLUMNS_FINI(&run->groups, &run->functions);
    strings_fini(&run->names);
}

/* ---- Functions. ---- */

/* Returns whether each function has no name of its own; NULL if memory ran out (latched). */
static bool *find_nameless(const struct filling *filling) {
    const struct profile *profile = filling->profile;
    uint32_t func_count = row_table_count(&profile->funcs);
    bool *are_nameless = memory_allocate_zeroed(filling->run->failure, func_count + 1, sizeof *are_nameless);
    for (uint32_t i = 0; are_nameless && i < row_table_count(&profile->frames); i++) {
        const struct frame *frame = profile_frame_at(profile, (frame_id){i});
        if (frame_is_nameless(profile, frame)) are_nameless[frame->func.index] = true;
    }
    return are_nameless;
}

/* The same text has the same bytes in the table of names, so rows of pointers can be compared. */
static void match_functions(struct filling *filling) {
    struct run_weights *run = filling->run;
    uint32_t func_count = row_table_count(&filling->profile->funcs);
    bool *are_nameless = find_nameless(filling);
    struct row_table keys;
    row_table_init(&keys, sizeof(struct matched_name), run->failure);
    for (uint32_t i = 0; i < func_count && !failure_is_set(run->failure); i++) {
        struct matched_name name =
            matched_name_of(filling->profile, (func_id){i}, are_nameless[i], run->ignored, &run->names);
        filling->rows[i] = row_table_intern(&keys, &name);
        if (filling->rows[i] != run->functions.count) continue;
        column_add(&run->functions,
                   &(struct run_function){.name = name.name, .library = name.library, .file = name.file});
    }
    row_table_fini(&keys);
    memory_free(are_nameless);
}

/* ---- Samples. ---- */

/* Returns the variance that a row of samples adds. A row of collapsed stacks is as many samples as it weighs. Times and
 * bytes are measured, so they are exact, unless a time is that between two samples of a thread that ran. */
static double variance_of(const struct weighing *weighing, const struct weighed_sample *sample) {
    const struct profile_meta *meta = &weighing->profile->meta;
    double weight = sample->weight;
    if (weighing->timed) return sample->cpu * sample->cpu;
    if (meta->weight_type == WEIGHT_TRACING_MS || meta->weight_type == WEIGHT_BYTES) return 0;
    return meta->weight_unit.bytes_count ? weight * weight : fabs(weight);
}

static void count(struct filling *filling, enum measure measure, stack_id stack, double weight, double square) {
    struct weights *all = &filling->run->all[measure];
    all->sums.self += weight;
    all->variances.self += square;
    if (stack_is_none(stack)) return;
    filling->sums[measure][stack.index] += weight;
    filling->squares[measure][stack.index] += square;
}

static void count_samples(struct filling *filling) {
    const struct profile *profile = filling->profile;
    struct weighing weighing;
    weighing_init(&weighing, profile);
    for (size_t i = 0; i < profile->thread_order.count; i++) {
        const struct thread *thread = profile_ordered_thread(profile, i);
        const struct samples *samples = &thread->samples;
        weighing_enter(&weighing, samples);
        for (uint32_t row = 0; row < samples_count(samples) && !thread_is_track(thread); row++) {
            struct weighed_sample sample = weighing_weigh(&weighing, samples, row);
            count(filling, MEASURE_WEIGHT, sample.stack, sample.weight, variance_of(&weighing, &sample));
            count(filling, MEASURE_CPU, sample.working, sample.cpu, sample.cpu * sample.cpu);
        }
    }
    weighing_fini(&weighing);
}

/* ---- Sums. ---- */

/* Sums up by the functions of the nodes. Returns NULL if memory ran out (latched). */
static struct function_weights *sum_up(struct filling *filling, size_t row_count, const double *self) {
    struct failure *failure = filling->run->failure;
    struct function_weights *sums = memory_allocate_zeroed(failure, row_count, sizeof *sums);
    if (sums) totals_add(sums, &filling->outermost, self, failure);
    return sums;
}

static void sum_up_functions(struct filling *filling, enum measure measure) {
    size_t row_count = filling->run->functions.count;
    struct function_weights *sums = sum_up(filling, row_count, filling->sums[measure]);
    struct function_weights *variances = sum_up(filling, row_count, filling->squares[measure]);
    for (size_t i = 0; i < row_count && sums && variances; i++) {
        struct run_function *function = column_at(&filling->run->functions, i);
        function->weights[measure] = (struct weights){sums[i], variances[i]};
    }
    MEMORY_FREE_ALL(variances, sums);
}

/* Makes nodes of stacks. `row_of` has the row, below row_count, of each of the profile's functions. */
static void make_nodes(struct filling *filling, const uint32_t *row_of, size_t row_count) {
    const struct profile *profile = filling->profile;
    uint32_t stack_count = stack_table_count(&profile->stacks);
    for (uint32_t i = 0; i < stack_count; i++) {
        const struct stack *stack = profile_stack_at(profile, (stack_id){i});
        uint32_t func = profile_frame_at(profile, stack->frame)->func.index;
        filling->nodes[i] = (struct call_node){stack->prefix.index, row_of[func]};
    }
    outermost_nodes_fini(&filling->outermost);
    outermost_nodes_find(&filling->outermost, filling->nodes, stack_count, row_count, filling->run->failure);
}

/* All functions that match become function 1, and all others function 0. */
static void sum_up_group(struct filling *filling, struct run_group *group) {
    struct run_weights *run = filling->run;
    uint32_t func_count = row_table_count(&filling->profile->funcs);
    uint32_t *is_member = memory_allocate(run->failure, func_count * sizeof *is_member);
    bool *matches = memory_allocate(run->failure, run->functions.count * sizeof *matches);
    for (uint32_t i = 0; matches && i < run->functions.count; i++) {
        const struct run_function *function = column_at(&run->functions, i);
        matches[i] = glob_matches(group->glob, function->name);
        group->function_count += matches[i];
    }
    for (uint32_t i = 0; matches && is_member && i < func_count; i++) is_member[i] = matches[filling->rows[i]];
    if (matches && is_member) make_nodes(filling, is_member, 2);
    for (enum measure measure = 0; measure < MEASURE_COUNT && !failure_is_set(run->failure); measure++) {
        struct function_weights *sums = sum_up(filling, 2, filling->sums[measure]);
        struct function_weights *variances = sum_up(filling, 2, filling->squares[measure]);
        if (sums && variances) group->weights[measure] = (struct weights){sums[1], variances[1]};
        MEMORY_FREE_ALL(variances, sums);
    }
    MEMORY_FREE_ALL(matches, is_member);
}

static void fill(struct filling *filling) {
    struct run_weights *run = filling->run;
    match_functions(filling);
    if (failure_is_set(run->failure)) return;
    count_samples(filling);
    make_nodes(filling, filling->rows, run->functions.count);
    for (enum measure measure = 0; measure < MEASURE_COUNT && !failure_is_set(run->failure); measure++) {
        sum_up_functions(filling, measure);
        run->all[measure].sums.total = run->all[measure].sums.self;
        run->all[measure].variances.total = run->all[measure].variances.self;
    }
    for (size_t i = 0; i < run->groups.count && !failure_is_set(run->failure); i++)
        sum_up_group(filling, column_at(&run->groups, i));
}

void run_weights_fill(struct run_weights *run, const struct profile *profile) {
    struct failure *failure = run->failure;
    size_t stack_count = stack_table_count(&profile->stacks), func_count = row_table_count(&profile->funcs);
    struct filling filling = {.run = run, .profile = profile};
    filling.rows = memory_allocate(failure, func_count * sizeof *filling.rows);
    filling.nodes = memory_allocate(failure, stack_count * sizeof *filling.nodes);
    for (enum measure measure = 0; measure < MEASURE_COUNT; measure++) {
        filling.sums[measure] = memory_allocate_zeroed(failure, stack_count, sizeof *filling.sums[measure]);
        filling.squares[measure] = memory_allocate_zeroed(failure, stack_count, sizeof *filling.squares[measure]);
    }
    if (!failure_is_set(failure)) fill(&filling);
    for (enum measure measure = 0; measure < MEASURE_COUNT; measure++) {
        MEMORY_FREE_ALL(filling.squares[measure], filling.sums[measure]);
    }
    outermost_nodes_fini(&filling.outermost);
    MEMORY_FREE_ALL(filling.nodes, filling.rows);
}
