#include "shard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batch_plan.h"
#include "cli/output_name.h"
#include "file_digest.h"
#include "libconvert/base/cursor.h"
#include "libconvert/base/first_row.h"
#include "libconvert/base/memory.h"

/* ---- Which shard. ---- */

/* Where systems that start several calls tell which one this is. The first one whose variable is set counts. */
static const struct scheduler {
    const char *number;
    const char *first; /* holds the number of the first call; NULL: always `from` */
    unsigned from;
    const char *count; /* NULL: nothing tells it */
} schedulers[] = {
    {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", 1, "SLURM_ARRAY_TASK_COUNT"},
    {"JOB_COMPLETION_INDEX", NULL, 0, NULL}, /* Kubernetes */
    {"AWS_BATCH_JOB_ARRAY_INDEX", NULL, 0, "AWS_BATCH_JOB_ARRAY_SIZE"},
    {"CLOUD_RUN_TASK_INDEX", NULL, 0, "CLOUD_RUN_TASK_COUNT"},
    {"CI_NODE_INDEX", NULL, 1, "CI_NODE_TOTAL"}, /* GitLab */
    {"CIRCLE_NODE_INDEX", NULL, 0, "CIRCLE_NODE_TOTAL"},
    {"BUILDKITE_PARALLEL_JOB", NULL, 0, "BUILDKITE_PARALLEL_JOB_COUNT"},
};
enum { SCHEDULER_COUNT = sizeof schedulers / sizeof *schedulers };

static bool parse_count(struct text text, uint64_t *count) {
    return cursor_parse_number(text, 10, count) && *count <= SHARD_COUNT_MAX;
}

static bool read_variable(const char *name, uint64_t *count) {
    const char *value = name ? getenv(name) : NULL;
    return value && parse_count(text_of(value), count);
}

static const struct scheduler *find_scheduler(void) {
    for (size_t i = 0; i < SCHEDULER_COUNT; i++)
        if (getenv(schedulers[i].number)) return &schedulers[i];
    return NULL;
}

/* The part of an array that is run again has another first number, so that one counts only if it is a usual one. */
static struct shard shard_of_scheduler(const struct scheduler *scheduler, uint64_t count, struct failure *failure) {
    uint64_t number, first = scheduler->from;
    bool is_given = count != 0;
    if (!read_variable(scheduler->number, &number)) {
        failure_set(failure, FAILURE_USAGE, "--shard auto: %s is no number of a shard: '%s'", scheduler->number,
                    getenv(scheduler->number));
        return (struct shard){0};
    }
    if (!is_given && !read_variable(scheduler->count, &count)) {
        failure_set(failure, FAILURE_USAGE,
                    "--shard auto: %s tells which shard this is, but nothing tells how many there are: --shard auto/N",
                    scheduler->number);
        return (struct shard){0};
    }
    if (!is_given) read_variable(scheduler->first, &first);
    if (first > 1 || number < first || number - first >= count) {
        failure_set(failure, FAILURE_USAGE,
                    "--shard auto: %s is %llu, which is none of %llu shards from %llu on: --shard auto/N if only some "
                    "of them run",
                    scheduler->number, (unsigned long long)number, (unsigned long long)count,
                    (unsigned long long)(first > 1 ? scheduler->from : first));
        return (struct shard){0};
    }
    return (struct shard){(unsigned)(number - first) + 1, (unsigned)count};
}

static struct shard find_shard(uint64_t count, struct failure *failure) {
    const struct scheduler *scheduler = find_scheduler();
    if (scheduler) return shard_of_scheduler(scheduler, count, failure);
    char names[512] = "";
    for (size_t i = 0, used = 0; i < SCHEDULER_COUNT; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", schedulers[i].number);
    failure_set(failure, FAILURE_USAGE, "--shard auto: none of these variables is set: %s", names);
    return (struct shard){0};
}

struct shard shard_parse(const char *text, struct failure *failure) {
    if (!text) return (struct shard){0};
    struct text whole = text_of(text), number_text = text_slice(whole, 0, text_find(whole, '/'));
    bool has_count = number_text.bytes_count < whole.bytes_count;
    uint64_t number = 0, count = 0;
    bool is_good = !has_count || (parse_count(text_from(whole, number_text.bytes_count + 1), &count) && count > 0);
    if (is_good && text_equal(number_text, TEXT("auto"))) return find_shard(count, failure);
    if (is_good && has_count && parse_count(number_text, &number) && number >= 1 && number <= count)
        return (struct shard){(unsigned)number, (unsigned)count};
    failure_set(failure, FAILURE_USAGE,
                "--shard %s: K/N is needed, with K from 1 to N (at most %d), or auto, or auto/N", text,
                SHARD_COUNT_MAX);
    return (struct shard){0};
}

char *shard_path(struct text folder, const char *stem, struct shard shard, const char *suffix) {
    char name[128], part[32] = "";
    if (shard.count) snprintf(part, sizeof part, ".%u-of-%u", shard.number, shard.count);
    snprintf(name, sizeof name, "%s%s%s", stem, part, suffix);
    return batch_join(folder, name);
}

/* ---- Dealing. ---- */

/* Sources that must be in one shard, because their profiles may have the same name: only there is that noticed. */
struct hand {
    struct text stem; /* of their names */
    size_t first;     /* position of the first one */
    uint64_t cost;
    unsigned shard;
};

/* What a file costs besides its bytes. */
static const uint64_t FILE_COST = 16 * 1024;

static int compare_stems(const void *left, const void *right) {
    const struct hand *a = left, *b = right;
    return text_compare(a->stem, b->stem);
}

static int compare_costs(const void *left, const void *right) {
    const struct hand *a = left, *b = right;
    if (a->cost != b->cost) return a->cost > b->cost ? -1 : 1;
    return a->first < b->first ? -1 : 1;
}

/* A named folder is no input itself, unless it is empty. What the batch writes itself is none either. */
static bool is_dealt(const struct batch_plan *plan, size_t number) {
    const struct batch_source *source = batch_source_at(plan, number);
    if (source->is_own) return false;
    const struct batch_source *next = number + 1 < plan->sources.count ? batch_source_at(plan, number + 1) : NULL;
    return !source->is_folder || !source->is_named || !next || next->input_number != source->input_number;
}

/* Makes hands of the sources with the same stem. They are equal in all shards, as is their order. */
static void make_hands(const struct batch_plan *plan, struct column *hands) {
    for (size_t i = 0; i < plan->sources.count; i++) {
        const struct batch_source *source = batch_source_at(plan, i);
        struct hand *hand = is_dealt(plan, i) ? column_push(hands) : NULL;
        if (hand) *hand = (struct hand){output_name_stem(text_of(source->name)), i, FILE_COST + source->file_bytes, 0};
    }
    column_sort(hands, compare_stems);
    uint32_t count = 0;
    for (uint32_t i = 0; i < hands->count; i++) {
        struct hand *hand = column_at(hands, i), *last = count ? column_at(hands, count - 1) : NULL;
        if (last && text_equal(last->stem, hand->stem))
            last->cost += hand->cost;
        else
            *(struct hand *)column_at(hands, count++) = *hand;
    }
    hands->count = count;
    column_sort(hands, compare_costs);
}

/* Gives the hands, the most costly ones first, each to the shard that has least. */
static void deal(struct column *hands, struct shard shard, struct failure *failure) {
    uint64_t *costs = memory_allocate_zeroed(failure, shard.count, sizeof *costs);
    for (size_t i = 0; costs && i < hands->count; i++) {
        struct hand *hand = column_at(hands, i);
        for (unsigned j = 1; j < shard.count; j++)
            if (costs[j] < costs[hand->shard]) hand->shard = j;
        costs[hand->shard] += hand->cost;
    }
    memory_free(costs);
    column_sort(hands, compare_stems);
}

/* Leaves out the sources of other shards. The hands are sorted by stem. */
static void leave_out(struct batch_plan *plan, const struct column *hands) {
    size_t position = 0;
    for (size_t i = 0; i < plan->sources.count; i++) {
        struct batch_source *source = batch_source_at(plan, i);
        struct hand wanted = {.stem = output_name_stem(text_of(source->name))};
        source->position = position;
        source->is_left_out = !source->is_own;
        if (!is_dealt(plan, i)) continue;
        size_t at = FIRST_ROW(j, hands->count, compare_stems(column_at(hands, j), &wanted) >= 0);
        source->is_left_out = ((const struct hand *)column_at(hands, at))->shard != plan->shard.number - 1;
        if (source->is_left_out) plan->total_bytes -= source->file_bytes;
        position++;
    }
}

/* Hashes the names and sizes of all inputs, so that shards that saw others can be told apart. */
static void note_inputs(struct batch_plan *plan) {
    struct chunk_list list;
    chunk_list_init(&list, &plan->failure);
    for (size_t i = 0; i < plan->sources.count; i++) {
        const struct batch_source *source = batch_source_at(plan, i);
        if (!is_dealt(plan, i)) continue;
        plan->dealt_count++;
        chunk_list_append(&list, source->name, strlen(source->name) + 1);
        chunk_list_append(&list, (const char *)&source->file_bytes, sizeof source->file_bytes);
    }
    plan->dealt_xxh3 = chunks_xxh3(&list);
    chunk_list_fini(&list);
}

void shard_take(struct batch_plan *plan) {
    struct column hands;
    if (!plan->shard.count || failure_is_set(&plan->failure)) return;
    note_inputs(plan);
    column_init(&hands, sizeof(struct hand), &plan->failure);
    make_hands(plan, &hands);
    if (!failure_is_set(&plan->failure)) deal(&hands, plan->shard, &plan->failure);
    if (!failure_is_set(&plan->failure)) leave_out(plan, &hands);
    column_fini(&hands);
}
