/* Assigns the inputs of a batch to its shards. All shards find the same inputs and assign them in the same way. */
#include <string.h>

#include "batch_plan.h"
#include "cli/output_name.h"
#include "file_digest.h"
#include "libconvert/base/first_row.h"
#include "libconvert/base/memory.h"

/* Sources that must be in the same shard: their profiles may have the same name, which only one shard can notice. */
struct stem_group {
    struct text stem; /* stem of the names of the profiles */
    size_t first;     /* number of the first source */
    uint64_t cost;
    unsigned shard;
};

/* The cost of a file besides its bytes. */
static const uint64_t FILE_COST = 16 * 1024;

static int compare_stems(const void *left, const void *right) {
    const struct stem_group *a = left, *b = right;
    return text_compare(a->stem, b->stem);
}

static int compare_costs(const void *left, const void *right) {
    const struct stem_group *a = left, *b = right;
    return ORDER(b->cost, a->cost) ?: ORDER(a->first, b->first);
}

/* A named folder is not an input itself, unless it is empty. Files that the batch itself writes are not inputs either.
 */
static bool is_input(const struct batch_plan *plan, size_t number) {
    const struct batch_source *source = batch_source_at(plan, number);
    if (source->is_own) return false;
    const struct batch_source *next = number + 1 < plan->sources.count ? batch_source_at(plan, number + 1) : NULL;
    return !source->is_folder || !source->is_named || !next || next->input_number != source->input_number;
}

/* Groups the sources by stem. All shards make the same groups in the same order. */
static void group_by_stem(const struct batch_plan *plan, struct column *groups) {
    for (size_t i = 0; i < plan->sources.count; i++) {
        const struct batch_source *source = batch_source_at(plan, i);
        struct stem_group *group = is_input(plan, i) ? column_push(groups) : NULL;
        if (group)
            *group = (struct stem_group){output_name_stem(text_of(source->name)), i, FILE_COST + source->file_bytes, 0};
    }
    column_sort(groups, compare_stems);
    uint32_t count = 0;
    for (uint32_t i = 0; i < groups->count; i++) {
        struct stem_group *group = column_at(groups, i), *last = count ? column_at(groups, count - 1) : NULL;
        if (last && text_equal(last->stem, group->stem))
            last->cost += group->cost;
        else
            *(struct stem_group *)column_at(groups, count++) = *group;
    }
    groups->count = count;
    column_sort(groups, compare_costs);
}

/* Assigns each group, the most costly ones first, to the shard with the least cost so far. */
static void assign_shards(struct column *groups, struct shard shard, struct failure *failure) {
    uint64_t *costs = memory_allocate_zeroed(failure, shard.count, sizeof *costs);
    for (size_t i = 0; costs && i < groups->count; i++) {
        struct stem_group *group = column_at(groups, i);
        for (unsigned j = 1; j < shard.count; j++)
            if (costs[j] < costs[group->shard]) group->shard = j;
        costs[group->shard] += group->cost;
    }
    memory_free(costs);
    column_sort(groups, compare_stems);
}

/* Leaves out the sources of other shards. The hands are sorted by stem. */
static void leave_out_others(struct batch_plan *plan, const struct column *groups) {
    size_t position = 0;
    for (size_t i = 0; i < plan->sources.count; i++) {
        struct batch_source *source = batch_source_at(plan, i);
        struct stem_group wanted = {.stem = output_name_stem(text_of(source->name))};
        source->position = position;
        source->is_left_out = !source->is_own;
        if (!is_input(plan, i)) continue;
        size_t at = FIRST_ROW(j, groups->count, compare_stems(column_at(groups, j), &wanted) >= 0);
        source->is_left_out = ((const struct stem_group *)column_at(groups, at))->shard != plan->shard.number - 1;
        if (source->is_left_out) plan->total_bytes -= source->file_bytes;
        position++;
    }
}

/* Hashes the names and sizes of all inputs, so that shards that found different inputs can be detected. */
static void hash_inputs(struct batch_plan *plan) {
    struct chunk_list list;
    chunk_list_init(&list, &plan->failure);
    for (size_t i = 0; i < plan->sources.count; i++) {
        const struct batch_source *source = batch_source_at(plan, i);
        if (!is_input(plan, i)) continue;
        plan->input_count++;
        chunk_list_append(&list, source->name, strlen(source->name) + 1);
        chunk_list_append(&list, (const char *)&source->file_bytes, sizeof source->file_bytes);
    }
    plan->inputs_xxh3 = chunks_xxh3(&list);
    chunk_list_fini(&list);
}

void batch_plan_select_shard(struct batch_plan *plan) {
    struct column groups;
    if (!plan->shard.count || failure_is_set(&plan->failure)) return;
    hash_inputs(plan);
    column_init(&groups, sizeof(struct stem_group), &plan->failure);
    group_by_stem(plan, &groups);
    if (!failure_is_set(&plan->failure)) assign_shards(&groups, plan->shard, &plan->failure);
    if (!failure_is_set(&plan->failure)) leave_out_others(plan, &groups);
    column_fini(&groups);
}
