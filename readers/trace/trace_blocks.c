/* Reads the blocks of event chunks, each of which is an entry. If an entry uses a definition that may still come, it
 * and the rest of the chunk's blocks are set aside until all definitions are known. */
#include "libconvert/base/memory.h"
#include "trace_reader_internal.h"

/* Bounds memory for a trace whose definitions are gone, all of which would be set aside. */
static const size_t SET_ASIDE_BYTES_MAX = (size_t)1 << 30;

/* Stores the rest of the blocks. Returns false if the limit is reached. */
static bool set_aside(struct trace_reader *trace, const struct trace_blocks *blocks) {
    size_t bytes_count = blocks->bytes.bytes_count;
    if (bytes_count > SET_ASIDE_BYTES_MAX - trace->set_aside_bytes) return false;
    char *bytes = memory_allocate(trace->profile->failure, bytes_count);
    struct trace_blocks *kept_blocks = bytes ? column_push(&trace->set_aside) : NULL;
    if (!kept_blocks) {
        memory_free(bytes);
        trace_sampled_destroy(blocks->context.sampled);
        return true;
    }
    memcpy(bytes, blocks->bytes.bytes, bytes_count);
    *kept_blocks = *blocks; /* takes over what blocks->context owns */
    kept_blocks->bytes.bytes = bytes;
    trace->set_aside_bytes += bytes_count;
    trace->counts.set_aside_count++;
    return true;
}

/* Reads an entry as if no more definitions came. */
static enum trace_verdict read_without_waiting(struct trace_reader *trace, struct trace_chunk_context *context,
                                               struct text bytes, uint64_t offset) {
    bool is_complete = trace->definitions.is_complete;
    trace->definitions.is_complete = true;
    enum trace_verdict verdict = trace_entry_read(trace, context, bytes, offset);
    trace->definitions.is_complete = is_complete;
    return verdict;
}

/* Counts the unreadable block and those after it as lost. */
static void lose_rest(struct trace_reader *trace, const struct trace_blocks *blocks, bool is_cut) {
    enum { BLOCK_BYTES_MIN = 2 };
    uint64_t lost_count = blocks->block_count, possible_count = blocks->bytes.bytes_count / BLOCK_BYTES_MIN;
    if (!is_cut && lost_count > possible_count) lost_count = possible_count;
    trace_ledger_account(&trace->ledger, is_cut ? TRACE_LOST_CUT : TRACE_LOST_DAMAGED, lost_count ? lost_count : 1,
                         blocks->offset);
}

static void check_count(struct trace_reader *trace, const struct trace_blocks *blocks) {
    if (!blocks->block_count) return;
    if (blocks->is_cut)
        lose_rest(trace, blocks, true);
    else
        trace_ledger_account(&trace->ledger, TRACE_NOTE_BLOCK_COUNT, 1, blocks->offset);
}

/* Call it after each entry. */
static void note_life(const struct trace_chunk_context *context) {
    struct trace_process *process = context->process;
    if (!process) return;
    process->first_ticks = time_earlier(process->first_ticks, context->now_ticks);
    process->last_ticks = time_later(process->last_ticks, context->now_ticks);
}

/* Returns false if the rest of the blocks was set aside. */
static bool read_blocks(struct trace_reader *trace, struct trace_blocks *blocks) {
    while (blocks->bytes.bytes_count && !failure_is_set(trace->profile->failure)) {
        struct trace_cursor cursor = trace_cursor_of(blocks->bytes);
        struct text entry = trace_cursor_text(&cursor);
        bool is_cut = cursor.is_bad && blocks->is_cut;
        enum trace_verdict verdict = TRACE_DAMAGED;
        if (!cursor.is_bad) verdict = trace_entry_read(trace, &blocks->context, entry, blocks->offset);
        if (verdict == TRACE_OPEN) {
            if (set_aside(trace, blocks)) return false;
            verdict = read_without_waiting(trace, &blocks->context, entry, blocks->offset);
        }
        if (verdict != TRACE_READ) {
            lose_rest(trace, blocks, is_cut);
            return true;
        }
        note_life(&blocks->context);
        size_t block_bytes = blocks->bytes.bytes_count - trace_cursor_left(&cursor);
        blocks->bytes = text_from(blocks->bytes, block_bytes);
        blocks->offset += block_bytes;
        if (blocks->block_count) blocks->block_count--;
    }
    if (!failure_is_set(trace->profile->failure)) check_count(trace, blocks);
    return true;
}

void trace_blocks_read(struct trace_reader *trace, struct trace_blocks blocks) {
    if (read_blocks(trace, &blocks)) trace_sampled_destroy(blocks.context.sampled);
}

/* Finds the end of the process in blocks that were set aside. Whether files about its code are trusted depends on
 * it. */
static void look_for_end(struct trace_reader *trace, const struct trace_blocks *blocks) {
    int64_t now_ticks = blocks->context.now_ticks;
    struct trace_cursor cursor = trace_cursor_of(blocks->bytes);
    while (blocks->context.process && trace_cursor_left(&cursor)) {
        struct trace_cursor fields = trace_cursor_of(trace_cursor_text(&cursor));
        uint8_t kind = trace_cursor_byte(&fields);
        if (fields.is_bad || !trace_entry_pass(trace, &blocks->context, &fields, kind, &now_ticks)) return;
        if (kind == TRACE_PROCESS_END)
            profile_process_at(trace->profile, blocks->context.process->id)->end_ticks = now_ticks;
    }
}

/* Allows files about generated code to be read. All calibrations are known, since only blocks that were set aside are
 * left. */
static void prepare_jit(struct trace_reader *trace) {
    trace_clock_finish(&trace->clock);
    for (size_t i = 0; i < trace->set_aside.count; i++) look_for_end(trace, column_at(&trace->set_aside, i));
    trace_code_make_ready(&trace->code, &trace->tasks);
}

void trace_blocks_read_set_aside(struct trace_reader *trace) {
    trace_definitions_complete(&trace->definitions);
    if (trace_code_waits(&trace->code)) prepare_jit(trace);
    COLUMN_EACH(struct trace_blocks, blocks, &trace->set_aside) {
        struct trace_blocks taken = *blocks;
        blocks->bytes = (struct text){0};
        blocks->context.sampled = NULL;
        trace_blocks_read(trace, taken);
        memory_free((char *)(uintptr_t)taken.bytes.bytes);
    }
}
