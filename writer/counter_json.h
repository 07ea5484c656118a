/* Counters, as far as both formats write them alike, and how the client shows them. */
#ifndef GECKO_COUNTER_JSON_H
#define GECKO_COUNTER_JSON_H

#include "json.h"
#include "libconvert/counters.h"

/* "name", "category", "description". */
void counter_json_identity(struct json *json, const struct counter *counter);

/* "display": the client's own for the counters that it knows, with what the counter says of itself. */
void counter_json_display(struct json *json, const struct counter *counter);

/* Whether the client shows the counter the same way where it is not told how. */
bool counter_json_is_shown_by_default(const struct counter *counter);

#endif
