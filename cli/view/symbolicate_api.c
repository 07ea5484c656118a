/* /symbolicate/v5: names, files and lines of addresses, as Mozilla's symbol server answers. */

#include "libconvert/base/memory.h"
#include "native_library.h"
#include "native_service.h"

/* A frame of a stack, in the order of the request. */
struct requested_frame {
    uint32_t module; /* number in the job's memory map */
    uint32_t address;
    uint32_t place; /* number among the places */
};

struct job {
    const struct native_service *service;
    const struct document *request;
    struct failure *failure;
    const struct node *modules; /* the memory map: a list of [debug name, breakpad id] */
    const struct node *stacks;
    bool *has_symbols; /* for each module; owned */
    struct arena memory;
    struct column frames;        /* struct requested_frame, of all stacks */
    struct column sorted;        /* struct requested_frame, by module and address; `place` is the number in `frames` */
    struct native_place *places; /* for each frame; owned */
};

/* ---- Reading the job. ---- */

static bool is_module(const struct node *node) {
    return node_is(node, NODE_LIST) && node->count == 2 && node_is(&node->nodes[0], NODE_TEXT) &&
           node_is(&node->nodes[1], NODE_TEXT);
}

static bool is_frame(const struct node *node, size_t module_count) {
    return node_is(node, NODE_LIST) && node->count == 2 && node_is_index(&node->nodes[0], module_count) &&
           node_is_index(&node->nodes[1], UINT64_C(1) << 32);
}

static void take_frame(struct job *job, const struct node *node) {
    struct requested_frame frame = {.module = (uint32_t)node->nodes[0].number,
                                    .address = (uint32_t)node->nodes[1].number,
                                    .place = job->frames.count};
    column_add(&job->frames, &frame);
    column_add(&job->sorted, &frame);
}

/* Returns false if the job does not have the shape that the API requires. */
static bool read_job(struct job *job, const struct node *node) {
    job->modules = document_member(job->request, node, TEXT("memoryMap"));
    job->stacks = document_member(job->request, node, TEXT("stacks"));
    if (!node_is(job->modules, NODE_LIST) || !node_is(job->stacks, NODE_LIST)) return false;
    for (size_t i = 0; i < job->modules->count; i++)
        if (!is_module(&job->modules->nodes[i])) return false;
    for (size_t i = 0; i < job->stacks->count; i++) {
        const struct node *stack = &job->stacks->nodes[i];
        if (!node_is(stack, NODE_LIST)) return false;
        for (size_t j = 0; j < stack->count; j++) {
            if (!is_frame(&stack->nodes[j], job->modules->count)) return false;
            take_frame(job, &stack->nodes[j]);
        }
    }
    return true;
}

/* ---- Looking up. ---- */

static int compare_frames(const void *left, const void *right) {
    const struct requested_frame *a = left, *b = right;
    return ORDER(a->module, b->module) ?: ORDER(a->address, b->address);
}

/* Looks up the sorted frames of one module, from `first` on. Returns the number of the first frame of the next module.
 */
static size_t look_up_module(struct job *job, size_t first) {
    const struct requested_frame *frame = column_at(&job->sorted, first);
    uint32_t module = frame->module;
    const struct node *name = &job->modules->nodes[module];
    const struct lib *lib =
        served_profile_lib(job->service->profiles, node_text(&name->nodes[0]), node_text(&name->nodes[1]));
    struct native_library library;
    bool is_open = lib && native_library_open(&library, lib, &job->service->folders, job->failure);
    job->has_symbols[module] = is_open;
    const struct requested_frame *last = NULL;
    size_t i = first;
    for (; i < job->sorted.count; i++, last = frame) {
        frame = column_at(&job->sorted, i);
        if (frame->module != module) break;
        if (!is_open) continue;
        job->places[frame->place] = last && last->address == frame->address
                                        ? job->places[last->place]
                                        : native_library_find(&library, frame->address, &job->memory);
    }
    if (is_open) native_library_close(&library);
    return i;
}

static void look_up(struct job *job) {
    column_sort(&job->sorted, compare_frames);
    job->places = memory_allocate_zeroed(job->failure, job->frames.count + 1, sizeof *job->places);
    job->has_symbols = memory_allocate_zeroed(job->failure, job->modules->count + 1, sizeof *job->has_symbols);
    for (size_t i = 0; i < job->sorted.count && !failure_is_set(job->failure);) i = look_up_module(job, i);
}

/* ---- Writing. ---- */

static void write_line(struct json *json, const struct native_call *call) {
    if (call->file.bytes_count) json_key_value_text(json, "file", call->file);
    if (call->line) json_key_int(json, "line", call->line);
}

/* Writes the inlined functions at the place, the innermost one first. */
static void write_inlines(struct json *json, const struct native_place *place) {
    if (place->call_count < 2) return;
    json_key_array_begin(json, "inlines");
    for (size_t i = place->call_count; i-- > 1;) {
        const struct native_call *call = &place->calls[i];
        json_object_begin(json);
        if (call->function.bytes_count) json_key_value_text(json, "function", call->function);
        write_line(json, call);
        json_object_end(json);
    }
    json_array_end(json);
}

static void write_frame(const struct job *job, size_t number_in_stack, size_t number, struct json *json) {
    const struct requested_frame *frame = column_at(&job->frames, number);
    const struct native_place *place = &job->places[number];
    json_object_begin(json);
    json_key_count(json, "frame", number_in_stack);
    native_write_hex(json, "module_offset", frame->address);
    json_key_value_text(json, "module", node_text(&job->modules->nodes[frame->module].nodes[0]));
    if (place->is_found) {
        json_key_value_text(json, "function", place->calls[0].function);
        native_write_hex(json, "function_offset", place->offset_bytes);
        if (place->has_symbol) native_write_hex(json, "function_size", place->size_bytes);
        write_line(json, &place->calls[0]);
        write_inlines(json, place);
    }
    json_object_end(json);
}

static void write_found_modules(struct job *job, struct json *json) {
    json_key_object_begin(json, "found_modules");
    for (size_t i = 0; i < job->modules->count; i++) {
        struct text name = node_text(&job->modules->nodes[i].nodes[0]),
                    id = node_text(&job->modules->nodes[i].nodes[1]);
        char *key = arena_take_bytes(&job->memory, name.bytes_count + 1 + id.bytes_count);
        if (!key) break;
        memcpy(key, name.bytes, name.bytes_count);
        key[name.bytes_count] = '/';
        memcpy(key + name.bytes_count + 1, id.bytes, id.bytes_count);
        json_key_text(json, (struct text){key, name.bytes_count + 1 + id.bytes_count});
        json_bool(json, job->has_symbols[i]);
    }
    json_object_end(json);
}

static void write_job(struct job *job, struct json *json) {
    size_t number = 0;
    json_object_begin(json);
    write_found_modules(job, json);
    json_key_array_begin(json, "stacks");
    for (size_t i = 0; i < job->stacks->count; i++) {
        json_array_begin(json);
        for (size_t j = 0; j < job->stacks->nodes[i].count; j++) write_frame(job, j, number++, json);
        json_array_end(json);
    }
    json_array_end(json);
    json_object_end(json);
}

static void answer_job(const struct native_service *service, const struct document *request, const struct node *node,
                       struct json *json, struct failure *failure) {
    struct job job = {.service = service, .request = request, .failure = failure};
    arena_init(&job.memory, failure);
    column_init(&job.frames, sizeof(struct requested_frame), failure);
    column_init(&job.sorted, sizeof(struct requested_frame), failure);
    if (read_job(&job, node)) {
        look_up(&job);
        if (!failure_is_set(failure)) write_job(&job, json);
    } else {
        json_null(json);
    }
    MEMORY_FREE_ALL(job.has_symbols, job.places);
    COLUMNS_FINI(&job.sorted, &job.frames);
    arena_fini(&job.memory);
}

void symbolicate_api_write(const struct native_service *service, const struct document *request, struct json *json,
                           struct failure *failure) {
    const struct node *jobs = document_member(request, &request->root, TEXT("jobs"));
    if (!node_is(jobs, NODE_LIST)) {
        native_write_error(json, "the request has no list of jobs");
        return;
    }
    json_key_array_begin(json, "results");
    for (size_t i = 0; i < jobs->count && !failure_is_set(failure); i++)
        answer_job(service, request, &jobs->nodes[i], json, failure);
    json_array_end(json);
}
