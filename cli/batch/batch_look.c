/* The second step of a plan: what each file is. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "batch_plan.h"
#include "cli/bus_guard.h"
#include "cli/output_name.h"
#include "file_digest.h"
#include "manifest_records.h"
#include "member_path.h"
#include "readers/reader.h"

enum { ARCHIVES_DEPTH_MAX = 8 };

struct looker {
    struct batch_plan *plan;
    struct batch_source *source;
};

static char *output_of(struct text name) {
    struct text stem = output_name_stem(name);
    char *output;
    return asprintf(&output, "%.*s" OUTPUT_NAME_SUFFIX, (int)stem.bytes_count, stem.bytes) < 0 ? NULL : output;
}

/* ---- One trace. ---- */

static void take_failure(struct looker *looker, struct batch_entry *entry, const struct failure *latch) {
    batch_entry_fail(entry, &looker->source->texts, BATCH_FAILED, NULL, latch);
}

/* Tells a trace by its content, unless it is said what all of them are. `name` is that of its output. */
static void probe(struct looker *looker, struct batch_entry *entry, struct input *input, const char *name) {
    const char *from = looker->source->is_own ? NULL : looker->plan->options->convert.from;
    struct failure foreign = {0};
    bool is_trace = from || reader_detect(input, &foreign);
    if (failure_is_set(&looker->source->failure)) {
        take_failure(looker, entry, &looker->source->failure);
        return;
    }
    if (!is_trace) {
        enum batch_status status = looker->source->is_named && !entry->member ? BATCH_FAILED : BATCH_NO_TRACE;
        batch_entry_fail(entry, &looker->source->texts, status, batch_code_no_trace, &foreign);
        return;
    }
    struct batch_trace *trace = batch_entry_make_trace(entry);
    if (trace) trace->output = output_of(text_of(name));
    if (batch_entry_output(entry)) return;
    failure_set_memory(&foreign);
    take_failure(looker, entry, &foreign);
}

/* ---- Archives. ---- */

static void look_into(struct looker *looker, struct batch_entry *archive, struct input *input, struct text path,
                      const char *name, unsigned depth);

/* Uncompresses the member as far as needed, and looks what it is. */
static void look_at_member(struct looker *looker, struct batch_entry *entry, struct input_members *members,
                           const char *name, unsigned depth) {
    struct failure *latch = &looker->source->failure;
    char *message_name = batch_entry_name(looker->source, entry->member);
    struct input *input = message_name ? input_members_input(members, message_name) : NULL;
    if (!message_name) failure_set_memory(latch);
    if (input) input = input_uncompress(input);
    if (input && input_is_archive(input)) {
        look_into(looker, entry, input, text_of(entry->member), name, depth + 1);
    } else if (input) {
        probe(looker, entry, input, name);
        input_close(input);
    } else {
        take_failure(looker, entry, latch);
    }
    free(message_name);
}

static void add_member(struct looker *looker, struct input_members *members, const struct input_member *member,
                       struct text archive_path, struct text archive_name, unsigned depth) {
    struct failure *latch = &looker->source->failure;
    const char *reason = NULL;
    char *path_below = member_path(member, &reason);
    char *path = path_below ? batch_join(archive_path, path_below) : NULL;
    char *name = path_below ? batch_join(archive_name, path_below) : NULL;
    struct batch_entry *entry = path ? batch_source_add_member(looker->source, text_of(path)) : NULL;
    if (entry && reason) {
        struct failure refused = {0};
        failure_set(&refused, FAILURE_INPUT, "%s > %s: refused: %s", looker->source->path, path, reason);
        batch_entry_fail(entry, &looker->source->texts, BATCH_FAILED, batch_code_refused, &refused);
    } else if (entry && name) {
        look_at_member(looker, entry, members, name, depth);
    } else {
        failure_set_memory(latch);
        if (entry) take_failure(looker, entry, latch);
    }
    free(path_below);
    free(path);
    free(name);
}

/* `path` of the archive among the members, empty for the source itself; `name` of its output. Takes the input. */
static void look_into(struct looker *looker, struct batch_entry *archive, struct input *input, struct text path,
                      const char *name, unsigned depth) {
    struct failure *latch = &looker->source->failure;
    if (depth == ARCHIVES_DEPTH_MAX) {
        failure_set(latch, FAILURE_INPUT, "%s: there are archives in archives, more than %d deep", input_name(input),
                    ARCHIVES_DEPTH_MAX);
        input_close(input);
        take_failure(looker, archive, latch);
        return;
    }
    struct text folder = output_name_folder(text_of(name));
    struct input_members *members = input_members_open(input, latch);
    struct input_member member;
    archive->is_archive = true;
    atomic_store(&archive->status, BATCH_ARCHIVE);
    while (members && !atomic_load(looker->plan->is_stopping) && input_members_next(members, &member)) {
        if (member.kind == INPUT_MEMBER_FOLDER) continue;
        add_member(looker, members, &member, path, folder, depth);
        if (!input_members_recover(members)) break;
    }
    input_members_close(members);
    if (failure_is_set(latch)) take_failure(looker, archive, latch);
}

/* ---- Files. ---- */

static void look_at_content(struct looker *looker) {
    struct batch_source *source = looker->source;
    const volatile sig_atomic_t *has_lost_bytes = bus_guard_begin();
    struct input *input = input_open_outer(source->path, &source->failure);
    if (input && input_is_archive(input)) {
        look_into(looker, &source->own, input, TEXT(""), source->name, 0);
    } else if (input) {
        probe(looker, &source->own, input, source->name);
        input_close(input);
    } else {
        take_failure(looker, &source->own, &source->failure);
    }
    bus_guard_end();
    if (!*has_lost_bytes) return;
    failure_clear(&source->failure);
    failure_set(&source->failure, FAILURE_IO, "%s: became shorter while it was read", source->path);
    take_failure(looker, &source->own, &source->failure);
}

/* *by_record is the hash by which the record of the batch before would know the file; its salt is 0 when there is none.
 * False when the file cannot be read: errno says why. */
static bool read_digest(const struct looker *looker, struct input_digest *digest, struct salted_xxh3 *by_record) {
    struct batch_source *source = looker->source;
    if (manifest_records_know(looker->plan, source, digest, by_record)) {
        source->salted = *by_record;
        return true;
    }
    struct salted_xxh3 salted[] = {source->salted, *by_record};
    bool is_good = file_digest(source->path, digest, salted, by_record->salt ? 2 : 1);
    source->salted = salted[0];
    *by_record = salted[1];
    return is_good;
}

/* The digest comes first: a file that changes later is seen to have changed by the next batch. */
static void look_at_source(struct looker *looker) {
    struct batch_source *source = looker->source;
    struct input_digest digest;
    struct salted_xxh3 by_record;
    if (!read_digest(looker, &digest, &by_record)) {
        struct failure failure = {0};
        failure_set(&failure, FAILURE_IO, "%s: cannot be read: %s", source->path, strerror(errno));
        take_failure(looker, &source->own, &failure);
        return;
    }
    batch_entry_set_digest(&source->own, digest);
    source->is_settled = manifest_records_reuse(looker->plan, source, by_record);
    if (!source->is_settled) look_at_content(looker);
}

void batch_plan_look(struct batch_plan *plan) {
    while (!atomic_load(plan->is_stopping)) {
        size_t number = atomic_fetch_add(&plan->next_source, 1);
        if (number >= plan->sources.count) return;
        struct looker looker = {plan, batch_source_at(plan, number)};
        if (!atomic_load(&looker.source->is_known)) look_at_source(&looker);
        atomic_fetch_add(&plan->looked_bytes, looker.source->file_bytes);
        if (!atomic_load(plan->is_stopping)) atomic_store(&looker.source->is_known, true);
    }
}
