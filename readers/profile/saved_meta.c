/* "meta" and "libs": what was recorded, where and how. */
#include <inttypes.h>

#include "libconvert/base/byte_buffer.h"
#include "libconvert/base/id_column.h"
#include "libconvert/format/common_format.h"
#include "libconvert/format/gecko_format.h"
#include "libconvert/format/processed_format.h"
#include "saved_reader.h"

/* ---- Categories. ---- */

/* Firefox spells grey in both ways, and has a light green, for which the front-end has no swatch. */
static enum category_color take_color(struct saved_reader *reader) {
    static const enum category_color others[] = {COLOR_GREY, COLOR_DARKGREY, COLOR_GREEN};
    const char *names[COLOR_COUNT + 4] = {[COLOR_COUNT] = "gray", "darkgray", "lightgreen"};
    memcpy(names, category_color_names, COLOR_COUNT * sizeof *names);
    unsigned color = saved_choice(reader, names, COLOR_GREY);
    return color < COLOR_COUNT ? (enum category_color)color : others[color - COLOR_COUNT];
}

static bool read_category_part(struct saved_reader *reader, struct text key, void *context) {
    struct category *category = context;
    if (text_equal(key, TEXT("color"))) {
        category->color = take_color(reader);
        return true;
    }
    if (!text_equal(key, TEXT("subcategories"))) return false;
    JSON_EACH(reader->json) {
        struct text *name = column_push(&category->subcategories);
        if (name) *name = saved_text(reader);
    }
    return true;
}

static void add_category(struct saved_reader *reader, const struct category *category) {
    struct categories *categories = &reader->profile->categories;
    struct saved_category *row = column_push(&reader->categories);
    if (!row) return;
    *row = (struct saved_category){reader->pairs.count, 0};
    size_t count = category->subcategories.count;
    for (size_t i = 0; i < count || i == 0; i++) {
        struct text name = i < count ? *category_subcategory_at(category, i) : (struct text){0};
        struct category_pair *pair = column_push(&reader->pairs);
        if (!pair) return;
        *pair = categories_intern(categories, category->name, category->color, name);
        row->count++;
    }
}

static void read_categories(struct saved_reader *reader) {
    struct category category;
    column_init(&category.subcategories, sizeof(struct text), reader->profile->failure);
    JSON_EACH(reader->json) {
        category.name = (struct text){0};
        category.color = COLOR_GREY;
        category.subcategories.count = 0;
        saved_read_members(reader, &category_shape, &category, read_category_part, &category);
        add_category(reader, &category);
    }
    column_fini(&category.subcategories);
}

struct category_pair saved_category_at(struct saved_reader *reader, int64_t category, int64_t subcategory) {
    if (category < 0 || category >= reader->categories.count) {
        json_stream_fail(reader->json, "there is no category %d", (int)category);
        return (struct category_pair){0};
    }
    const struct saved_category *row = column_at(&reader->categories, (size_t)category);
    if (subcategory >= row->count && subcategory) {
        saved_lose(reader, TEXT("subcategory"), 1);
        subcategory = 0; /* the front-end shows no subcategory then */
    }
    return *(const struct category_pair *)column_at(&reader->pairs, row->first + (size_t)subcategory);
}

/* ---- Configuration, units, and the information panel. ---- */

/* Joins the texts of a list by commas. */
static struct text take_list(struct saved_reader *reader) {
    struct byte_buffer list = {.failure = reader->profile->failure};
    bool is_first = true;
    JSON_EACH(reader->json) {
        if (!is_first) byte_buffer_append(&list, TEXT(","));
        byte_buffer_append(&list, saved_text(reader));
        is_first = false;
    }
    struct text joined = list.bytes_count ? profile_text(reader->profile, byte_buffer_text(&list)) : TEXT("");
    byte_buffer_fini(&list);
    return joined;
}

static bool read_configuration_part(struct saved_reader *reader, struct text key, void *context) {
    enum { ENTRY_BYTES = 8 };
    struct profile_configuration *configuration = context;
    if (text_equal(key, TEXT("threads")))
        configuration->threads = take_list(reader);
    else if (text_equal(key, TEXT("features")))
        configuration->features = take_list(reader);
    else if (text_equal(key, TEXT("capacity")))
        configuration->capacity_bytes = (uint64_t)saved_int(reader, 0, INT64_MAX / ENTRY_BYTES) * ENTRY_BYTES;
    else if (text_equal(key, TEXT("duration")))
        configuration->duration_s = (uint32_t)saved_int(reader, 0, INT32_MAX);
    else if (text_equal(key, TEXT("interval")))
        configuration->interval_ns = saved_ns_of_ms(reader);
    else if (text_equal(key, TEXT("activeTabID")))
        json_skip(reader->json); /* only the viewer of a browser's tabs has a use for it */
    else
        return false;
    return true;
}

static bool read_units_part(struct saved_reader *reader, struct text key, void *context) {
    static const char *const units[] = {"ns", "\xc2\xb5s", "variable CPU cycles", NULL};
    (void)context;
    if (text_equal(key, TEXT("threadCPUDelta"))) {
        unsigned unit = saved_choice(reader, units, 0);
        reader->cpu_unit = unit == 2 ? CPU_DELTA_CYCLES : CPU_DELTA_NS;
        reader->cpu_unit_ns = unit == 1 ? 1000 : 1;
        return true;
    }
    /* Others have the only unit that there is, unless a time is none. */
    struct text unit;
    return json_take_text(reader->json, &unit) && (text_equal(unit, TEXT("ms")) || (saved_lose(reader, key, 1), true));
}

/* An entry of the information panel, whose value may be of any kind. */
static bool read_entry_part(struct saved_reader *reader, struct text key, void *context) {
    struct extra_entry *entry = context;
    struct text number;
    if (text_equal(key, TEXT("label"))) {
        entry->label = saved_text(reader);
    } else if (text_equal(key, TEXT("format"))) {
        struct text format;
        if (json_peek_kind(reader->json) != JSON_TEXT) return false;
        if (json_take_text(reader->json, &format) && !text_equal(format, TEXT("string"))) saved_lose(reader, key, 1);
    } else if (!text_equal(key, TEXT("value"))) {
        return false;
    } else if (json_peek_kind(reader->json) == JSON_NUMBER) {
        json_take_number_text(reader->json, &number);
        entry->value = profile_text(reader->profile, number);
    } else if (json_peek_kind(reader->json) == JSON_TEXT) {
        entry->value = saved_text(reader);
    } else {
        return false;
    }
    return true;
}

static bool read_section_part(struct saved_reader *reader, struct text key, void *context) {
    struct text *section = context;
    if (text_equal(key, TEXT("label"))) {
        *section = saved_text(reader);
        return true;
    }
    if (!text_equal(key, TEXT("entries"))) return false;
    JSON_EACH(reader->json) {
        struct extra_entry entry = {.section = *section};
        saved_read_object(reader, read_entry_part, &entry);
        profile_add_extra(reader->profile, entry.section, entry.label, entry.value);
    }
    return true;
}

static void read_extra(struct saved_reader *reader) {
    JSON_EACH_UNLESS_NULL(reader->json) {
        struct text section = TEXT("");
        saved_read_object(reader, read_section_part, &section);
    }
}

/* ---- Meta. ---- */

static void skip(struct saved_reader *reader) { json_skip(reader->json); }

static void read_product(struct saved_reader *reader) { reader->profile->meta.product = saved_text(reader); }
static void read_imported_from(struct saved_reader *reader) {
    reader->profile->meta.imported_from = saved_text(reader);
}
static void read_arguments(struct saved_reader *reader) { reader->profile->meta.arguments = saved_text(reader); }
static void read_memory(struct saved_reader *reader) {
    reader->profile->meta.main_memory_bytes = (uint64_t)saved_int(reader, 0, INT64_MAX);
}

static void check_version(struct saved_reader *reader, int64_t oldest, int64_t newest) {
    json_take_int(reader->json, &reader->version);
    if (reader->version > newest)
        json_stream_fail(reader->json, "this profile has version %" PRId64 ", which is newer than %" PRId64,
                         reader->version, newest);
    else if (reader->version < oldest)
        json_stream_fail(reader->json,
                         "this profile has version %" PRId64 ", and %" PRId64 " to %" PRId64
                         " are read: open it at https://profiler.firefox.com and save it again",
                         reader->version, oldest, newest);
}

/* What versions changed: see saved_shared.c, saved_threads.c, saved_counters.c and the fields of schemas in
 * saved_markers.c. */
static void read_version(struct saved_reader *reader) {
    check_version(reader, PROCESSED_OLDEST_READ, PROCESSED_NEWEST_READ);
}

/* A processed profile has the version of the Gecko profile from which it was made, too. What changed since version 24:
 * counters were groups of samples until 29, and sources had other columns until 34. */
static void read_gecko_version(struct saved_reader *reader) {
    if (reader->is_gecko)
        check_version(reader, GECKO_OLDEST_READ, GECKO_VERSION);
    else
        json_skip(reader->json);
}

static void read_shutdown(struct saved_reader *reader) { reader->shutdown_ns = saved_ns_of_ms(reader); }

/* Only Firefox has one, such as gtk. */
static void read_toolkit(struct saved_reader *reader) {
    reader->is_firefox = json_peek_kind(reader->json) == JSON_TEXT;
    saved_lose(reader, TEXT(""), json_skip_counting(reader->json));
}

static void read_interval(struct saved_reader *reader) {
    int64_t interval_ns = saved_ns_of_ms(reader);
    if (interval_ns < 0 && interval_ns != TIME_NONE) json_stream_fail(reader->json, "the interval is negative");
    reader->profile->meta.interval_ns = interval_ns > 0 ? interval_ns : 0;
}

/* The start is kept in nanoseconds, since zero may move when inputs are joined. */
static void read_start(struct saved_reader *reader) {
    int64_t start_ns = saved_ns_of_ms(reader);
    if (start_ns != TIME_NONE) reader->profile->meta.epoch_offset_ns = start_ns;
}

static void read_range_start(struct saved_reader *reader) {
    reader->profile->recording.start_ns = saved_ns_of_ms(reader);
}
static void read_range_end(struct saved_reader *reader) { reader->profile->recording.end_ns = saved_ns_of_ms(reader); }

/* Where zero is on CLOCK_MONOTONIC. */
static void read_clock(struct saved_reader *reader) {
    double rest;
    if (json_take_null(reader->json)) return;
    json_take_scaled(reader->json, 0, &reader->origin_ns, &rest);
    reader->profile->meta.is_clock_monotonic = true;
}

static void read_configuration(struct saved_reader *reader) {
    struct profile_configuration *configuration = &reader->profile->meta.configuration;
    if (json_take_null(reader->json)) return;
    configuration->is_known = true;
    saved_read_object(reader, read_configuration_part, configuration);
    if (configuration->interval_ns == TIME_NONE) configuration->interval_ns = 0;
}

static void read_units(struct saved_reader *reader) {
    if (!json_take_null(reader->json)) saved_read_object(reader, read_units_part, NULL);
}

/* The places of the threads that are shown at first. They are marked when the threads are read. */
static void read_visible(struct saved_reader *reader) {
    JSON_EACH_UNLESS_NULL(reader->json)
    column_add(&reader->visible_threads, &(uint32_t){(uint32_t)saved_int(reader, 0, INT32_MAX)});
}

static void read_keeps_order(struct saved_reader *reader) {
    reader->profile->meta.keeps_thread_order = json_starts_with(reader->json, TEXT("true"));
    json_skip(reader->json);
}

/* Says nothing if it is off. */
static void read_switch(struct saved_reader *reader) {
    bool is_off = json_starts_with(reader->json, TEXT("false")) || json_starts_with(reader->json, TEXT("0"));
    uint64_t count = json_skip_counting(reader->json);
    if (!is_off) saved_lose(reader, TEXT(""), count);
}

/* The rows are in `data` of Gecko profiles, and in columns otherwise. */
static void read_extensions(struct saved_reader *reader) {
    struct text key;
    uint64_t count = 0;
    if (json_take_null(reader->json) || !json_begin_object(reader->json)) return;
    while (json_next_key(reader->json, &key)) {
        bool has_row_each = text_equal(key, reader->is_gecko ? TEXT("data") : TEXT("id"));
        uint64_t value_count = json_skip_counting(reader->json);
        if (has_row_each) count += value_count;
    }
    saved_lose(reader, TEXT(""), count);
}

static const struct {
    struct text key;
    void (*read)(struct saved_reader *reader);
} META_PARTS[] = {
    {TEXT("interval"), read_interval},
    {TEXT("startTime"), read_start},
    {TEXT("profilingStartTime"), read_range_start},
    {TEXT("profilingEndTime"), read_range_end},
    {TEXT("startTimeAsClockMonotonicNanosecondsSinceBoot"), read_clock},
    {TEXT("product"), read_product},
    {TEXT("importedFrom"), read_imported_from},
    {TEXT("arguments"), read_arguments},
    {TEXT("mainMemory"), read_memory},
    {TEXT("configuration"), read_configuration},
    {TEXT("sampleUnits"), read_units},
    {TEXT("categories"), read_categories},
    {TEXT("markerSchema"), saved_schemas_read},
    {TEXT("initialVisibleThreads"), read_visible},
    {TEXT("keepProfileThreadOrder"), read_keeps_order},
    {TEXT("extra"), read_extra},
    /* These are written anew. */
    {TEXT("version"), read_gecko_version},
    {TEXT("preprocessedProfileVersion"), read_version},
    {TEXT("shutdownTime"), read_shutdown},
    {TEXT("toolkit"), read_toolkit},
    {TEXT("debug"), read_switch},
    {TEXT("gcpoison"), read_switch},
    {TEXT("asyncstack"), read_switch},
    {TEXT("extensions"), read_extensions},
    {TEXT("processType"), skip},
    {TEXT("presymbolicated"), skip},
    {TEXT("symbolicated"), skip},
    {TEXT("symbolicationNotSupported"), skip},
    {TEXT("usesOnlyOneStackType"), skip},
    {TEXT("sourceCodeIsNotOnSearchfox"), skip},
};

static bool read_meta_part(struct saved_reader *reader, struct text key, void *context) {
    (void)context;
    for (size_t i = 0; i < sizeof META_PARTS / sizeof *META_PARTS; i++) {
        if (!text_equal(key, META_PARTS[i].key)) continue;
        json_push_name(reader->json, META_PARTS[i].key.bytes, -1);
        META_PARTS[i].read(reader);
        json_pop_name(reader->json);
        return true;
    }
    return false;
}

void saved_meta_read(struct saved_reader *reader, const struct shape *shape) {
    struct profile *profile = reader->profile;
    struct profile_meta *meta = &profile->meta;
    meta->was_profile = true;
    saved_read_members(reader, shape, meta, read_meta_part, NULL);
    /* Collapsed stacks have no times, so profiles of them have neither a range nor a date. */
    meta->has_times = profile->recording.end_ns != TIME_NONE || meta->epoch_offset_ns;
    profile->recording.program_start_ns = 0;
}

/* ---- Libraries. ---- */

void saved_libs_read(struct saved_reader *reader, void *context) {
    (void)context;
    JSON_EACH(reader->json) {
        struct lib lib = {.is_from_profile = true};
        saved_read_members(reader, &processed_lib_shape, &lib, NULL, NULL);
        if (saved_is_good(reader)) saved_map_push(reader, TABLE_LIBS, libs_take(&reader->profile->libs, &lib).index);
    }
}
