#include "perf_lexer.h"

#include "libconvert/base/ids.h"
#include "libconvert/base/memory.h"
#include "readers/perf/perf_libraries.h"

/* Compared as bytes. */
struct perf_lexed_name {
    struct index_identity name_hash;
    struct index_identity library_hash;
    uint64_t form; /* enum perf_frame_form */
};

void perf_lexer_init(struct perf_lexer *lexer, struct memory_limit *limit) {
    lexer->failure.memory = limit;
    index_set_init(&lexer->lines, &lexer->failure);
    column_init(&lexer->hashes, sizeof(struct index_identity), &lexer->failure);
    column_init(&lexer->own_hashes, sizeof(struct index_identity), &lexer->failure);
    row_table_init(&lexer->names, sizeof(struct perf_lexed_name), &lexer->failure);
    stack_table_init(&lexer->nodes, &lexer->failure);
}

void perf_lexer_fini(struct perf_lexer *lexer) {
    index_set_fini(&lexer->lines);
    column_fini(&lexer->hashes);
    column_fini(&lexer->own_hashes);
    row_table_fini(&lexer->names);
    stack_table_fini(&lexer->nodes);
}

void perf_block_init(struct perf_block *block, struct perf_lexer *lexer) {
    *block = (struct perf_block){0};
    column_init(&block->samples, sizeof(struct perf_lexed_sample), &lexer->failure);
    column_init(&block->new_lines, sizeof(struct perf_new_line), &lexer->failure);
}

void perf_block_fini(struct perf_block *block) {
    column_fini(&block->samples);
    column_fini(&block->new_lines);
    memory_free(block->lines);
}

/* ---- Lines. ---- */

static struct text without_return(struct text line) {
    return text_ends_with(line, TEXT("\r")) ? text_slice(line, 0, line.bytes_count - 1) : line;
}

/* Returns ID_NONE if the name says what is inlined into it (Java's "A->B"), if the line is not a frame line, or if
 * memory ran out (latched). */
static uint32_t number_of_name(struct perf_lexer *lexer, const struct perf_frame_line *frame) {
    bool is_plain = frame->has_address && !frame->is_cookie;
    if (!is_plain || perf_library_is_perf_map(text_base_name(frame->library))) return ID_NONE;
    struct perf_lexed_name name = {
        .name_hash = index_set_identity(frame->symbol.bytes, frame->symbol.bytes_count),
        .library_hash = index_set_identity(frame->library.bytes, frame->library.bytes_count),
        .form = perf_frame_line_form(frame),
    };
    return row_table_intern(&lexer->names, &name);
}

/* Returns the number of a new line; ID_NONE if memory ran out (latched). */
static uint32_t add_line(struct perf_lexer *lexer, struct perf_block *block, struct text line,
                         struct index_identity hash) {
    uint32_t number = lexer->hashes.count;
    struct perf_new_line *added = column_push(&block->new_lines);
    if (!added) return ID_NONE;
    added->is_frame = perf_frame_line_parse(line, &added->frame);
    added->name_number = number_of_name(lexer, &added->frame);
    struct index_identity *stored = column_push(&lexer->hashes);
    if (!stored) return ID_NONE;
    *stored = hash;
    return number;
}

/* ---- Stacks. ---- */

static bool reserve_lines(struct perf_lexer *lexer, struct perf_block *block, uint32_t count) {
    uint32_t wanted = block->line_capacity ? block->line_capacity : 4096;
    if (block->line_count + count <= block->line_capacity) return true;
    while (wanted < block->line_count + count) wanted *= 2;
    struct perf_lexed_line *lines = memory_resize(&lexer->failure, block->lines, wanted * sizeof *lines);
    if (!lines) return false;
    block->lines = lines;
    block->line_capacity = wanted;
    return true;
}

/* Finds the frame lines at the start of the text: they begin with a tab, and a blank line follows them. Sets
 * stack_bytes and line_count of the sample, and the distances of its lines, as far as they are found. Returns false if
 * there are none, or if memory ran out (latched). */
static bool find_stack(struct perf_lexer *lexer, struct perf_block *block, struct text ahead,
                       struct perf_lexed_sample *sample) {
    const char *next = ahead.bytes, *end = ahead.bytes + ahead.bytes_count, *last_end = NULL;
    uint32_t count = 0;
    if (ahead.bytes_count > PERF_LEXED_STACK_BYTES_MAX) end = ahead.bytes + PERF_LEXED_STACK_BYTES_MAX;
    while (next < end && *next == '\t') {
        if (!reserve_lines(lexer, block, count + 1)) return false;
        block->lines[block->line_count + count++].distance_bytes = (uint32_t)(next - ahead.bytes);
        last_end = memchr(next, '\n', (size_t)(end - next));
        if (!last_end) return false;
        next = last_end + 1;
    }
    struct text rest = {next, (size_t)(end - next)};
    if (!count || !(text_starts_with(rest, TEXT("\n")) || text_starts_with(rest, TEXT("\r\n")))) return false;
    sample->line_count = count;
    sample->stack_bytes = (uint32_t)(last_end - ahead.bytes);
    sample->has_blank_line = *next == '\n';
    for (uint32_t i = 0; i < count; i++) {
        struct perf_lexed_line *line = &block->lines[block->line_count + i];
        line->distance_bytes = sample->stack_bytes - line->distance_bytes;
    }
    return true;
}

static const char *end_of_stack(const struct perf_lexed_sample *sample) {
    return sample->start + sample->event_bytes + sample->stack_bytes;
}

static struct text text_of_line(const struct perf_block *block, const struct perf_lexed_sample *sample, uint32_t row) {
    const struct perf_lexed_line *line = block->lines + sample->first_line + row;
    const char *end = end_of_stack(sample), *start = end - line->distance_bytes;
    if (row + 1 < sample->line_count) end -= line[1].distance_bytes + 1;
    return without_return((struct text){start, (size_t)(end - start)});
}

struct perf_new_line perf_lexed_line_parse(const struct perf_block *block, const struct perf_lexed_sample *sample,
                                           uint32_t row) {
    uint32_t number = block->lines[sample->first_line + row].number;
    if (number >= block->first_new_number)
        return *(const struct perf_new_line *)column_at(&block->new_lines, number - block->first_new_number);
    struct perf_new_line line = {.name_number = ID_NONE};
    line.is_frame = perf_frame_line_parse(text_of_line(block, sample, row), &line.frame);
    return line;
}

/* Returns how many bytes before the ends agree, at most limit_bytes. */
static size_t shared_end(const char *a, const char *b, size_t limit_bytes) {
    size_t shared = 0;
    uint64_t part_a, part_b;
    for (; shared + sizeof part_a <= limit_bytes; shared += sizeof part_a) {
        memcpy(&part_a, a - shared - sizeof part_a, sizeof part_a);
        memcpy(&part_b, b - shared - sizeof part_b, sizeof part_b);
        if (part_a != part_b) break;
    }
    while (shared < limit_bytes && a[-1 - (ptrdiff_t)shared] == b[-1 - (ptrdiff_t)shared]) shared++;
    return shared;
}

/* Returns how many of the sample's outermost lines agree with those of the base. */
static uint32_t count_shared_lines(const struct perf_block *block, const struct perf_lexed_sample *base,
                                   const struct perf_lexed_sample *sample) {
    size_t limit_bytes = base->stack_bytes < sample->stack_bytes ? base->stack_bytes : sample->stack_bytes;
    size_t shared_bytes = shared_end(end_of_stack(base), end_of_stack(sample), limit_bytes);
    const struct perf_lexed_line *theirs = block->lines + base->first_line + base->line_count;
    const struct perf_lexed_line *own = block->lines + sample->first_line + sample->line_count;
    uint32_t limit = base->line_count < sample->line_count ? base->line_count : sample->line_count, count = 0;
    /* What agrees may begin within a line, which then has another length in the base. */
    while (count < limit && own[-1 - (ptrdiff_t)count].distance_bytes <= shared_bytes &&
           theirs[-1 - (ptrdiff_t)count].distance_bytes == own[-1 - (ptrdiff_t)count].distance_bytes)
        count++;
    return count;
}

/* Returns the slot of the thread, which may hold another thread. */
static struct perf_lexed_thread *thread_of(struct perf_lexer *lexer, const struct perf_event_line *line) {
    return &lexer->threads[(uint64_t)line->tid % PERF_LEXED_THREADS_MAX];
}

/* Hashes the lines that the base does not share, and begins to fetch their slots. They are looked up when the whole
 * block has been hashed, so that they do not wait for memory one after the other. Returns false if memory ran out
 * (latched). */
static bool hash_lines(struct perf_lexer *lexer, struct perf_block *block, struct perf_lexed_sample *sample) {
    const struct perf_lexed_thread *thread = thread_of(lexer, &sample->line);
    sample->own_count = sample->line_count;
    sample->base = thread->sample;
    if (thread->sample != ID_NONE && thread->tid == sample->line.tid && thread->machine == sample->line.machine)
        sample->own_count -= count_shared_lines(block, column_at(&block->samples, thread->sample), sample);
    if (!index_set_reserve(&lexer->lines)) return false;
    for (uint32_t i = 0; i < sample->own_count; i++) {
        struct text line = text_of_line(block, sample, i);
        struct index_identity *hash = column_push(&lexer->own_hashes);
        if (!hash) return false;
        *hash = index_set_identity(line.bytes, line.bytes_count);
        __builtin_prefetch(index_set_first(&lexer->lines, (uint32_t)hash->low));
    }
    return true;
}

/* ---- Numbers. ---- */

/* Returns the number of a line of the sample with that hash; ID_NONE if memory ran out (latched). The text is only
 * touched if the line is new. */
static uint32_t number_of_line(struct perf_lexer *lexer, struct perf_block *block,
                               const struct perf_lexed_sample *sample, uint32_t row, struct index_identity hash) {
    if (!index_set_reserve(&lexer->lines)) return ID_NONE;
    struct index_slot *slot = index_set_first(&lexer->lines, (uint32_t)hash.low);
    for (; !index_slot_is_empty(slot); slot = index_set_next(&lexer->lines, slot)) {
        if (slot->hash != (uint32_t)hash.low) continue;
        if (index_identity_equal(*(const struct index_identity *)column_at(&lexer->hashes, slot->index), hash))
            return slot->index;
    }
    uint32_t number = add_line(lexer, block, text_of_line(block, sample, row), hash);
    if (number != ID_NONE) index_set_fill(&lexer->lines, slot, (uint32_t)hash.low, number);
    return number;
}

/* Begins to fetch the hash that an own line of the block will probably be compared with. */
static void prefetch_hash(const struct perf_lexer *lexer, uint32_t own_line) {
    if (own_line >= lexer->own_hashes.count) return;
    const struct index_identity *hash = column_at(&lexer->own_hashes, own_line);
    const struct index_slot *slot = index_set_first(&lexer->lines, (uint32_t)hash->low);
    if (!index_slot_is_empty(slot)) __builtin_prefetch(column_at(&lexer->hashes, slot->index));
}

/* Numbers the lines of a sample, of which first_own is the first among the block's own lines. Returns false if memory
 * ran out (latched). */
static bool number_lines(struct perf_lexer *lexer, struct perf_block *block, struct perf_lexed_sample *sample,
                         uint32_t first_own) {
    enum { FETCHED_AHEAD = 12 };
    if (!sample->line_count) return true; /* the block may have no lines yet */
    struct perf_lexed_line *lines = block->lines + sample->first_line;
    for (uint32_t i = 0; i < sample->own_count; i++) {
        prefetch_hash(lexer, first_own + i + FETCHED_AHEAD);
        const struct index_identity *hash = column_at(&lexer->own_hashes, first_own + i);
        lines[i].number = number_of_line(lexer, block, sample, i, *hash);
        if (lines[i].number == ID_NONE) return false;
    }
    uint32_t shared_count = sample->line_count - sample->own_count;
    stack_id node = stack_none();
    if (shared_count) {
        const struct perf_lexed_sample *base = column_at(&block->samples, sample->base);
        memcpy(lines + sample->own_count, block->lines + base->first_line + base->line_count - shared_count,
               shared_count * sizeof *lines);
        node.index = lines[sample->own_count].node;
    }
    for (uint32_t i = sample->own_count; i-- > 0;) {
        node = stack_table_intern(&lexer->nodes, node, (frame_id){lines[i].number});
        if (stack_is_none(node)) return false;
        lines[i].node = node.index;
    }
    sample->node = node.index;
    return true;
}

/* Numbers the lines of all samples. If memory runs out (latched), drops the samples that lack numbers. */
static void number_block(struct perf_lexer *lexer, struct perf_block *block) {
    uint32_t first_own = 0;
    for (uint32_t i = 0; i < block->samples.count; i++) {
        struct perf_lexed_sample *sample = column_at(&block->samples, i);
        if (failure_is_set(&lexer->failure) || !number_lines(lexer, block, sample, first_own)) {
            block->samples.count = i;
            return;
        }
        first_own += sample->own_count;
    }
}

/* ---- Blocks. ---- */

/* Records are left to the reader. */
static bool is_sample(const struct perf_event_line *line) {
    static const struct text record = TEXT("PERF_RECORD_");
    return line->has_time && !text_starts_with(line->event, record) && !text_starts_with(line->rest, record);
}

/* Lexes the sample whose event line is the given line. Returns the bytes after its stack, or after the event line if it
 * has no stack in this block. Returns none if the line is not an event line, or if memory ran out (latched). */
static const char *lex_sample(struct perf_lexer *lexer, struct perf_block *block, struct text line) {
    struct perf_event_line event_line;
    if (!perf_event_line_parse_again(&lexer->event_memo, without_return(line), &event_line)) return NULL;
    if (!is_sample(&event_line)) return NULL;
    const char *next = line.bytes + line.bytes_count + 1, *end = block->text.bytes + block->text.bytes_count;
    uint32_t row = block->samples.count;
    struct perf_lexed_sample *sample = column_push(&block->samples);
    if (!sample) return NULL;
    *sample = (struct perf_lexed_sample){.line = event_line,
                                         .start = line.bytes,
                                         .event_bytes = (uint32_t)line.bytes_count + 1,
                                         .first_line = block->line_count};
    if (!find_stack(lexer, block, (struct text){next, (size_t)(end - next)}, sample)) return next;
    if (!hash_lines(lexer, block, sample)) return NULL;
    block->line_count += sample->line_count;
    *thread_of(lexer, &event_line) = (struct perf_lexed_thread){event_line.tid, event_line.machine, row};
    return end_of_stack(sample) + 1;
}

/* Once there are this many nodes, numbering starts again. With the nodes of one more block, they fit into tables of
 * 64 Ki rows. 100 MB of a varied recording have 193 000 different nodes. To number them three times costs 0.5 % more
 * instructions and no measurable time, and saves 6 MB. */
enum { NODES_MAX = 48 * 1024 };

static void limit_nodes(struct perf_lexer *lexer) {
    if (stack_table_count(&lexer->nodes) < NODES_MAX) return;
    stack_table_fini(&lexer->nodes);
    stack_table_init(&lexer->nodes, &lexer->failure);
    lexer->generation++;
}

static void find_samples(struct perf_lexer *lexer, struct perf_block *block) {
    static const struct text byte_order_mark = TEXT("\xef\xbb\xbf");
    struct text left = block->text;
    while (left.bytes_count && !failure_is_set(&lexer->failure)) {
        struct text line = text_slice(left, 0, text_find(left, '\n'));
        if (line.bytes_count == left.bytes_count) return;
        char first = line.bytes[0]; /* the line's end, if the line is empty */
        bool may_be_event = first != '\n' && first != '\t' && first != '#' && !text_starts_with(line, byte_order_mark);
        const char *next = may_be_event ? lex_sample(lexer, block, line) : NULL;
        left = text_from(left, next ? (size_t)(next - left.bytes) : line.bytes_count + 1);
    }
}

void perf_lexer_run(struct perf_lexer *lexer, struct perf_block *block) {
    block->samples.count = block->new_lines.count = block->line_count = 0;
    block->first_new_number = lexer->hashes.count;
    lexer->own_hashes.count = 0;
    limit_nodes(lexer);
    block->generation = lexer->generation;
    for (size_t i = 0; i < PERF_LEXED_THREADS_MAX; i++) lexer->threads[i].sample = ID_NONE;
    find_samples(lexer, block);
    number_block(lexer, block);
    block->has_failed = failure_is_set(&lexer->failure);
}
