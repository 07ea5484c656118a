/* The state of reading one perf.data, shared by perf_data.c (the containers), data_stream.c and data_folder.c (where
 * records come from), data_records.c (records), data_samples.c (samples) and data_features.c (the header's sections).
 */
#ifndef GECKO_PERF_DATA_INTERNAL_H
#define GECKO_PERF_DATA_INTERNAL_H

#include "data_code.h"
#include "data_jit.h"
#include "data_kernel_ahead.h"
#include "data_order.h"
#include "data_stacks.h"
#include "data_tracing.h"
#include "data_unpacker.h"
#include "data_unwind.h"
#include "readers/perf/perf_recording.h"

/* Counts for the ledger; perf_data.c has the table of their fates and causes. */
enum data_tally {
    DATA_DAMAGED_RECORD,
    DATA_CUT_OFF,
    DATA_BAD_SAMPLE,
    DATA_UNKNOWN_EVENT,
    DATA_NO_STACK,
    DATA_NO_TASK,
    DATA_BAD_ATTR,
    DATA_BAD_FEATURE,
    DATA_BAD_COMPRESSION,
    DATA_JUMP,
    DATA_NO_TIME,
    DATA_LOST_BY_PERF,
    DATA_LATE,
    DATA_CPU,
    DATA_BAD_CHAIN,
    DATA_BRANCHES,
    DATA_ADDRESS,
    DATA_CUT_STACK,
    DATA_NO_USER_STACK,
    DATA_UNUSED_USER_STACK,
    DATA_NO_PERIOD,
    DATA_JIT_REFUSED,
    DATA_JIT_DAMAGED,
    DATA_UNKNOWN_FORMAT,
    DATA_TRACEPOINT_FIELDS,
    DATA_TALLY_COUNT
};

/* A sample of a tracepoint without a stack. It is kept until the recording's end, when its event's name is known. */
struct data_tracepoint {
    struct perf_occurrence occurrence;
    uint64_t id;     /* id of the tracepoint */
    struct text raw; /* its payload, in perf_data.texts */
};

struct perf_data {
    const struct input *input; /* borrowed */
    struct profile *profile;   /* borrowed */
    struct perf_recording recording;
    struct data_attrs attrs;
    struct data_order order;
    struct data_code code;
    struct data_kernel_ahead kernel;
    struct data_vdso vdso;
    struct data_unwind unwind;
    struct data_jit jit;
    struct data_tracing tracing;
    struct arena texts;
    struct text os_release;              /* stored in `texts`; empty: unknown */
    const struct debug_folders *folders; /* where to look for files; NULL: open none. Borrowed */
    bool has_threads;                    /* may start threads */
    struct column tracepoints;           /* struct data_tracepoint */
    struct data_stacks stacks;
    uint64_t cookie;             /* cookie of the deferred user stack of the sample that is being read; 0: none */
    bool has_no_kernel;          /* the sample that is being read has a deferred user stack and no kernel stack */
    bool has_named_clock;        /* the clock is one that -k names, not perf's own */
    int64_t last_time_ns;        /* time of the last record that has one */
    uint64_t lost_count;         /* samples lost according to LOST records */
    uint64_t lost_samples_count; /* samples lost according to LOST_SAMPLES records, which count the same losses again */
    struct position first_lost;
    uint64_t record_counts[256]; /* number of records by type; the last also counts all types above 255 */
    struct position first_records[256];
    struct ledger_tally tallies[DATA_TALLY_COUNT];
};

static inline struct position data_position(uint64_t offset) { return (struct position){.offset = offset}; }

static inline void data_tally(struct perf_data *data, enum data_tally tally, uint64_t count, uint64_t offset) {
    ledger_tally_add(&data->tallies[tally], count, data_position(offset));
}

/* Types of records. Names: Linux include/uapi/linux/perf_event.h and tools/lib/perf/include/perf/event.h. */
enum record_type {
    RECORD_MMAP = 1,
    RECORD_LOST = 2,
    RECORD_COMM = 3,
    RECORD_EXIT = 4,
    RECORD_THROTTLE = 5,
    RECORD_UNTHROTTLE = 6,
    RECORD_FORK = 7,
    RECORD_READ = 8,
    RECORD_SAMPLE = 9,
    RECORD_MMAP2 = 10,
    RECORD_LOST_SAMPLES = 13,
    RECORD_SWITCH = 14,
    RECORD_SWITCH_CPU_WIDE = 15,
    RECORD_NAMESPACES = 16,
    RECORD_KSYMBOL = 17,
    RECORD_BPF_EVENT = 18,
    RECORD_CGROUP = 19,
    RECORD_CALLCHAIN_DEFERRED = 22,
    RECORD_USER_FIRST = 64,
    RECORD_HEADER_ATTR = 64,
    RECORD_TRACING_DATA = 66,
    RECORD_BUILD_ID = 67,
    RECORD_FINISHED_ROUND = 68,
    RECORD_AUXTRACE = 71,
    RECORD_EVENT_UPDATE = 78,
    RECORD_TIME_CONV = 79,
    RECORD_HEADER_FEATURE = 80,
    RECORD_COMPRESSED = 81,
    RECORD_COMPRESSED2 = 83
};

/* Returns what is known so far about the recorded kernel. */
struct data_kernel_identity data_kernel_identify(struct perf_data *data);

/* ---- data_records.c. ---- */

/* Takes the next record of the input. Processes it at once, or queues it until it can be processed in order of time.
 * Returns its time; 0 if it has none. */
uint64_t data_records_take(struct perf_data *data, const struct data_record *record);

/* Processes the next record in order of time. This is a data_order_deliver. */
void data_records_use(void *context, const struct data_record *record, uint64_t time_ns);

/* Adds an event to the attributes and to the recording's events. Returns its row; ID_NONE if memory ran out. */
uint32_t data_records_add_attr(struct perf_data *data, struct text bytes, uint64_t offset);

/* Enters the counts of all records into the ledger. */
void data_records_enter(struct perf_data *data);

/* ---- data_samples.c. ---- */

void data_samples_use(struct perf_data *data, const struct data_record *record, uint64_t time_ns);

/* Gives samples of the thread the user stack that they wait for: `chain`, the words of a callchain. */
void data_samples_join(struct perf_data *data, const struct data_record *record, int32_t pid, int32_t tid,
                       uint64_t cookie, struct text chain);

/* Counts the samples that still wait for their user stacks. Call it when all records have been read. */
void data_samples_finish(struct perf_data *data);

/* ---- data_features.c. ---- */

enum { FEATURE_TRACING_DATA = 1, FEATURE_FOLDER = 24 };

/* Reads a section of the header. `bit` is its feature bit. */
void data_features_read(struct perf_data *data, uint64_t bit, struct text section, uint64_t offset);

/* Reads a build-id record, which is in a section or a record of its own. */
void data_features_read_build_id(struct perf_data *data, struct text record);

#endif
