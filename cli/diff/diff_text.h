/* Prints a comparison for people, and as Markdown. */
#pragma once

#include "cli/style.h"
#include "gate.h"

struct diff_layout {
    const struct style *style;
    unsigned top_count; /* rows of a list */
    bool shows_all;
    bool is_markdown;
};

void diff_append_text(struct chunk_list *text, const struct comparison *comparison, const struct gate *gate,
                      const struct diff_layout *layout);
