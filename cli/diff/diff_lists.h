/* The lists in which a comparison is shown. */
#ifndef GECKO_DIFF_LISTS_H
#define GECKO_DIFF_LISTS_H

#include "comparison.h"

struct diff_list {
    const char *title;
    enum row_kind kind;
    enum cell_kind cell;
    bool is_in_ms; /* otherwise the unit of the comparison, or none */
};

enum { DIFF_LIST_COUNT = 7 };
extern const struct diff_list diff_lists[DIFF_LIST_COUNT];

/* Returns the numbers of the rows that the list shows, the largest change first, and stores how many changed within the
 * noise. With shows_all, the list shows those too. Free the rows with memory_free. NULL if memory ran out (latched). */
uint32_t *diff_list_rows(const struct diff_list *list, const struct comparison *comparison, bool shows_all,
                         size_t *count, size_t *quiet_count);

/* Returns the unit of the list's numbers; "%" for shares. */
struct text diff_list_unit(const struct diff_list *list, const struct comparison *comparison);

/* Returns "new", "gone" or "changed". */
const char *diff_state(const struct cell *cell);

#endif
