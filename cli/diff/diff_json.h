/* Writes a comparison as JSON (docs/comparing.md). */
#pragma once

#include "gate.h"

/* Writes an object. Without shows_all, it has only rows with a change that stands out. */
void diff_write_json(struct json *json, const struct comparison *comparison, const struct gate *gate, bool shows_all);
