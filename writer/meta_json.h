/* The parts of a profile's metadata that both formats write alike. Each function writes keys with their values into the
 * object under construction. */
#ifndef GECKO_META_JSON_H
#define GECKO_META_JSON_H

#include "json.h"
#include "libconvert/profile.h"

static inline void meta_json_text_if_known(struct json *json, const char *key, struct text value) {
    if (value.bytes_count) json_key_value_text(json, key, value);
}

/* "product", "stackwalk" and what is known of the machine. */
void meta_json_product_and_machine(struct json *json, const struct profile_meta *meta);

void meta_json_categories(struct json *json, const struct categories *categories);

/* The unit of the samples' CPU time: that of their weights, else of what they tell besides. */
enum cpu_delta_unit meta_json_cpu_delta_unit(const struct profile *profile);

/* "sampleUnits"; unit is not CPU_DELTA_NONE. */
void meta_json_sample_units(struct json *json, enum cpu_delta_unit unit);

/* Where on the monotonic clock the profile's zero is, for traces of that clock. */
void meta_json_clock(struct json *json, const struct profile *profile);

#endif
