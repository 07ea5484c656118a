/* The parts of counters that both formats write alike, and how the client shows counters. */
#pragma once

#include "json.h"
#include "libconvert/profile/counter.h"

/* Writes "name", "category" and "description". */
void counter_json_identity(struct json *json, const struct counter *counter, struct text name);

/* Writes "display": the client's default for the counters that it knows, changed by what the counter itself
 * specifies. */
void counter_json_display(struct json *json, const struct counter *counter);

/* Returns whether the client shows the counter the same way without "display". */
bool counter_json_is_shown_by_default(const struct counter *counter);

/* Returns whether the client, without "display", draws the right graph with the right unit under a name that begins
 * like the counter's, such as "Memory" for "Memory (resident)". */
bool counter_json_is_right_by_default(const struct counter *counter);

/* Writes "name", "category" and "description" so that the client, without "display", shows a rate without a unit under
 * the counter's label. */
void counter_json_plain_identity(struct json *json, const struct counter *counter);
