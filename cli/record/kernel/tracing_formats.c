/* Layout: Linux tools/perf/util/trace-event-info.c. */
#include "tracing_formats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libconvert/base/regular_file.h"

#define EVENTS_FOLDER "/sys/kernel/tracing/events/"

static void put_u32(FILE *out, uint32_t value) { fwrite(&value, sizeof value, 1, out); }

static void put_u64(FILE *out, uint64_t value) { fwrite(&value, sizeof value, 1, out); }

static void put_name(FILE *out, const char *name) { fwrite(name, strlen(name) + 1, 1, out); }

/* Puts the size and the bytes of a file, whose size is not known before it is read. */
static void put_file(FILE *out, const char *path) {
    enum { FILE_BYTES_MAX = 64 * 1024 };
    char bytes[FILE_BYTES_MAX];
    struct text start = regular_file_start(path, bytes, sizeof bytes);
    put_u64(out, start.bytes_count);
    fwrite(start.bytes, 1, start.bytes_count, out);
}

static void put_head(FILE *out) {
    static const char magic[] = {0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g'};
    fwrite(magic, sizeof magic, 1, out);
    put_name(out, "0.6");
    fputc(0, out); /* little-endian */
    fputc(sizeof(long), out);
    put_u32(out, (uint32_t)sysconf(_SC_PAGESIZE));
    put_name(out, "header_page");
    put_file(out, EVENTS_FOLDER "header_page");
    put_name(out, "header_event");
    put_file(out, EVENTS_FOLDER "header_event");
    put_u32(out, 0); /* formats of ftrace's own events */
}

/* Puts the tracepoint as the only one of its system: a system may be named several times. */
static void put_event(FILE *out, const struct kernel_event *event) {
    char path[256], system[sizeof event->name];
    const char *colon = strchr(event->name, ':');
    snprintf(system, sizeof system, "%.*s", (int)(colon - event->name), event->name);
    const char *name = colon + 1;
    snprintf(path, sizeof path, EVENTS_FOLDER "%s/%.*s/format", system, (int)strcspn(name, ":"), name);
    put_name(out, system);
    put_u32(out, 1);
    put_file(out, path);
}

static void put_rest(FILE *out) {
    put_u32(out, 0); /* symbols of the kernel */
    put_u32(out, 0); /* formats of trace_printk */
    put_u64(out, 0); /* names of tasks */
    while (ftell(out) % 8) fputc(0, out);
}

static void append(struct kernel_stream *stream, const char *bytes, size_t bytes_count) {
    const struct {
        struct perf_event_header header;
        uint32_t bytes_count;
    } record = {{RECORD_TRACING_DATA, 0, sizeof record}, (uint32_t)bytes_count};
    kernel_stream_raw(stream, &record, sizeof record);
    kernel_stream_raw(stream, bytes, bytes_count);
}

void tracing_formats_append(struct kernel_stream *stream, const struct kernel_events *events) {
    char *bytes = NULL;
    size_t bytes_count = 0;
    uint32_t event_count = 0;
    for (size_t i = 0; i < events->count; i++) event_count += events->rows[i].attr.type == PERF_TYPE_TRACEPOINT;
    FILE *out = event_count ? open_memstream(&bytes, &bytes_count) : NULL;
    if (!out) return;
    put_head(out);
    put_u32(out, event_count);
    for (size_t i = 0; i < events->count; i++)
        if (events->rows[i].attr.type == PERF_TYPE_TRACEPOINT) put_event(out, &events->rows[i]);
    put_rest(out);
    if (fclose(out) == 0) append(stream, bytes, bytes_count);
    free(bytes);
}
