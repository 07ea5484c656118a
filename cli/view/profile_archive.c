#include "profile_archive.h"

#include <zlib.h>

#include "libconvert/base/memory.h"

/* Sizes of the fixed parts of a zip archive, without names. */
enum { LOCAL_BYTES = 30, CENTRAL_BYTES = 46, END_BYTES = 22 };

enum {
    VERSION = 20, /* of the specification: 2.0 */
    NAME_IS_UTF8 = 1 << 11,
    DATE = 1 << 5 | 1, /* the first day of 1980, the earliest date */
    MEMBER_COUNT_MAX = UINT16_MAX,
    NAME_BYTES_MAX = UINT16_MAX
};

static const uint64_t ARCHIVE_BYTES_MAX = UINT32_MAX;

static void put(char **at, uint32_t value, unsigned bytes_count) {
    for (unsigned i = 0; i < bytes_count; i++) *(*at)++ = (char)(value >> 8 * i);
}

static void put_text(char **at, struct text text) {
    memcpy(*at, text.bytes, text.bytes_count);
    *at += text.bytes_count;
}

/* Writes what both headers of a member have. Members are stored: they are compressed already. */
static void put_facts(char **at, const struct served_profile *served, uint32_t crc) {
    uint32_t bytes_count = (uint32_t)served->json.bytes_count;
    put(at, VERSION, 2);
    put(at, NAME_IS_UTF8, 2);
    put(at, 0, 2); /* stored */
    put(at, 0, 2); /* midnight */
    put(at, DATE, 2);
    put(at, crc, 4);
    put(at, bytes_count, 4);
    put(at, bytes_count, 4);
    put(at, (uint32_t)served->name.bytes_count, 2);
    put(at, 0, 2); /* no further fields */
}

static void put_member(char **at, char **central_at, const char *start, struct served_profile *served) {
    const struct gzip_buffer *json = &served->json;
    uint32_t crc = (uint32_t)crc32_z(0, (const Bytef *)json->bytes, json->bytes_count);
    put(central_at, 0x02014b50, 4);
    put(central_at, VERSION, 2);
    put_facts(central_at, served, crc);
    put(central_at, 0, 2); /* no comment */
    put(central_at, 0, 4); /* the first disk; binary */
    put(central_at, 0, 4); /* no attributes */
    put(central_at, (uint32_t)(*at - start), 4);
    put_text(central_at, served->name);
    put(at, 0x04034b50, 4);
    put_facts(at, served, crc);
    put_text(at, served->name);
    put_text(at, (struct text){json->bytes, json->bytes_count});
    gzip_buffer_fini(&served->json);
}

static void put_end(char **at, uint32_t member_count, uint32_t central_bytes, uint32_t central_offset) {
    put(at, 0x06054b50, 4);
    put(at, 0, 4); /* the only disk */
    put(at, member_count, 2);
    put(at, member_count, 2);
    put(at, central_bytes, 4);
    put(at, central_offset, 4);
    put(at, 0, 2); /* no comment */
}

void profile_archive_init(struct profile_archive *archive, struct served_profile *list) {
    uint64_t members_bytes = 0, central_bytes = 0;
    uint32_t member_count = 0;
    bool fits = true;
    *archive = (struct profile_archive){0};
    for (const struct served_profile *served = list; served; served = served->next, member_count++) {
        members_bytes += LOCAL_BYTES + served->name.bytes_count + served->json.bytes_count;
        central_bytes += CENTRAL_BYTES + served->name.bytes_count;
        fits = fits && served->name.bytes_count <= NAME_BYTES_MAX;
    }
    fits = fits && member_count <= MEMBER_COUNT_MAX && members_bytes + central_bytes + END_BYTES <= ARCHIVE_BYTES_MAX;
    if (!fits) {
        failure_set(list->failure, FAILURE_INPUT, "the profiles do not fit into one archive; extract the ones wanted");
        return;
    }
    archive->bytes_count = members_bytes + central_bytes + END_BYTES;
    archive->bytes = memory_allocate(list->failure, archive->bytes_count);
    if (!archive->bytes) return;
    char *at = archive->bytes, *central_at = at + members_bytes;
    for (struct served_profile *served = list; served; served = served->next)
        put_member(&at, &central_at, archive->bytes, served);
    put_end(&central_at, member_count, (uint32_t)central_bytes, (uint32_t)members_bytes);
}

void profile_archive_fini(struct profile_archive *archive) { memory_free(archive->bytes); }
