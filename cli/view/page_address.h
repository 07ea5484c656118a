/* The address of the viewer's page that shows what is served. */
#pragma once

#include "profile_loading.h"
#include "site.h"

/* Returns the address, which the caller frees; NULL if memory ran out. `viewer` is the URL of the viewer's pages,
 * without a slash at the end. */
char *page_address_create(const struct site *site, const char *viewer, enum shown_as shown_as);

/* Returns the number of the thread of one of the profiles that the viewer compares. */
size_t page_compared_thread(const struct site *site, const struct served_profile *served);
