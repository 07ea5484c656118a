#include "output_name.h"

#include <stdio.h>

#include "writer/emitter.h"

/* A name loses any number of wrapping suffixes, then at most one text suffix. */
static const struct text wrapping_suffixes[] = {
    TEXT(".gz"),  TEXT(".xz"), TEXT(".zst"), TEXT(".bz2"), TEXT(".lz4"),  TEXT(".tar"),
    TEXT(".zip"), TEXT(".7z"), TEXT(".tgz"), TEXT(".txz"), TEXT(".tbz2"), TEXT(".tzst"),
};
static const struct text trace_suffixes[] = {
    TEXT(".txt"),    TEXT(".perf"), TEXT(".script"), TEXT(".folded"), TEXT(".collapsed"),
    TEXT(".stacks"), TEXT(".out"),  TEXT(".log"),    TEXT(".trace"),
};

/* Removes the first suffix that matches, unless nothing of the file's name would be left. Returns false if none
 * matches. */
static bool drop_suffix(struct text *path, const struct text *suffixes, size_t suffix_count) {
    size_t name_bytes = text_base_name(*path).bytes_count;
    for (size_t i = 0; i < suffix_count; i++) {
        if (name_bytes <= suffixes[i].bytes_count || !text_ends_with(*path, suffixes[i])) continue;
        path->bytes_count -= suffixes[i].bytes_count;
        return true;
    }
    return false;
}

struct text output_name_folder(struct text path) {
    while (drop_suffix(&path, wrapping_suffixes, sizeof wrapping_suffixes / sizeof *wrapping_suffixes)) continue;
    return path;
}

struct text output_name_stem(struct text path) {
    path = output_name_folder(path);
    drop_suffix(&path, trace_suffixes, sizeof trace_suffixes / sizeof *trace_suffixes);
    return path;
}

struct output_suffix output_name_suffix(const char *format, bool is_compressed) {
    struct output_suffix suffix;
    snprintf(suffix.bytes, sizeof suffix.bytes, "%s%s", emitter_by_name(format)->suffix, is_compressed ? ".gz" : "");
    return suffix;
}

char *output_name_of(struct text path, const char *format, bool is_compressed) {
    struct text stem = output_name_stem(path);
    struct output_suffix suffix = output_name_suffix(format, is_compressed);
    char *name;
    int bytes_count = asprintf(&name, "%.*s%s", TEXT_ARGS(stem), suffix.bytes);
    return bytes_count < 0 ? NULL : name;
}
