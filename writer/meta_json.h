/* The parts of a profile's metadata that both formats write alike. Each function writes keys with their values into the
 * object under construction. */
#pragma once

#include "json.h"
#include "libconvert/profile/profile.h"

static inline void meta_json_text_if_known(struct json *json, const char *key, struct text value) {
    if (value.bytes_count) json_key_value_text(json, key, value);
}

/* Writes "product", "stackwalk", and what is known of the program, the machine and the configuration of the recorder.
 */
void meta_json_product_and_machine(struct json *json, const struct profile_meta *meta);

void meta_json_categories(struct json *json, const struct categories *categories);

/* Returns the unit of the samples' CPU time: the unit of their weights or, if weights are not CPU time, the unit of the
 * separate CPU times. */
enum cpu_delta_unit meta_json_cpu_delta_unit(const struct profile *profile);

/* Writes "sampleUnits". `unit` must not be CPU_DELTA_NONE. */
void meta_json_sample_units(struct json *json, enum cpu_delta_unit unit);

/* Writes when the profile began, in milliseconds since the Unix epoch. */
void meta_json_start(struct json *json, const struct profile_meta *meta);

/* For traces with monotonic times, writes which monotonic time the profile's zero is. */
void meta_json_clock(struct json *json, const struct profile *profile);

/* Writes the start and the end of the recording, which are the range that the client shows. Without them, the client
 * takes the start for that of the main process, and shows markers before the first sample at negative times. Writes
 * nothing if the times were made up. */
void meta_json_range(struct json *json, const struct profile *profile);
