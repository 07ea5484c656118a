/* Formats parts of a profile as text, for comparisons. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "libconvert/profile/profile.h"

/* A text buffer. Text beyond its capacity is cut off. */
struct profile_text {
    size_t used_bytes;
    char bytes[8192];
};

static inline struct profile_text *profile_text_create(void) {
    struct profile_text *out = calloc(1, sizeof *out);
    if (!out) abort();
    return out;
}

static inline void profile_text_add(struct profile_text *out, struct text text) {
    size_t room = sizeof out->bytes - 1 - out->used_bytes;
    size_t count = text.bytes_count < room ? text.bytes_count : room;
    if (count) memcpy(out->bytes + out->used_bytes, text.bytes, count);
    out->used_bytes += count;
    out->bytes[out->used_bytes] = '\0';
}

static inline struct text frame_func_name(const struct profile *profile, frame_id frame) {
    const struct func *func = profile_func_at(profile, profile_frame_at(profile, frame)->func);
    return strings_text(&profile->strings, func->name);
}

/* Appends a stack as "root;caller;leaf", or nothing if there is no stack. */
static inline void profile_text_add_stack(struct profile_text *out, const struct profile *profile, stack_id stack) {
    if (stack_is_none(stack)) return;
    const struct stack *row = profile_stack_at(profile, stack);
    profile_text_add_stack(out, profile, row->prefix);
    if (!stack_is_none(row->prefix)) profile_text_add(out, TEXT(";"));
    profile_text_add(out, frame_func_name(profile, row->frame));
}

/* Returns the profile's samples, one a line, thread by thread: "pid/tid name time_ns weight root;…;leaf". Call
 * profile_finish before. */
static inline struct profile_text *profile_samples_text(const struct profile *profile) {
    struct profile_text *out = profile_text_create();
    for (size_t i = 0; i < profile->thread_order.count; i++) {
        const struct thread *thread =
            profile_thread_at(profile, *(const thread_id *)column_at(&profile->thread_order, i));
        for (size_t row = 0; row < samples_count(&thread->samples); row++) {
            char number[64];
            profile_text_add(out, profile_process_at(profile, thread->process)->pid_text);
            if (thread->tid_text.bytes_count)
                snprintf(number, sizeof number, "/%.*s ", (int)thread->tid_text.bytes_count, thread->tid_text.bytes);
            else
                snprintf(number, sizeof number, "/%lld ", (long long)thread->tid);
            profile_text_add(out, text_of(number));
            profile_text_add(out, thread->name);
            uint32_t weight = samples_at(&thread->samples, row)->weight;
            snprintf(number, sizeof number, " %lld %lld ", (long long)samples_at(&thread->samples, row)->time_ns,
                     (long long)profile_weight_decode(profile, weight).mantissa);
            profile_text_add(out, text_of(number));
            profile_text_add_stack(out, profile, samples_at(&thread->samples, row)->stack);
            profile_text_add(out, TEXT("\n"));
        }
    }
    return out;
}

/* Returns the ledger, one entry a line: "lines kept 3 event line". */
static inline struct profile_text *ledger_entries_text(const struct ledger *ledger) {
    struct profile_text *out = profile_text_create();
    for (size_t i = 0; i < ledger->entries.count; i++) {
        const struct ledger_entry *entry = ledger_at(ledger, i);
        char line[512];
        snprintf(line, sizeof line, "%s %s %llu %.*s\n", gecko_convert_unit_name(entry->unit),
                 gecko_convert_fate_name(entry->fate), (unsigned long long)entry->count, (int)entry->cause.bytes_count,
                 entry->cause.bytes);
        profile_text_add(out, text_of(line));
    }
    return out;
}

/* Returns the entry of the ledger, or NULL if there is none. */
static inline const struct ledger_entry *find_entry(const struct ledger *ledger, enum gecko_convert_unit unit,
                                                    enum gecko_convert_fate fate, const char *cause) {
    for (size_t i = 0; i < ledger->entries.count; i++) {
        const struct ledger_entry *entry = ledger_at(ledger, i);
        if (entry->unit == unit && entry->fate == fate && text_equal(entry->cause, text_of(cause))) return entry;
    }
    return NULL;
}

static inline uint64_t count_of(const struct ledger *ledger, enum gecko_convert_unit unit, enum gecko_convert_fate fate,
                                const char *cause) {
    const struct ledger_entry *entry = find_entry(ledger, unit, fate, cause);
    return entry ? entry->count : 0;
}

/* Returns the sum of the ledger's counts, in all units, that have this fate and a cause that begins with `start`. */
static inline uint64_t count_of_cause(const struct ledger *ledger, enum gecko_convert_fate fate, const char *start) {
    uint64_t count = 0;
    for (size_t i = 0; i < ledger->entries.count; i++) {
        const struct ledger_entry *entry = ledger_at(ledger, i);
        if (entry->fate == fate && text_starts_with(entry->cause, text_of(start))) count += entry->count;
    }
    return count;
}
