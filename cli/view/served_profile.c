#include "served_profile.h"

#include "libconvert/base/first_row.h"
#include "libconvert/profile/profile.h"
#include "readers/json/document.h"

void served_profile_init(struct served_profile *served, struct failure *failure) {
    *served = (struct served_profile){.failure = failure};
    gzip_buffer_init(&served->json, failure);
    arena_init(&served->memory, failure);
    column_init(&served->libs, sizeof(struct lib), failure);
    column_init(&served->sources, sizeof(struct served_source), failure);
}

void served_profile_fini(struct served_profile *served) {
    column_fini(&served->sources);
    column_fini(&served->libs);
    arena_fini(&served->memory);
    gzip_buffer_fini(&served->json);
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

static void add_source(struct served_profile *served, struct text path) {
    struct served_source *own = column_push(&served->sources);
    if (own) *own = (struct served_source){.path = arena_copy(&served->memory, path)};
}

static int compare_sources(const void *left, const void *right) {
    return text_compare(((const struct served_source *)left)->path, ((const struct served_source *)right)->path);
}

void served_profile_finish(struct served_profile *served) {
    gzip_buffer_finish(&served->json);
    column_sort(&served->sources, compare_sources);
}

void served_profile_inspect(void *context, const struct profile *profile) {
    struct served_profile *served = context;
    for (uint32_t i = 0; i < libs_count(&profile->libs); i++) add_lib(served, libs_at(&profile->libs, (lib_id){i}));
    for (uint32_t i = 0; i < row_table_count(&profile->sources); i++) {
        const struct source *source = column_at(&profile->sources.rows, i);
        add_source(served, strings_text(&profile->strings, source->filename));
    }
    for (size_t i = 0; i < profile->looked_up_sources.count && !failure_is_set(served->failure); i++) {
        const source_id *id = column_at(&profile->looked_up_sources, i);
        struct served_source *source = column_at(&served->sources, id->index);
        source->is_looked_up = true;
    }
}

bool served_profile_write(void *context, const void *bytes, size_t bytes_count) {
    struct served_profile *served = context;
    gzip_buffer_append(&served->json, (struct text){bytes, bytes_count});
    return !failure_is_set(served->failure);
}

/* ---- Finished profiles. ---- */

/* A profile may have millions of values. Only those that name files are kept. */
static bool wants_member(unsigned depth, struct text key) {
    static const struct {
        unsigned depth;
        struct text key;
    } wanted[] = {{1, {"libs", 4}}, {1, {"shared", 6}}, {2, {"stringArray", 11}}, {2, {"sources", 7}}};
    if (depth > 2) return true;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (wanted[i].depth == depth && text_equal(wanted[i].key, key)) return true;
    return false;
}

static struct text text_member(const struct document *document, const struct node *node, const char *key) {
    const struct node *value = document_member(document, node, text_of(key));
    return node_is(value, NODE_TEXT) ? node_text(value) : (struct text){0};
}

static void take_libs(struct served_profile *served, const struct document *document) {
    const struct node *libs = document_member(document, &document->root, TEXT("libs"));
    for (size_t i = 0; node_is(libs, NODE_LIST) && i < libs->count; i++) {
        const struct node *node = &libs->nodes[i];
        struct lib lib = {.name = text_member(document, node, "name"),
                          .path = text_member(document, node, "path"),
                          .debug_name = text_member(document, node, "debugName"),
                          .breakpad_id = text_member(document, node, "breakpadId"),
                          .code_id = text_member(document, node, "codeId")};
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
        if (node_is(name, NODE_TEXT)) add_source(served, node_text(name));
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
    gzip_buffer_append(&tee->served->json, block);
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

/* ---- Asking. ---- */

const struct lib *served_profile_lib(const struct served_profile *served, struct text debug_name,
                                     struct text breakpad_id) {
    for (size_t i = 0; i < served->libs.count; i++) {
        const struct lib *lib = column_at(&served->libs, i);
        if (text_equal(lib->debug_name, debug_name) && text_equal(lib->breakpad_id, breakpad_id)) return lib;
    }
    return NULL;
}

const struct served_source *served_profile_source(const struct served_profile *served, struct text path) {
    const struct served_source wanted = {.path = path};
    size_t i = FIRST_ROW(row, served->sources.count, compare_sources(column_at(&served->sources, row), &wanted) >= 0);
    const struct served_source *source = i < served->sources.count ? column_at(&served->sources, i) : NULL;
    return source && text_equal(source->path, path) ? source : NULL;
}
