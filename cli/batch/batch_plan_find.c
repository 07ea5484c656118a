/* The first step of a plan: finds the files. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "batch_plan.h"
#include "libconvert/base/file_stamp.h"
#include "readers/input/input_folder.h"

struct finder {
    struct batch_plan *plan;
    struct column own_files; /* struct stat: files that the batch itself writes, and therefore does not convert */
    size_t input_number;
};

static void note_own_files(struct finder *finder) {
    for (size_t i = 0; i < finder->plan->own_path_count; i++) {
        const char *path = finder->plan->own_paths[i];
        struct stat status;
        struct stat *file = path && stat(path, &status) == 0 ? column_push(&finder->own_files) : NULL;
        if (file) *file = status;
    }
}

static bool is_own_file(const struct finder *finder, const struct stat *status) {
    COLUMN_EACH(const struct stat, own, &finder->own_files)
        if (own->st_dev == status->st_dev && own->st_ino == status->st_ino) return true;
    return false;
}

/* Returns NULL if memory ran out (latched). */
static struct batch_source *add_source(struct finder *finder, const char *path, const char *name, bool is_named) {
    struct batch_source *source = batch_plan_add_source(finder->plan, path, name);
    if (failure_is_set(&finder->plan->failure)) return NULL;
    source->input_number = finder->input_number;
    source->is_named = is_named;
    return source;
}

/* ---- Sources that need no further step. ---- */

static void fail_source(struct batch_source *source, enum batch_status status, const char *code,
                        const struct failure *failure) {
    batch_entry_fail(&source->own, &source->texts, status, code, failure);
    atomic_store(&source->is_known, true);
}

static void fail_reading(struct batch_source *source, int error) {
    struct failure failure = {0};
    if (error == ENOMEM)
        failure_set_memory(&failure);
    else
        failure_set(&failure, FAILURE_IO, "%s: cannot be opened: %s", source->path, strerror(error));
    fail_source(source, BATCH_FAILED, NULL, &failure);
}

static void set_no_trace(struct batch_source *source, const char *what) {
    struct failure failure = {0};
    failure_set(&failure, FAILURE_INPUT, "%s: this is %s", source->path, what);
    fail_source(source, source->is_named ? BATCH_FAILED : BATCH_NO_TRACE, batch_code_no_trace, &failure);
}

/* ---- Recordings in folders. ---- */

/* Adds the size and the stamp of one of the files. */
static bool add_part(struct finder *finder, struct batch_source *source, const char *path, bool *is_lasting) {
    struct stat status;
    if (stat(path, &status) != 0) return false;
    source->stamp = source->stamp * 31 + file_stamp(&status);
    *is_lasting = *is_lasting && file_stamp_is_lasting(&status);
    source->file_bytes += (uint64_t)status.st_size;
    finder->plan->total_bytes += (uint64_t)status.st_size;
    return true;
}

/* Makes the source a trace that consists of these files. */
static void add_parts(struct finder *finder, struct batch_source *source, const struct input_folder *folder) {
    bool is_lasting = true;
    for (size_t i = 0; i < folder->path_count; i++) {
        if (add_part(finder, source, folder->paths[i], &is_lasting)) continue;
        fail_reading(source, errno);
        return;
    }
    if (!is_lasting) source->stamp = 0;
}

/* ---- Folders. ---- */

static void find_folder(struct finder *finder, const char *path, const char *name, bool is_named);

static int is_child(const struct dirent *entry) {
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static void add_file(struct finder *finder, struct batch_source *source, const struct stat *status) {
    if (!S_ISREG(status->st_mode)) {
        set_no_trace(source, "not a regular file");
        return;
    }
    source->file_bytes = (uint64_t)status->st_size;
    source->stamp = file_stamp_is_lasting(status) ? file_stamp(status) : 0;
    finder->plan->total_bytes += source->file_bytes;
}

/* Links to files are followed. Links to folders are not, since they could form a cycle. */
static void find_entry(struct finder *finder, const char *path, const char *name) {
    struct stat status;
    bool is_there = lstat(path, &status) == 0;
    bool is_own = is_there && is_own_file(finder, &status);
    if (is_there && S_ISDIR(status.st_mode)) {
        if (!is_own) find_folder(finder, path, name, false);
        return;
    }
    if (is_own && !S_ISREG(status.st_mode)) return;
    if (is_there && S_ISLNK(status.st_mode)) is_there = stat(path, &status) == 0;
    int error = errno;
    struct batch_source *source = add_source(finder, path, name, false);
    if (!source) return;
    source->is_own = is_own;
    if (!is_there)
        fail_reading(source, error);
    else if (S_ISDIR(status.st_mode))
        set_no_trace(source, "a link to a folder, which is not followed");
    else
        add_file(finder, source, &status);
}

static void find_in_folder(struct finder *finder, const char *path, const char *name) {
    struct dirent **entries;
    int count = scandir(path, &entries, is_child, alphasort);
    if (count < 0) {
        int error = errno;
        struct batch_source *source = add_source(finder, path, name, false);
        if (!source) return;
        source->is_folder = true;
        fail_reading(source, error);
        return;
    }
    for (int i = 0; i < count; i++) {
        bool continues = !failure_is_set(&finder->plan->failure) && !atomic_load(finder->plan->is_stopping);
        char *below_path = continues ? batch_join(text_of(path), entries[i]->d_name) : NULL;
        char *below_name = continues ? batch_join(text_of(name), entries[i]->d_name) : NULL;
        if (below_path && below_name)
            find_entry(finder, below_path, below_name);
        else if (continues)
            failure_set_memory(&finder->plan->failure);
        free(below_path);
        free(below_name);
        free(entries[i]);
    }
    free(entries);
}

static void add_folder(struct finder *finder, const char *path, const char *name) {
    struct batch_source *source = add_source(finder, path, name, true);
    if (!source) return;
    source->is_folder = true;
    atomic_store(&source->own.status, BATCH_FOLDER);
    atomic_store(&source->is_known, true);
}

/* Adds a folder as one trace if it is a recording of perf. Otherwise adds the files in it. A named folder then has a
 * source of its own, too. */
static void find_folder(struct finder *finder, const char *path, const char *name, bool is_named) {
    struct input_folder parts;
    input_folder_list(&parts, path, &finder->plan->failure);
    if (parts.path_count) {
        struct batch_source *source = add_source(finder, path, name, is_named);
        if (source) add_parts(finder, source, &parts);
    } else {
        if (is_named) add_folder(finder, path, name);
        if (!failure_is_set(&finder->plan->failure)) find_in_folder(finder, path, name);
    }
    input_folder_fini(&parts);
}

/* ---- Inputs. ---- */

/* Returns the part of an input's path that output names keep: the last component, or nothing if that is "." or "..".
 * The caller frees it; NULL if memory ran out. */
static char *name_of(const char *path) {
    struct text whole = text_of(path);
    while (text_ends_with(whole, TEXT("/"))) whole.bytes_count--;
    struct text name = text_base_name(whole);
    if (text_equal(name, TEXT(".")) || text_equal(name, TEXT(".."))) name.bytes_count = 0;
    return strndup(name.bytes, name.bytes_count);
}

static void find_input(struct finder *finder, const char *path, const char *name) {
    struct stat status;
    bool is_there = stat(path, &status) == 0;
    int error = errno;
    if (is_there && S_ISDIR(status.st_mode)) {
        find_folder(finder, path, name, true);
        return;
    }
    struct batch_source *source = add_source(finder, path, name, true);
    if (!source) return;
    if (is_there)
        add_file(finder, source, &status);
    else
        fail_reading(source, error);
}

void batch_plan_find(struct batch_plan *plan) {
    const struct options_list *inputs = &plan->options->inputs;
    struct finder finder = {.plan = plan};
    column_init(&finder.own_files, sizeof(struct stat), &plan->failure);
    note_own_files(&finder);
    for (size_t i = 0; i < inputs->count && !failure_is_set(&plan->failure); i++) {
        finder.input_number = i;
        char *name = name_of(inputs->values[i]);
        if (name)
            find_input(&finder, inputs->values[i], name);
        else
            failure_set_memory(&plan->failure);
        free(name);
    }
    column_fini(&finder.own_files);
    batch_plan_select_shard(plan);
}
