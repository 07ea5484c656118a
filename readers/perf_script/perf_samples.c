/* Samples of perf script: an event line and the stack that follows it. */
#include "libconvert/base/cursor.h"
#include "libconvert/base/memory.h"
#include "perf_script_internal.h"
#include "readers/perf/perf_deferred.h"
#include "readers/perf/perf_programs.h"

/* Distance between samples whose lines have no time. */
static const int64_t MADE_UP_INTERVAL_NS = 1000000;

/* ---- Opening. ---- */

static void copy_rest(struct perf_script *script, struct text rest) {
    struct open_sample *sample = &script->sample;
    sample->rest_bytes_count = 0;
    if (rest.bytes_count > sample->rest_capacity) {
        char *bytes = memory_resize(script->profile->failure, sample->rest, rest.bytes_count);
        if (!bytes) return;
        sample->rest = bytes;
        sample->rest_capacity = rest.bytes_count;
    }
    if (rest.bytes_count) memcpy(sample->rest, rest.bytes, rest.bytes_count);
    sample->rest_bytes_count = rest.bytes_count;
}

/* Parses "DEFERRED CALLCHAIN [cookie: b00000006]". */
static bool parse_deferred_stack(struct text rest, uint64_t *cookie) {
    static const struct text start = TEXT("DEFERRED CALLCHAIN [cookie: ");
    if (!text_starts_with(rest, start) || !text_ends_with(rest, TEXT("]"))) return false;
    struct perf_frame_line frame;
    if (!perf_frame_line_parse(text_slice(rest, start.bytes_count, rest.bytes_count - 1), &frame) || !frame.has_address)
        return false;
    *cookie = frame.address;
    return true;
}

static int64_t time_of(struct perf_script *script, const struct perf_event_line *line) {
    if (line->has_time) {
        script->recording.has_times = true;
        script->last_time_ns = line->time_ns;
    } else if (__builtin_add_overflow(script->last_time_ns, MADE_UP_INTERVAL_NS, &script->last_time_ns)) {
        script->last_time_ns = INT64_MAX;
    }
    return script->last_time_ns;
}

/* Returns whether the comm is what perf prints for a thread without a name: ":4711". */
static bool is_placeholder(struct text comm, int64_t tid) {
    int64_t number;
    return cursor_take(&comm, TEXT(":")) && cursor_parse_id(comm, &number) && number == tid;
}

void perf_samples_open(struct perf_script *script, const struct perf_event_line *line) {
    perf_samples_close(script);
    struct open_sample *sample = &script->sample;
    sample->task = perf_tasks_find(&script->recording.tasks, line->machine, line->pid, line->tid);
    if (!sample->task) return;
    sample->is_open = true;
    sample->time_ns = time_of(script, line);
    sample->position = script->scan.position;
    sample->is_deferred_stack = parse_deferred_stack(line->rest, &sample->deferred_cookie);
    if (!is_placeholder(line->comm, line->tid))
        perf_programs_see_name(&script->recording.tasks, sample->task, line->comm, sample->time_ns);
    if (sample->is_deferred_stack) return;

    sample->event = perf_events_intern(&script->recording.events, line->event, script->scan.position);
    sample->processor = line->cpu;
    sample->has_period = line->has_period;
    sample->period = line->has_period ? line->period : 0;
    copy_rest(script, line->rest);
    if (!line->has_time) perf_tally(script, TALLY_NO_TIME, 1);
    if (line->cpu >= 0) perf_tally(script, TALLY_CPU, 1);
    if (line->has_skipped_field) perf_tally(script, TALLY_SKIPPED_FIELD, 1);
}

/* ---- Deferred user stacks. ---- */

/* Gives the deferred sample its whole stack: the user frames, then the kernel frames that they called. */
static void join(struct perf_script *script, const struct perf_deferred *deferred, const frame_id *user_frames,
                 uint32_t user_count) {
    struct profile *profile = script->profile;
    stack_id *stack = perf_deferred_stack(deferred);
    uint32_t kernel_count = 0;
    for (stack_id at = *stack; !stack_is_none(at); at = profile_stack_at(profile, at)->prefix) kernel_count++;
    uint32_t count = user_count + kernel_count;
    frame_id *frames = memory_allocate(profile->failure, count * sizeof *frames);
    if (!frames) return;
    if (user_count) memcpy(frames, user_frames, user_count * sizeof *frames);
    for (stack_id at = *stack; !stack_is_none(at); at = profile_stack_at(profile, at)->prefix)
        frames[user_count + --kernel_count] = profile_stack_at(profile, at)->frame;
    *stack = stack_path_add(&script->path, profile, frames, count);
    memory_free(frames);
}

/* A user stack belongs to all samples that were taken in the task's current system call or interrupt, which share the
 * stack's cookie. Waiting samples with another cookie are older; their user stack was lost. */
static void join_deferred(struct perf_script *script, const frame_id *user_frames, uint32_t user_count) {
    uint32_t joined_count = 0;
    struct perf_deferred *deferred = perf_deferred_take(&script->recording.tasks, script->sample.task);
    for (struct perf_deferred *next; deferred; deferred = next) {
        next = deferred->next;
        if (deferred->cookie == script->sample.deferred_cookie) {
            join(script, deferred, user_frames, user_count);
            joined_count++;
        } else {
            perf_tally_at(script, TALLY_NO_USER_STACK, 1, deferred->position);
        }
        memory_free(deferred);
    }
    if (!joined_count) perf_tally_at(script, TALLY_UNUSED_USER_STACK, 1, script->sample.position);
}

/* ---- Closing. ---- */

static struct perf_occurrence occurrence_of(const struct open_sample *sample) {
    return (struct perf_occurrence){.task = sample->task,
                                    .event = sample->event,
                                    .time_ns = sample->time_ns,
                                    .processor = sample->processor,
                                    .has_period = sample->has_period,
                                    .period = sample->period,
                                    .position = sample->position};
}

/* Returns the series, in which the sample is now the last one; NULL if memory ran out (latched). */
static struct perf_series *add_sample(struct perf_script *script, stack_id stack) {
    const struct perf_occurrence occurrence = occurrence_of(&script->sample);
    bool is_jump;
    struct perf_series *series = perf_recording_add_sample(&script->recording, &occurrence, stack, &is_jump);
    if (series && is_jump) perf_tally_at(script, TALLY_JUMP, 1, occurrence.position);
    return series;
}

static void close_without_stack(struct perf_script *script, struct text rest) {
    bool is_tracepoint = perf_events_at(&script->recording.events, script->sample.event)->is_tracepoint;
    const struct perf_occurrence occurrence = occurrence_of(&script->sample);
    if (is_tracepoint)
        perf_recording_add_tracepoint_text(&script->recording, &occurrence, rest);
    else
        perf_tally_at(script, TALLY_NO_STACK, 1, occurrence.position);
}

enum { ADDRESS_DIGITS_MIN = 4 };

static bool is_address(struct text token, size_t digits_min) {
    uint64_t address;
    return token.bytes_count >= digits_min && cursor_parse_number(token, 16, &address);
}

/* True if another address, printed by -F addr, precedes the frame's: "7ffd0 401195 leaf+0xc (/usr/bin/app)". */
static bool has_address_before_frame(struct text rest) {
    cursor_take_token(&rest);
    struct text second = cursor_take_token(&rest), third = cursor_take_token(&rest);
    return is_address(second, ADDRESS_DIGITS_MIN) && third.bytes_count && third.bytes[0] != '(';
}

/* Returns the only frame of a recording without -g, which perf prints on the event line. Other fields may precede the
 * frame (a control group, a data address) or follow it (branches, "0x12/0x34/P/-/-/1"; instructions, "insn: 83 c3"). */
static struct text frame_on_event_line(struct text rest) {
    struct text frame = rest, after = rest;
    for (struct text token = cursor_take_token(&after); token.bytes_count && token.bytes[0] != '[';
         token = cursor_take_token(&after)) {
        if (is_address(token, 1) && !has_address_before_frame(frame)) break;
        frame = text_trim_start(after);
    }
    static const struct text behind_frame[] = {TEXT(") 0x"), TEXT(") insn:"), TEXT(") ilen:")};
    for (size_t i = 0; frame.bytes_count && i < sizeof behind_frame / sizeof *behind_frame; i++) {
        const char *field = memmem(frame.bytes, frame.bytes_count, behind_frame[i].bytes, behind_frame[i].bytes_count);
        if (field) frame = text_slice(frame, 0, (size_t)(field - frame.bytes) + 1);
    }
    return frame;
}

/* Returns the pid whose mappings apply to the task. The mappings of guests are not known. */
static int64_t pid_of_maps(const struct perf_task *task) { return task->machine ? PID_UNKNOWN : task->pid; }

/* Counts what follows the event on its line. Adds the only frame of a recording without -g, which is there. */
static void read_rest(struct perf_script *script, struct text rest, bool has_lines) {
    const struct open_sample *sample = &script->sample;
    if (!perf_events_at(&script->recording.events, sample->event)->is_tracepoint) {
        struct text frame = has_lines ? (struct text){0} : frame_on_event_line(rest);
        bool is_frame = frame.bytes_count && perf_stack_add_line(&script->stack, frame);
        if (rest.bytes_count > (is_frame ? frame.bytes_count : 0))
            perf_tally_at(script, TALLY_FIELD, 1, sample->position);
    } else if (has_lines && rest.bytes_count) {
        perf_tally_at(script, TALLY_TRACEPOINT_FIELDS, 1, sample->position);
    }
}

void perf_samples_close(struct perf_script *script) {
    struct open_sample *sample = &script->sample;
    if (!sample->is_open) return;
    sample->is_open = false;
    perf_tally_at(script, TALLY_DEEP_FRAME, perf_stack_take_too_deep(&script->stack), sample->position);
    const frame_id *frames;
    uint64_t cookie;
    if (sample->is_deferred_stack) {
        uint32_t count = perf_stack_take(&script->stack, pid_of_maps(sample->task), &frames, &cookie);
        join_deferred(script, frames, count);
        return;
    }
    if (sample->event == ID_NONE) return;
    struct text rest = {sample->rest, sample->rest_bytes_count};
    read_rest(script, rest, script->stack.count);
    if (!script->stack.count) {
        close_without_stack(script, rest);
        return;
    }
    uint32_t count = perf_stack_take(&script->stack, pid_of_maps(sample->task), &frames, &cookie);
    stack_id stack = stack_path_add(&script->path, script->profile, frames, count);
    struct perf_series *series = add_sample(script, stack);
    if (cookie && series &&
        !perf_deferred_add(&script->recording.tasks, sample->task, series, cookie, false, sample->position))
        perf_tally_at(script, TALLY_NO_USER_STACK, 1, sample->position);
}

/* ---- Lexed stacks. ---- */

/* Returns the row of the symbol on a line that was not read before; ID_NONE if the line is not a frame line, or if
 * memory ran out (latched). */
static uint32_t learn_line(struct perf_symbols *symbols, const struct perf_block *block,
                           const struct perf_lexed_sample *lexed, uint32_t row) {
    const struct perf_new_line line = perf_lexed_line_parse(block, lexed, row);
    if (!line.is_frame) return ID_NONE;
    return perf_symbols_learn(symbols, block->lines[lexed->first_line + row].number, line.name_number, &line.frame);
}

/* Adds the innermost line_count lines to the stack. Stops at a line that is not a frame line. Returns the number of
 * lines that were added. */
static uint32_t add_lines(struct perf_script *script, const struct perf_block *block,
                          const struct perf_lexed_sample *lexed, uint32_t line_count) {
    struct perf_symbols *symbols = &script->stack.symbols;
    const struct perf_lexed_line *lines = block->lines + lexed->first_line;
    for (uint32_t i = 0; i < line_count; i++) {
        uint32_t row = perf_symbols_of_number(symbols, lines[i].number);
        if (row != ID_NONE) __builtin_prefetch(perf_symbols_memo(symbols, row));
    }
    for (uint32_t i = 0; i < line_count; i++) {
        uint32_t frame_count = script->stack.count, row = perf_symbols_of_number(symbols, lines[i].number);
        if (row == ID_NONE) row = learn_line(symbols, block, lexed, i);
        if (row == ID_NONE) return i;
        perf_stack_add_symbol(&script->stack, row);
        perf_nodes_add_line(&script->nodes, frame_count, perf_stack_last_is_inlined(&script->stack));
    }
    return line_count;
}

/* Counts the innermost line_count lines, and moves on to the line after them. */
static void count_lines(struct perf_script *script, const struct perf_block *block,
                        const struct perf_lexed_sample *lexed, uint32_t line_count) {
    struct position first = {script->scan.position.line + 1, script->scan.next_offset};
    const struct perf_lexed_line *lines = block->lines + lexed->first_line;
    if (!line_count) return;
    perf_tally_at(script, TALLY_FRAME, line_count, first);
    script->has_tab_frames = true;
    bool is_all = line_count == lexed->line_count;
    scan_skip(&script->scan, is_all ? lexed->stack_bytes + 1 : lexed->stack_bytes - lines[line_count].distance_bytes,
              line_count);
}

/* Completes the open sample. */
static void close_with_stack(struct perf_script *script, stack_id stack) {
    struct open_sample *sample = &script->sample;
    sample->is_open = false;
    read_rest(script, (struct text){sample->rest, sample->rest_bytes_count}, true);
    add_sample(script, stack);
}

/* Reads a stack that is not known, and notes it. Stops at a line that is unusual, and leaves the lines from there on to
 * be read one by one. Returns none then, or if memory ran out (latched). */
static stack_id read_new_stack(struct perf_script *script, const struct perf_node_settings *settings,
                               const struct perf_lexed_sample *lexed) {
    const struct perf_block *block = perf_ahead_block(script->ahead);
    const struct perf_lexed_line *lines = block->lines + lexed->first_line;
    struct perf_known_callers known = perf_nodes_callers(&script->nodes, settings, lines, lexed->line_count);
    uint32_t added_count = add_lines(script, block, lexed, known.line_count);
    if (failure_is_set(script->profile->failure)) return stack_none();
    /* A stack with a cookie has to wait for its user frames, so all of its frames are needed. */
    if (added_count < known.line_count || script->stack.has_cookie) {
        count_lines(script, block, lexed, added_count);
        return stack_none();
    }
    const frame_id *frames;
    uint64_t cookie;
    uint32_t frame_count = perf_stack_take(&script->stack, pid_of_maps(script->sample.task), &frames, &cookie);
    return perf_nodes_add(&script->nodes, script->profile, &known, lines, frames, frame_count);
}

/* Reads the stack of the open sample, which is lexed, and closes it. If the stack is unusual, leaves some or all lines
 * to be read one by one. */
static void read_lexed_stack(struct perf_script *script, const struct perf_lexed_sample *lexed) {
    const struct open_sample *sample = &script->sample;
    const struct perf_block *block = perf_ahead_block(script->ahead);
    if (!lexed->line_count || !sample->is_open || sample->is_deferred_stack || sample->event == ID_NONE) return;
    uint64_t map_count = script->stack.maps.last_id;
    const struct perf_node_settings settings = {map_count ? pid_of_maps(sample->task) : 0, map_count,
                                                script->stack.callers_are_adjusted};
    perf_nodes_begin(&script->nodes, block->generation);
    stack_id stack = perf_nodes_stack(&script->nodes, &settings, lexed->node);
    if (stack_is_none(stack)) stack = read_new_stack(script, &settings, lexed);
    if (stack_is_none(stack)) return;
    count_lines(script, block, lexed, lexed->line_count);
    close_with_stack(script, stack);
    if (!lexed->has_blank_line) return;
    scan_take(&script->scan, 1);
    perf_tally(script, TALLY_BLANK, 1);
}

/* Prefetches what a later sample needs. The lexer's thread has written it, so it is not in this processor's cache. */
static void prefetch_later(const struct perf_script *script) {
    const struct perf_lexed_sample *later = perf_ahead_later_sample(script->ahead);
    if (!later) return;
    __builtin_prefetch(later->start);
    if (later->line_count) perf_nodes_prefetch(&script->nodes, later->node);
}

void perf_samples_read_lexed(struct perf_script *script, const struct perf_lexed_sample *lexed) {
    prefetch_later(script);
    scan_take(&script->scan, lexed->event_bytes);
    perf_tally(script, TALLY_EVENT, 1);
    perf_samples_open(script, &lexed->line);
    read_lexed_stack(script, lexed);
}

void perf_samples_finish(struct perf_script *script) {
    perf_samples_close(script);
    for (size_t i = 0; i < script->recording.tasks.rows.count; i++) {
        const struct perf_task *task = column_at(&script->recording.tasks.rows, i);
        for (const struct perf_deferred *deferred = task->deferred; deferred; deferred = deferred->next)
            perf_tally_at(script, TALLY_NO_USER_STACK, 1, deferred->position);
    }
}

void perf_samples_fini(struct perf_script *script) { memory_free(script->sample.rest); }
