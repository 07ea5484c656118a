#include "served_profile.h"

#include "libconvert/base/first_row.h"
#include "libconvert/base/machine.h"
#include "libconvert/base/memory.h"
#include "libconvert/profile/profile.h"
#include "readers/json/document.h"

/* The bytes go to a browser on this machine, so time matters more than size. */
enum { GZIP_LEVEL = 1 };

/* A gzip_output. The C library moves large blocks by remapping them, so a member that grows is not copied. */
static void keep(void *json, struct text bytes) { byte_buffer_append(json, bytes); }

struct served_profile *served_profile_append(struct served_profile **list, struct text name, struct failure *failure) {
    while (*list) list = &(*list)->next;
    struct served_profile *served = *list = memory_allocate(failure, sizeof *served);
    if (!served) return NULL;
    *served = (struct served_profile){.failure = failure, .name = name, .json.failure = failure};
    served->writer = gzip_writer_create(GZIP_LEVEL, machine_processor_count(), keep, &served->json, failure);
    arena_init(&served->memory, failure);
    column_init(&served->libs, sizeof(struct lib), failure);
    column_init(&served->sources, sizeof(struct served_source), failure);
    column_init(&served->threads, sizeof(struct served_thread), failure);
    return served;
}

void served_profile_destroy_all(struct served_profile *list) {
    while (list) {
        struct served_profile *next = list->next;
        COLUMNS_FINI(&list->threads, &list->sources, &list->libs);
        arena_fini(&list->memory);
        gzip_writer_destroy(list->writer);
        byte_buffer_fini(&list->json);
        memory_free(list);
        list = next;
    }
}

/* ---- Filling. ---- */

static void add_lib(struct served_profile *served, const struct lib *lib) {
    struct lib *own = column_push(&served->libs);
    if (!own) return;
    own->name = arena_copy(&served->memory, lib->name);
    own->path = arena_copy(&served->memory, lib->path);
    own->debug_name = arena_copy(&served->memory, lib->debug_name);
    own->breakpad_id = arena_copy(&served->memory, lib->breakpad_id);
    own->code_id = arena_copy(&served->memory, lib->code_id);
}

static void add_source(struct served_profile *served, struct text name, struct text path) {
    struct served_source *own = column_push(&served->sources);
    if (!own) return;
    own->name = arena_copy(&served->memory, name);
    own->path = text_equal(path, name) ? own->name : arena_copy(&served->memory, path);
    own->is_looked_up = false;
}

static void add_thread(struct served_profile *served, const struct served_thread *thread) {
    struct served_thread *own = column_push(&served->threads);
    if (!own) return;
    *own = *thread;
    own->name = arena_copy(&served->memory, thread->name);
    own->process_name = arena_copy(&served->memory, thread->process_name);
}

static int compare_sources(const void *left, const void *right) {
    return text_compare(((const struct served_source *)left)->name, ((const struct served_source *)right)->name);
}

void served_profile_finish(struct served_profile *served) {
    if (served->writer) gzip_writer_finish(served->writer);
    gzip_writer_destroy(served->writer);
    served->writer = NULL;
    column_sort(&served->sources, compare_sources);
}

static void inspect_samples(struct served_thread *own, const struct samples *samples, const bool *idle_stacks) {
    for (uint32_t i = 0; i < samples_count(samples); i++) {
        own->sample_count += !profile_is_idle(idle_stacks, samples_at(samples, i)->stack);
        int64_t cpu_ns = samples_have_cpu(samples) ? samples_cpu_ns(samples, i) : TIME_NONE;
        if (cpu_ns != TIME_NONE) own->cpu += (double)cpu_ns;
    }
}

static void inspect_threads(struct served_profile *served, const struct profile *profile) {
    bool *idle_stacks = profile_idle_stacks(profile);
    for (size_t i = 0; i < profile->thread_order.count; i++) {
        const struct thread *thread = profile_ordered_thread(profile, i);
        struct served_thread own = {.name = thread->name,
                                    .process_name = profile_process_at(profile, thread->process)->name};
        inspect_samples(&own, &thread->samples, idle_stacks);
        add_thread(served, &own);
    }
    memory_free(idle_stacks);
}

void served_profile_inspect(void *context, const struct profile *profile) {
    struct served_profile *served = context;
    for (uint32_t i = 0; i < libs_count(&profile->libs); i++) add_lib(served, libs_at(&profile->libs, (lib_id){i}));
    for (uint32_t i = 0; i < row_table_count(&profile->sources); i++) {
        const struct source *source = column_at(&profile->sources.rows, i);
        add_source(served, strings_text(&profile->strings, source->filename),
                   profile_source_path(profile, (source_id){i}));
    }
    for (size_t i = 0; i < profile->looked_up_sources.count && !failure_is_set(served->failure); i++) {
        const source_id *id = column_at(&profile->looked_up_sources, i);
        struct served_source *source = column_at(&served->sources, id->index);
        source->is_looked_up = true;
    }
    inspect_threads(served, profile);
    bool is_time = profile->meta.weight_type == WEIGHT_TRACING_MS; /* the event that measured it does not matter */
    served->unit = is_time ? TEXT("ms") : arena_copy(&served->memory, profile_weight_unit(&profile->meta));
}

static void compress(struct served_profile *served, struct text bytes) {
    if (served->writer) gzip_writer_append(served->writer, bytes);
}

bool served_profile_write(void *context, const void *bytes, size_t bytes_count) {
    struct served_profile *served = context;
    compress(served, (struct text){bytes, bytes_count});
    return !failure_is_set(served->failure);
}

/* ---- Finished profiles. ---- */

/* A profile may have millions of values. Only those that name files are kept. Lists count towards the depth, too. */
static bool wants_member(unsigned depth, struct text key) {
    static const struct {
        unsigned depth;
        struct text key;
    } wanted[] = {{1, TEXT("libs")},   {1, TEXT("shared")},  {2, TEXT("stringArray")}, {2, TEXT("sources")},
                  {3, TEXT("name")},   {3, TEXT("path")},    {3, TEXT("debugName")},   {3, TEXT("breakpadId")},
                  {3, TEXT("codeId")}, {3, TEXT("filename")}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (wanted[i].depth == depth && text_equal(wanted[i].key, key)) return true;
    return false;
}

static void take_libs(struct served_profile *served, const struct document *document) {
    const struct node *libs = document_member(document, &document->root, TEXT("libs"));
    for (size_t i = 0; node_is(libs, NODE_LIST) && i < libs->count; i++) {
        const struct node *node = &libs->nodes[i];
        struct lib lib = {.name = document_text_member(document, node, "name"),
                          .path = document_text_member(document, node, "path"),
                          .debug_name = document_text_member(document, node, "debugName"),
                          .breakpad_id = document_text_member(document, node, "breakpadId"),
                          .code_id = document_text_member(document, node, "codeId")};
        add_lib(served, &lib);
    }
}

/* Gecko profiles have no table of sources. The viewer finds the files of their functions by /symbolicate/v5. */
static void take_sources(struct served_profile *served, const struct document *document) {
    const struct node *shared = document_member(document, &document->root, TEXT("shared"));
    const struct node *strings = document_member(document, shared, TEXT("stringArray"));
    const struct node *sources = document_member(document, shared, TEXT("sources"));
    const struct node *names = document_member(document, sources, TEXT("filename"));
    if (!node_is(strings, NODE_LIST) || !node_is(names, NODE_LIST)) return;
    for (size_t i = 0; i < names->count; i++) {
        if (!node_is_index(&names->nodes[i], strings->count)) continue;
        const struct node *name = &strings->nodes[(size_t)names->nodes[i].number];
        if (node_is(name, NODE_TEXT)) add_source(served, node_text(name), node_text(name));
    }
}

/* An input that reads another one, and compresses its bytes into the served profile. */
struct tee {
    struct served_profile *served; /* borrowed */
    struct input *from;            /* borrowed */
    size_t given_bytes;
};

static struct text next_block(void *context) {
    struct tee *tee = context;
    input_consume(tee->from, tee->given_bytes);
    struct text block = input_peek(tee->from, 1);
    tee->given_bytes = block.bytes_count;
    compress(tee->served, block);
    return block;
}

void served_profile_read(struct served_profile *served, struct input *input) {
    struct tee tee = {.served = served, .from = input};
    struct document document;
    document_init(&document, served->failure);
    document.wants_member = wants_member;
    struct input *copy = input_from_blocks(input_name(input), next_block, &tee, served->failure);
    if (copy) {
        document_read(&document, copy);
        input_close(copy);
    }
    if (!failure_is_set(served->failure)) {
        take_libs(served, &document);
        take_sources(served, &document);
    }
    document_fini(&document);
    served_profile_finish(served);
}

/* ---- Looking up. ---- */

const struct lib *served_profile_lib(const struct served_profile *list, struct text debug_name,
                                     struct text breakpad_id) {
    for (const struct served_profile *served = list; served; served = served->next) {
        COLUMN_EACH(const struct lib, lib, &served->libs)
            if (text_equal(lib->debug_name, debug_name) && text_equal(lib->breakpad_id, breakpad_id)) return lib;
    }
    return NULL;
}

static const struct served_source *find_source(const struct served_profile *served, struct text name) {
    const struct served_source wanted = {.name = name};
    size_t i = FIRST_ROW(row, served->sources.count, compare_sources(column_at(&served->sources, row), &wanted) >= 0);
    const struct served_source *source = i < served->sources.count ? column_at(&served->sources, i) : NULL;
    return source && text_equal(source->name, name) ? source : NULL;
}

const struct served_source *served_profile_source(const struct served_profile *list, struct text name) {
    const struct served_source *best = NULL;
    for (const struct served_profile *served = list; served && !(best && best->is_looked_up); served = served->next) {
        const struct served_source *source = find_source(served, name);
        if (source && (!best || source->is_looked_up)) best = source;
    }
    return best;
}

static unsigned similarity(const struct served_thread *thread, const struct served_thread *reference) {
    if (!reference || !thread->sample_count || !text_equal(thread->name, reference->name)) return 0;
    return text_equal(thread->process_name, reference->process_name) ? 2 : 1;
}

static bool is_busier(const struct served_thread *a, const struct served_thread *b) {
    return a->cpu > b->cpu || (a->cpu >= b->cpu && a->sample_count > b->sample_count);
}

size_t served_profile_busiest_thread(const struct served_profile *served, const struct served_thread *reference) {
    size_t best = 0;
    for (size_t i = 1; i < served->threads.count; i++) {
        const struct served_thread *thread = column_at(&served->threads, i), *found = column_at(&served->threads, best);
        unsigned wanted = similarity(thread, reference), had = similarity(found, reference);
        if (wanted > had || (wanted == had && is_busier(thread, found))) best = i;
    }
    return best;
}
