/* The second step of a plan: finds out what each file is. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "batch_plan.h"
#include "cli/bus_guard.h"
#include "cli/output_name.h"
#include "file_digest.h"
#include "manifest_records.h"
#include "member_path.h"
#include "readers/input/input_folder.h"
#include "readers/reader.h"

enum { ARCHIVES_DEPTH_MAX = 8 };

struct probe {
    struct batch_plan *plan;
    struct batch_source *source;
};

/* ---- One trace. ---- */

static void take_failure(struct probe *probe, struct batch_entry *entry, const struct failure *latch) {
    batch_entry_fail(entry, &probe->source->texts, BATCH_FAILED, NULL, latch);
}

/* Returns whether the input is a trace; otherwise sets `foreign` to what it is instead. A folder with traces often has
 * their profiles, too. A batch converts those only if the format is named. */
static bool detect_trace(struct input *input, struct failure *foreign) {
    const struct reader *reader = reader_detect(input, foreign);
    if (reader == &reader_profile)
        failure_set(foreign, FAILURE_INPUT,
                    "%s: this is a profile already: it needs no conversion; --from profile converts it all the same",
                    input_name(input));
    return reader && reader != &reader_profile;
}

/* Makes the entry a trace if its content is a trace, or if the options name the format of all inputs. The path of its
 * output is made from `name`, which still has its suffixes. */
static void identify_trace(struct probe *probe, struct batch_entry *entry, struct input *input, const char *name) {
    const char *from = probe->source->is_own ? NULL : probe->plan->options->convert.from;
    struct failure foreign = {0};
    bool is_trace = from || detect_trace(input, &foreign);
    if (failure_is_set(&probe->source->failure)) {
        take_failure(probe, entry, &probe->source->failure);
        return;
    }
    if (!is_trace) {
        enum batch_status status = probe->source->is_named && !entry->member ? BATCH_FAILED : BATCH_NO_TRACE;
        batch_entry_fail(entry, &probe->source->texts, status, batch_code_no_trace, &foreign);
        return;
    }
    const struct options *options = probe->plan->options;
    struct batch_trace *trace = batch_entry_make_trace(entry);
    if (trace) {
        trace->may_have_parts = input_folder_is_recording(input_peek(input, 1));
        trace->output = output_name_of(text_of(name), options->convert.format, options->compresses);
    }
    if (batch_entry_output(entry)) return;
    failure_set_memory(&foreign);
    take_failure(probe, entry, &foreign);
}

/* ---- Archives. ---- */

static void identify_members(struct probe *probe, struct batch_entry *archive, struct input *input, struct text path,
                             const char *name, unsigned depth);

/* Decompresses as much of the member as is needed to identify it. */
static void identify_member(struct probe *probe, struct batch_entry *entry, struct input_members *members,
                            const char *name, unsigned depth) {
    struct failure *latch = &probe->source->failure;
    char *message_name = batch_entry_name(probe->source, entry->member);
    struct input *input = message_name ? input_members_input(members, message_name) : NULL;
    if (!message_name) failure_set_memory(latch);
    if (input) input = input_uncompress(input);
    if (input && input_is_archive(input)) {
        identify_members(probe, entry, input, text_of(entry->member), name, depth + 1);
    } else if (input) {
        identify_trace(probe, entry, input, name);
        input_close(input);
    } else {
        take_failure(probe, entry, latch);
    }
    free(message_name);
}

static void add_member(struct probe *probe, struct input_members *members, const struct input_member *member,
                       struct text archive_path, struct text archive_name, unsigned depth) {
    struct failure *latch = &probe->source->failure;
    const char *reason = NULL;
    char *path_below = member_path(member, &reason);
    char *path = path_below ? batch_join(archive_path, path_below) : NULL;
    char *name = path_below ? batch_join(archive_name, path_below) : NULL;
    struct batch_entry *entry = path ? batch_source_add_member(probe->source, text_of(path)) : NULL;
    if (entry && reason) {
        struct failure refused = {0};
        failure_set(&refused, FAILURE_INPUT, "%s > %s: refused: %s", probe->source->path, path, reason);
        batch_entry_fail(entry, &probe->source->texts, BATCH_FAILED, batch_code_refused, &refused);
    } else if (entry && name) {
        identify_member(probe, entry, members, name, depth);
    } else {
        failure_set_memory(latch);
        if (entry) take_failure(probe, entry, latch);
    }
    free(path_below);
    free(path);
    free(name);
}

/* Returns whether perf record --threads or --kcore gives this name to a file beside `data`. */
static bool is_part(const struct batch_entry *entry, struct text *folder) {
    uint32_t number = input_folder_number(text_of(entry->member), folder);
    return number == 0 || number == INPUT_FOLDER_KERNEL;
}

/* Returns whether the entry is the `data` file of a recording whose other files may be in the same folder. */
static bool is_header(const struct batch_entry *entry, struct text *folder) {
    const struct batch_trace *trace = batch_entry_trace(entry);
    return input_folder_number(text_of(entry->member), folder) == INPUT_FOLDER_HEADER && trace && trace->may_have_parts;
}

/* Fails recordings in several files among the members from `first` on. Their files are read side by side, but an
 * archive gives one after another. */
static void refuse_recordings(struct probe *probe, size_t first) {
    struct batch_source *source = probe->source;
    struct strings folders;
    struct text folder;
    strings_init(&folders, &source->failure);
    for (size_t i = first; i < source->members.count; i++)
        if (is_part(column_at(&source->members, i), &folder)) strings_intern(&folders, folder);
    uint32_t folder_count = strings_count(&folders);
    for (size_t i = first; i < source->members.count; i++) {
        struct batch_entry *entry = column_at(&source->members, i);
        if (!is_header(entry, &folder) || strings_intern(&folders, folder).index >= folder_count) continue;
        struct failure failure = {0};
        failure_set(&failure, FAILURE_INPUT, "%s > %s: " INPUT_FOLDER_PACKED, source->path, entry->member);
        take_failure(probe, entry, &failure);
    }
    strings_fini(&folders);
}

/* Adds the members of an archive. `path` is the path of the archive within the source, empty for the source itself.
 * Output paths are made from `name`. Takes ownership of the input. */
static void identify_members(struct probe *probe, struct batch_entry *archive, struct input *input, struct text path,
                             const char *name, unsigned depth) {
    struct failure *latch = &probe->source->failure;
    if (depth == ARCHIVES_DEPTH_MAX) {
        failure_set(latch, FAILURE_INPUT, "%s: there are archives in archives, more than %d deep", input_name(input),
                    ARCHIVES_DEPTH_MAX);
        input_close(input);
        take_failure(probe, archive, latch);
        return;
    }
    struct text folder = output_name_folder(text_of(name));
    size_t first_member = probe->source->members.count;
    struct input_members *members = input_members_open(input, latch);
    struct input_member member;
    archive->is_archive = true;
    atomic_store(&archive->status, BATCH_ARCHIVE);
    while (members && !atomic_load(probe->plan->is_stopping) && input_members_next(members, &member)) {
        if (member.kind == INPUT_MEMBER_FOLDER) continue;
        add_member(probe, members, &member, path, folder, depth);
        if (!input_members_recover(members)) break;
    }
    input_members_close(members);
    refuse_recordings(probe, first_member);
    if (failure_is_set(latch)) take_failure(probe, archive, latch);
}

/* ---- Files. ---- */

static void identify_content(struct probe *probe) {
    struct batch_source *source = probe->source;
    const volatile sig_atomic_t *has_lost_bytes = bus_guard_begin();
    struct input *input = input_open_outer(source->path, &source->failure);
    if (input && input_is_archive(input)) {
        identify_members(probe, &source->own, input, TEXT(""), source->name, 0);
    } else if (input) {
        identify_trace(probe, &source->own, input, source->name);
        input_close(input);
    } else {
        take_failure(probe, &source->own, &source->failure);
    }
    bus_guard_end();
    if (!*has_lost_bytes) return;
    failure_clear(&source->failure);
    failure_set(&source->failure, FAILURE_IO, "%s: became shorter while it was read", source->path);
    take_failure(probe, &source->own, &source->failure);
}

/* The digest is taken before the content is identified: if the file changes in between, the next batch will notice. */
static void identify_source(struct probe *probe) {
    struct batch_source *source = probe->source;
    struct input_digest digest;
    if (!manifest_records_know(probe->plan, source, &digest) && !file_digest(source->path, &digest)) {
        struct failure failure = {0};
        failure_set(&failure, FAILURE_IO, "%s: cannot be read: %s", source->path, strerror(errno));
        take_failure(probe, &source->own, &failure);
        return;
    }
    batch_entry_set_digest(&source->own, digest);
    source->is_done = manifest_records_reuse(probe->plan, source);
    if (!source->is_done) identify_content(probe);
}

void batch_plan_identify(struct batch_plan *plan) {
    while (!atomic_load(plan->is_stopping)) {
        size_t number = atomic_fetch_add(&plan->next_source, 1);
        if (number >= plan->sources.count) return;
        struct probe probe = {plan, batch_source_at(plan, number)};
        if (probe.source->is_left_out) continue;
        if (!atomic_load(&probe.source->is_known)) identify_source(&probe);
        atomic_fetch_add(&plan->identified_bytes, probe.source->file_bytes);
        if (!atomic_load(plan->is_stopping)) atomic_store(&probe.source->is_known, true);
    }
}
