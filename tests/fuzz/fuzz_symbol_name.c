/* Reads any bytes as a linker's symbol name. */
#include <stdlib.h>

#include "checked_conversion.h"
#include "libconvert/symbols/symbol_names.h"

static bool lies_in(struct text inner, struct text outer) {
    return inner.bytes >= outer.bytes && inner.bytes + inner.bytes_count <= outer.bytes + outer.bytes_count;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t bytes_count) {
    struct text name = {(const char *)bytes, bytes_count};
    char out[SYMBOL_NAME_BYTES_MAX];
    struct text demangled = symbol_name_demangle(name, true, out);
    FUZZ_CHECK(!name.bytes_count == !demangled.bytes_count, "%zu and %zu bytes", name.bytes_count,
               demangled.bytes_count);
    FUZZ_CHECK(!name.bytes_count || lies_in(demangled, name) || lies_in(demangled, (struct text){out, sizeof out}),
               "%zu bytes from elsewhere", demangled.bytes_count);
    return 0;
}
