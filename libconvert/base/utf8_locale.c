#include "utf8_locale.h"

#include <errno.h>
#include <langinfo.h>
#include <string.h>

locale_t utf8_locale_create(void) {
    /* "" is the user's own locale. */
    static const char *const names[] = {"C.UTF-8", "en_US.UTF-8", ""};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        errno = 0;
        locale_t locale = newlocale(LC_CTYPE_MASK, names[i], (locale_t)0);
        if (locale && strcmp(nl_langinfo_l(CODESET, locale), "UTF-8") == 0) return locale;
        if (errno == ENOMEM) return (locale_t)0;
        if (locale) freelocale(locale);
    }
    errno = ENOENT;
    return (locale_t)0;
}
