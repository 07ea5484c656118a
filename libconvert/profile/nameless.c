#include "nameless.h"

#include <inttypes.h>
#include <stdio.h>

#include "libconvert/base/cursor.h"

/* Most names are looked at here, so each digit is compared without a call. */
static bool is_prefixed_hex(struct text text, struct text prefix) {
    if (text.bytes_count <= prefix.bytes_count || !text_starts_with(text, prefix)) return false;
    for (size_t i = prefix.bytes_count; i < text.bytes_count; i++) {
        char byte = text.bytes[i];
        if (!cursor_is_digit(byte) && !(byte >= 'a' && byte <= 'f')) return false;
    }
    return true;
}

bool name_is_address(struct text name) { return is_prefixed_hex(name, TEXT("0x")); }

/* Returns whether the name is that of the place and an address in it. */
static bool is_address_in(struct text place, struct text name) {
    return text_starts_with(name, place) && is_prefixed_hex(text_from(name, place.bytes_count), TEXT("+0x"));
}

bool name_is_address_in(const struct lib *lib, struct text name) { return is_address_in(lib->name, name); }

/* Returns whether the name was made from the address of the frame's symbol, as symbolizers name functions without a
 * name. A function of a program may have a name that only looks like it. */
static bool is_made_of_address(const struct profile *profile, const struct frame *frame, struct text name) {
    char made[sizeof "fun_" + 8];
    if (native_symbol_is_none(frame->native_symbol) || !text_starts_with(name, TEXT("fun_"))) return false;
    snprintf(made, sizeof made, "fun_%" PRIx32, profile_native_symbol_at(profile, frame->native_symbol)->address);
    return text_equal(name, text_of(made));
}

bool frame_is_nameless(const struct profile *profile, const struct frame *frame) {
    const struct func *func = profile_func_at(profile, frame->func);
    struct text name = strings_text(&profile->strings, func->name);
    if (name_is_address(name) || is_address_in(TEXT("[unknown]"), name)) return true;
    if (!lib_is_none(frame->lib))
        return is_made_of_address(profile, frame, name) ||
               name_is_address_in(libs_at(&profile->libs, frame->lib), name);
    if (resource_is_none(func->resource)) return false;
    return is_address_in(strings_text(&profile->strings, profile_resource_at(profile, func->resource)->name), name);
}
