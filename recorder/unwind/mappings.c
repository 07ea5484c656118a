#include "mappings.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "recorder/state/clock.h"
#include "recorder/state/own_files.h"
#include "search.h"

enum {
    FIRST_CAPACITY = 256,
    TEXT_BYTES = 8 * PATH_MAX,
    /* Reading takes at most 1/READ_PART of a processor. A thread that has to wait for one may read again soon. */
    READ_PART = 20,
};

struct copy {
    struct copy *next_replaced;
    uint64_t bytes_count;
    uint32_t count;
    uint32_t capacity;
    struct stack_limits all[]; /* sorted by address */
};

static struct {
    struct copy *current; /* published */
    struct copy *replaced;
    uint32_t is_wanted;
    uint32_t read_count;
    uint64_t next_read_ns;
    struct own_file file;
    char text[TEXT_BYTES];
} mappings;

/* ---- Looking up. ---- */

bool mappings_find(uint64_t address, struct stack_limits *limits) {
    const struct copy *copy = __atomic_load_n(&mappings.current, __ATOMIC_ACQUIRE);
    uint32_t count = copy ? copy->count : 0;
    uint32_t index = copy ? search_ranges(copy->all, count, sizeof *copy->all, address) : 0;
    if (index == count || address >= copy->all[index].high) {
        __atomic_store_n(&mappings.is_wanted, 1, __ATOMIC_RELEASE);
        return false;
    }
    *limits = copy->all[index];
    return true;
}

bool mappings_are_known(void) { return __atomic_load_n(&mappings.current, __ATOMIC_ACQUIRE) != NULL; }

bool mappings_are_wanted(void) { return __atomic_load_n(&mappings.is_wanted, __ATOMIC_ACQUIRE) != 0; }

uint32_t mappings_read_count(void) { return __atomic_load_n(&mappings.read_count, __ATOMIC_ACQUIRE); }

/* ---- A copy. ---- */

static struct copy *create(uint32_t capacity) {
    uint64_t bytes_count = sizeof(struct copy) + capacity * sizeof(struct stack_limits);
    struct copy *copy = mmap(NULL, bytes_count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED) return NULL;
    copy->bytes_count = bytes_count;
    copy->capacity = capacity;
    return copy;
}

static void destroy(struct copy *copy) {
    if (copy) munmap(copy, copy->bytes_count);
}

/* Returns false if there is no memory. */
static bool add(struct copy **copy, struct stack_limits limits) {
    struct copy *full = *copy;
    if (full->count == full->capacity) {
        struct copy *larger = create(2 * full->capacity);
        if (!larger) return false;
        memcpy(larger->all, full->all, full->count * sizeof *full->all);
        larger->count = full->count;
        destroy(full);
        *copy = larger;
    }
    (*copy)->all[(*copy)->count++] = limits;
    return true;
}

static void publish(struct copy *copy) {
    struct copy *before = mappings.current;
    __atomic_store_n(&mappings.current, copy, __ATOMIC_RELEASE);
    if (!before) return;
    before->next_replaced = mappings.replaced;
    mappings.replaced = before;
}

/* ---- The kernel's list. ---- */

struct line {
    struct mapped_file file; /* its path is NULL if there is none */
    const char *permissions; /* "rw-p" */
};

/* Parses "start-end permissions offset device inode   path". Returns false for any other line. */
static bool parse(char *text, struct line *line) {
    struct mapped_file *file = &line->file;
    char *at;
    file->start = strtoull(text, &at, 16);
    if (*at != '-') return false;
    file->end = strtoull(at + 1, &at, 16);
    if (*at != ' ') return false;
    line->permissions = ++at;
    at = strchr(at, ' ');
    if (!at) return false;
    file->is_executable = at[-2] == 'x';
    file->offset = strtoull(at, &at, 16);
    file->device = strtoull(at, &at, 16) << 32;
    if (*at != ':') return false;
    file->device |= strtoull(at + 1, &at, 16);
    file->inode = strtoull(at, &at, 10);
    at += strspn(at, " ");
    file->path = *at ? at : NULL;
    return true;
}

/* Returns how far down the main thread's stack may grow: to the mapping below, and to the limit. */
static uint64_t growth_end(const struct mapped_file *stack, uint64_t end_below) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) != 0) return stack->start;
    uint64_t lowest = limit.rlim_cur < stack->end ? stack->end - limit.rlim_cur : 0;
    if (lowest < end_below) lowest = end_below;
    return lowest < stack->start ? lowest : stack->start;
}

struct reading {
    struct copy *copy;
    uint64_t end_below;
    void (*visit)(const struct mapped_file *file);
};

static bool read_line(struct reading *reading, char *text) {
    struct line line;
    if (!parse(text, &line)) return true;
    const struct mapped_file *file = &line.file;
    bool is_stack = file->path && !strcmp(file->path, "[stack]");
    uint64_t low = is_stack ? growth_end(file, reading->end_below) : file->start;
    reading->end_below = file->end;
    if (reading->visit && file->path && *file->path == '/') reading->visit(file);
    if (strncmp(line.permissions, "rw", 2) != 0) return true;
    return add(&reading->copy, (struct stack_limits){.low = low, .high = file->end});
}

/* Reads the lines in a piece of the list. Returns how many bytes at its end belong to a line that is not complete. */
static size_t read_lines(struct reading *reading, char *text, bool *is_good) {
    char *line = text, *end;
    for (; (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        *is_good = *is_good && read_line(reading, line);
    }
    size_t kept_bytes = strlen(line);
    memmove(text, line, kept_bytes);
    return kept_bytes;
}

static bool read_list(struct reading *reading) {
    char path[OWN_FILE_PATH_BYTES];
    size_t kept_bytes = 0;
    ssize_t count = -1;
    uint64_t offset = 0;
    bool is_good = true;
    own_file_of_process(path, "maps");
    int file = own_file_open(&mappings.file, path);
    if (file < 0) return false;
    while (is_good &&
           (count = own_file_read_at(file, mappings.text + kept_bytes, TEXT_BYTES - 1 - kept_bytes, offset)) > 0) {
        offset += (uint64_t)count;
        mappings.text[kept_bytes + (size_t)count] = '\0';
        kept_bytes = read_lines(reading, mappings.text, &is_good);
    }
    own_file_release(&mappings.file, file);
    if (offset) return is_good && count == 0;
    /* The thread whose file it is ended before the file was opened, so the file stays empty. */
    own_file_close(&mappings.file);
    return false;
}

bool mappings_read(void (*visit)(const struct mapped_file *file)) {
    uint64_t start_cpu_ns = clock_ns_of(CLOCK_THREAD_CPUTIME_ID);
    uint32_t capacity = mappings.current ? mappings.current->count + mappings.current->count / 8 + 16 : FIRST_CAPACITY;
    struct reading reading = {.copy = create(capacity), .visit = visit};
    __atomic_store_n(&mappings.is_wanted, 0, __ATOMIC_SEQ_CST);
    bool is_good = reading.copy && read_list(&reading);
    if (is_good)
        publish(reading.copy);
    else
        destroy(reading.copy);
    __atomic_add_fetch(&mappings.read_count, 1, __ATOMIC_RELEASE);
    uint64_t used_ns = clock_ns_of(CLOCK_THREAD_CPUTIME_ID) - start_cpu_ns;
    mappings.next_read_ns = clock_ns_of(CLOCK_MONOTONIC) + used_ns * READ_PART;
    return is_good;
}

void mappings_read_wanted(uint64_t now_ns) {
    if (mappings_are_wanted() && now_ns >= mappings.next_read_ns) mappings_read(NULL);
}

bool mappings_are_replaced(void) { return mappings.replaced != NULL; }

void mappings_reclaim(void) {
    while (mappings.replaced) {
        struct copy *copy = mappings.replaced;
        mappings.replaced = copy->next_replaced;
        destroy(copy);
    }
}

void mappings_forget(void) {
    mappings_reclaim();
    destroy(mappings.current);
    __atomic_store_n(&mappings.current, NULL, __ATOMIC_RELEASE);
}
