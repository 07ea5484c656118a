#include "libraries.h"

#include <elf.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "last_mapping.h"
#include "recorder/state/process.h"
#include "recorder/state/recording_state.h"
#include "recorder/unwind/mappings.h"
#include "recorder/unwind/unwind_table.h"
#include "recorder/write/definitions.h"
#include "recorder/write/writer.h"
#include "thread_observer.h"

enum {
    MAPPING_COUNT_MAX = 4096,
    COPY_COUNT_MAX = 256, /* more of them would take time, and the room of libraries */
    BUILD_ID_BYTES_MAX = 64,
};

/* Where a mapping was found: in the dynamic linker's list, or only in the kernel's. */
enum origin { ORIGIN_LINKER, ORIGIN_DUMP, ORIGIN_COPY };

/* A mapping that this process has defined in the trace. */
struct mapping {
    uint64_t address;
    uint64_t size_bytes;
    uint64_t offset; /* from the image base */
    uint32_t library_id;
    enum origin origin;
    uint32_t last_look;   /* number of the last look at the lists that has found it */
    uint64_t file_offset; /* offset of `address` in the file of a loaded object */
    uint64_t device;      /* where the list has that file */
    uint64_t inode;       /* 0: unknown */
};

static struct {
    unsigned long long load_count; /* how many objects the dynamic linker has loaded so far */
    unsigned long long unload_count;
    uint32_t generation; /* the recording that this belongs to; 0: none */
    uint32_t look_count; /* how often the sampler has looked at one of the lists */
    bool is_known;
    uint32_t copies_left; /* how many more of them the list may have */
    uint32_t mapping_count;
    struct mapping mappings[MAPPING_COUNT_MAX];
} libraries;

/* The sampler holds this while it is in the dynamic linker or changes what is known of mappings, but not while it reads
 * a list: forks wait for it. So a child knows all mappings that its parent has defined. */
static pthread_mutex_t linker_mutex = PTHREAD_MUTEX_INITIALIZER;

/* ---- Objects. ---- */

static void find_build_id(const struct dl_phdr_info *object, unsigned char id[BUILD_ID_BYTES_MAX], uint32_t *count) {
    *count = 0;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &object->dlpi_phdr[i];
        if (header->p_type != PT_NOTE) continue;
        const unsigned char *at = (const unsigned char *)(object->dlpi_addr + header->p_vaddr);
        size_t left = header->p_memsz;
        while (left >= sizeof(ElfW(Nhdr))) {
            ElfW(Nhdr) note;
            memcpy(&note, at, sizeof note);
            size_t name_bytes = ((size_t)note.n_namesz + 3) & ~(size_t)3,
                   id_bytes = ((size_t)note.n_descsz + 3) & ~(size_t)3;
            if (name_bytes > left - sizeof note || id_bytes > left - sizeof note - name_bytes) break;
            const unsigned char *name = at + sizeof note;
            bool is_build_id = note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && !memcmp(name, "GNU", 4);
            if (is_build_id && note.n_descsz <= BUILD_ID_BYTES_MAX) {
                memcpy(id, name + name_bytes, note.n_descsz);
                *count = note.n_descsz;
                return;
            }
            at += sizeof note + name_bytes + id_bytes;
            left -= sizeof note + name_bytes + id_bytes;
        }
    }
}

/* Returns the object's first page, which offsets in the trace count from. */
static uint64_t image_base(const struct dl_phdr_info *object) {
    uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE), lowest = UINT64_MAX;
    for (int i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_LOAD && object->dlpi_phdr[i].p_vaddr < lowest)
            lowest = object->dlpi_phdr[i].p_vaddr;
    return lowest & ~(page_bytes - 1);
}

/* The file that is mapped at an address. */
static struct {
    uint64_t address;
    char path[PATH_MAX];
} mapped_file;

static void note_file(const struct mapped_file *file) {
    if (mapped_file.address >= file->start && mapped_file.address < file->end)
        snprintf(mapped_file.path, sizeof mapped_file.path, "%s", file->path);
}

/* Returns NULL if the kernel names no file. */
static const char *find_mapped_file(uint64_t address) {
    mapped_file.address = address;
    mapped_file.path[0] = '\0';
    mappings_read(note_file);
    return mapped_file.path[0] ? mapped_file.path : NULL;
}

/* A name of the kernel's own object has no slash. */
static bool is_relative(const char *name) { return *name != '/' && strchr(name, '/'); }

/* The program itself is the first object, and has no name. A relative path is that of the folder in which the program
 * was when it loaded the object (LD_LIBRARY_PATH=., dlopen("./plugin.so")): later, nobody would find it. */
static const char *name_object(const struct dl_phdr_info *object, char path[PATH_MAX]) {
    const char *name = object->dlpi_name ? object->dlpi_name : "";
    const char *mapped = is_relative(name) ? find_mapped_file(object->dlpi_addr + image_base(object)) : NULL;
    if (*name) return mapped ? mapped : name;
    ssize_t count = readlink("/proc/self/exe", path, PATH_MAX - 1);
    /* The first thread may have ended. */
    if (count < 0) count = readlink("/proc/thread-self/exe", path, PATH_MAX - 1);
    path[count > 0 ? count : 0] = '\0';
    return path;
}

/* ---- Definitions. ---- */

static struct mapping *find_mapping(uint64_t address) {
    for (uint32_t i = 0; i < libraries.mapping_count; i++)
        if (libraries.mappings[i].address == address) return &libraries.mappings[i];
    return NULL;
}

/* Returns whether any part of the mapping is in this range. */
static bool is_within(const struct mapping *mapping, uint64_t start, uint64_t end) {
    return mapping->address < end && start < mapping->address + mapping->size_bytes;
}

static uint32_t define_library(const char *path, const unsigned char *build_id, uint32_t build_id_bytes) {
    const struct grec_value parts[] = {GREC_TEXT(path), GREC_TEXT_OF(build_id, build_id_bytes)};
    return definition_of_parts(TRACE_DEFINE_LIBRARY, parts, sizeof parts / sizeof *parts);
}

/* A library may be mapped again at its address after another one was there. That is a new definition, since the last
 * one for an address counts. */
static void define(const struct mapping *mapping) {
    const struct process_state *process = process_self();
    const struct grec_value parts[] = {GREC_UINT(process->pid),     GREC_UINT(process->start_ns),
                                       GREC_UINT(mapping->address), GREC_UINT(mapping->size_bytes),
                                       GREC_UINT(mapping->offset),  GREC_UINT(mapping->library_id)};
    uint32_t id = definition_add(TRACE_DEFINE_MAPPING, parts, sizeof parts / sizeof *parts);
    if (id) last_mapping_set(id);
}

static void add_mapping(struct mapping mapping) {
    struct mapping *known = find_mapping(mapping.address);
    if (known && known->size_bytes == mapping.size_bytes && known->offset == mapping.offset &&
        known->library_id == mapping.library_id) {
        known->last_look = libraries.look_count;
        return;
    }
    if (!known && libraries.mapping_count == MAPPING_COUNT_MAX) return;
    if (!known) known = &libraries.mappings[libraries.mapping_count++];
    *known = mapping;
    known->last_look = libraries.look_count;
    define(known);
}

/* ---- Functions of the vDSO, the kernel's own object, which is not a file. ---- */

struct symbols {
    const ElfW(Sym) * all;
    size_t count;
    const char *names;
    size_t names_bytes;
};

/* The vDSO is read-only, so its addresses are not relocated. Its names come right after its symbols. */
static bool find_symbols(const struct dl_phdr_info *object, const ElfW(Phdr) * dynamic, struct symbols *symbols) {
    const ElfW(Dyn) *entries = (const void *)(object->dlpi_addr + dynamic->p_vaddr);
    ElfW(Addr) all = 0, names = 0;
    for (size_t i = 0; i < dynamic->p_memsz / sizeof *entries && entries[i].d_tag != DT_NULL; i++) {
        if (entries[i].d_tag == DT_SYMTAB) all = entries[i].d_un.d_ptr;
        if (entries[i].d_tag == DT_STRTAB) names = entries[i].d_un.d_ptr;
        if (entries[i].d_tag == DT_STRSZ) symbols->names_bytes = entries[i].d_un.d_val;
    }
    symbols->all = (const void *)(object->dlpi_addr + all);
    symbols->names = (const void *)(object->dlpi_addr + names);
    symbols->count = names > all ? (names - all) / sizeof *symbols->all : 0;
    return all && names;
}

static void add_symbols(const struct dl_phdr_info *object, uint64_t base, uint32_t library_id) {
    struct symbols symbols = {0};
    for (int i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_DYNAMIC && !find_symbols(object, &object->dlpi_phdr[i], &symbols)) return;
    for (size_t i = 0; i < symbols.count; i++) {
        const ElfW(Sym) *symbol = &symbols.all[i];
        bool is_function = ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx != SHN_UNDEF;
        /* Symbols that are not global are other names of the same functions. */
        bool is_first_name = ELF64_ST_BIND(symbol->st_info) == STB_GLOBAL && symbol->st_name < symbols.names_bytes;
        if (!is_function || !is_first_name || !symbol->st_size) continue;
        const struct grec_value parts[] = {GREC_UINT(library_id), GREC_UINT(symbol->st_value - base),
                                           GREC_UINT(symbol->st_size), GREC_TEXT(symbols.names + symbol->st_name)};
        definition_of_parts(TRACE_DEFINE_SYMBOL, parts, sizeof parts / sizeof *parts);
    }
}

static bool is_of_kernel(const struct dl_phdr_info *object, uint64_t base) {
    return object->dlpi_addr + base == getauxval(AT_SYSINFO_EHDR);
}

static int add_object(struct dl_phdr_info *object, size_t bytes_count, void *context) {
    unsigned char id[BUILD_ID_BYTES_MAX];
    uint32_t id_bytes;
    char path[PATH_MAX];
    (void)bytes_count;
    (void)context;
    find_build_id(object, id, &id_bytes);
    uint32_t library_id = define_library(name_object(object, path), id, id_bytes);
    if (!library_id) return 0;
    uint64_t base = image_base(object);
    if (is_of_kernel(object, base)) add_symbols(object, base, library_id);
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &object->dlpi_phdr[i];
        if (header->p_type != PT_LOAD || !(header->p_flags & PF_X) || !header->p_memsz) continue;
        add_mapping((struct mapping){.address = object->dlpi_addr + header->p_vaddr,
                                     .size_bytes = header->p_memsz,
                                     .offset = header->p_vaddr - base,
                                     .library_id = library_id,
                                     .file_offset = header->p_offset});
    }
    return 0;
}

/* Defines that the mapping is gone, and defines again what has been mapped in its place since. */
static void drop(uint32_t index) {
    struct mapping gone = libraries.mappings[index];
    libraries.mappings[index] = libraries.mappings[--libraries.mapping_count];
    gone.library_id = 0;
    define(&gone);
    for (uint32_t i = 0; i < libraries.mapping_count; i++)
        if (is_within(&libraries.mappings[i], gone.address, gone.address + gone.size_bytes))
            define(&libraries.mappings[i]);
}

/* Drops the mappings of this origin that this look has not found. */
static void drop_unseen(enum origin origin) {
    for (uint32_t i = libraries.mapping_count; i-- > 0;)
        if (libraries.mappings[i].origin == origin && libraries.mappings[i].last_look != libraries.look_count) drop(i);
}

/* ---- Dumps of generated code. A runtime maps a page of its dump, so that profilers find it. ---- */

static bool is_dump(const char *path) {
    char name[64];
    size_t name_bytes = (size_t)snprintf(name, sizeof name, "/jit-%ld.dump", (long)getpid()), bytes = strlen(path);
    return bytes >= name_bytes && !strcmp(path + bytes - name_bytes, name);
}

static void add_dump(const struct mapped_file *file) {
    uint32_t library_id = define_library(file->path, NULL, 0);
    if (library_id)
        add_mapping((struct mapping){.address = file->start,
                                     .size_bytes = file->end - file->start,
                                     .library_id = library_id,
                                     .origin = ORIGIN_DUMP});
}

/* ---- Copies of code. Node.js maps a part of its program a second time, near the code that it generates. ---- */

static uint64_t larger(uint64_t one, uint64_t other) { return one > other ? one : other; }
static uint64_t smaller(uint64_t one, uint64_t other) { return one < other ? one : other; }

static void add_copy(const struct mapped_file *file) {
    for (uint32_t i = 0; i < libraries.mapping_count && libraries.copies_left; i++) {
        const struct mapping *mapping = &libraries.mappings[i];
        if (mapping->inode != file->inode || mapping->device != file->device) continue;
        uint64_t start = larger(file->offset, mapping->file_offset);
        uint64_t end = smaller(file->offset + (file->end - file->start), mapping->file_offset + mapping->size_bytes);
        if (start >= end) continue;
        libraries.copies_left--;
        add_mapping((struct mapping){.address = file->start + (start - file->offset),
                                     .size_bytes = end - start,
                                     .offset = mapping->offset + (start - mapping->file_offset),
                                     .library_id = mapping->library_id,
                                     .origin = ORIGIN_COPY});
    }
}

/* Returns a mapping of a loaded object in that part of memory, whose first page may begin before the mapping. */
static struct mapping *find_loaded(const struct mapped_file *file) {
    for (uint32_t i = 0; i < libraries.mapping_count; i++) {
        struct mapping *mapping = &libraries.mappings[i];
        if (mapping->origin == ORIGIN_LINKER && is_within(mapping, file->start, file->end)) return mapping;
    }
    return NULL;
}

static void add_file(const struct mapped_file *file) {
    if (is_dump(file->path)) {
        if (!find_mapping(file->start)) add_dump(file);
        return;
    }
    if (!file->is_executable || !file->inode) return;
    struct mapping *loaded = find_loaded(file);
    if (!loaded) {
        add_copy(file);
        return;
    }
    loaded->device = file->device;
    loaded->inode = file->inode;
}

static void add_listed(const struct mapped_file *file) {
    pthread_mutex_lock(&linker_mutex);
    add_file(file);
    pthread_mutex_unlock(&linker_mutex);
}

void libraries_read_list(void) {
    struct recording recording = recording_enter();
    if (!recording.thread) {
        mappings_read(NULL);
        return;
    }
    libraries.look_count++;
    libraries.copies_left = COPY_COUNT_MAX;
    bool is_whole = mappings_read(add_listed);
    pthread_mutex_lock(&linker_mutex);
    if (is_whole) drop_unseen(ORIGIN_COPY);
    pthread_mutex_unlock(&linker_mutex);
    recording_leave(&recording);
}

/* ---- Tables. ---- */

/* Whether a refresh has replaced a snapshot, which is not reclaimed yet. */
static bool has_replaced;

/* Sets the context to true if the thread may be walking a stack: in a recording call, or in a handler that is
 * answering. */
static void find_walk(struct thread_writers *writers, struct thread_record *record, void *context) {
    bool *is_any = context;
    if (!thread_registry_tid(writers)) return;
    if (__atomic_load_n(&writers->depth, __ATOMIC_ACQUIRE) || thread_observer_is_walking(record)) *is_any = true;
}

void libraries_reclaim(void) {
    bool is_any = false;
    if (!has_replaced && !mappings_are_replaced()) return;
    recording_fence();
    thread_registry_each_record(find_walk, &is_any);
    if (is_any) return;
    has_replaced = false;
    unwind_snapshot_reclaim();
    mappings_reclaim();
}

/* ---- Forks. ---- */

static bool is_prepared;

static void forget_objects(void) {
    libraries.is_known = false;
    libraries.mapping_count = 0;
}

/* The number of tries is limited: a signal handler that has interrupted the sampler in the linker would wait for ever.
 */
bool libraries_prepare_fork(void) {
    enum { TRY_COUNT = 2000, NAP_NS = 100000 };
    struct timespec nap = {0, NAP_NS};
    is_prepared = false;
    for (int i = 0; i < TRY_COUNT && !is_prepared; i++) {
        is_prepared = pthread_mutex_trylock(&linker_mutex) == 0;
        if (!is_prepared) nanosleep(&nap, NULL);
    }
    return is_prepared;
}

/* A child that does not know what its parent's sampler was changing has no sampler. Its own children may have one. */
static void enter_child(void) {
    linker_mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    if (!is_prepared) forget_objects();
}

void libraries_finish_fork(bool is_child) {
    if (is_child)
        enter_child();
    else if (is_prepared)
        pthread_mutex_unlock(&linker_mutex);
}

/* ---- Refreshing. ---- */

void libraries_forget(void) {
    libraries.generation = 0;
    forget_objects();
    last_mapping_forget();
}

struct counts {
    unsigned long long load_count;
    unsigned long long unload_count;
};

static int read_counts(struct dl_phdr_info *object, size_t bytes_count, void *context) {
    struct counts *counts = context;
    (void)bytes_count;
    *counts = (struct counts){object->dlpi_adds, object->dlpi_subs};
    return 1;
}

/* In a new recording, nothing is defined yet. A forked child continues with what its parent had defined. */
static void begin(void) {
    if (libraries.generation == recording_generation) {
        struct recording recording = recording_enter();
        if (!recording.thread) return;
        last_mapping_inherit();
        recording_leave(&recording);
        return;
    }
    libraries_forget();
    libraries.generation = recording_generation;
}

static void refresh(bool is_start) {
    struct counts counts = {0, 0};
    if (is_start) begin();
    dl_iterate_phdr(read_counts, &counts);
    if (libraries.is_known && counts.load_count == libraries.load_count &&
        counts.unload_count == libraries.unload_count) {
        if (unwind_snapshot_has_wanted()) unwind_snapshot_build_wanted();
        return;
    }
    struct recording recording = recording_enter();
    if (!recording.thread) return;
    libraries.look_count++;
    libraries.is_known = true;
    libraries.load_count = counts.load_count;
    libraries.unload_count = counts.unload_count;
    dl_iterate_phdr(add_object, NULL);
    drop_unseen(ORIGIN_LINKER);
    recording_leave(&recording);
    unwind_snapshot_refresh();
    if (unwind_snapshot_has_wanted()) unwind_snapshot_build_wanted();
    has_replaced = true;
}

void libraries_refresh(bool is_start) {
    pthread_mutex_lock(&linker_mutex);
    refresh(is_start);
    pthread_mutex_unlock(&linker_mutex);
}
