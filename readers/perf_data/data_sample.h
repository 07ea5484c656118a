/* Decodes samples, and the trailers of other records, by the attributes of their event. */
#pragma once

#include "data_attr.h"
#include "readers/perf/perf_cursor.h"

/* A record. Every record begins with its type, flags and size. */
struct data_record {
    uint32_t type;
    uint16_t misc;
    struct text bytes;   /* the whole record */
    struct text payload; /* the record without its header */
    uint64_t offset;     /* offset in the input of the record, or of the compressed record that contained it */
    bool is_lasting;     /* the bytes stay where they are until all records have been used */
};

enum { RECORD_HEAD_BYTES = 8 };

/* perf gives sums of waits, which are of no moment, times from here on, so that they come last. */
static const uint64_t DATA_TIME_OF_SUMS_NS = UINT64_MAX << 32;

/* The low bits of misc: the processor's mode. */
enum record_mode {
    MODE_UNKNOWN = 0,
    MODE_KERNEL = 1,
    MODE_USER = 2,
    MODE_HYPERVISOR = 3,
    MODE_GUEST_KERNEL = 4,
    MODE_GUEST_USER = 5
};

static inline enum record_mode data_record_mode(const struct data_record *record) {
    return (enum record_mode)(record->misc & 7);
}

/* The marker in a callchain that comes before user code. */
enum { CONTEXT_USER = -512 };

/* One counter's value in a sample. */
struct data_read {
    uint64_t value;
    uint64_t id;
};

/* A decoded sample. Fields that the event's attributes do not select are 0 or empty. Texts point into the record. */
struct data_sample {
    const struct data_attr *attr;
    uint64_t ip;
    int32_t pid;
    int32_t tid;
    uint64_t time_ns;
    uint64_t address; /* address of the data that the sample is about */
    uint64_t id;
    uint64_t period;
    uint32_t cpu;
    struct text reads;      /* words, see data_sample_read */
    uint32_t read_words;    /* words per counter */
    struct text callchain;  /* words, innermost first, with markers between contexts */
    struct text raw;        /* a tracepoint's payload */
    bool is_wait;           /* perf record --off-cpu made it; what its payload said of the wait has been decoded */
    struct text branches;   /* words: from, to and flags of each branch, newest first */
    uint64_t registers_abi; /* 0: no registers */
    struct text registers;  /* words: user registers, one per bit of the attributes' mask */
    struct text stack;      /* copy of the user stack from the stack pointer up; only the valid bytes */
    bool has_memory;        /* it has a weight, or describes an access to memory besides its address */
    uint64_t cgroup;        /* id of the control group */
};

/* Decodes a sample of the event. Returns false if the record ends before its fields do. */
bool data_sample_parse(const struct data_record *record, const struct data_attr *attr, struct data_sample *sample);

/* Returns the trailer of a record other than a sample, which has 8 bytes per field; empty if the record has none. */
struct text data_record_trailer(const struct data_record *record, const struct data_attr *attr);

/* Decodes the trailer of a record other than a sample. Only ids, the time and the processor are set. Returns false if
 * there is no trailer. */
bool data_sample_parse_trailer(const struct data_record *record, const struct data_attr *attr,
                               struct data_sample *sample);

/* Returns the processor on which the sample or record was taken; -1: unknown. */
int32_t data_sample_processor(const struct data_sample *sample);

/* Finds a record's time. Returns false if the record has none. Cheaper than decoding the whole record. */
bool data_record_time(const struct data_record *record, const struct data_attr *attr, uint64_t *time_ns);

static inline size_t data_sample_read_count(const struct data_sample *sample) {
    return sample->read_words ? sample->reads.bytes_count / (8 * (size_t)sample->read_words) : 0;
}

struct data_read data_sample_read(const struct data_sample *sample, size_t index);
