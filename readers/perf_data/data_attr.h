/* The events of a recording as perf_event_attr describes them, and the ids by which samples refer to them. Layout:
 * Linux include/uapi/linux/perf_event.h. */
#pragma once

#include "libconvert/base/row_table.h"
#include "libconvert/base/text.h"

/* Bits of sample_type: the fields that a sample has. */
enum sample_field {
    SAMPLE_IP = 1 << 0,
    SAMPLE_TID = 1 << 1,
    SAMPLE_TIME = 1 << 2,
    SAMPLE_ADDR = 1 << 3,
    SAMPLE_READ = 1 << 4,
    SAMPLE_CALLCHAIN = 1 << 5,
    SAMPLE_ID = 1 << 6,
    SAMPLE_CPU = 1 << 7,
    SAMPLE_PERIOD = 1 << 8,
    SAMPLE_STREAM_ID = 1 << 9,
    SAMPLE_RAW = 1 << 10,
    SAMPLE_BRANCH_STACK = 1 << 11,
    SAMPLE_REGS_USER = 1 << 12,
    SAMPLE_STACK_USER = 1 << 13,
    SAMPLE_WEIGHT = 1 << 14,
    SAMPLE_DATA_SOURCE = 1 << 15,
    SAMPLE_IDENTIFIER = 1 << 16,
    SAMPLE_TRANSACTION = 1 << 17,
    SAMPLE_REGS_INTR = 1 << 18,
    SAMPLE_PHYSICAL_ADDR = 1 << 19,
    SAMPLE_CGROUP = 1 << 21,
    SAMPLE_WEIGHT_STRUCT = 1 << 24
};

enum read_format {
    READ_ENABLED = 1 << 0,
    READ_RUNNING = 1 << 1,
    READ_ID = 1 << 2,
    READ_GROUP = 1 << 3,
    READ_LOST = 1 << 4
};

enum branch_type { BRANCH_CALL_STACK = 1 << 11, BRANCH_HW_INDEX = 1 << 17, BRANCH_COUNTERS = 1 << 19 };

enum attr_type { ATTR_HARDWARE = 0, ATTR_SOFTWARE = 1, ATTR_TRACEPOINT = 2 };

struct data_attr {
    uint32_t type; /* enum attr_type, or a type specific to the machine */
    uint64_t config;
    uint64_t sample_type; /* enum sample_field */
    uint64_t read_format; /* enum read_format */
    uint64_t branch_type; /* enum branch_type */
    uint64_t registers_user;
    uint64_t registers_intr;
    double frequency_hz;       /* 0: samples have a fixed period */
    uint64_t fixed_period;     /* period of samples that do not record theirs; 0: unknown */
    uint32_t stack_places_max; /* the kernel cuts longer callchains */
    bool has_trailers;         /* records other than samples end with a sample's ids (sample_id_all) */
    bool has_clock;            /* `clock` is valid: the clock of the recorded times */
    int32_t clock;             /* clockid_t */
    uint32_t event;            /* row of the recording's events */
    bool has_name;             /* its name is known: in a pipe, it may come after samples */
    bool is_off_cpu_time;      /* see perf_role_is_off_cpu_time */
};

enum { DATA_ATTRS_MAX = 65536 };

struct data_attrs {
    struct column rows;     /* struct data_attr */
    struct row_table ids;   /* uint64_t */
    struct column meanings; /* struct id_meaning, one per id */
    struct known_id {
        uint64_t id;
        const struct data_attr *attr; /* NULL: unknown */
    } known[32]; /* recent ids of records, each at its remainder: one event has an id for each processor */
};

void data_attrs_init(struct data_attrs *attrs, struct failure *failure);
void data_attrs_fini(struct data_attrs *attrs);

/* Parses a perf_event_attr, which contains its own size. Returns false if it is malformed. */
bool data_attr_parse(struct text bytes, struct data_attr *attr);

/* Adds the event. Returns its row, or ID_NONE if memory ran out (latched) or there are too many events. */
uint32_t data_attrs_add(struct data_attrs *attrs, const struct data_attr *attr);

/* Assigns the id to the event in that row: samples with the id belong to that event. Assigning an id again has no
 * effect. */
void data_attrs_add_id(struct data_attrs *attrs, uint64_t id, uint32_t row);

static inline struct data_attr *data_attrs_at(const struct data_attrs *attrs, uint32_t row) {
    return column_at(&attrs->rows, row);
}

/* Returns the event with that id, or NULL if the id is unknown. */
const struct data_attr *data_attrs_find(const struct data_attrs *attrs, uint64_t id);

/* Returns by how much the counter with that id grew since the last call, and sets *attr to its event (NULL: unknown
 * id). */
uint64_t data_attrs_count(struct data_attrs *attrs, uint64_t id, uint64_t value, const struct data_attr **attr);

/* Returns the event that a record belongs to, by the id in the record. The id of a record other than a sample is in its
 * trailer. Returns NULL if the id is unknown. */
const struct data_attr *data_attrs_of_record(struct data_attrs *attrs, struct text record, bool is_sample);

/* Returns whether the name of the event can be offcpu-time. */
static inline bool data_attr_may_be_off_cpu_time(const struct data_attr *attr) {
    enum { SOFTWARE_BPF_OUTPUT = 10 };
    return attr->type == ATTR_SOFTWARE && attr->config == SOFTWARE_BPF_OUTPUT &&
           (attr->is_off_cpu_time || !attr->has_name);
}

/* Writes perf's name for this kind of event. It is used if the recording does not name the event. */
void data_attr_default_name(const struct data_attr *attr, char *name, size_t capacity_bytes);
