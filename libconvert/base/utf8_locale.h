/* A locale whose character set is UTF-8, for uselocale: libarchive decodes the names of members in the character set of
 * the thread's locale. */
#pragma once

#include <locale.h>

/* Returns a locale to be freed with freelocale, or 0 if the system has none or memory ran out (errno is ENOMEM). */
locale_t utf8_locale_create(void);
