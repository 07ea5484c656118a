#include "member_path.h"

#include <limits.h>
#include <stdlib.h>

enum { SHOWN_BYTES = 100 }; /* bytes that the report shows of a name that is too long */

static const char *reason_by_kind(enum input_member_kind kind) {
    if (kind == INPUT_MEMBER_LINK) return "it is a link";
    if (kind == INPUT_MEMBER_SPECIAL) return "it is not a regular file";
    return NULL;
}

char *member_path(const struct input_member *member, const char **reason) {
    *reason = reason_by_kind(member->kind);
    if (text_starts_with(member->path, TEXT("/"))) *reason = "its name is absolute";
    char *path = malloc(member->path.bytes_count + sizeof "?");
    if (!path) return NULL;
    size_t used = 0;
    struct text rest = member->path;
    while (rest.bytes_count) {
        struct text part = text_take_until(&rest, '/');
        if (text_equal(part, TEXT(".."))) *reason = "its name leads out of the archive";
        if (!part.bytes_count || text_equal(part, TEXT("."))) continue;
        if (used) path[used++] = '/';
        memcpy(path + used, part.bytes, part.bytes_count);
        used += part.bytes_count;
    }
    if (!member->path.bytes_count) *reason = "its name cannot be read (it may need the locale C.UTF-8)";
    if (!used && !*reason) *reason = "it has no name";
    /* No file can have such a name. A few bytes of a compressed archive can produce a name of a megabyte. */
    bool is_too_long = member->path.bytes_count >= PATH_MAX;
    if (is_too_long) *reason = "its name is too long";
    if (*reason) {
        struct text shown = member->path.bytes_count ? member->path : TEXT("?");
        if (is_too_long) shown = text_slice(shown, 0, SHOWN_BYTES);
        used = shown.bytes_count;
        memcpy(path, shown.bytes, used);
    }
    path[used] = '\0';
    return path;
}
