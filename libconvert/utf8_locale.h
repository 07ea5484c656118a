/* A locale whose character set is UTF-8, for uselocale: libarchive takes the character set of members' names from that
 * of the thread. */
#ifndef GECKO_UTF8_LOCALE_H
#define GECKO_UTF8_LOCALE_H

#include <locale.h>

/* To be freed with freelocale. 0: the system has none, or memory ran out (errno: ENOMEM). */
locale_t utf8_locale_create(void);

#endif
