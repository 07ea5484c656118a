#include "matched_name.h"

#include "libconvert/base/cursor.h"
#include "libconvert/base/memory.h"
#include "libconvert/base/symbol_version.h"

unsigned ignored_parts_parse(const char *list, struct failure *failure) {
    static const struct {
        struct text name;
        unsigned parts;
    } known[] = {{TEXT("templates"), IGNORE_TEMPLATES},
                 {TEXT("clones"), IGNORE_CLONES},
                 {TEXT("paths"), IGNORE_PATHS},
                 {TEXT("versions"), IGNORE_VERSIONS},
                 {TEXT("all"), IGNORE_ALL}};
    enum { KNOWN_COUNT = sizeof known / sizeof *known };
    unsigned parts = 0;
    if (!list) return 0;
    for (struct text rest = text_of(list);;) {
        size_t comma = text_find(rest, ','), i = 0;
        struct text word = text_slice(rest, 0, comma);
        while (i < KNOWN_COUNT && !text_equal(word, known[i].name)) i++;
        if (i == KNOWN_COUNT) {
            failure_set(failure, FAILURE_USAGE,
                        "--ignore %s: '%.*s' is not one of templates, clones, paths, versions or all", list,
                        TEXT_ARGS(word));
            return 0;
        }
        parts |= known[i].parts;
        if (comma == rest.bytes_count) break;
        rest = text_from(rest, comma + 1);
    }
    return parts;
}

/* ---- Template arguments. ---- */

/* Returns the number of bytes of an operator's name at the start, such as "operator<<", which opens no bracket; 0:
 * there is none. */
static size_t operator_bytes(struct text text) {
    static const struct text word = TEXT("operator");
    static const struct text symbols[] = {TEXT("<=>"), TEXT("<<="), TEXT(">>="), TEXT("->*"), TEXT("<<"),
                                          TEXT(">>"),  TEXT("<="),  TEXT(">="),  TEXT("->"),  TEXT("<"),
                                          TEXT(">"),   TEXT("=="),  TEXT("!="),  TEXT("="),   TEXT("+"),
                                          TEXT("-"),   TEXT("*"),   TEXT("/"),   TEXT("!")};
    if (!text_starts_with(text, word)) return 0;
    struct text symbol = text_from(text, word.bytes_count);
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        if (text_starts_with(symbol, symbols[i])) return word.bytes_count + symbols[i].bytes_count;
    return 0;
}

/* Returns whether a bracket after this text opens arguments. In Rust's "<T as Trait>::f" it does not. */
static bool is_before_arguments(struct text before) {
    if (!before.bytes_count) return false;
    char last = before.bytes[before.bytes_count - 1], lower = (char)(last | 0x20);
    bool is_of_name = cursor_is_digit(last) || (lower >= 'a' && lower <= 'z') || (last & 0x80);
    return is_of_name || strchr("_$})", last) || text_ends_with(before, TEXT("::"));
}

/* Returns the number of bytes of the arguments at the start, with their brackets; 0 if there are none, or if the
 * brackets are not balanced. Each bracket of a name asks, so they are balanced only up to a depth. */
static size_t arguments_bytes(struct text text) {
    enum { DEPTH_MAX = 256 };
    size_t depth = 0;
    if (!text_starts_with(text, TEXT("<"))) return 0;
    for (size_t i = 0; i < text.bytes_count; i++) {
        i += operator_bytes(text_from(text, i));
        if (i >= text.bytes_count) break;
        bool is_arrow = i && text.bytes[i] == '>' && text.bytes[i - 1] == '-';
        if (text.bytes[i] == '<' && ++depth > DEPTH_MAX) break;
        if (text.bytes[i] == '>' && !is_arrow && !--depth) return i + 1;
    }
    return 0;
}

/* Copies the name without arguments to `out`, which has room for all of it. */
static struct text without_templates(struct text name, char *out) {
    size_t used = 0;
    for (size_t i = 0; i < name.bytes_count;) {
        struct text rest = text_from(name, i), before = {out, used};
        size_t kept = operator_bytes(rest), skipped = 0;
        if (kept) {
            /* A space keeps the operator apart from its arguments: "operator< <int>". */
            size_t space_bytes = kept < rest.bytes_count && rest.bytes[kept] == ' ';
            skipped = arguments_bytes(text_from(rest, kept + space_bytes));
            if (skipped) skipped += space_bytes;
        } else if (is_before_arguments(before)) {
            skipped = arguments_bytes(rest);
            if (skipped && text_ends_with(before, TEXT("::"))) used -= strlen("::");
        }
        if (!kept && !skipped) kept = 1;
        memcpy(out + used, rest.bytes, kept);
        used += kept;
        i += kept + skipped;
    }
    return (struct text){out, used};
}

/* ---- Suffixes. ---- */

static struct text without_number(struct text text) {
    size_t end = text.bytes_count;
    while (end && cursor_is_digit(text.bytes[end - 1])) end--;
    bool is_number = end < text.bytes_count && end && text.bytes[end - 1] == '.';
    return is_number ? text_slice(text, 0, end - 1) : text;
}

/* Returns the name without its last suffix; the name itself if it has none. */
static struct text without_clone(struct text name) {
    static const struct text suffixes[] = {TEXT(".part"),     TEXT(".constprop"), TEXT(".isra"),      TEXT(".cold"),
                                           TEXT(".lto_priv"), TEXT(".llvm"),      TEXT(".localalias")};
    size_t bracket = text_find_last(name, '[');
    if (text_ends_with(name, TEXT("]")) && text_starts_with(text_from(name, bracket), TEXT("[clone ")))
        return text_trim_end(text_slice(name, 0, bracket));
    struct text stem = without_number(name);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (text_ends_with(stem, suffixes[i]) && stem.bytes_count > suffixes[i].bytes_count)
            return text_slice(stem, 0, stem.bytes_count - suffixes[i].bytes_count);
    return name;
}

static struct text without_clones(struct text name) {
    for (struct text shorter; (shorter = without_clone(name)).bytes_count < name.bytes_count;) name = shorter;
    return name;
}

/* "libz.so.1.3" and "libc-2.31.so" become "libz.so" and "libc.so". */
static struct text without_library_version(struct text library, char *out) {
    static const struct text end = TEXT(".so");
    size_t at = 0;
    while (at < library.bytes_count && !text_starts_with(text_from(library, at), end)) at++;
    size_t stem = at;
    while (stem && (cursor_is_digit(library.bytes[stem - 1]) || library.bytes[stem - 1] == '.')) stem--;
    bool has_version = stem && stem < at && library.bytes[stem - 1] == '-';
    if (at == library.bytes_count) return library;
    if (!has_version) return text_slice(library, 0, at + end.bytes_count);
    memcpy(out, library.bytes, stem - 1);
    memcpy(out + stem - 1, end.bytes, end.bytes_count);
    return (struct text){out, stem - 1 + end.bytes_count};
}

/* ---- Functions. ---- */

struct matched_name matched_name_of(const struct profile *profile, func_id id, bool is_nameless, unsigned ignored,
                                    struct strings *names) {
    const struct func *func = profile_func_at(profile, id);
    struct text name = strings_text(&profile->strings, func->name), library = {0}, file = {0};
    if (!resource_is_none(func->resource))
        library = strings_text(&profile->strings, profile_resource_at(profile, func->resource)->name);
    if (!source_is_none(func->source))
        file = strings_text(&profile->strings, profile_source_at(profile, func->source)->filename);
    if (is_nameless) name = TEXT("(no name)");
    char *room = memory_allocate(names->bytes.failure, name.bytes_count + library.bytes_count + 1);
    if (!room) return (struct matched_name){0};
    if (ignored & IGNORE_VERSIONS) name = symbol_without_version(name);
    if (ignored & IGNORE_CLONES) name = without_clones(name);
    if (ignored & IGNORE_TEMPLATES) name = without_templates(name, room);
    if (ignored & IGNORE_VERSIONS) library = without_library_version(library, room + name.bytes_count);
    if (ignored & IGNORE_PATHS) file = text_base_name(file);
    struct matched_name matched = {strings_copy(names, name), strings_copy(names, library), strings_copy(names, file)};
    memory_free(room);
    return matched;
}
