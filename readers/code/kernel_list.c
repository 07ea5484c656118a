#include "kernel_list.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "libconvert/base/cursor.h"

static struct {
    char *bytes;
    size_t count;
} kept;

struct text kernel_list_kept(void) {
    return (struct text){kept.bytes, kept.count};
}

void kernel_list_forget(void) {
    free(kept.bytes);
    kept.bytes = NULL;
    kept.count = 0;
}

/* Returns the offset of the end of the line that has the symbol of that name; 0: there is none. */
static size_t line_end_of(struct text list, struct text name) {
    for (size_t at = 0; at < list.bytes_count;) {
        const char *found = memmem(list.bytes + at, list.bytes_count - at, name.bytes, name.bytes_count);
        if (!found) return 0;
        size_t end = (size_t)(found - list.bytes) + name.bytes_count;
        if (found > list.bytes && found[-1] == ' ' && end < list.bytes_count && list.bytes[end] == '\n') return end + 1;
        at = end;
    }
    return 0;
}

uint64_t kernel_list_address(struct text list, struct text name) {
    uint64_t address = 0;
    size_t end = line_end_of(list, name);
    if (!end) return 0;
    const char *before = memrchr(list.bytes, '\n', end - 1);
    struct text line = text_from(list, before ? (size_t)(before + 1 - list.bytes) : 0);
    return cursor_take_number(&line, 16, &address) ? address : 0;
}

/* Reads the next bytes of the list. Returns false at the end, and if memory ran out. */
static bool read_more(int file, size_t *capacity_bytes) {
    enum { READ_BYTES = 1024 * 1024 };
    if (*capacity_bytes - kept.count < READ_BYTES) {
        char *bytes = realloc(kept.bytes, *capacity_bytes + 2 * READ_BYTES);
        if (!bytes) return false;
        kept.bytes = bytes;
        *capacity_bytes += 2 * READ_BYTES;
    }
    ssize_t read_bytes = read(file, kept.bytes + kept.count, READ_BYTES);
    if (read_bytes > 0) kept.count += (size_t)read_bytes;
    return read_bytes > 0;
}

/* For a user who may not see addresses, all are 0. In many kernels, so are those of the first symbols, which are
 * variables. */
static bool hides_addresses(void) {
    struct text list = kernel_list_kept();
    return line_end_of(list, TEXT("_text")) && !kernel_list_address(list, TEXT("_text"));
}

static void read_list(int file) {
    enum { HEAD_BYTES = 64 * 1024 }; /* has "_text" */
    size_t capacity_bytes = 0;
    while (read_more(file, &capacity_bytes))
        if (kept.count < HEAD_BYTES && hides_addresses()) break;
}

struct text kernel_list_keep(void) {
    int file = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
    kernel_list_forget();
    if (file < 0) return kernel_list_kept();
    read_list(file);
    close(file);
    size_t end = line_end_of(kernel_list_kept(), TEXT("_etext"));
    if (end && !hides_addresses())
        kept.count = end;
    else
        kernel_list_forget();
    return kernel_list_kept();
}
