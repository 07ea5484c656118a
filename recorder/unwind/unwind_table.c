#include "unwind_table.h"

#if UNWIND_KNOWS_MACHINE

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "recorder/state/hash.h"
#include "search.h"
#include "unwind_object.h"

static void *map_bytes(uint64_t bytes_count, int more_flags) {
    void *bytes = mmap(NULL, bytes_count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | more_flags, -1, 0);
    return bytes == MAP_FAILED ? NULL : bytes;
}

/* ---- The table of an object: one mapping of the struct, the functions, and a copy of their entries. ---- */

struct unwind_table {
    uint64_t bytes_count;
    uint32_t user_count; /* snapshots that have the table */
    uint32_t reserved;
    struct unwind_image image; /* has the copy for its only segment */
    struct unwind_index index;
};

static struct unwind_table *copy_index(const struct unwind_index *index, uint64_t bytes_max) {
    uint64_t start = 0, end = 0, functions_bytes = unwind_index_functions_bytes(index);
    if (!unwind_index_find_entries(index, &start, &end)) end = start;
    uint64_t bytes_count = sizeof(struct unwind_table) + functions_bytes + (end - start);
    if (bytes_count > bytes_max) return NULL;
    /* All pages are written now. Faults for each would take a fifth of the whole time more. */
    struct unwind_table *table = map_bytes(bytes_count, MAP_POPULATE);
    if (!table) return NULL;
    unsigned char *functions = (unsigned char *)(table + 1), *entries = functions + functions_bytes;
    table->bytes_count = bytes_count;
    table->user_count = 1;
    table->image = *index->image;
    table->image.segment_count = 1;
    table->image.segments[0] =
        (struct unwind_segment){.start = start, .end = end, .shift = (uint64_t)(uintptr_t)entries - start};
    table->index = *index;
    table->index.image = &table->image;
    table->index.functions = (struct unwind_function *)(void *)functions;
    memcpy(functions, index->functions, functions_bytes);
    memcpy(entries, (const void *)(uintptr_t)start, end - start);
    return table;
}

struct unwind_table *unwind_table_create(const struct unwind_image *image, uint64_t bytes_max) {
    struct unwind_index index;
    unwind_index_init(&index, image);
    struct unwind_table *table = index.count ? copy_index(&index, bytes_max) : NULL;
    unwind_index_fini(&index);
    return table;
}

void unwind_table_destroy(struct unwind_table *table) {
    if (table && --table->user_count == 0) munmap(table, table->bytes_count);
}

/* The index remembers the common entry that was parsed last. So each search has a copy of the index. */
void unwind_table_find(const struct unwind_table *table, uint64_t offset, struct unwind_rule *rule) {
    struct unwind_index index = table->index;
    uint64_t start;
    unwind_index_find(&index, table->image.base + offset, rule, &start);
}

static bool find_function(const struct unwind_table *table, uint64_t address, uint64_t *start, uint64_t *end) {
    struct unwind_index index = table->index;
    struct unwind_rule rule;
    return unwind_index_find_function(&index, address, start, end) && unwind_index_find(&index, *start, &rule, start) &&
           rule.cfa_kind == UNWIND_CFA_REGISTER && rule.cfa_register == UNWIND_SP &&
           rule.cfa_offset == UNWIND_ENTRY_DEPTH;
}

void unwind_table_measure(const struct unwind_table *table, struct unwind_figures *figures) {
    figures->object_count++;
    figures->function_count += table->index.count;
    figures->bytes_count += table->bytes_count;
}

/* ---- A cache of rules, which handlers of all threads read and write at once. ---- */

enum { CACHE_SHIFT = 11, CACHE_SLOT_COUNT = 1 << CACHE_SHIFT, RULE_WORD_COUNT = sizeof(struct unwind_rule) / 8 };

struct cache_slot {
    uint64_t version; /* 0: the slot is empty; odd: a handler is changing it */
    uint64_t address;
    uint64_t rule[RULE_WORD_COUNT];
};

static struct cache_slot *slot_of(struct cache_slot *cache, uint64_t address) {
    return &cache[address * 0x9e3779b97f4a7c15u >> (64 - CACHE_SHIFT)];
}

static bool cache_find(struct cache_slot *cache, uint64_t address, struct unwind_rule *rule) {
    struct cache_slot *slot = slot_of(cache, address);
    uint64_t version = __atomic_load_n(&slot->version, __ATOMIC_ACQUIRE), words[RULE_WORD_COUNT];
    bool is_whole = version && !(version & 1);
    if (!is_whole || __atomic_load_n(&slot->address, __ATOMIC_RELAXED) != address) return false;
    for (int i = 0; i < RULE_WORD_COUNT; i++) words[i] = __atomic_load_n(&slot->rule[i], __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (__atomic_load_n(&slot->version, __ATOMIC_RELAXED) != version) return false;
    memcpy(rule, words, sizeof *rule);
    return true;
}

/* A slot that another handler is changing is left to that one. In a child that was forked meanwhile, the slot stays
 * unused. */
static void cache_put(struct cache_slot *cache, uint64_t address, const struct unwind_rule *rule) {
    struct cache_slot *slot = slot_of(cache, address);
    uint64_t version = __atomic_load_n(&slot->version, __ATOMIC_RELAXED), words[RULE_WORD_COUNT];
    if (version & 1 ||
        !__atomic_compare_exchange_n(&slot->version, &version, version + 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return;
    __atomic_thread_fence(__ATOMIC_RELEASE);
    memcpy(words, rule, sizeof *rule);
    __atomic_store_n(&slot->address, address, __ATOMIC_RELAXED);
    for (int i = 0; i < RULE_WORD_COUNT; i++) __atomic_store_n(&slot->rule[i], words[i], __ATOMIC_RELAXED);
    __atomic_store_n(&slot->version, version + 2, __ATOMIC_RELEASE);
}

/* ---- Snapshots. ---- */

enum table_state { TABLE_ABSENT = 0, TABLE_WANTED, TABLE_BUILT };

struct entry {
    uint64_t start; /* must be the first member, for search_ranges */
    uint64_t end;
    uint64_t identity;          /* if built: a hash that distinguishes the object from another one at the same
                                 * address */
    struct unwind_table *table; /* if built; NULL: the object has no rows */
    uint32_t state;             /* enum table_state: walks mark tables as wanted, the sampler builds them */
};

struct unwind_snapshot {
    struct unwind_snapshot *next_replaced;
    uint64_t bytes_count;
    uint64_t number; /* counts up from 1 */
    uint32_t entry_count;
    uint32_t entry_capacity;
    struct entry *entries; /* sorted by start */
    struct cache_slot *cache;
};

static struct {
    struct unwind_snapshot *current; /* published */
    struct unwind_snapshot *replaced;
    uint32_t has_wanted; /* at least one table is wanted */
    uint32_t wants_all;
    uint32_t build_count;
    unsigned long long load_count; /* the dynamic linker's counter when `current` was made */
    unsigned long long unload_count;
    uint64_t last_number;
} snapshots;

static struct unwind_snapshot *snapshot_create(uint32_t entry_capacity) {
    uint64_t bytes_count = sizeof(struct unwind_snapshot) + CACHE_SLOT_COUNT * sizeof(struct cache_slot) +
                           entry_capacity * sizeof(struct entry);
    struct unwind_snapshot *snapshot = map_bytes(bytes_count, 0);
    if (!snapshot) return NULL;
    snapshot->bytes_count = bytes_count;
    snapshot->cache = (struct cache_slot *)(snapshot + 1);
    snapshot->entries = (struct entry *)(snapshot->cache + CACHE_SLOT_COUNT);
    snapshot->entry_capacity = entry_capacity;
    return snapshot;
}

static void snapshot_destroy(struct unwind_snapshot *snapshot) {
    if (!snapshot) return;
    for (uint32_t i = 0; i < snapshot->entry_count; i++) unwind_table_destroy(snapshot->entries[i].table);
    munmap(snapshot, snapshot->bytes_count);
}

/* Returns the last entry that starts at or below the address; NULL: none. */
static struct entry *find_entry(const struct unwind_snapshot *snapshot, uint64_t address) {
    uint32_t index = search_ranges(snapshot->entries, snapshot->entry_count, sizeof *snapshot->entries, address);
    return index < snapshot->entry_count ? &snapshot->entries[index] : NULL;
}

static void want(struct entry *entry) {
    uint32_t absent = TABLE_ABSENT;
    __atomic_compare_exchange_n(&entry->state, &absent, TABLE_WANTED, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    __atomic_store_n(&snapshots.has_wanted, 1, __ATOMIC_RELEASE);
}

bool unwind_snapshot_find(const struct unwind_snapshot *snapshot, uint64_t address, struct unwind_rule *rule) {
    if (cache_find(snapshot->cache, address, rule)) return true;
    struct entry *entry = find_entry(snapshot, address);
    if (!entry || address >= entry->end) return false;
    if (__atomic_load_n(&entry->state, __ATOMIC_ACQUIRE) != TABLE_BUILT) {
        want(entry);
        *rule = (struct unwind_rule){.cfa_kind = UNWIND_CFA_TO_COME};
        return true;
    }
    *rule = unwind_rule_unknown;
    if (entry->table) unwind_table_find(entry->table, address - entry->start, rule);
    cache_put(snapshot->cache, address, rule);
    return true;
}

bool unwind_snapshot_find_function(const struct unwind_snapshot *snapshot, uint64_t address, uint64_t *start,
                                   uint64_t *end) {
    const struct entry *entry = find_entry(snapshot, address);
    return entry && address < entry->end && entry->table && find_function(entry->table, address, start, end);
}

uint64_t unwind_snapshot_number(const struct unwind_snapshot *snapshot) { return snapshot->number; }

void unwind_snapshot_measure(const struct unwind_snapshot *snapshot, struct unwind_figures *figures) {
    *figures = (struct unwind_figures){.bytes_count = snapshot->bytes_count};
    for (uint32_t i = 0; i < snapshot->entry_count; i++)
        if (snapshot->entries[i].table) unwind_table_measure(snapshot->entries[i].table, figures);
}

/* ---- What is loaded. ---- */

/* Returns a hash of the object's program headers, build id and the linker's table of functions. */
static uint64_t identify(const struct dl_phdr_info *object, const struct unwind_image *image) {
    uint64_t hashes[2] = {hash_bytes(object->dlpi_phdr, object->dlpi_phnum * sizeof *object->dlpi_phdr), 0};
    for (uint32_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &object->dlpi_phdr[i];
        uint64_t address = object->dlpi_addr + header->p_vaddr;
        if (header->p_type != PT_NOTE && header->p_type != PT_GNU_EH_FRAME) continue;
        if (!unwind_image_segment(image, address, header->p_memsz)) continue;
        hashes[1] = hash_bytes((const void *)(uintptr_t)address, header->p_memsz);
        hashes[0] = hash_bytes(hashes, sizeof hashes);
    }
    return hashes[0];
}

/* Takes over the table of the same object at the same address from the previous snapshot. The table of a new object is
 * wanted at once, because a program that loads an object while it is sampled is about to run it. */
static void inherit(struct entry *entry, const struct dl_phdr_info *object, const struct unwind_image *image) {
    if (!snapshots.current) return;
    const struct entry *known = find_entry(snapshots.current, entry->start);
    bool is_known = known && known->start == entry->start && known->end == entry->end;
    if (!is_known) {
        want(entry);
        return;
    }
    entry->state = __atomic_load_n(&known->state, __ATOMIC_RELAXED);
    if (entry->state != TABLE_BUILT) return;
    entry->identity = identify(object, image);
    if (known->identity != entry->identity) {
        entry->state = TABLE_ABSENT;
        want(entry);
        return;
    }
    entry->table = known->table;
    if (entry->table) entry->table->user_count++;
}

struct round {
    struct unwind_snapshot *next;
    unsigned long long load_count;
    unsigned long long unload_count;
};

static void insert_entry(struct unwind_snapshot *snapshot, const struct entry *entry) {
    uint32_t place = snapshot->entry_count++;
    for (; place && snapshot->entries[place - 1].start > entry->start; place--)
        snapshot->entries[place] = snapshot->entries[place - 1];
    snapshot->entries[place] = *entry;
}

static int add_object(struct dl_phdr_info *object, size_t bytes_count, void *context) {
    struct round *round = context;
    struct unwind_image image;
    (void)bytes_count;
    round->load_count = object->dlpi_adds;
    round->unload_count = object->dlpi_subs;
    if (round->next->entry_count == round->next->entry_capacity || !unwind_image_init(&image, object)) return 0;
    struct entry entry = {.start = image.base, .end = image.end};
    inherit(&entry, object, &image);
    insert_entry(round->next, &entry);
    return 0;
}

static int read_counts(struct dl_phdr_info *object, size_t bytes_count, void *context) {
    struct round *round = context;
    (void)bytes_count;
    round->load_count = object->dlpi_adds;
    round->unload_count = object->dlpi_subs;
    return 1;
}

static int count_object(struct dl_phdr_info *object, size_t bytes_count, void *context) {
    (void)object;
    (void)bytes_count;
    ++*(uint32_t *)context;
    return 0;
}

static void publish(struct unwind_snapshot *next) {
    struct unwind_snapshot *before = snapshots.current;
    next->number = ++snapshots.last_number;
    __atomic_store_n(&snapshots.current, next, __ATOMIC_RELEASE);
    if (!before) return;
    before->next_replaced = snapshots.replaced;
    snapshots.replaced = before;
}

void unwind_snapshot_refresh(void) {
    struct round round = {.next = NULL};
    dl_iterate_phdr(read_counts, &round);
    if (snapshots.current && round.load_count == snapshots.load_count && round.unload_count == snapshots.unload_count)
        return;
    uint32_t object_count = 0;
    dl_iterate_phdr(count_object, &object_count);
    /* If more objects are loaded in the meantime, the counts change, so the next refresh finds the objects that did not
     * fit. */
    round.next = snapshot_create(object_count + 16);
    if (!round.next) return;
    dl_iterate_phdr(add_object, &round);
    snapshots.load_count = round.load_count;
    snapshots.unload_count = round.unload_count;
    publish(round.next);
}

/* ---- Building tables. ---- */

struct building {
    bool builds_all;
    uint64_t bytes_left;
};

static uint64_t bytes_left(const struct unwind_snapshot *snapshot) {
    uint64_t used_bytes = 0;
    for (uint32_t i = 0; i < snapshot->entry_count; i++)
        if (snapshot->entries[i].table) used_bytes += snapshot->entries[i].table->bytes_count;
    return used_bytes < UNWIND_BYTES_MAX ? UNWIND_BYTES_MAX - used_bytes : 0;
}

static int build_object(struct dl_phdr_info *object, size_t bytes_count, void *context) {
    struct building *building = context;
    struct unwind_image image;
    (void)bytes_count;
    /* If objects were loaded or unloaded since the snapshot was made, stop. */
    if (object->dlpi_adds != snapshots.load_count || object->dlpi_subs != snapshots.unload_count) return 1;
    if (!unwind_image_init(&image, object)) return 0;
    struct entry *entry = find_entry(snapshots.current, image.base);
    if (!entry || entry->start != image.base || entry->end != image.end) return 0;
    uint32_t state = __atomic_load_n(&entry->state, __ATOMIC_RELAXED);
    if (state == TABLE_BUILT || (state == TABLE_ABSENT && !building->builds_all)) return 0;
    entry->identity = identify(object, &image);
    entry->table = unwind_table_create(&image, building->bytes_left);
    if (entry->table) building->bytes_left -= entry->table->bytes_count;
    __atomic_store_n(&entry->state, TABLE_BUILT, __ATOMIC_RELEASE);
    return 0;
}

void unwind_snapshot_build_wanted(void) {
    if (!snapshots.current) return;
    /* Tables that become wanted from here on are built by the next call. */
    __atomic_store_n(&snapshots.has_wanted, 0, __ATOMIC_SEQ_CST);
    struct building building = {.builds_all = __atomic_load_n(&snapshots.wants_all, __ATOMIC_SEQ_CST),
                                .bytes_left = bytes_left(snapshots.current)};
    dl_iterate_phdr(build_object, &building);
    __atomic_add_fetch(&snapshots.build_count, 1, __ATOMIC_RELEASE);
}

uint32_t unwind_snapshot_build_count(void) { return __atomic_load_n(&snapshots.build_count, __ATOMIC_ACQUIRE); }

void unwind_snapshot_want_all(void) {
    if (__atomic_exchange_n(&snapshots.wants_all, 1, __ATOMIC_SEQ_CST)) return;
    __atomic_store_n(&snapshots.has_wanted, 1, __ATOMIC_SEQ_CST);
}

bool unwind_snapshot_has_wanted(void) { return __atomic_load_n(&snapshots.has_wanted, __ATOMIC_ACQUIRE) != 0; }

const struct unwind_snapshot *unwind_snapshot_current(void) {
    return __atomic_load_n(&snapshots.current, __ATOMIC_ACQUIRE);
}

void unwind_snapshot_reclaim(void) {
    while (snapshots.replaced) {
        struct unwind_snapshot *snapshot = snapshots.replaced;
        snapshots.replaced = snapshot->next_replaced;
        snapshot_destroy(snapshot);
    }
}

void unwind_snapshot_forget(void) {
    unwind_snapshot_reclaim();
    snapshot_destroy(snapshots.current);
    snapshots.has_wanted = snapshots.wants_all = 0;
    __atomic_store_n(&snapshots.current, NULL, __ATOMIC_RELEASE);
}

#endif
