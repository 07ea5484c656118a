#include "symbol_names.h"

#include <ctype.h>
#include <inttypes.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "libconvert/base/cursor.h"
#include "libconvert/base/symbol_version.h"

/* Longer names are not demangled, since the demangler recurses as deep as a name is long. */
enum { MANGLED_BYTES_MAX = 4096 };

/* Follows the name of a function: a stub that jumps to it. */
static const struct text stub_suffix = TEXT("@plt");

struct name_buffer {
    char *bytes;
    size_t bytes_count;
    bool is_cut;
    bool is_of_rust;
    jmp_buf full;
};

static bool is_ascii(const char *bytes, size_t bytes_count) {
    for (size_t i = 0; i < bytes_count; i++)
        if ((unsigned char)bytes[i] >= 0x80) return false;
    return true;
}

/* A name of some hundred bytes can demangle to more than any memory holds, and the demangler has no way to stop. It is
 * therefore left by longjmp. At that point all of its memory is on the stack, except while it passes a Rust identifier
 * beyond ASCII, which is allocated: then it is left at the next piece, which is ASCII. */
static void append(const char *bytes, size_t bytes_count, void *context) {
    struct name_buffer *buffer = context;
    size_t left = SYMBOL_NAME_BYTES_MAX - buffer->bytes_count;
    size_t taken = bytes_count < left ? bytes_count : left;
    if (!bytes_count) return; /* the bytes may be NULL in that case */
    memcpy(buffer->bytes + buffer->bytes_count, bytes, taken);
    buffer->bytes_count += taken;
    if (taken == bytes_count) return;
    buffer->is_cut = true;
    if (!buffer->is_of_rust || is_ascii(bytes, bytes_count)) longjmp(buffer->full, 1);
}

/* Ends the bytes with a hash of the name that they were made from: other names can begin with the same bytes. */
static struct text cut(char *bytes, struct text name) {
    char end[sizeof "...0123456789abcdef"];
    size_t end_bytes = sizeof end - 1;
    snprintf(end, sizeof end, "...%016" PRIx64, (uint64_t)XXH3_64bits(name.bytes, name.bytes_count));
    memcpy(bytes + SYMBOL_NAME_BYTES_MAX - end_bytes, end, end_bytes);
    return (struct text){bytes, SYMBOL_NAME_BYTES_MAX};
}

static bool is_decimal(struct text text) {
    for (size_t i = 0; i < text.bytes_count; i++)
        if (text.bytes[i] < '0' || text.bytes[i] > '9') return false;
    return text.bytes_count > 0;
}

/* Returns the name without its version and without the number that link-time optimisation appended: ".llvm.123", which
 * demanglers write as " (.llvm.123)". */
static struct text without_suffix(struct text name) {
    name = symbol_without_version(name);
    bool has_brackets = text_ends_with(name, TEXT(")"));
    struct text suffix = has_brackets ? TEXT(" (.llvm") : TEXT(".llvm");
    struct text whole = text_slice(name, 0, name.bytes_count - has_brackets);
    size_t dot = text_find_last(whole, '.');
    if (dot == whole.bytes_count || !is_decimal(text_from(whole, dot + 1))) return name;
    struct text stem = text_slice(whole, 0, dot);
    bool has_suffix = text_ends_with(stem, suffix) && stem.bytes_count > suffix.bytes_count;
    return has_suffix ? text_slice(stem, 0, stem.bytes_count - suffix.bytes_count) : name;
}

/* Returns the name without the hash with which Rust's names end: "core::fmt::write::h0123456789abcdef". */
static struct text without_rust_hash(struct text name) {
    enum { DIGIT_COUNT = 16 };
    struct text mark = TEXT("::h");
    if (name.bytes_count <= mark.bytes_count + DIGIT_COUNT) return name;
    size_t stem_bytes = name.bytes_count - mark.bytes_count - DIGIT_COUNT;
    struct text hash = text_from(name, stem_bytes);
    uint64_t value;
    bool has_hash = cursor_take(&hash, mark) && cursor_parse_number(hash, 16, &value);
    return has_hash ? text_slice(name, 0, stem_bytes) : name;
}

static bool has_rust_hash(struct text name) { return without_rust_hash(name).bytes_count < name.bytes_count; }

static bool is_escaped(struct text name) {
    for (size_t i = 0; i < name.bytes_count; i++)
        if (!isalnum((unsigned char)name.bytes[i]) && !strchr("_$.:", name.bytes[i])) return false;
    return true;
}

/* Copies a mangled name. Restores that of a Rust function which a demangler for C++ has taken apart:
 * "_ZN1a8_$LT$b$GT$17h0123456789abcdefE" for "a::_$LT$b$GT$::h0123456789abcdef". */
static bool copy_mangled(struct text name, char out[MANGLED_BYTES_MAX]) {
    static const struct text separator = TEXT("::");
    if (!has_rust_hash(name)) return text_copy(name, out, MANGLED_BYTES_MAX);
    if (!is_escaped(name)) return false;
    int used = snprintf(out, MANGLED_BYTES_MAX, "_ZN");
    while (name.bytes_count && used < MANGLED_BYTES_MAX) {
        size_t part_bytes = text_find_part(name, separator);
        used += snprintf(out + used, MANGLED_BYTES_MAX - (size_t)used, "%zu%.*s%s", part_bytes, (int)part_bytes,
                         name.bytes, part_bytes < name.bytes_count ? "" : "E");
        name = text_from(name, part_bytes + separator.bytes_count);
    }
    return used < MANGLED_BYTES_MAX;
}

static bool is_of_d(struct text name) {
    return (cursor_take(&name, TEXT("_D")) || cursor_take(&name, TEXT("__D"))) && cursor_count_digits(name);
}

bool symbol_name_is_mangled(struct text name) {
    return text_starts_with(name, TEXT("_Z")) || text_starts_with(name, TEXT("_R")) ||
           text_starts_with(name, TEXT("__Z")) || text_starts_with(name, TEXT("__R")) || is_of_d(name);
}

static const struct text ocaml_prefix = TEXT("caml");

/* Returns whether OCaml's compiler made the name: "camlModule__function_12", with "." since OCaml 5.2. */
static bool is_of_ocaml(struct text name) {
    struct text module = text_from(name, ocaml_prefix.bytes_count);
    return text_starts_with(name, ocaml_prefix) && module.bytes_count && isupper((unsigned char)module.bytes[0]) &&
           (text_has(module, TEXT("__")) || text_has(module, TEXT(".")));
}

/* Writes the name as perf does: "Stdlib.List.map_236" for "camlStdlib__List__map_236". "$" stands before the
 * hexadecimal code of a character that a symbol cannot have. */
static struct text demangle_ocaml(struct text name, char out[SYMBOL_NAME_BYTES_MAX]) {
    size_t used = 0;
    name = text_from(name, ocaml_prefix.bytes_count);
    while (name.bytes_count) {
        struct text code = name;
        uint64_t character = (unsigned char)name.bytes[0];
        bool is_coded = cursor_take(&code, TEXT("$")) && cursor_parse_number(text_slice(code, 0, 2), 16, &character) &&
                        code.bytes_count >= 2 && character >= ' ' && character < 0x7f;
        bool is_dot = text_starts_with(name, TEXT("__"));
        out[used++] = (char)(is_dot ? '.' : is_coded ? (int)character : name.bytes[0]);
        name = text_from(name, is_dot ? 2 : is_coded ? 3 : 1);
    }
    return (struct text){out, used};
}

/* ---- Names of D. ---- */

/* The demangler for D has no limits of its own, and recurses deeper than those for C++ and Rust. Names of functions
 * that compilers write are shorter. */
enum { D_BYTES_MAX = 1023 };

/* Returns how far before the position a name of D repeats something, "Q" and a number whose last digit is a small
 * letter, and sets where the number ends; 0 if it repeats nothing there. */
static size_t repeated_distance(struct text name, size_t at, size_t *end) {
    enum { BASE = 26 };
    size_t distance = 0;
    if (name.bytes[at] != 'Q') return 0;
    for (size_t i = at + 1; i < name.bytes_count && distance <= at; i++) {
        unsigned char letter = (unsigned char)name.bytes[i];
        *end = i + 1;
        if (isupper(letter)) distance = distance * BASE + (size_t)(letter - 'A');
        if (islower(letter)) distance = distance * BASE + (size_t)(letter - 'a');
        if (!isupper(letter)) return islower(letter) && distance <= at ? distance : 0;
    }
    return 0;
}

/* Marks where an identifier or a template ends that may begin or end at the position. */
static void mark_end(struct text name, size_t at, bool are_ends[D_BYTES_MAX + 1]) {
    struct text rest = text_from(name, at);
    size_t end;
    uint64_t length;
    if (name.bytes[at] == 'Z') are_ends[at + 1] = true;
    if (repeated_distance(name, at, &end)) are_ends[end] = true;
    if (cursor_take_number(&rest, 10, &length) && length <= rest.bytes_count)
        are_ends[name.bytes_count - rest.bytes_count + length] = true;
}

/* Counts for each byte of a name of D how often the demangler may begin anew up to there, to parse the rest once more:
 * the letter after an identifier may begin parameters of a function or something else, and of the digits of a length
 * after "S", the last ones may be part of what is that long. */
static void count_doublings(struct text name, uint16_t doublings[D_BYTES_MAX]) {
    bool are_ends[D_BYTES_MAX + 1] = {0}, is_length = false;
    uint16_t count = 0;
    for (size_t at = 0; at < name.bytes_count; at++) {
        char byte = name.bytes[at], next = at + 1 < name.bytes_count ? name.bytes[at + 1] : 0;
        mark_end(name, at, are_ends);
        is_length = byte == 'S' || (is_length && cursor_is_digit(byte));
        bool is_ambiguous_length = byte != 'S' && is_length && (cursor_is_digit(next) || next == '_' || next == 'Q');
        if (is_ambiguous_length || (are_ends[at] && strchr("FMRUVWY", byte))) count++;
        doublings[at] = count;
    }
}

/* Returns whether a name of D is demangled in about a million steps: types can repeat types that repeat others. While
 * it reads a repeated type, the demangler may read all that follows it. */
static bool is_quick_in_d(struct text name) {
    enum { STEPS_MAX = 1000000, DOUBLINGS_MAX = 20 };
    uint16_t doublings[D_BYTES_MAX];
    uint64_t sums[D_BYTES_MAX + 1] = {0}; /* steps before each byte */
    if (name.bytes_count > D_BYTES_MAX) return false;
    count_doublings(name, doublings);
    uint16_t doubling_count = doublings[name.bytes_count - 1];
    if (doubling_count > DOUBLINGS_MAX) return false;
    for (size_t at = 0, end; at < name.bytes_count; at++) {
        uint64_t steps = 1;
        size_t start = at - repeated_distance(name, at, &end);
        char first = name.bytes[start];
        if (start < at && (isupper((unsigned char)first) || first == 'x' || first == 'y'))
            steps += (sums[at] - sums[start] + ((name.bytes_count - at) << doubling_count)) >> doublings[start];
        sums[at + 1] = sums[at] + (steps << doublings[at]);
        if (sums[at + 1] > STEPS_MAX) return false;
    }
    return true;
}

/* Parameters are always written. */
static bool demangle_d(struct text name, const char *mangled, struct name_buffer *buffer) {
    if (!is_quick_in_d(name)) return false;
    char *demangled = dlang_demangle(text_starts_with(name, TEXT("__")) ? mangled + 1 : mangled, DMGL_NO_OPTS);
    if (!demangled) return false;
    size_t bytes_count = strlen(demangled);
    buffer->is_cut = bytes_count > SYMBOL_NAME_BYTES_MAX;
    buffer->bytes_count = buffer->is_cut ? SYMBOL_NAME_BYTES_MAX : bytes_count;
    memcpy(buffer->bytes, demangled, buffer->bytes_count);
    free(demangled);
    return true;
}

static bool demangle(const char *mangled, int parameter_option, struct name_buffer *buffer) {
    /* Legacy Rust names are valid C++ names as well, which say less. */
    buffer->is_of_rust = true;
    if (rust_demangle_callback(mangled, DMGL_NO_OPTS, append, buffer)) return true;
    buffer->is_of_rust = buffer->is_cut = false;
    buffer->bytes_count = 0;
    int options = DMGL_ANSI | DMGL_RET_DROP | DMGL_NO_RECURSE_LIMIT | parameter_option;
    return cplus_demangle_v3_callback(mangled, options, append, buffer);
}

static struct text demangle_function(struct text whole, int parameter_option, char out[SYMBOL_NAME_BYTES_MAX]) {
    const struct text name = without_suffix(whole);
    char mangled[MANGLED_BYTES_MAX];
    if (is_of_ocaml(name) && name.bytes_count <= SYMBOL_NAME_BYTES_MAX) return demangle_ocaml(name, out);
    if ((symbol_name_is_mangled(name) || has_rust_hash(name)) && copy_mangled(name, mangled)) {
        struct name_buffer buffer = {.bytes = out};
        if (setjmp(buffer.full)) return cut(out, name);
        bool is_demangled =
            is_of_d(name) ? demangle_d(name, mangled, &buffer) : demangle(mangled, parameter_option, &buffer);
        if (is_demangled && buffer.is_cut) return cut(out, name);
        if (is_demangled && buffer.bytes_count) return (struct text){out, buffer.bytes_count};
    }
    struct text plain = without_rust_hash(name);
    if (plain.bytes_count <= SYMBOL_NAME_BYTES_MAX) return plain;
    memcpy(out, plain.bytes, SYMBOL_NAME_BYTES_MAX);
    return cut(out, plain);
}

static struct text demangle_any(struct text name, int parameter_option, char out[SYMBOL_NAME_BYTES_MAX]) {
    bool is_stub = text_ends_with(name, stub_suffix) && name.bytes_count > stub_suffix.bytes_count;
    if (!is_stub) return demangle_function(name, parameter_option, out);
    struct text function =
        demangle_function(text_slice(name, 0, name.bytes_count - stub_suffix.bytes_count), parameter_option, out);
    if (function.bytes_count > SYMBOL_NAME_BYTES_MAX - stub_suffix.bytes_count) return function;
    memmove(out, function.bytes, function.bytes_count);
    memcpy(out + function.bytes_count, stub_suffix.bytes, stub_suffix.bytes_count);
    return (struct text){out, function.bytes_count + stub_suffix.bytes_count};
}

/* Returns the demangled name without what the demangler adds for each suffix of a clone. */
static struct text without_clones(struct text name) {
    static const struct text clone = TEXT(" [clone ");
    if (!text_ends_with(name, TEXT("]"))) return name;
    for (size_t at = 1; at + clone.bytes_count < name.bytes_count; at++)
        if (text_starts_with(text_from(name, at), clone)) return text_slice(name, 0, at);
    return name;
}

struct text symbol_name_demangle(struct text name, bool has_parameters, char out[SYMBOL_NAME_BYTES_MAX]) {
    return without_clones(demangle_any(name, has_parameters ? DMGL_PARAMS : DMGL_NO_OPTS, out));
}

struct text symbol_name_demangle_printed(struct text name, bool has_parameters, char out[SYMBOL_NAME_BYTES_MAX]) {
    bool is_mangled = symbol_name_is_mangled(name) || is_of_ocaml(name) || has_rust_hash(without_suffix(name));
    return is_mangled ? symbol_name_demangle(name, has_parameters, out) : name;
}
