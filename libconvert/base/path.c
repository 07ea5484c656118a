#include "path.h"

static bool is_url(struct text path) { return memmem(path.bytes, path.bytes_count, "://", 3); }

/* Returns false for almost all paths, which this decides quickly. */
static bool may_need_change(struct text path) {
    if (text_starts_with(path, TEXT("./"))) return true;
    return memmem(path.bytes, path.bytes_count, "/.", 2) || memmem(path.bytes, path.bytes_count, "//", 2);
}

/* Removes the last component of the path that was written so far. Returns false if there is none to remove. */
static bool drop_last(struct text *written, size_t root_bytes) {
    struct text relative = text_from(*written, root_bytes);
    if (!relative.bytes_count) return root_bytes > 0; /* the parent of the root is the root */
    if (text_equal(text_base_name(relative), TEXT(".."))) return false;
    size_t slash = text_find_last(relative, '/');
    written->bytes_count = root_bytes + (slash < relative.bytes_count ? slash : 0);
    return true;
}

struct text path_normalize(struct text path, char bytes[PATH_MAX]) {
    if (!path.bytes_count || path.bytes_count >= PATH_MAX || !may_need_change(path) || is_url(path)) return path;
    size_t root_bytes = path.bytes[0] == '/';
    struct text written = {bytes, root_bytes};
    if (root_bytes) bytes[0] = '/';
    for (struct text left = path; left.bytes_count;) {
        struct text component = text_take_until(&left, '/');
        if (!component.bytes_count || text_equal(component, TEXT("."))) continue;
        if (text_equal(component, TEXT("..")) && drop_last(&written, root_bytes)) continue;
        if (written.bytes_count > root_bytes) bytes[written.bytes_count++] = '/';
        memcpy(bytes + written.bytes_count, component.bytes, component.bytes_count);
        written.bytes_count += component.bytes_count;
    }
    return written.bytes_count ? written : path;
}

bool path_leads_up(struct text path) {
    while (path.bytes_count)
        if (text_equal(text_take_until(&path, '/'), TEXT(".."))) return true;
    return false;
}
