/* The buffers into which the kernel writes records, one for each processor. They belong to dummy events that live as
 * long as the recording, so that events of tasks can be opened and closed. */
#pragma once

#include <linux/perf_event.h>
#include <stddef.h>
#include <sys/types.h>

#include "kernel_stream.h"

struct kernel_ring {
    int fd;
    int processor;
    struct perf_event_mmap_page *pages; /* the kernel's control page, then the data */
};

struct kernel_rings {
    struct kernel_ring *rows; /* one for each processor that is online */
    size_t count;
    size_t data_bytes; /* size of each ring; a power of two */
    int poll_fd;       /* readable when a ring is half full; see kernel_recording.h */
};

/* The smallest useful size: it holds a few records of the largest size. */
enum { KERNEL_RING_BYTES_MIN = 256 * 1024 };

/* Returns 0, or the errno of the failed call. Rings are smaller if little memory may be locked. */
int kernel_rings_init(struct kernel_rings *rings);
void kernel_rings_fini(struct kernel_rings *rings);

/* Opens an event with perf_event_open, which glibc does not declare. pid -1: any; processor -1: any. Returns a
 * descriptor, or -1 with errno set. */
int kernel_event_open(struct perf_event_attr *attr, pid_t pid, int processor);

/* Visits a record that was copied to the stream, and may change it. Returns its new size. */
typedef size_t kernel_record_visitor(void *context, char *record, size_t bytes_count);

/* Appends all records in the rings to the stream, and ends the round. */
void kernel_rings_drain(struct kernel_rings *rings, struct kernel_stream *stream, kernel_record_visitor *visit,
                        void *context);
