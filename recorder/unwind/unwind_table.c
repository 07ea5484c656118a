#include "unwind_table.h"

#if UNWIND_KNOWS_MACHINE

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "recorder/state/hash.h"
#include "search.h"
#include "unwind_object.h"

/* An object is divided into parts of 1024 bytes. A lookup searches the rows of one part. */
enum { PART_SHIFT = 10 };

enum { RULE_COUNT_MAX = 1 << 16, RULE_SLOT_COUNT = RULE_COUNT_MAX * 2, FIRST_ROW_COUNT = 4096 };

static void *map_bytes(uint64_t bytes_count) {
    void *bytes = mmap(NULL, bytes_count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return bytes == MAP_FAILED ? NULL : bytes;
}

static void unmap_bytes(void *bytes, uint64_t bytes_count) {
    if (bytes) munmap(bytes, bytes_count);
}

/* ---- Rows while a table is built. Each rule is stored once; the first one has kind UNKNOWN. ---- */

struct row {
    uint32_t start;
    uint16_t rule;
    uint16_t reserved;
};

struct rows {
    struct row *all;
    uint64_t count;
    uint64_t capacity;
    uint64_t bytes_max; /* limit for the table's bytes */
    struct unwind_rule *rules;
    uint32_t rule_count;
    uint16_t *slots; /* rule numbers by hash; 0: free */
};

static uint64_t table_bytes(uint64_t row_count, uint64_t rule_count, uint32_t last_start);

static bool rows_init(struct rows *rows, uint64_t bytes_max) {
    *rows = (struct rows){.capacity = FIRST_ROW_COUNT, .bytes_max = bytes_max, .rule_count = 1};
    rows->all = map_bytes(FIRST_ROW_COUNT * sizeof *rows->all);
    rows->rules = map_bytes(RULE_COUNT_MAX * sizeof *rows->rules);
    rows->slots = map_bytes(RULE_SLOT_COUNT * sizeof *rows->slots);
    return rows->all && rows->rules && rows->slots;
}

static void rows_fini(struct rows *rows) {
    unmap_bytes(rows->all, rows->capacity * sizeof *rows->all);
    unmap_bytes(rows->rules, RULE_COUNT_MAX * sizeof *rows->rules);
    unmap_bytes(rows->slots, RULE_SLOT_COUNT * sizeof *rows->slots);
}

static uint32_t slot_of(const struct unwind_rule *rule) {
    uint64_t words[sizeof *rule / 8], mixed = 0;
    memcpy(words, rule, sizeof words);
    for (uint32_t i = 0; i < sizeof *rule / 8; i++)
        mixed = (mixed ^ words[i]) * 0x9e3779b97f4a7c15u, mixed ^= mixed >> 32;
    return (uint32_t)mixed % RULE_SLOT_COUNT;
}

/* Returns 0, the rule of kind UNKNOWN, if there is no room for another rule. */
static uint16_t number_rule(struct rows *rows, const struct unwind_rule *rule) {
    if (rule->cfa_kind == UNWIND_CFA_UNKNOWN) return 0;
    uint32_t slot = slot_of(rule);
    while (rows->slots[slot]) {
        if (memcmp(&rows->rules[rows->slots[slot]], rule, sizeof *rule) == 0) return rows->slots[slot];
        slot = (slot + 1) % RULE_SLOT_COUNT;
    }
    if (rows->rule_count == RULE_COUNT_MAX) return 0;
    rows->rules[rows->rule_count] = *rule;
    rows->slots[slot] = (uint16_t)rows->rule_count;
    return (uint16_t)rows->rule_count++;
}

static bool rows_grow(struct rows *rows) {
    if (rows->count < rows->capacity) return true;
    uint64_t bytes_count = rows->capacity * sizeof *rows->all;
    /* The thread sanitizer does not support mremap. */
    void *all = map_bytes(2 * bytes_count);
    if (!all) return false;
    memcpy(all, rows->all, bytes_count);
    unmap_bytes(rows->all, bytes_count);
    rows->all = all;
    rows->capacity *= 2;
    return true;
}

/* Adds a row. Leaves room for one more row, which ends the last function. */
static bool take_row(void *context, uint32_t start, const struct unwind_rule *rule) {
    struct rows *rows = context;
    struct row *last = rows->count ? &rows->all[rows->count - 1] : NULL;
    if (last && start < last->start) return true;
    bool is_full = table_bytes(rows->count + 2, rows->rule_count + 1, start) > rows->bytes_max;
    if (is_full || !rows_grow(rows)) {
        if (last) last->rule = 0;
        return false;
    }
    if (last) last = &rows->all[rows->count - 1]; /* the rows may have moved */
    uint16_t number = number_rule(rows, rule);
    if (last && last->start == start) {
        rows->count--;
        last = rows->count ? last - 1 : NULL;
    }
    bool is_as_before = last ? last->rule == number && !rule->is_first : number == 0;
    if (is_as_before) return true;
    rows->all[rows->count++] = (struct row){.start = start, .rule = number};
    return true;
}

/* ---- The table: one mapping of the struct, the rules, the starts, the parts and the rules' numbers. ---- */

struct unwind_table {
    uint64_t bytes_count;
    uint32_t user_count; /* snapshots that have the table */
    uint32_t row_count;
    uint32_t rule_count;
    uint32_t reserved;
    const struct unwind_rule *rules;
    const uint32_t *starts;
    const uint32_t *parts; /* per part: the last row that starts at or before the part's beginning, or the first row if
                            * there is none */
    const uint16_t *row_rules;
};

static uint64_t part_count_of(uint32_t last_start) { return ((uint64_t)last_start >> PART_SHIFT) + 1; }

static uint64_t table_bytes(uint64_t row_count, uint64_t rule_count, uint32_t last_start) {
    return sizeof(struct unwind_table) + rule_count * sizeof(struct unwind_rule) +
           part_count_of(last_start) * sizeof(uint32_t) + row_count * (sizeof(uint32_t) + sizeof(uint16_t));
}

static void fill_parts(uint32_t *parts, const struct rows *rows) {
    uint64_t part_count = part_count_of(rows->all[rows->count - 1].start);
    uint32_t row = 0;
    for (uint64_t part = 0; part < part_count; part++) {
        while (row + 1 < rows->count && rows->all[row + 1].start <= part << PART_SHIFT) row++;
        parts[part] = row;
    }
}

static struct unwind_table *compact(const struct rows *rows) {
    if (!rows->count || rows->count > UINT32_MAX) return NULL;
    uint32_t last_start = rows->all[rows->count - 1].start;
    uint64_t bytes_count = table_bytes(rows->count, rows->rule_count, last_start);
    struct unwind_table *table = map_bytes(bytes_count);
    if (!table) return NULL;
    struct unwind_rule *rules = (struct unwind_rule *)(table + 1);
    uint32_t *starts = (uint32_t *)(rules + rows->rule_count);
    uint32_t *parts = starts + rows->count;
    uint16_t *row_rules = (uint16_t *)(parts + part_count_of(last_start));
    memcpy(rules, rows->rules, rows->rule_count * sizeof *rules);
    for (uint64_t i = 0; i < rows->count; i++) {
        starts[i] = rows->all[i].start;
        row_rules[i] = rows->all[i].rule;
    }
    fill_parts(parts, rows);
    *table = (struct unwind_table){.bytes_count = bytes_count,
                                   .user_count = 1,
                                   .row_count = (uint32_t)rows->count,
                                   .rule_count = rows->rule_count,
                                   .rules = rules,
                                   .starts = starts,
                                   .parts = parts,
                                   .row_rules = row_rules};
    return table;
}

struct unwind_table *unwind_table_create(const struct unwind_image *image, uint64_t bytes_max) {
    struct rows rows;
    struct unwind_table *table = NULL;
    if (rows_init(&rows, bytes_max)) {
        unwind_cfi_compile(image, &(struct unwind_row_sink){.take = take_row, .context = &rows});
        table = compact(&rows);
    }
    rows_fini(&rows);
    return table;
}

void unwind_table_destroy(struct unwind_table *table) {
    if (table && --table->user_count == 0) munmap(table, table->bytes_count);
}

static bool has_row(const struct unwind_table *table, uint64_t offset) {
    return offset >= table->starts[0] && offset < table->starts[table->row_count - 1];
}

static inline uint32_t find_row(const struct unwind_table *table, uint64_t offset) {
    uint32_t last_start = table->starts[table->row_count - 1];
    uint64_t part = offset >> PART_SHIFT;
    uint32_t row = table->parts[part];
    bool is_last = part + 1 == part_count_of(last_start);
    uint32_t count = (is_last ? table->row_count - 1 : table->parts[part + 1]) - row + 1;
    const uint32_t *starts = table->starts + row;
    /* Binary search without a branch that could be mispredicted. Throughout, starts[0] <= offset. */
    while (count > 1) {
        uint32_t half = count / 2;
        starts = starts[half] <= offset ? starts + half : starts;
        count -= half;
    }
    return (uint32_t)(starts - table->starts);
}

static const struct unwind_rule *rule_of_row(const struct unwind_table *table, uint32_t row) {
    return &table->rules[table->row_rules[row]];
}

const struct unwind_rule *unwind_table_find(const struct unwind_table *table, uint64_t offset) {
    return has_row(table, offset) ? rule_of_row(table, find_row(table, offset)) : &table->rules[0];
}

static bool find_function(const struct unwind_table *table, uint64_t offset, uint64_t *start, uint64_t *end) {
    if (!has_row(table, offset)) return false;
    uint32_t first = find_row(table, offset), last = first;
    while (rule_of_row(table, first)->cfa_kind != UNWIND_CFA_UNKNOWN && !rule_of_row(table, first)->is_first)
        if (!first--) return false;
    const struct unwind_rule *rule = rule_of_row(table, first);
    do {
        last++;
    } while (rule_of_row(table, last)->cfa_kind != UNWIND_CFA_UNKNOWN && !rule_of_row(table, last)->is_first);
    *start = table->starts[first];
    *end = table->starts[last];
    return rule->cfa_kind == UNWIND_CFA_REGISTER && rule->cfa_register == UNWIND_SP &&
           rule->cfa_offset == UNWIND_ENTRY_DEPTH;
}

void unwind_table_measure(const struct unwind_table *table, struct unwind_figures *figures) {
    figures->object_count++;
    figures->row_count += table->row_count;
    figures->rule_count += table->rule_count;
    figures->bytes_count += table->bytes_count;
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
};

static const struct unwind_rule rule_to_come = {.cfa_kind = UNWIND_CFA_TO_COME};

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
    uint64_t bytes_count = sizeof(struct unwind_snapshot) + entry_capacity * sizeof(struct entry);
    struct unwind_snapshot *snapshot = map_bytes(bytes_count);
    if (!snapshot) return NULL;
    snapshot->bytes_count = bytes_count;
    snapshot->entries = (struct entry *)(snapshot + 1);
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

const struct unwind_rule *unwind_snapshot_find(const struct unwind_snapshot *snapshot, uint64_t address) {
    struct entry *entry = find_entry(snapshot, address);
    if (!entry || address >= entry->end) return NULL;
    if (__atomic_load_n(&entry->state, __ATOMIC_ACQUIRE) != TABLE_BUILT) {
        want(entry);
        return &rule_to_come;
    }
    return entry->table ? unwind_table_find(entry->table, address - entry->start) : &unwind_rule_unknown;
}

bool unwind_snapshot_find_function(const struct unwind_snapshot *snapshot, uint64_t address, uint64_t *start,
                                   uint64_t *end) {
    const struct entry *entry = find_entry(snapshot, address);
    if (!entry || address >= entry->end || !entry->table) return false;
    if (!find_function(entry->table, address - entry->start, start, end)) return false;
    *start += entry->start;
    *end += entry->start;
    return true;
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
