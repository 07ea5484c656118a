#include "perf_maps.h"

struct pid_head {
    int64_t pid;
    uint32_t newest;
};

struct path_build_id {
    struct text path;
    struct text build_id;
};

void perf_maps_init(struct perf_maps *maps, struct failure *failure) {
    strings_init(&maps->texts, failure);
    column_init(&maps->rows, sizeof(struct perf_map), failure);
    column_init(&maps->pid_heads, sizeof(struct pid_head), failure);
    column_init(&maps->build_ids, sizeof(struct path_build_id), failure);
}

void perf_maps_fini(struct perf_maps *maps) {
    strings_fini(&maps->texts);
    column_fini(&maps->rows);
    column_fini(&maps->pid_heads);
    column_fini(&maps->build_ids);
}

/* ---- The record's text. Each step takes what it expects from the start of the text. ---- */

static bool take_literal(struct text *text, struct text literal) {
    if (!text_starts_with(*text, literal)) return false;
    *text = text_from(*text, literal.bytes_count);
    return true;
}

static int digit_value(char digit) {
    if (digit >= '0' && digit <= '9') return digit - '0';
    if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
    return -1;
}

static bool take_number(struct text *text, unsigned base, uint64_t *out) {
    uint64_t value = 0;
    size_t count = 0;
    for (; count < text->bytes_count; count++) {
        int digit = digit_value(text->bytes[count]);
        if (digit < 0 || (unsigned)digit >= base) break;
        if (__builtin_mul_overflow(value, base, &value)) return false;
        value += (uint64_t)digit;
    }
    *text = text_from(*text, count);
    *out = value;
    return count > 0;
}

/* "0x12"; perf prints a zero as "0". */
static bool take_hex(struct text *text, uint64_t *out) {
    take_literal(text, TEXT("0x"));
    return take_number(text, 16, out);
}

static bool take_id(struct text *text, int64_t *out) {
    bool negative = take_literal(text, TEXT("-"));
    uint64_t value;
    if (!take_number(text, 10, &value) || value > INT32_MAX) return false;
    *out = negative ? -(int64_t)value : (int64_t)value;
    return true;
}

/* ---- The tables. ---- */

static struct pid_head *find_head(const struct perf_maps *maps, int64_t pid) {
    for (size_t i = 0; i < maps->pid_heads.count; i++) {
        struct pid_head *head = column_at(&maps->pid_heads, i);
        if (head->pid == pid) return head;
    }
    return NULL;
}

static void add_map(struct perf_maps *maps, int64_t pid, struct perf_map map) {
    struct pid_head *head = find_head(maps, pid);
    if (!head) {
        head = column_push(&maps->pid_heads);
        if (!head) return;
        *head = (struct pid_head){.pid = pid, .newest = ID_NONE};
    }
    map.older = head->newest;
    uint32_t index = (uint32_t)maps->rows.count;
    struct perf_map *row = column_push(&maps->rows);
    if (!row) return;
    *row = map;
    head->newest = index;
}

static void add_build_id(struct perf_maps *maps, struct text path, struct text build_id) {
    if (perf_maps_build_id(maps, path).bytes_count) return;
    struct path_build_id *row = column_push(&maps->build_ids);
    if (row) *row = (struct path_build_id){strings_copy(&maps->texts, path), strings_copy(&maps->texts, build_id)};
}

bool perf_maps_add_record(struct perf_maps *maps, struct text payload, int64_t *pid, int64_t *tid) {
    struct text left = text_trim_start(payload);
    struct perf_map map;
    if (!take_id(&left, pid) || !take_literal(&left, TEXT("/")) || !take_id(&left, tid)) return false;
    if (!take_literal(&left, TEXT(": [")) || !take_hex(&left, &map.start)) return false;
    if (!take_literal(&left, TEXT("(")) || !take_hex(&left, &map.length)) return false;
    if (!take_literal(&left, TEXT(") @ ")) || !take_hex(&left, &map.file_offset)) return false;
    size_t close = text_find(left, ']');
    if (close == left.bytes_count) return false;
    struct text origin = text_trim(text_slice(left, 0, close));
    left = text_from(left, close + 1);
    if (!take_literal(&left, TEXT(": "))) return false;
    size_t blank = text_find(left, ' ');
    struct text path = text_trim(text_from(left, blank));
    if (!path.bytes_count) return false;

    /* The kernel's text is mapped at the address that the record calls its offset. */
    if (*pid == PERF_PID_KERNEL) map.file_offset = 0;
    add_map(maps, *pid, map);
    if (origin.bytes_count > 2 && origin.bytes[0] == '<')
        add_build_id(maps, path, text_slice(origin, 1, origin.bytes_count - 1));
    return true;
}

bool perf_maps_relative_address(const struct perf_maps *maps, int64_t pid, uint64_t address, uint64_t *relative) {
    const struct pid_head *head = find_head(maps, pid);
    for (uint32_t row = head ? head->newest : ID_NONE; row != ID_NONE;) {
        const struct perf_map *map = column_at(&maps->rows, row);
        if (address >= map->start && address - map->start < map->length) {
            *relative = address - map->start + map->file_offset;
            return true;
        }
        row = map->older;
    }
    return false;
}

struct text perf_maps_build_id(const struct perf_maps *maps, struct text path) {
    for (size_t i = 0; i < maps->build_ids.count; i++) {
        const struct path_build_id *row = column_at(&maps->build_ids, i);
        if (text_equal(row->path, path)) return row->build_id;
    }
    return (struct text){0};
}
