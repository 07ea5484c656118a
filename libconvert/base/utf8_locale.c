#include "utf8_locale.h"

#include <errno.h>
#include <langinfo.h>
#include <stdbool.h>
#include <string.h>

/* In a static program, nl_langinfo_l tells of the thread's locale, whichever one is asked for. */
static bool is_utf8(locale_t locale) {
    locale_t before = uselocale(locale);
    bool has_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    uselocale(before);
    return has_utf8;
}

locale_t utf8_locale_create(void) {
    /* "" is the user's own locale. */
    static const char *const names[] = {"C.UTF-8", "en_US.UTF-8", ""};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        errno = 0;
        locale_t locale = newlocale(LC_CTYPE_MASK, names[i], (locale_t)0);
        if (locale && is_utf8(locale)) return locale;
        if (errno == ENOMEM) return (locale_t)0;
        if (locale) freelocale(locale);
    }
    errno = ENOENT;
    return (locale_t)0;
}
