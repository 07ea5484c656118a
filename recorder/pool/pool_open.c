/* Opens and closes pools: the layout of the trace, its mapping, and what processes of a recording share. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pool_file.h"
#include "pool_internal.h"
#include "pool_path.h"
#include "recorder/state/clock.h"
#include "recorder/state/hash.h"
#include "recorder/state/text_file.h"

enum { DEFINITION_SLOT_BYTES = sizeof(struct pool_definition_slot) };

/* Programs that join must be able to map as much as the one that started. The thread sanitizer leaves them little more
 * than a terabyte, and the system places the mapping anywhere in it. */
static const uint64_t UNLIMITED_MAPPING_BYTES = (uint64_t)1 << 38;
static const uint64_t UNLIMITED_MAPPING_BYTES_MIN = (uint64_t)1 << 28;

/* ---- Layout and mapping. ---- */

static uint64_t round_up(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

/* Offsets in the trace. */
struct layout {
    uint64_t table_offset, definitions_offset, definition_slot_count, chunks_offset;
};

static struct layout lay_out(uint64_t entry_count, uint32_t chunk_bytes) {
    struct layout layout;
    layout.table_offset = TRACE_HEADER_BYTES + sizeof(struct pool_bookkeeping);
    layout.definitions_offset = round_up(layout.table_offset + entry_count * sizeof(uint64_t), DEFINITION_SLOT_BYTES);
    layout.definition_slot_count = chunk_bytes / 32;
    layout.chunks_offset =
        round_up(layout.definitions_offset + layout.definition_slot_count * DEFINITION_SLOT_BYTES, POOL_PAGE_BYTES);
    return layout;
}

static void point_into_mapping(struct pool *pool) {
    pool->header = (struct trace_header *)pool->base;
    pool->shared = (struct pool_bookkeeping *)(pool->base + TRACE_HEADER_BYTES);
    pool->chunk_bytes = pool->header->chunk_bytes;
    pool->table = pool->shared->entry_count ? (uint64_t *)(pool->base + pool->shared->table_offset) : NULL;
    pool->definitions = (struct pool_definition_slot *)(pool->base + pool->shared->definitions_offset);
    pool->chunks = pool->base + pool->header->chunks_offset;
    pool_pages_open(pool);
}

static bool map_bytes(struct pool *pool, uint64_t bytes_count) {
    int file = pool_file_mapped(pool), flags = MAP_SHARED | MAP_NORESERVE | (file < 0 ? MAP_ANONYMOUS : 0);
    size_t mapped_bytes = (size_t)bytes_count;
    if (mapped_bytes != bytes_count) {
        errno = ENOMEM; /* not in 32 bits */
        return false;
    }
    void *base = mmap(NULL, mapped_bytes, PROT_READ | PROT_WRITE, flags, file, 0);
    if (base == MAP_FAILED) return false;
    pool->base = base;
    pool->mapped_bytes = mapped_bytes;
    return true;
}

static void close_memory(struct pool *pool) {
    if (pool->memory_file >= 0 && pool_file_number(pool) >= 0) close(pool->memory_file);
    pool->memory_file = -1;
}

/* Gives a pool in memory a file without a name, so that other processes can join it. Without one, the pool is as good
 * for this process alone. */
static void open_memory(struct pool *pool, uint64_t bytes_count) {
    if (pool_file_is_beyond_limit(bytes_count)) return;
    int file = memfd_create("gecko-recorder", MFD_CLOEXEC);
    pool->memory_file = file < 0 ? -1 : pool_file_move_away(file);
    if (pool->memory_file < 0) return;
    if (ftruncate(pool->memory_file, (off_t)bytes_count) == 0 && pool_file_remember(pool))
        pool_file_set_saver(pool, true);
    else
        close_memory(pool);
}

static bool map_new(struct pool *pool, uint64_t bytes_count) {
    if (pool->file < 0) open_memory(pool, bytes_count);
    if (map_bytes(pool, bytes_count)) return true;
    close_memory(pool);
    return false;
}

/* Maps all that the pool can grow to. Bytes after the end of the file are not touched before they are allocated. The
 * system may limit address space, so an unlimited pool tries smaller mappings. */
static bool map_pool(struct pool *pool, const struct layout *layout, uint64_t entry_count) {
    if (entry_count) return map_new(pool, layout->chunks_offset + entry_count * pool->chunk_bytes);
    for (uint64_t bytes = UNLIMITED_MAPPING_BYTES; bytes >= UNLIMITED_MAPPING_BYTES_MIN; bytes /= 4)
        if (map_new(pool, bytes)) return true;
    return false;
}

static uint64_t random_number(void) {
    uint64_t number = 0;
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) != (ssize_t)sizeof number)
        number = clock_ns_of(CLOCK_REALTIME) * 0x9e3779b97f4a7c15u ^ (uint64_t)getpid() << 32;
    return number ? number : 1;
}

void pool_hash_header(struct trace_header *header) {
    header->hash = hash_bytes(header, offsetof(struct trace_header, hash));
}

static void fill_header(struct pool *pool, const struct layout *layout, uint64_t limit_bytes) {
    struct trace_header *header = pool->header;
    struct clock_pair now = clock_read_pair();
    memcpy(header->magic, TRACE_MAGIC, TRACE_MAGIC_BYTES);
    header->version = TRACE_VERSION;
    header->header_bytes = TRACE_HEADER_BYTES;
    header->chunks_offset = layout->chunks_offset;
    header->chunk_bytes = pool->chunk_bytes;
    header->clock = recorder_clock.kind;
    header->ticks_per_second = recorder_clock.ticks_per_second;
    header->start_ticks = now.ticks;
    header->start_monotonic_ns = now.monotonic_ns;
    header->start_realtime_ns = clock_ns_of(CLOCK_REALTIME);
    header->session_id = random_number();
    header->creator_pid = (uint32_t)getpid();
    pool_hash_header(header);
    header->limit_bytes = limit_bytes == UINT64_MAX ? 0 : limit_bytes;
    header->next_thread_uid = 1;
}

/* Clocks are the same in all processes with this number: since one start of one machine, in one time namespace. */
static uint64_t identify_machine(void) {
    struct {
        char boot[40];
        uint64_t time_namespace;
    } machine = {.time_namespace = 0};
    struct stat status;
    memset(&machine, 0, sizeof machine);
    if (!text_file_read("/proc/sys/kernel/random/boot_id", machine.boot, sizeof machine.boot)) return 0;
    if (stat("/proc/self/ns/time", &status) == 0) machine.time_namespace = (uint64_t)status.st_ino;
    return hash_bytes(&machine, sizeof machine);
}

static uint64_t count_entries(const struct pool_options *options) {
    if (options->limit_bytes == UINT64_MAX) return 0;
    uint64_t count = options->limit_bytes / options->chunk_bytes;
    uint64_t offset = lay_out(count, options->chunk_bytes).chunks_offset;
    return options->limit_bytes > offset ? (options->limit_bytes - offset) / options->chunk_bytes : 0;
}

static bool fill_pool(struct pool *pool, const struct pool_options *options) {
    uint64_t entry_count = count_entries(options);
    struct layout layout = lay_out(entry_count, options->chunk_bytes);
    pool->chunk_bytes = options->chunk_bytes;
    if (!pool_file_reserve(pool, 0, layout.chunks_offset) || !map_pool(pool, &layout, entry_count)) return false;
    pool->header = (struct trace_header *)pool->base;
    fill_header(pool, &layout, options->limit_bytes);
    struct pool_bookkeeping *shared = (struct pool_bookkeeping *)(pool->base + TRACE_HEADER_BYTES);
    shared->version = POOL_BOOKKEEPING_VERSION;
    shared->process_count = 1;
    shared->entry_count = (uint32_t)entry_count;
    shared->max_chunk_count =
        entry_count ? entry_count : (pool->mapped_bytes - layout.chunks_offset) / options->chunk_bytes;
    shared->table_offset = layout.table_offset;
    shared->definitions_offset = layout.definitions_offset;
    shared->definition_slot_count = layout.definition_slot_count;
    shared->machine = identify_machine();
    point_into_mapping(pool);
    return true;
}

/* ---- Opening and closing. ---- */

bool pool_create(struct pool *pool, const struct pool_options *options) {
    char temporary[POOL_TEMPORARY_PATH_BYTES];
    *pool = POOL_CLOSED;
    if (options->path &&
        (!pool_path_make_absolute(options->path, pool->path) || !pool_path_is_replaceable(pool->path, options->own)))
        return false;
    bool has_file = !options->path || pool_file_adopt(pool, pool_path_create_beside(pool->path, temporary));
    if (has_file && fill_pool(pool, options)) return true;
    pool_discard(pool);
    return false;
}

bool pool_publish(struct pool *pool) {
    char temporary[POOL_TEMPORARY_PATH_BYTES];
    pool_path_name_temporary(pool->path, temporary);
    if (!*pool->path || rename(temporary, pool->path) == 0) return true;
    pool_discard(pool);
    return false;
}

void pool_discard(struct pool *pool) {
    int saved_errno = errno;
    char temporary[POOL_TEMPORARY_PATH_BYTES];
    pool_path_name_temporary(pool->path, temporary);
    if (*pool->path) unlink(temporary);
    pool_close(pool);
    errno = saved_errno;
}

bool pool_enter(struct pool *pool) {
    uint64_t count = __atomic_load_n(&pool->shared->process_count, __ATOMIC_RELAXED);
    do {
        if (count == 0) return false;
    } while (!__atomic_compare_exchange_n(&pool->shared->process_count, &count, count + 1, true, __ATOMIC_ACQ_REL,
                                          __ATOMIC_RELAXED));
    return true;
}

void pool_enter_child(const struct pool *pool) {
    int saved_errno = errno;
    if (pool->file >= 0 && pool_file_number(pool) >= 0) pool_file_lock_for_process(pool);
    errno = saved_errno;
}

static bool is_session(const struct trace_header *header, uint64_t session_id) {
    return !memcmp(header->magic, TRACE_MAGIC, TRACE_MAGIC_BYTES) && header->version == TRACE_VERSION &&
           (!session_id || header->session_id == session_id) &&
           header->hash == hash_bytes(header, offsetof(struct trace_header, hash)) &&
           clock_adopt(header->clock, header->ticks_per_second);
}

static bool read_at(int file, void *bytes, size_t bytes_count, off_t offset) {
    return pread(file, bytes, bytes_count, offset) == (ssize_t)bytes_count;
}

/* Maps the trace if it is the right one. */
static bool map_joined(struct pool *pool, uint64_t session_id) {
    struct trace_header header;
    struct pool_bookkeeping shared;
    if (!read_at(pool->file, &header, sizeof header, 0) ||
        !read_at(pool->file, &shared, sizeof shared, TRACE_HEADER_BYTES) || !is_session(&header, session_id) ||
        shared.version != POOL_BOOKKEEPING_VERSION)
        return false;
    uint64_t machine = identify_machine();
    if (machine && shared.machine && machine != shared.machine) return false;
    return map_bytes(pool, header.chunks_offset + shared.max_chunk_count * header.chunk_bytes);
}

/* Opens nothing but regular files, because opening another kind of file may have effects. */
static int open_trace(const char *path) {
    struct stat status;
    if (stat(path, &status) != 0) return -1;
    if (S_ISREG(status.st_mode)) return open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    errno = EINVAL;
    return -1;
}

/* All processes of a recording may have been killed. Those that know its number continue it anyway. */
static bool is_left_alone(int file) {
    bool is_unlocked = flock(file, LOCK_EX | LOCK_NB) == 0;
    flock(file, LOCK_UN);
    return is_unlocked;
}

bool pool_join(struct pool *pool, const char *path, uint64_t session_id) {
    *pool = POOL_CLOSED;
    if (!pool_path_make_absolute(path, pool->path)) return false;
    int file = open_trace(pool->path);
    if (file >= 0 && !session_id && is_left_alone(file)) {
        close(file);
        errno = 0;
        return false;
    }
    if (!pool_file_adopt(pool, file)) return false;
    if (map_joined(pool, session_id)) {
        point_into_mapping(pool);
        if (pool_enter(pool)) return true;
    }
    pool_close(pool);
    errno = 0;
    return false;
}

bool pool_locate(const struct pool *pool, char path[POOL_PATH_BYTES]) {
    memcpy(path, pool->path, sizeof pool->path);
    if (*path) return true;
    if (pool->memory_file < 0 || pool_file_number(pool) < 0) return false;
    snprintf(path, POOL_PATH_BYTES, "/proc/%ld/fd/%d", (long)getpid(), pool->memory_file);
    return true;
}

void pool_write_settings(struct pool *pool, const struct pool_settings *settings) {
    uint64_t *version = &pool->shared->settings_version;
    __atomic_store_n(version, __atomic_load_n(version, __ATOMIC_RELAXED) | 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    pool->shared->settings = *settings;
    __atomic_add_fetch(version, 1, __ATOMIC_RELEASE);
    __atomic_store_n(&pool->shared->duration_ticks, settings->duration_s * recorder_clock.ticks_per_second,
                     __ATOMIC_RELAXED);
}

/* If the version stays odd, the process that changes the settings was killed or stopped meanwhile. A stopped one tells
 * the others to read the settings again when it has changed them. */
__attribute__((no_sanitize("thread"))) void pool_read_settings(const struct pool *pool,
                                                               struct pool_settings *settings) {
    enum { TRIES = 1000, NAP_US = 100 };
    const uint64_t *version = &pool->shared->settings_version;
    for (int i = 0; i < TRIES; i++) {
        uint64_t before = __atomic_load_n(version, __ATOMIC_ACQUIRE);
        *settings = pool->shared->settings;
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        if (!(before & 1) && __atomic_load_n(version, __ATOMIC_RELAXED) == before) break;
        usleep(NAP_US);
    }
    settings->threads[sizeof settings->threads - 1] = '\0';
}

void pool_leave(struct pool *pool) {
    if (pool->file < 0) pool_file_set_saver(pool, false);
    if (__atomic_sub_fetch(&pool->shared->process_count, 1, __ATOMIC_ACQ_REL) > 0) return;
    pool_seal_partial(pool);
    if (pool->file < 0) return;
    uint64_t count = pool->header->chunk_count;
    pool->shared->reserved_count = count;
    /* A failure does no harm: the file then ends in free chunks. */
    int file = pool_file_number(pool);
    if (file >= 0 && ftruncate(file, (off_t)pool_chunk_offset(pool, count)) != 0) return;
}

void pool_close(struct pool *pool) {
    pool_pages_close(pool);
    if (pool->base) munmap(pool->base, pool->mapped_bytes);
    if (pool->file >= 0 && pool_file_number(pool) >= 0) close(pool->file);
    close_memory(pool);
    *pool = POOL_CLOSED;
}

bool pool_rename(struct pool *pool, const char *path) {
    char absolute[POOL_PATH_BYTES];
    if (!pool_path_make_absolute(path, absolute) || !pool_path_is_replaceable(absolute, pool) ||
        rename(pool->path, absolute) != 0)
        return false;
    memcpy(pool->path, absolute, sizeof absolute);
    return true;
}
