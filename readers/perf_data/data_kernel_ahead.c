#include "data_kernel_ahead.h"

#include "libconvert/base/thread.h"

static void *load(void *context) {
    struct data_kernel_ahead *ahead = context;
    data_kernel_load(&ahead->kernel, &ahead->identity);
    return NULL;
}

static void init_kernel(struct data_kernel_ahead *ahead, const struct data_kernel_identity *identity,
                        const struct debug_folders *folders, struct memory_limit *memory) {
    ahead->failure = (struct failure){.memory = memory};
    ahead->identity = *identity;
    data_kernel_init(&ahead->kernel, folders, &ahead->failure);
}

void data_kernel_ahead_begin(struct data_kernel_ahead *ahead, const struct data_kernel_identity *identity,
                             const struct debug_folders *folders, struct memory_limit *memory) {
    ahead->is_begun = true;
    if (!identity->build_id.bytes_count) return;
    init_kernel(ahead, identity, folders, memory);
    ahead->is_started = ahead->is_loaded = thread_start(&ahead->thread, load, ahead);
}

static void await(struct data_kernel_ahead *ahead) {
    if (ahead->is_started) pthread_join(ahead->thread, NULL);
    ahead->is_started = false;
}

static bool is_same(const struct data_kernel_identity *a, const struct data_kernel_identity *b) {
    return text_equal(a->build_id, b->build_id) && text_equal(a->release, b->release) &&
           text_equal(a->reference, b->reference) && a->address == b->address && a->recording == b->recording;
}

struct data_kernel *data_kernel_ahead_use(struct data_kernel_ahead *ahead, const struct data_kernel_identity *identity,
                                          const struct debug_folders *folders, struct failure *failure) {
    await(ahead);
    if (!ahead->is_loaded || !is_same(&ahead->identity, identity)) {
        data_kernel_fini(&ahead->kernel);
        init_kernel(ahead, identity, folders, failure->memory);
        data_kernel_load(&ahead->kernel, identity);
        ahead->is_loaded = true;
    }
    if (failure_is_set(&ahead->failure)) failure_set(failure, ahead->failure.code, "%s", ahead->failure.message);
    return &ahead->kernel;
}

void data_kernel_ahead_fini(struct data_kernel_ahead *ahead) {
    await(ahead);
    data_kernel_fini(&ahead->kernel);
}
