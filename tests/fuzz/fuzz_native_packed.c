/* Any bytes as a native trace in a short form: a trace is kilobytes of zeros, among which a fuzzer finds little. Here
 * all bytes are entries and definitions, and chunks, checksums and hashes are right.
 *
 * An item begins with a byte, whose two low bits are its kind and whose others are a number. To the number 62 the next
 * byte is added, to 63 the next two bytes, the low one first. The last byte of all is the choices, as always. */
#include "conversion.h"
#include "tests/support/trace_builder.h"

enum item {
    ITEM_BLOCK,      /* so many bytes: of an entry in an events chunk, its kind first */
    ITEM_DEFINITION, /* so many bytes: of a definition, its kind first */
    ITEM_EVENTS,     /* begins a chunk of events, at 16 times that time */
    ITEM_END,        /* ends the chunk: 0 leaves it live, 1 seals it if it has events, 2 has it free, others are as 0 */
};

enum { CHUNKS_MAX = 8, BODY_BYTES_MAX = 2048 /* fits any chunk */, NUMBER_BYTE = 62, NUMBER_WORD = 63 };

struct packed {
    struct trace_builder trace;
    struct text rest;
    unsigned kind; /* of the open chunk; 0: none */
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

/* False when there is no room for so many bytes, in this trace. */
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
    if (body.bytes_count > BODY_BYTES_MAX || !make_room(packed, item == ITEM_DEFINITION ? 2 : 1, body.bytes_count, 0)) return false;
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
    fuzz_text(&reader_native_trace, trace_text(&packed.trace));
    trace_builder_fini(&packed.trace);
    return 0;
}
