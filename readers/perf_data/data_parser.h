/* The state of parsing one perf.data, shared by data_file.c (the containers), data_stream.c (where records come
 * from), data_records.c (records), data_samples.c (samples) and data_features.c (the header's sections).
 */
#pragma once

#include "data_attr.h"
#include "data_numbers.h"
#include "data_order.h"
#include "readers/input/input.h"
#include "readers/perf/perf_record.h"

/* Types of records that are counted apart: those below RECORD_OTHER, which counts all above, and simpleperf's. */
enum { RECORD_OTHER = 255, SIMPLEPERF_ROW = 256, COUNTED_TYPES = SIMPLEPERF_ROW + 11 };

struct data_parser {
    struct perf_sink sink;
    struct perf_tallies *tallies; /* borrowed */
    struct failure *failure;      /* borrowed */
    struct data_attrs attrs;
    struct data_order order;
    struct perf_place *places; /* owned; of the stack that is being parsed, innermost first */
    uint32_t place_count;
    size_t place_capacity;
    uint64_t record_counts[COUNTED_TYPES]; /* number of records by type */
    struct position first_records[COUNTED_TYPES];
    char *parts; /* owned; a record of simpleperf that is split, as far as it is known */
    size_t parts_bytes;
    size_t parts_capacity;
    uint64_t parts_offset; /* offset of the first part */
    uint64_t file_end;     /* end of a file's last section; 0: unknown */
};

static inline struct position data_position(uint64_t offset) { return (struct position){.offset = offset}; }

static inline void data_tally(struct data_parser *parser, enum perf_tally tally, uint64_t count, uint64_t offset) {
    perf_tally(parser->tallies, tally, count, data_position(offset));
}

/* ---- data_file.c. ---- */

/* Parses the whole input, emits its records, and adds to the tallies what could not be read. Stops after a failure
 * (latched). */
void data_parse(struct input *input, struct perf_sink sink, struct perf_tallies *tallies, struct failure *failure);

/* ---- data_records.c. ---- */

/* Takes the next record of the input. Emits it at once, or queues it until it can be emitted in order of time.
 * Returns its time; 0 if it has none. */
uint64_t data_records_take(struct data_parser *parser, const struct data_record *record);

/* Emits the next record in order of time. This is a data_order_deliver. */
void data_records_use(void *context, const struct data_record *record, uint64_t time_ns);

/* Emits an event and adds it to the attributes. Returns its row; ID_NONE if memory ran out, or it is malformed. */
uint32_t data_records_add_attr(struct data_parser *parser, struct text bytes, uint64_t offset);

/* Emits a name of the event. */
void data_records_name_event(struct data_parser *parser, const struct data_attr *attr, struct text name);

/* Emits the counts of all records. */
void data_records_count(struct data_parser *parser);

/* ---- data_samples.c. ---- */

/* Emits a sample. */
void data_samples_use(struct data_parser *parser, const struct data_record *record, struct perf_record *out);

/* Completes and emits a user stack. `chain` are the words of a callchain. */
void data_samples_use_user_stack(struct data_parser *parser, const struct data_record *record, struct text chain,
                                 struct perf_record *out);

/* ---- data_features.c. ---- */

/* Reads a section of the header. `bit` is its feature bit. */
void data_features_read(struct data_parser *parser, uint64_t bit, struct text section, uint64_t offset);

/* Reads a build-id record, which is in a section or a record of its own. */
void data_features_read_build_id(struct data_parser *parser, struct text record);

/* ---- data_simpleperf.c. ---- */

/* Read the sections of Android's simpleperf: the functions of files, in the older and the newer layout, and properties.
 * Return false if the section is malformed. */
bool data_simpleperf_read_structs(struct data_parser *parser, struct text section);
bool data_simpleperf_read_messages(struct data_parser *parser, struct text section);
bool data_simpleperf_read_properties(struct data_parser *parser, struct text section);
