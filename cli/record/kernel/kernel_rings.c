#include "kernel_rings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* With stacks of 64 kB at 1 kHz, a ring of 8 MB lasts for an eighth of a second. */
enum { RING_BYTES_MAX = 8 * 1024 * 1024, ALL_RINGS_BYTES = 64 * 1024 * 1024 };

int kernel_event_open(struct perf_event_attr *attr, pid_t pid, int processor) {
    attr->size = sizeof *attr;
    return (int)syscall(SYS_perf_event_open, attr, pid, processor, -1, PERF_FLAG_FD_CLOEXEC);
}

/* ---- Opening. ---- */

static bool add_row(struct kernel_rings *rings, int processor) {
    struct kernel_ring *rows = realloc(rings->rows, (rings->count + 1) * sizeof *rows);
    if (!rows) return false;
    rings->rows = rows;
    rows[rings->count++] = (struct kernel_ring){.fd = -1, .processor = processor};
    return true;
}

/* Adds a ring for each processor that is online. The list looks like "0-3,6". Without /sys, the first processors are
 * assumed. */
static int find_processors(struct kernel_rings *rings) {
    FILE *file = fopen("/sys/devices/system/cpu/online", "re");
    int first, last, count = file ? 0 : (int)sysconf(_SC_NPROCESSORS_ONLN);
    bool is_good = true;
    while (is_good && (int)rings->count < count) is_good = add_row(rings, (int)rings->count);
    while (is_good && file && fscanf(file, "%d", &first) == 1) {
        if (fscanf(file, "-%d", &last) != 1) last = first;
        for (int processor = first; processor <= last && is_good; processor++) is_good = add_row(rings, processor);
        if (getc(file) != ',') break;
    }
    if (file) fclose(file);
    if (is_good && !rings->count) is_good = add_row(rings, 0);
    return is_good ? 0 : ENOMEM;
}

static int map_ring(struct kernel_ring *ring, size_t data_bytes) {
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    void *pages = mmap(NULL, page_bytes + data_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
    if (pages == MAP_FAILED) return errno;
    ring->pages = pages;
    return 0;
}

static void unmap_all(struct kernel_rings *rings) {
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < rings->count; i++) {
        if (rings->rows[i].pages) munmap(rings->rows[i].pages, page_bytes + rings->data_bytes);
        rings->rows[i].pages = NULL;
    }
}

static int map_all(struct kernel_rings *rings) {
    int error = 0;
    for (size_t i = 0; i < rings->count && !error; i++) error = map_ring(&rings->rows[i], rings->data_bytes);
    if (error) unmap_all(rings);
    return error;
}

static int open_ring(struct kernel_ring *ring, int poll_fd) {
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                   .config = PERF_COUNT_SW_DUMMY,
                                   .sample_period = 1,
                                   .exclude_kernel = 1,
                                   .exclude_hv = 1,
                                   .use_clockid = 1,
                                   .clockid = CLOCK_MONOTONIC,
                                   .watermark = 1}; /* wakeup_watermark 0: half of the ring */
    struct epoll_event wanted = {.events = EPOLLIN};
    ring->fd = kernel_event_open(&attr, 0, ring->processor);
    return ring->fd < 0 || epoll_ctl(poll_fd, EPOLL_CTL_ADD, ring->fd, &wanted) ? errno : 0;
}

int kernel_rings_init(struct kernel_rings *rings) {
    *rings = (struct kernel_rings){.poll_fd = epoll_create1(EPOLL_CLOEXEC)};
    int error = rings->poll_fd < 0 ? errno : find_processors(rings);
    for (size_t i = 0; i < rings->count && !error; i++) error = open_ring(&rings->rows[i], rings->poll_fd);
    if (error) return error;
    rings->data_bytes = RING_BYTES_MAX;
    while (rings->data_bytes > KERNEL_RING_BYTES_MIN && rings->data_bytes * rings->count > ALL_RINGS_BYTES)
        rings->data_bytes /= 2;
    while ((error = map_all(rings)) && rings->data_bytes > KERNEL_RING_BYTES_MIN / 4) rings->data_bytes /= 2;
    return error;
}

void kernel_rings_fini(struct kernel_rings *rings) {
    unmap_all(rings);
    for (size_t i = 0; i < rings->count; i++)
        if (rings->rows[i].fd >= 0) close(rings->rows[i].fd);
    if (rings->poll_fd >= 0) close(rings->poll_fd);
    free(rings->rows);
}

/* ---- Reading. ---- */

/* Copies a record that may wrap around at the end of the ring. */
static void copy_record(char *to, const char *data, size_t data_bytes, size_t at, size_t bytes_count) {
    size_t first_bytes = data_bytes - at < bytes_count ? data_bytes - at : bytes_count;
    memcpy(to, data + at, first_bytes);
    memcpy(to + first_bytes, data, bytes_count - first_bytes);
}

static void drain(struct kernel_ring *ring, size_t data_bytes, struct kernel_stream *stream,
                  kernel_record_visitor *visit, void *context) {
    const char *data = (const char *)ring->pages + sysconf(_SC_PAGESIZE);
    uint64_t head = __atomic_load_n(&ring->pages->data_head, __ATOMIC_ACQUIRE), tail = ring->pages->data_tail;
    while (tail < head) {
        struct perf_event_header header;
        size_t at = (size_t)tail & (data_bytes - 1);
        memcpy(&header, data + at, sizeof header); /* records are aligned to the size of their header */
        if (header.size < sizeof header) break;
        char *record = kernel_stream_reserve(stream);
        copy_record(record, data, data_bytes, at, header.size);
        kernel_stream_commit(stream, visit(context, record, header.size));
        tail += header.size;
        __atomic_store_n(&ring->pages->data_tail, tail, __ATOMIC_RELEASE);
    }
}

void kernel_rings_drain(struct kernel_rings *rings, struct kernel_stream *stream, kernel_record_visitor *visit,
                        void *context) {
    for (size_t i = 0; i < rings->count; i++) drain(&rings->rows[i], rings->data_bytes, stream, visit, context);
    kernel_stream_begin(stream, RECORD_FINISHED_ROUND, 0);
    kernel_stream_end(stream);
}
