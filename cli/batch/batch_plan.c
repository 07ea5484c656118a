#include "batch_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output_name.h"

static void entries_fini(struct batch_source *source) {
    for (size_t i = 0; i < source->members.count; i++) batch_entry_fini(column_at(&source->members, i));
    column_fini(&source->members);
    batch_entry_fini(&source->own);
    entry_texts_fini(&source->texts);
}

static void entries_init(struct batch_source *source) {
    entry_texts_init(&source->texts, source->path, &source->failure);
    batch_entry_init(&source->own, &source->texts, TEXT(""));
    column_init(&source->members, sizeof(struct batch_entry), &source->failure);
}

static void source_fini(struct batch_source *source) {
    entries_fini(source);
    free(source->path);
    free(source->name);
}

void batch_plan_init(struct batch_plan *plan, const struct options *options, const char *output_folder,
                     const atomic_bool *is_stopping, struct memory_limit *memory) {
    memset(plan, 0, sizeof *plan);
    plan->memory = plan->failure.memory = memory;
    plan->options = options;
    plan->output_folder = output_folder;
    plan->is_stopping = is_stopping;
    column_init(&plan->sources, sizeof(struct batch_source), &plan->failure);
}

void batch_plan_fini(struct batch_plan *plan) {
    for (size_t i = 0; i < plan->sources.count; i++) source_fini(batch_source_at(plan, i));
    column_fini(&plan->sources);
}

struct batch_source *batch_plan_add_source(struct batch_plan *plan, const char *path, const char *name) {
    struct batch_source *source = column_push(&plan->sources);
    if (!source) return NULL;
    memset(source, 0, sizeof *source);
    source->failure.memory = plan->memory;
    source->path = strdup(path);
    source->name = strdup(name);
    entries_init(source);
    if (!source->path || !source->name) failure_set_memory(&plan->failure);
    return source;
}

struct batch_entry *batch_source_add_member(struct batch_source *source, struct text path) {
    struct batch_entry *entry = column_push(&source->members);
    if (!entry) return NULL;
    if (batch_entry_init(entry, &source->texts, path)) return entry;
    source->members.count--;
    return NULL;
}

static bool ran_out_of_memory(struct batch_source *source) {
    struct batch_entry *entry;
    for (size_t i = 0; (entry = batch_entry_at(source, i)); i++)
        if (atomic_load(&entry->status) == BATCH_FAILED && batch_entry_outcome(entry) == GECKO_CONVERT_NO_MEMORY)
            return true;
    return false;
}

static bool is_by_record(struct batch_source *source) {
    struct batch_entry *entry;
    for (size_t i = 0; (entry = batch_entry_at(source, i)); i++)
        if (atomic_load(&entry->status) == BATCH_UNCHANGED) return true;
    return false;
}

static bool forget(struct batch_plan *plan, bool (*is_concerned)(struct batch_source *)) {
    size_t forgotten_count = 0;
    for (size_t i = 0; i < plan->sources.count; i++) {
        struct batch_source *source = batch_source_at(plan, i);
        if (source->is_folder || !is_concerned(source)) continue;
        entries_fini(source);
        failure_clear(&source->failure);
        entries_init(source);
        source->is_settled = false;
        atomic_store(&source->is_known, false);
        forgotten_count++;
    }
    atomic_store(&plan->next_source, 0);
    return forgotten_count > 0;
}

bool batch_plan_look_again(struct batch_plan *plan) { return forget(plan, ran_out_of_memory); }

bool batch_plan_look_anew(struct batch_plan *plan) {
    plan->records = NULL;
    atomic_store(&plan->looked_bytes, 0);
    return forget(plan, is_by_record);
}

struct batch_entry *batch_entry_known_at(struct batch_source *source, size_t number) {
    return number == 0 || atomic_load(&source->is_known) ? batch_entry_at(source, number) : NULL;
}

char *batch_entry_name(const struct batch_source *source, const char *member) {
    char *name;
    int bytes_count = member ? asprintf(&name, "%s > %s", source->path, member) : asprintf(&name, "%s", source->path);
    return bytes_count < 0 ? NULL : name;
}

char *batch_join(struct text folder, const char *name) {
    char *path;
    const char *slash = folder.bytes_count && !text_ends_with(folder, TEXT("/")) ? "/" : "";
    return asprintf(&path, "%.*s%s%s", (int)folder.bytes_count, folder.bytes, slash, name) < 0 ? NULL : path;
}

char *batch_output_path(const struct batch_plan *plan, const char *output) {
    return batch_join(text_of(plan->output_folder), output);
}

/* ---- What must hold among all. ---- */

/* An output and what it is of. */
struct claim {
    const char *output;
    struct batch_source *source;
    struct batch_entry *entry;
};

static int compare_claims(const void *left, const void *right) {
    return strcmp(((const struct claim *)left)->output, ((const struct claim *)right)->output);
}

static void collect_claims(struct batch_plan *plan, struct column *claims) {
    for (size_t i = 0; i < plan->sources.count; i++) {
        struct batch_source *source = batch_source_at(plan, i);
        struct batch_entry *entry;
        for (size_t j = 0; (entry = batch_entry_at(source, j)); j++) {
            enum batch_status status = atomic_load(&entry->status);
            if (status != BATCH_PENDING && status != BATCH_UNCHANGED) continue;
            struct claim *claim = column_push(claims);
            if (claim) *claim = (struct claim){batch_entry_output(entry), source, entry};
        }
    }
}

static void refuse_collision(struct batch_plan *plan, const struct claim *first, const struct claim *second,
                             size_t more_count) {
    char *first_name = batch_entry_name(first->source, first->entry->member);
    char *second_name = batch_entry_name(second->source, second->entry->member);
    char more[64] = "";
    if (more_count) snprintf(more, sizeof more, " (and so in %zu more cases)", more_count);
    bool is_folder = compare_claims(first, second) != 0;
    if (!first_name || !second_name)
        failure_set_memory(&plan->failure);
    else
        failure_set(&plan->failure, FAILURE_USAGE,
                    "%s would be the profile of %s and %s %s%s: nothing was converted; convert them into folders of "
                    "their own",
                    first->output, first_name, is_folder ? "a folder for that of" : "that of", second_name, more);
    free(first_name);
    free(second_name);
}

/* An output whose name is a folder of `claim`'s; NULL when there is none. */
static const struct claim *find_folder_claim(const struct column *claims, const struct claim *claim) {
    for (const char *slash = strchr(claim->output, '/'); slash; slash = strchr(slash + 1, '/')) {
        struct text folder = {claim->output, (size_t)(slash - claim->output)};
        if (!text_ends_with(folder, TEXT(OUTPUT_NAME_SUFFIX))) continue;
        size_t from = 0, to = claims->count;
        while (from < to) {
            size_t middle = from + (to - from) / 2;
            const struct claim *found = column_at(claims, middle);
            int order = strncmp(found->output, folder.bytes, folder.bytes_count);
            if (order == 0 && !found->output[folder.bytes_count]) return found;
            if (order < 0)
                from = middle + 1;
            else
                to = middle;
        }
    }
    return NULL;
}

static void check_names(struct batch_plan *plan) {
    struct column claims;
    column_init(&claims, sizeof(struct claim), &plan->failure);
    collect_claims(plan, &claims);
    column_sort(&claims, compare_claims);
    const struct claim *first = NULL, *second = NULL;
    size_t collision_count = 0;
    for (size_t i = 0; i < claims.count && !failure_is_set(&plan->failure); i++) {
        const struct claim *claim = column_at(&claims, i);
        const struct claim *before = i ? column_at(&claims, i - 1) : NULL;
        const struct claim *other =
            before && compare_claims(before, claim) == 0 ? before : find_folder_claim(&claims, claim);
        if (!other) continue;
        if (!collision_count++) first = other, second = claim;
    }
    if (collision_count) refuse_collision(plan, first, second, collision_count - 1);
    column_fini(&claims);
}

static bool holds_trace(struct batch_source *source) {
    struct batch_entry *entry;
    for (size_t i = 0; (entry = batch_entry_at(source, i)); i++) {
        enum batch_status status = atomic_load(&entry->status);
        /* What has failed may have been one, and is said already. */
        if (status != BATCH_NO_TRACE && status != BATCH_ARCHIVE && status != BATCH_FOLDER) return true;
    }
    return false;
}

static void fail_without_trace(struct batch_source *source) {
    const char *kind = source->is_folder ? "folder" : "archive";
    struct failure failure = {0};
    failure_set(&failure, FAILURE_INPUT, "%s: this %s holds no trace", source->path, kind);
    batch_entry_fail(&source->own, &source->texts, BATCH_FAILED, batch_code_no_trace, &failure);
}

/* A folder of which nothing was found has a source of its own for this. */
static void check_named_inputs(struct batch_plan *plan) {
    size_t source_count = plan->sources.count;
    for (size_t i = 0, end; i < source_count && !failure_is_set(&plan->failure); i = end) {
        struct batch_source *first = batch_source_at(plan, i);
        bool has_trace = false;
        for (end = i; end < source_count; end++) {
            struct batch_source *source = batch_source_at(plan, end);
            if (source->input_number != first->input_number) break;
            has_trace = has_trace || holds_trace(source);
        }
        if (!has_trace) fail_without_trace(first);
    }
}

/* What the batch writes is no input, and not in the report: it was there before, or is a trace that would be lost. */
static void take_out_own_files(struct batch_plan *plan) {
    uint32_t kept_count = 0;
    for (size_t i = 0; i < plan->sources.count; i++) {
        struct batch_source *source = batch_source_at(plan, i);
        if (source->is_own && holds_trace(source))
            failure_set(&plan->failure, FAILURE_USAGE, "%s is an input and would be written: name another file",
                        source->path);
        if (source->is_own)
            source_fini(source);
        else
            memmove(batch_source_at(plan, kept_count++), source, sizeof *source);
    }
    plan->sources.count = kept_count;
}

void batch_plan_check(struct batch_plan *plan) {
    if (failure_is_set(&plan->failure)) return;
    take_out_own_files(plan);
    check_names(plan);
    check_named_inputs(plan);
}
