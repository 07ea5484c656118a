/* Reads any bytes as a profile, and writes what was read. */
#include "checked_conversion.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t bytes_count) {
    fuzz_text(&reader_profile, (struct text){(const char *)bytes, bytes_count});
    return 0;
}
