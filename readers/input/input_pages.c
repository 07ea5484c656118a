#include "input_pages.h"

#include <stdint.h>
#include <sys/mman.h>
#include <time.h>

#include "libconvert/base/thread_pool.h"

#ifndef MADV_POPULATE_READ
enum { MADV_POPULATE_READ = 22 }; /* C libraries know it since 2022; older kernels refuse it, which does no harm */
#endif

/* The thread is some milliseconds ahead of the fastest reader. Each release interrupts the processors on which other
 * threads of the program run. */
enum {
    STEP_BYTES = 1024 * 1024,
    AHEAD_BYTES = 16 * STEP_BYTES,
    RELEASE_BYTES = 4 * STEP_BYTES,
    LATE_BYTES = 32 * STEP_BYTES
};

/* The reader does not wake the thread, because that would take longer than it saves. */
enum { NAP_NS = 200000 };

static void advise(const struct input_pages *pages, size_t start, size_t bytes_count, int advice) {
    struct text part = text_slice(pages->map, start, start + bytes_count);
    /* madvise takes a pointer to non-const bytes, but the bytes stay readable and unchanged. */
    madvise((void *)(uintptr_t)part.bytes, part.bytes_count, advice);
}

static size_t start_of_step(size_t offset) { return offset / STEP_BYTES * STEP_BYTES; }

/* Does one step. Returns false if there is none to do now. The thread follows a reader that goes elsewhere. *made_bytes
 * is where the pages end that were mapped ahead. */
static bool take_step(struct input_pages *pages, size_t *made_bytes) {
    size_t offset = start_of_step(pages->offset), needed = start_of_step(pages->needed_offset);
    if (*made_bytes < offset || *made_bytes > offset + AHEAD_BYTES) *made_bytes = offset;
    if (pages->released > needed) pages->released = needed;
    if (needed - pages->released >= RELEASE_BYTES) {
        advise(pages, pages->released, needed - pages->released, MADV_DONTNEED);
        pages->released = needed;
        return true;
    }
    if (*made_bytes == offset + AHEAD_BYTES || *made_bytes >= pages->map.bytes_count) return false;
    advise(pages, *made_bytes, STEP_BYTES, MADV_POPULATE_READ);
    *made_bytes += STEP_BYTES;
    return true;
}

static void *run(void *context) {
    struct input_pages *pages = context;
    size_t made_bytes = 0;
    while (!pages->is_ending)
        if (!take_step(pages, &made_bytes)) nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
    return NULL;
}

void input_pages_start(struct input_pages *pages, struct text map) {
    pages->map = map;
    pages->is_running = thread_start(&pages->thread, run, pages);
}

bool input_pages_move(struct input_pages *pages, size_t offset, size_t needed_offset) {
    atomic_store_explicit(&pages->offset, offset, memory_order_relaxed);
    atomic_store_explicit(&pages->needed_offset, needed_offset, memory_order_relaxed);
    size_t released = atomic_load_explicit(&pages->released, memory_order_relaxed);
    return needed_offset <= released || needed_offset - released < LATE_BYTES;
}

void input_pages_end(struct input_pages *pages) {
    if (!pages->is_running) return;
    pages->is_ending = true;
    pthread_join(pages->thread, NULL);
}
