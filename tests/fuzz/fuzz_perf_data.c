/* Reads any bytes as perf.data. A recording that is packed with zstd is unpacked first, so that the fixtures can be
 * seeds. */
#include <stdlib.h>
#include <zstd.h>

#include "checked_conversion.h"

enum { UNPACKED_BYTES_MAX = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t bytes_count) {
    static const unsigned char packed_magic[] = {0x28, 0xb5, 0x2f, 0xfd};
    if (bytes_count < sizeof packed_magic || memcmp(bytes, packed_magic, sizeof packed_magic) != 0) {
        fuzz_text(&reader_perf_data, (struct text){(const char *)bytes, bytes_count});
        return 0;
    }
    char *unpacked = malloc(UNPACKED_BYTES_MAX);
    FUZZ_CHECK(unpacked, "no memory");
    size_t unpacked_bytes = ZSTD_decompress(unpacked, UNPACKED_BYTES_MAX, bytes, bytes_count);
    if (!ZSTD_isError(unpacked_bytes)) fuzz_text(&reader_perf_data, (struct text){unpacked, unpacked_bytes});
    free(unpacked);
    return 0;
}
