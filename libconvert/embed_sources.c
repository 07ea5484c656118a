#include "embed_sources.h"

#include <stdio.h>
#include <unistd.h>

#include "libconvert/base/id_column.h"
#include "libconvert/base/memory.h"
#include "libconvert/base/regular_file.h"
#include "libconvert/symbols/sysroot.h"
#include "source_rules.h"

/* What is known of a row of the profile's sources. */
struct source_facts {
    uint32_t source;
    uint32_t sample_count; /* samples whose innermost known source it is */
    bool is_vouched;       /* the debug information of a library names it */
    struct text build_id;  /* one of its libraries has it; empty: unknown */
    int64_t built_s;       /* when the oldest of its libraries was written, since the epoch; INT64_MAX: unknown */
};

struct embedding {
    struct profile *profile;            /* borrowed */
    const struct source_search *search; /* borrowed */
    struct debug_server *server;        /* borrowed; NULL: none */
    uint64_t left_bytes;                /* how much may still be embedded */
    struct source_facts *facts;         /* one for each source */
    uint32_t count;
    uint64_t outcomes[SOURCE_OUTCOME_COUNT];
    uint64_t newer_count; /* embedded files that are newer than a library built from them */
};

/* ---- The share of each file. ---- */

static uint32_t source_row(const struct profile *profile, frame_id frame) {
    func_id func = profile_frame_at(profile, frame)->func;
    return func_is_none(func) ? ID_NONE : profile_func_at(profile, func)->source.index;
}

/* Stores the innermost known source of each stack; ID_NONE if there is none. */
static void find_sources(const struct profile *profile, uint32_t *sources) {
    for (uint32_t i = 0; i < stack_table_count(&profile->stacks); i++) {
        const struct stack *stack = stack_table_at(&profile->stacks, i);
        sources[i] = source_row(profile, stack->frame);
        if (sources[i] == ID_NONE && !stack_is_none(stack->prefix)) sources[i] = sources[stack->prefix.index];
    }
}

static void count_samples(struct embedding *embedding) {
    const struct profile *profile = embedding->profile;
    uint32_t stack_count = stack_table_count(&profile->stacks);
    uint32_t *sources = memory_allocate(profile->failure, stack_count * sizeof *sources);
    if (!sources) return;
    find_sources(profile, sources);
    for (size_t i = 0; i < profile->thread_order.count; i++) {
        const struct samples *samples = &profile_ordered_thread(profile, i)->samples;
        for (uint32_t j = 0; j < samples_count(samples); j++) {
            stack_id stack = samples_at(samples, j)->stack;
            uint32_t source = stack_is_none(stack) ? ID_NONE : sources[stack.index];
            if (source != ID_NONE) embedding->facts[source].sample_count++;
        }
    }
    memory_free(sources);
}

static int compare_facts(const void *left, const void *right) {
    const struct source_facts *a = left, *b = right;
    return ORDER(b->sample_count, a->sample_count) ?: ORDER(a->source, b->source);
}

/* ---- The age of each file's libraries. ---- */

/* Describes the file with that path in the file system below the sysroot. Returns false if there is none. */
static bool describe_below(const char *sysroot, const char *path, struct stat *status) {
    char real_path[PATH_MAX];
    int file = sysroot ? sysroot_open(sysroot, path, real_path) : -1;
    if (file < 0) return false;
    bool is_described = fstat(file, status) == 0;
    close(file);
    return is_described;
}

static int64_t written_s(const struct lib *lib, const char *sysroot) {
    char name[PATH_MAX];
    struct stat status;
    if (!text_starts_with(lib->path, TEXT("/")) || !text_copy(lib->path, name, sizeof name)) return INT64_MAX;
    bool is_there = describe_below(sysroot, name, &status) || (stat(name, &status) == 0 && S_ISREG(status.st_mode));
    return is_there ? (int64_t)status.st_mtime : INT64_MAX;
}

static void find_ages(struct embedding *embedding) {
    const struct profile *profile = embedding->profile;
    uint32_t lib_count = libs_count(&profile->libs);
    int64_t *lib_s = memory_allocate(profile->failure, lib_count * sizeof *lib_s);
    if (!lib_s) return;
    for (uint32_t i = 0; i < lib_count; i++)
        lib_s[i] = written_s(libs_at(&profile->libs, (lib_id){i}), embedding->search->sysroot);
    for (uint32_t i = 0; i < row_table_count(&profile->frames); i++) {
        const struct frame *frame = profile_frame_at(profile, (frame_id){i});
        uint32_t source = source_row(profile, (frame_id){i});
        if (source == ID_NONE || lib_is_none(frame->lib)) continue;
        struct source_facts *facts = &embedding->facts[source];
        if (!facts->build_id.bytes_count) facts->build_id = libs_at(&profile->libs, frame->lib)->code_id;
        if (lib_s[frame->lib.index] < facts->built_s) facts->built_s = lib_s[frame->lib.index];
    }
    memory_free(lib_s);
}

/* ---- One file. ---- */

static enum source_outcome keep_content(struct embedding *embedding, struct text bytes, struct text *content) {
    if (!source_is_text(bytes)) return SOURCE_NOT_TEXT;
    *content = arena_copy(&embedding->profile->memory, bytes);
    embedding->left_bytes -= bytes.bytes_count;
    return SOURCE_FOUND;
}

static enum source_outcome read_content(struct embedding *embedding, int file, uint64_t file_bytes,
                                        struct text *content) {
    if (file_bytes > embedding->left_bytes) return SOURCE_TOO_LARGE;
    size_t bytes_count = (size_t)file_bytes;
    char *bytes = memory_allocate(embedding->profile->failure, bytes_count);
    bool is_read = bytes && regular_file_read(file, bytes, &bytes_count);
    enum source_outcome outcome =
        is_read ? keep_content(embedding, (struct text){bytes, bytes_count}, content) : SOURCE_UNREADABLE;
    memory_free(bytes);
    return outcome;
}

static int open_source(struct embedding *embedding, const struct source_facts *facts, struct stat *status,
                       enum source_outcome *outcome) {
    const struct profile *profile = embedding->profile;
    struct text name = profile_source_path(profile, (source_id){facts->source});
    int file = source_search_open(embedding->search, name, facts->is_vouched, status, outcome);
    bool is_wanted = file < 0 && *outcome == SOURCE_MISSING && facts->is_vouched && embedding->server;
    return is_wanted ? source_search_fetch(embedding->server, facts->build_id, name, status, outcome) : file;
}

static enum source_outcome embed(struct embedding *embedding, const struct source_facts *facts) {
    struct profile *profile = embedding->profile;
    struct stat status;
    enum source_outcome outcome;
    int file = open_source(embedding, facts, &status, &outcome);
    if (file < 0) return outcome;
    struct text *content = column_at(&profile->source_contents, facts->source);
    outcome = read_content(embedding, file, (uint64_t)status.st_size, content);
    close(file);
    if (outcome == SOURCE_FOUND && status.st_mtime > facts->built_s) embedding->newer_count++;
    return outcome;
}

/* ---- The whole. ---- */

static void embed_all(struct embedding *embedding) {
    struct profile *profile = embedding->profile;
    for (uint32_t i = 0; i < embedding->count; i++) {
        embedding->facts[i] = (struct source_facts){.source = i, .built_s = INT64_MAX};
        id_column_at(&profile->source_contents, i);
    }
    for (size_t i = 0; i < profile->looked_up_sources.count; i++)
        embedding->facts[((const source_id *)column_at(&profile->looked_up_sources, i))->index].is_vouched = true;
    count_samples(embedding);
    find_ages(embedding);
    memory_sort(profile->failure, embedding->facts, embedding->count, sizeof *embedding->facts, compare_facts);
    for (uint32_t i = 0; i < embedding->count && !failure_is_set(profile->failure); i++) {
        const struct source_facts *facts = &embedding->facts[i];
        const struct text *content = column_at(&profile->source_contents, facts->source);
        /* A trace that is a profile may have the text already, as it was when the profile was made. */
        if (!content->bytes) embedding->outcomes[embed(embedding, facts)]++;
    }
}

static void note(struct embedding *embedding, const char *what, uint64_t count) {
    char cause[128];
    snprintf(cause, sizeof cause, EMBED_SOURCES_CAUSE " %s", what);
    ledger_enter(&embedding->profile->ledger, LEDGER_VALUES, LEDGER_NOTED, text_of(cause), count, NULL);
}

void profile_embed_sources(struct profile *profile, const struct source_search *search, struct debug_server *server,
                           uint64_t max_bytes) {
    if (failure_is_set(profile->failure)) return;
    struct embedding embedding = {.profile = profile, .search = search, .server = server, .left_bytes = max_bytes};
    embedding.count = row_table_count(&profile->sources);
    embedding.facts = memory_allocate(profile->failure, embedding.count * sizeof *embedding.facts);
    if (!embedding.facts) return;
    embed_all(&embedding);
    memory_free(embedding.facts);
    size_t first = profile->ledger.entries.count;
    for (size_t i = 0; i < SOURCE_OUTCOME_COUNT; i++)
        note(&embedding, source_outcome_name((enum source_outcome)i), embedding.outcomes[i]);
    if (server) debug_server_note_delay(server, &profile->ledger);
    note(&embedding, "newer than the library built from it", embedding.newer_count);
    profile_show_ledger(profile, first);
}
