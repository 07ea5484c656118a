#include "meta_json.h"

#include "cells.h"
#include "libconvert/format/common_format.h"
#include "libconvert/profile/time_range.h"

/* Writes the parts of a text between commas. */
static void write_list(struct json *json, const char *key, struct text list) {
    json_key_array_begin(json, key);
    while (list.bytes_count) {
        size_t end = text_find(list, ',');
        if (end) json_text(json, text_slice(list, 0, end));
        list = text_from(list, end < list.bytes_count ? end + 1 : end);
    }
    json_array_end(json);
}

/* The client counts the capacity in entries of 8 bytes, and filters nothing without an active tab. */
static void write_configuration(struct json *json, const struct profile_meta *meta) {
    enum { ENTRY_BYTES = 8 };
    const struct profile_configuration *configuration = &meta->configuration;
    if (!configuration->is_known) return;
    json_key_object_begin(json, "configuration");
    write_list(json, "threads", configuration->threads);
    write_list(json, "features", configuration->features);
    json_key_int(json, "capacity", (int64_t)(configuration->capacity_bytes / ENTRY_BYTES));
    if (configuration->duration_s) json_key_int(json, "duration", configuration->duration_s);
    json_key_ms(json, "interval", configuration->interval_ns ? configuration->interval_ns : meta->interval_ns);
    json_key_int(json, "activeTabID", 0);
    json_object_end(json);
}

void meta_json_product_and_machine(struct json *json, const struct profile_meta *meta) {
    json_key_value_text(json, "product", meta->product);
    members_write(json, &common_meta_shape, meta);
    write_configuration(json, meta);
}

static void write_category(struct json *json, const struct category *category) {
    json_object_begin(json);
    members_write(json, &category_shape, category);
    json_key_string(json, "color", category_color_names[category->color]);
    json_key_array_begin(json, "subcategories");
    for (size_t i = 0; i < category->subcategories.count; i++) json_text(json, *category_subcategory_at(category, i));
    json_array_end(json);
    json_object_end(json);
}

void meta_json_categories(struct json *json, const struct categories *categories) {
    json_key_array_begin(json, "categories");
    for (size_t i = 0; i < categories->rows.count; i++) write_category(json, categories_at(categories, i));
    json_array_end(json);
}

enum cpu_delta_unit meta_json_cpu_delta_unit(const struct profile *profile) {
    if (profile->meta.cpu_delta_unit != CPU_DELTA_NONE) return profile->meta.cpu_delta_unit;
    for (size_t i = 0; i < profile->thread_order.count; i++)
        if (samples_have_cpu(&profile_ordered_thread(profile, i)->samples)) return CPU_DELTA_NS;
    return CPU_DELTA_NONE;
}

void meta_json_sample_units(struct json *json, enum cpu_delta_unit unit) {
    json_key_object_begin(json, "sampleUnits");
    json_key_string(json, "time", "ms");
    json_key_string(json, "eventDelay", "ms");
    json_key_string(json, "threadCPUDelta", unit == CPU_DELTA_NS ? "ns" : "variable CPU cycles");
    json_object_end(json);
}

void meta_json_start(struct json *json, const struct profile_meta *meta) {
    if (meta->start_rest_ns)
        json_key_ms(json, "startTime", meta->start_time_ms * 1000000 + meta->start_rest_ns);
    else
        json_key_int(json, "startTime", meta->start_time_ms);
}

void meta_json_clock(struct json *json, const struct profile *profile) {
    if (profile->meta.is_clock_monotonic)
        json_key_int(json, "startTimeAsClockMonotonicNanosecondsSinceBoot", profile->origin_ns);
}

void meta_json_range(struct json *json, const struct profile *profile) {
    if (!profile->meta.has_times) return;
    json_key_ms(json, "profilingStartTime", profile->start_ns);
    json_key_ms(json, "profilingEndTime", profile_shown_end(profile));
}
