#include "shard.h"

#include <stdio.h>
#include <stdlib.h>

#include "libconvert/base/cursor.h"

/* The environment variables by which a scheduler numbers its tasks. The first row whose variable is set applies. */
static const struct scheduler {
    const char *number;
    unsigned first_number; /* number of the first task */
    const char *count;     /* NULL: no variable has the number of tasks */
    /* Set if tasks can have any numbers: the first and the last number, and the step between numbers. */
    const char *first, *last, *step;
} schedulers[] = {
    {"SLURM_ARRAY_TASK_ID", 1, "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX",
     "SLURM_ARRAY_TASK_STEP"},
    {.number = "JOB_COMPLETION_INDEX"}, /* Kubernetes */
    {"AWS_BATCH_JOB_ARRAY_INDEX", 0, .count = "AWS_BATCH_JOB_ARRAY_SIZE"},
    {"CLOUD_RUN_TASK_INDEX", 0, .count = "CLOUD_RUN_TASK_COUNT"},
    {"CI_NODE_INDEX", 1, .count = "CI_NODE_TOTAL"}, /* GitLab */
    {"CIRCLE_NODE_INDEX", 0, .count = "CIRCLE_NODE_TOTAL"},
    {"BUILDKITE_PARALLEL_JOB", 0, .count = "BUILDKITE_PARALLEL_JOB_COUNT"},
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

/* The numbers of the tasks of an array. Only if they are evenly spaced can each task compute a shard of its own. */
struct numbers {
    uint64_t first, step, count;
    bool have_gaps;
};

static struct numbers numbers_of(const struct scheduler *scheduler, uint64_t count) {
    struct numbers numbers = {scheduler->first_number, 1, count, false};
    uint64_t last;
    bool are_known = read_variable(scheduler->first, &numbers.first) && read_variable(scheduler->last, &last);
    if (!read_variable(scheduler->step, &numbers.step) || !numbers.step) numbers.step = 1;
    numbers.have_gaps = are_known && count && last != numbers.first + (count - 1) * numbers.step;
    return numbers;
}

/* Returns the shard of the task with that number. If only some tasks of an array are run again, the first number is
 * that of the first of these tasks. So it is accepted only if it is 0 or 1. */
static struct shard shard_of_task(const struct scheduler *scheduler, struct numbers numbers, uint64_t number,
                                  struct failure *failure) {
    uint64_t distance = number - numbers.first;
    if (numbers.have_gaps)
        failure_set(failure, FAILURE_USAGE,
                    "--shard auto: the array has %llu tasks from %s to %s, which are not evenly spaced: --shard auto/N "
                    "if only some of them run",
                    (unsigned long long)numbers.count, getenv(scheduler->first), getenv(scheduler->last));
    else if (numbers.first > 1 || number < numbers.first || distance % numbers.step ||
             distance / numbers.step >= numbers.count)
        failure_set(
            failure, FAILURE_USAGE,
            "--shard auto: %s is %llu, which is not one of %llu shards from %llu on: --shard auto/N if only some "
            "of them run",
            scheduler->number, (unsigned long long)number, (unsigned long long)numbers.count,
            (unsigned long long)(numbers.first > 1 ? scheduler->first_number : numbers.first));
    else
        return (struct shard){(unsigned)(distance / numbers.step) + 1, (unsigned)numbers.count};
    return (struct shard){0};
}

static struct shard shard_of_scheduler(const struct scheduler *scheduler, uint64_t count, struct failure *failure) {
    uint64_t number, reported_count = 0;
    bool has_count = count != 0, is_reported = read_variable(scheduler->count, &reported_count);
    if (!read_variable(scheduler->number, &number))
        failure_set(failure, FAILURE_USAGE, "--shard auto: %s is not the number of a shard: '%s'", scheduler->number,
                    getenv(scheduler->number));
    else if (!has_count && !is_reported)
        failure_set(failure, FAILURE_USAGE,
                    "--shard auto: %s tells which shard this is, but nothing tells how many there are: --shard auto/N",
                    scheduler->number);
    else if (has_count && is_reported && !scheduler->first && reported_count != count)
        failure_set(failure, FAILURE_USAGE, "--shard auto/%llu: %s is %llu: both must be the same number",
                    (unsigned long long)count, scheduler->count, (unsigned long long)reported_count);
    else if (has_count)
        return shard_of_task(scheduler, (struct numbers){scheduler->first_number, 1, count, false}, number, failure);
    else
        return shard_of_task(scheduler, numbers_of(scheduler, reported_count), number, failure);
    return (struct shard){0};
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

struct shard_name shard_name(const char *stem, struct shard shard, const char *suffix) {
    struct shard_name name;
    char part[32] = "";
    if (shard.count) snprintf(part, sizeof part, ".%u-of-%u", shard.number, shard.count);
    snprintf(name.bytes, sizeof name.bytes, "%s%s%s", stem, part, suffix);
    return name;
}
