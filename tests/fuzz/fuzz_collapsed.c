/* Reads any bytes as collapsed stacks. */
#include "checked_conversion.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t bytes_count) {
    fuzz_text(&reader_collapsed, (struct text){(const char *)bytes, bytes_count});
    return 0;
}
