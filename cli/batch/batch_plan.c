#include "batch_plan.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/output_name.h"
#include "libconvert/base/first_row.h"
#include "libconvert/base/path.h"

static void entries_fini(struct batch_source *source) {
    for (size_t i = 0; i < source->members.count; i++) batch_entry_fini(column_at(&source->members, i));
    column_fini(&source->members);
    batch_entry_fini(&source->own);
    arena_fini(&source->texts);
}

static void entries_init(struct batch_source *source) {
    arena_init(&source->texts, &source->failure);
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

static bool lacked_memory(struct batch_source *source) {
    struct batch_entry *entry;
    for (size_t i = 0; (entry = batch_entry_at(source, i)); i++)
        if (atomic_load(&entry->status) == BATCH_FAILED && batch_entry_outcome(entry) == GECKO_CONVERT_NO_MEMORY)
            return true;
    return false;
}

static bool is_reused(struct batch_source *source) {
    struct batch_entry *entry;
    for (size_t i = 0; (entry = batch_entry_at(source, i)); i++)
        if (atomic_load(&entry->status) == BATCH_UNCHANGED) return true;
    return false;
}

static bool reset_sources(struct batch_plan *plan, bool (*needs_reset)(struct batch_source *)) {
    size_t forgotten_count = 0;
    COLUMN_EACH(struct batch_source, source, &plan->sources) {
        if (source->is_folder || source->is_left_out || !needs_reset(source)) continue;
        entries_fini(source);
        failure_clear(&source->failure);
        entries_init(source);
        source->is_done = false;
        atomic_store(&source->is_known, false);
        forgotten_count++;
    }
    atomic_store(&plan->next_source, 0);
    return forgotten_count > 0;
}

bool batch_plan_requeue_out_of_memory(struct batch_plan *plan) { return reset_sources(plan, lacked_memory); }

bool batch_plan_requeue_reused(struct batch_plan *plan) {
    plan->records = NULL;
    atomic_store(&plan->identified_bytes, 0);
    return reset_sources(plan, is_reused);
}

bool batch_cursor_next(const struct batch_plan *plan, struct batch_cursor *cursor) {
    for (; cursor->next_source < plan->sources.count; cursor->next_source++, cursor->next_entry = 0) {
        cursor->source = batch_source_at(plan, cursor->next_source);
        if (cursor->source->is_left_out) continue;
        bool is_known = !cursor->next_entry || atomic_load(&cursor->source->is_known);
        cursor->entry = is_known ? batch_entry_at(cursor->source, cursor->next_entry++) : NULL;
        if (cursor->entry) return true;
    }
    return false;
}

char *batch_entry_name(const struct batch_source *source, const char *member) {
    char *name;
    int bytes_count = member ? asprintf(&name, "%s > %s", source->path, member) : asprintf(&name, "%s", source->path);
    return bytes_count < 0 ? NULL : name;
}

char *batch_join(struct text folder, const char *name) {
    char *path;
    const char *slash = folder.bytes_count && !text_ends_with(folder, TEXT("/")) ? "/" : "";
    return asprintf(&path, "%.*s%s%s", TEXT_ARGS(folder), slash, name) < 0 ? NULL : path;
}

char *batch_output_path(const struct batch_plan *plan, const char *output) {
    return batch_join(text_of(plan->output_folder), output);
}

/* ---- Checks across all sources. ---- */

/* An output path and the entry that needs it. */
struct claim {
    const char *output;
    struct batch_source *source;
    struct batch_entry *entry;
};

static int compare_claims(const void *left, const void *right) {
    return strcmp(((const struct claim *)left)->output, ((const struct claim *)right)->output);
}

static void collect_claims(struct batch_plan *plan, struct column *claims) {
    for (struct batch_cursor at = {0}; batch_cursor_next(plan, &at);) {
        enum batch_status status = atomic_load(&at.entry->status);
        if (status != BATCH_PENDING && status != BATCH_UNCHANGED) continue;
        column_add(claims, &(struct claim){batch_entry_output(at.entry), at.source, at.entry});
    }
}

static const char *advice_against(const struct claim *first, const struct claim *second) {
    const char *member = first->entry->member;
    bool is_twice_in_archive = first->source == second->source && member && !strcmp(member, second->entry->member);
    return is_twice_in_archive ? "unpack the archive and convert its folder" : "convert them into separate folders";
}

static void refuse_collision(struct batch_plan *plan, const struct claim *first, const struct claim *second,
                             size_t more_count) {
    char *first_name = batch_entry_name(first->source, first->entry->member);
    char *second_name = batch_entry_name(second->source, second->entry->member);
    char more[64] = "";
    if (more_count) snprintf(more, sizeof more, " (and %zu more such case%s)", more_count, more_count == 1 ? "" : "s");
    bool is_folder = compare_claims(first, second) != 0;
    if (!first_name || !second_name)
        failure_set_memory(&plan->failure);
    else
        failure_set(&plan->failure, FAILURE_USAGE,
                    "%s would be the profile of %s and also %s %s%s: nothing was converted; %s", first->output,
                    first_name, is_folder ? "a folder for the profile of" : "that of", second_name, more,
                    advice_against(first, second));
    free(first_name);
    free(second_name);
}

/* Compares the start of the claim's output with a text. */
static int compare_output(const struct column *claims, size_t i, struct text start) {
    const struct claim *claim = column_at(claims, i);
    return strncmp(claim->output, start.bytes, start.bytes_count);
}

/* Returns a claim whose output is a folder in the path of `claim`'s output; NULL if there is none. */
static const struct claim *find_folder_claim(const struct column *claims, const struct claim *claim,
                                             struct text suffix) {
    for (const char *slash = strchr(claim->output, '/'); slash; slash = strchr(slash + 1, '/')) {
        struct text folder = {claim->output, (size_t)(slash - claim->output)};
        if (!text_ends_with(folder, suffix)) continue;
        size_t first = FIRST_ROW(i, claims->count, compare_output(claims, i, folder) >= 0);
        if (first == claims->count || compare_output(claims, first, folder) != 0) continue;
        /* Of the outputs that begin with the folder's path, that path itself sorts first. */
        const struct claim *found = column_at(claims, first);
        if (!found->output[folder.bytes_count]) return found;
    }
    return NULL;
}

static void check_names(struct batch_plan *plan) {
    struct output_suffix suffix = output_name_suffix(plan->options->convert.format, plan->options->compresses);
    struct column claims;
    column_init(&claims, sizeof(struct claim), &plan->failure);
    collect_claims(plan, &claims);
    column_sort(&claims, compare_claims);
    const struct claim *first = NULL, *second = NULL;
    size_t collision_count = 0;
    for (size_t i = 0; i < claims.count && !failure_is_set(&plan->failure); i++) {
        const struct claim *claim = column_at(&claims, i);
        const struct claim *before = i ? column_at(&claims, i - 1) : NULL;
        const struct claim *other = before && compare_claims(before, claim) == 0
                                        ? before
                                        : find_folder_claim(&claims, claim, text_of(suffix.bytes));
        if (other && !collision_count++) first = other, second = claim;
    }
    if (collision_count) refuse_collision(plan, first, second, collision_count - 1);
    column_fini(&claims);
}

/* Makes the path absolute and removes "." and "..". Returns an empty text if it is too long. */
static struct text absolute_path(const char *path, char bytes[PATH_MAX]) {
    char folder[PATH_MAX], joined[2 * PATH_MAX];
    bool is_absolute = *path == '/';
    if (!is_absolute && !getcwd(folder, sizeof folder)) return (struct text){0};
    snprintf(joined, sizeof joined, "%s%s%s", is_absolute ? "" : folder, is_absolute ? "" : "/", path);
    if (strlen(joined) >= PATH_MAX) return (struct text){0};
    struct text normal = path_normalize(text_of(joined), bytes);
    memmove(bytes, normal.bytes, normal.bytes_count);
    return (struct text){bytes, normal.bytes_count};
}

/* Returns the path relative to the folder; empty if the path is not below the folder. */
static struct text path_below(struct text path, struct text folder) {
    if (!text_starts_with(path, folder)) return (struct text){0};
    struct text rest = text_from(path, folder.bytes_count);
    return text_starts_with(rest, TEXT("/")) ? text_from(rest, 1) : (struct text){0};
}

static void refuse_own_path(struct batch_plan *plan, const struct batch_cursor *at, const char *own_path) {
    char *name = batch_entry_name(at->source, at->entry->member);
    if (name)
        failure_set(&plan->failure, FAILURE_USAGE,
                    "the profile of %s would be in the place of %s, which the batch writes itself: nothing was "
                    "converted; rename one of them",
                    name, own_path);
    else
        failure_set_memory(&plan->failure);
    free(name);
}

/* Refuses profiles that would be in the place of a file or a folder of the batch itself. */
static void check_own_path(struct batch_plan *plan, const char *own_path) {
    char own_bytes[PATH_MAX], folder_bytes[PATH_MAX];
    struct text folder = absolute_path(plan->output_folder, folder_bytes);
    struct text own = path_below(absolute_path(own_path, own_bytes), folder);
    if (!own.bytes_count || !folder.bytes_count) return;
    for (struct batch_cursor at = {0}; batch_cursor_next(plan, &at) && !failure_is_set(&plan->failure);) {
        enum batch_status status = atomic_load(&at.entry->status);
        if (status != BATCH_PENDING && status != BATCH_UNCHANGED) continue;
        struct text output = text_of(batch_entry_output(at.entry));
        if (text_equal(output, own) || path_below(output, own).bytes_count) refuse_own_path(plan, &at, own_path);
    }
}

static bool holds_trace(struct batch_source *source) {
    struct batch_entry *entry;
    for (size_t i = 0; (entry = batch_entry_at(source, i)); i++) {
        enum batch_status status = atomic_load(&entry->status);
        /* A failed entry may have been a trace, and its error is reported already. */
        if (status != BATCH_NO_TRACE && status != BATCH_ARCHIVE && status != BATCH_FOLDER) return true;
    }
    return false;
}

static void fail_without_trace(struct batch_source *source) {
    const char *kind = source->is_folder ? "folder" : "archive";
    struct failure failure = {0};
    failure_set(&failure, FAILURE_INPUT, "%s: this %s contains no trace", source->path, kind);
    batch_entry_fail(&source->own, &source->texts, BATCH_FAILED, batch_code_no_trace, &failure);
}

/* Fails the inputs in which no trace was found. The input_number links sources to inputs. A named folder has a source
 * of its own, so an empty folder can fail, too. In a shard, that source is left out, because the shard does not know
 * what the others find in the folder. */
static void check_named_inputs(struct batch_plan *plan) {
    size_t source_count = plan->sources.count;
    for (size_t i = 0, end; i < source_count && !failure_is_set(&plan->failure); i = end) {
        struct batch_source *first = batch_source_at(plan, i);
        bool has_trace = false;
        for (end = i; end < source_count; end++) {
            struct batch_source *source = batch_source_at(plan, end);
            if (source->input_number != first->input_number) break;
            has_trace = has_trace || (!source->is_left_out && holds_trace(source));
        }
        if (!has_trace && !first->is_left_out) fail_without_trace(first);
    }
}

/* Files that the batch itself writes are left out of the report. If such a file is a trace, writing would destroy it,
 * so the batch is refused. */
static void leave_out_own_files(struct batch_plan *plan) {
    COLUMN_EACH(struct batch_source, source, &plan->sources) {
        if (source->is_own && holds_trace(source))
            failure_set(&plan->failure, FAILURE_USAGE, "%s is an input and would be overwritten: name another file",
                        source->path);
        source->is_left_out |= source->is_own;
    }
}

void batch_plan_check(struct batch_plan *plan) {
    if (failure_is_set(&plan->failure)) return;
    leave_out_own_files(plan);
    check_names(plan);
    for (size_t i = 0; i < plan->own_path_count && !failure_is_set(&plan->failure); i++)
        if (plan->own_paths[i]) check_own_path(plan, plan->own_paths[i]);
    check_named_inputs(plan);
}
