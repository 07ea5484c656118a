/* Reads any bytes as a recorder trace in a short form. Most bytes of a real trace are zeros, where a fuzzer finds
 * little. In the short form, all bytes are entries and definitions. Chunks, checksums and hashes are added and always
 * valid.
 *
 * An item begins with a byte: its two low bits are the kind, the others are a number. If the number is 62, the next
 * byte is added to it; if it is 63, the next two bytes are added, low byte first. The last byte of the input is the
 * choices, as for all targets. */
#include "checked_conversion.h"
#include "tests/support/trace_builder.h"

enum item {
    ITEM_BLOCK,      /* an entry in an events chunk; the number is its length in bytes, and its first byte is its
                      * kind */
    ITEM_DEFINITION, /* a definition; the number is its length in bytes, and its first byte is its kind */
    ITEM_EVENTS,     /* begins a chunk of events; its time is the number times 16 */
    ITEM_END,        /* ends the chunk: number 1 seals it if it has events, 2 frees it, other numbers leave it live */
};

enum { CHUNKS_MAX = 8, BODY_BYTES_MAX = 2048 /* fits any chunk */, NUMBER_BYTE = 62, NUMBER_WORD = 63 };

struct packed {
    struct trace_builder trace;
    struct text rest;
    unsigned kind; /* kind of the open chunk; 0 if none is open */
    unsigned chunk_count;
};

static unsigned take_byte(struct packed *packed) {
    if (!packed->rest.bytes_count) return 0;
    unsigned byte = (unsigned char)packed->rest.bytes[0];
    packed->rest = text_from(packed->rest, 1);
    return byte;
}

static void end_chunk(struct packed *packed, unsigned how) {
    struct trace_builder *trace = &packed->trace;
    if (packed->kind == 2) trace_end_definitions(trace);
    if (packed->kind == 1 && how == 1) trace_seal(trace, 1000 + trace->bytes_count, 500 + trace->bytes_count / 2);
    if (packed->kind && how == 2) trace_write(trace, trace->chunk_at, BUILD_FREE, 4);
    packed->kind = 0;
}

/* Opens a chunk with room for that many bytes if needed. Returns false if the trace is full. */
static bool make_room(struct packed *packed, unsigned kind, size_t bytes_count, uint64_t base) {
    struct trace_builder *trace = &packed->trace;
    if (packed->kind == kind && trace->chunk_used + bytes_count + 16 <= trace->chunk_bytes) return true;
    end_chunk(packed, 1);
    if (packed->chunk_count == CHUNKS_MAX) return false;
    packed->chunk_count++;
    packed->kind = kind;
    if (kind == 2)
        trace_definitions_chunk(trace);
    else
        trace_events_chunk(trace, base, base / 2);
    return true;
}

static bool take_item(struct packed *packed) {
    struct trace_builder *trace = &packed->trace;
    unsigned byte = take_byte(packed), number = byte >> 2;
    enum item item = byte & 3;
    if (byte >> 2 >= NUMBER_BYTE) number += take_byte(packed);
    if (byte >> 2 == NUMBER_WORD) number += take_byte(packed) << 8;
    if (item == ITEM_END) {
        end_chunk(packed, number);
        return true;
    }
    if (item == ITEM_EVENTS) {
        end_chunk(packed, 1);
        return make_room(packed, 1, 0, number * 16);
    }
    struct text body = text_slice(packed->rest, 0, number);
    packed->rest = text_from(packed->rest, number);
    if (!body.bytes_count) return true;
    if (body.bytes_count > BODY_BYTES_MAX || !make_room(packed, item == ITEM_DEFINITION ? 2 : 1, body.bytes_count, 0))
        return false;
    put_bytes(trace, body.bytes + 1, body.bytes_count - 1);
    if (item == ITEM_DEFINITION)
        trace_definition(trace, (unsigned char)body.bytes[0]);
    else
        trace_block(trace, (unsigned char)body.bytes[0]);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t bytes_count) {
    if (!bytes_count) return 0;
    struct packed packed = {.rest = {(const char *)bytes, bytes_count - 1}};
    trace_builder_init(&packed.trace);
    while (packed.rest.bytes_count && take_item(&packed)) continue;
    end_chunk(&packed, 1);
    trace_grow(&packed.trace, 1);
    packed.trace.bytes[packed.trace.bytes_count - 1] = bytes[bytes_count - 1];
    fuzz_text(&reader_trace, trace_text(&packed.trace));
    trace_builder_fini(&packed.trace);
    return 0;
}
