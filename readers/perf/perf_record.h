/* What a recording of perf contains, record by record, in whatever form it is read. A parser emits records in the order
 * in which they take effect, and perf_recording.h gives them their meaning. */
#pragma once

#include "libconvert/profile/threads.h"
#include "perf_tallies.h"
#include "readers/code/code_maps.h"

enum perf_record_type {
    PERF_HEADER,     /* a property of the recording, under the name that perf script --header prints */
    PERF_EVENT,      /* describes an event */
    PERF_EVENT_NAME, /* gives an event another name */
    PERF_FORMATS,    /* how the payloads of tracepoints are laid out: a section of perf.data */
    PERF_CLOCK,      /* a moment on two clocks */
    PERF_TIMES,      /* when the first and the last sample of the recording were taken */
    PERF_TICKS,      /* how the clock follows from the processor's counter */
    PERF_BUILD_ID,   /* the build id of a file */
    PERF_COMM,       /* names the task */
    PERF_NAME,       /* the name that the task has in the next sample */
    PERF_FORK,       /* the task begins */
    PERF_EXIT,       /* the task ends */
    PERF_NAMESPACES, /* the task is in these namespaces */
    PERF_CGROUP,     /* names a control group */
    PERF_MAPPING,    /* a file is mapped into the task's process, or code into the kernel */
    PERF_UNMAPPING,  /* code is no longer in the kernel */
    PERF_FUNCTION,   /* a function, and in `text` the path of its file, in which its place is mapping.start */
    PERF_LINE,       /* the meaning of a line number, which later stacks have */
    PERF_SAMPLE,     /* the task was found somewhere when an event happened */
    PERF_USER_STACK, /* the user part of the stack of earlier samples with the same cookie */
    PERF_SWITCH,     /* the task starts or stops running */
    PERF_THROTTLE,   /* the kernel stops taking samples or resumes */
    PERF_LOSS,       /* perf itself lost samples */
    PERF_COUNT,      /* what became of something that the parser read */
    PERF_RECORD_TYPE_COUNT
};

/* A later time, 73 years after the clock's start, is damage. So sums and differences of a few times cannot overflow. */
static const int64_t PERF_TIME_MAX_NS = INT64_MAX / 4;

/* A frame of a stack, as a line of text describes it. */
struct perf_frame_line {
    uint64_t address;
    uint64_t offset;     /* distance of the address from the symbol's start */
    struct text symbol;  /* without its offset; empty if unknown */
    struct text library; /* as printed, without "(deleted)" and offset; empty if unknown */
    bool has_address;
    bool has_offset;
    bool is_cut;     /* the line ends within its library */
    bool is_unknown; /* perf printed "[unknown]" for the symbol, or for the library and no symbol */
    bool is_inlined; /* inlined into the next frame that is not inlined; has no library of its own */
    bool is_cookie;  /* stands for a user stack, which follows in a "DEFERRED CALLCHAIN" whose cookie is this address */
};

/* The source line of the frame before it. */
struct perf_source_line {
    struct text file; /* empty if unknown */
    uint32_t line;    /* 1-based; 0 if unknown */
    bool is_inlined;  /* "(inlined)" ends the source line, not the frame line */
};

struct perf_line {
    uint32_t number; /* dense, in order of first appearance */
    bool is_source;
    union {
        struct perf_frame_line frame;
        struct perf_source_line source; /* if is_source */
    };
};

/* Bounds how many events the ledger names. A parser that may find more names the last one for all others. */
enum { PERF_EVENTS_MAX = 4096 };

/* Places of the deepest stacks, unless the event or kernel.perf_event_max_stack says otherwise. */
enum { PERF_PLACES_MAX = 127 };

/* The record's name is that of the event, for instance "cpu-clock:ppp". Empty: it has none. */
struct perf_event_description {
    uint32_t event; /* dense, in order of first appearance */
    bool is_tracepoint;
    bool is_name_made_up;   /* from the description alone; its own name may follow */
    uint64_t tracepoint_id; /* in the formats */
    double frequency_hz;    /* 0: unknown, or samples have a fixed period */
    bool has_clock;         /* the clock of the times is one that -k names, not perf's own */
    bool is_clock_monotonic;
};

struct perf_clock {
    uint64_t wall_ns;
    uint64_t clock_ns; /* at most wall_ns */
};

struct perf_times {
    int64_t first_ns;
    int64_t last_ns; /* at least first_ns */
};

/* The clock of the times is base_ns + (ticks * multiplier >> shift). */
struct perf_ticks {
    int64_t base_ns;
    uint32_t multiplier; /* 0: unknown */
    uint32_t shift;      /* below 64 */
};

enum { PERF_NAMESPACES_MAX = 8 };

struct perf_namespace {
    uint64_t device;
    uint64_t inode;
};

/* In the order of Linux include/uapi/linux/perf_event.h: net, uts, ipc… */
struct perf_namespace_list {
    uint32_t count; /* at most PERF_NAMESPACES_MAX */
    const struct perf_namespace *kinds;
};

struct perf_fork {
    int64_t parent_pid;
    int64_t parent_tid;
    bool is_before;      /* the task ran before the recording began */
    bool is_synthesized; /* perf itself made the record; the mappings of the process follow */
};

/* The record's text is the build id in hexadecimal digits; empty: unknown. Its pid is PID_KERNEL for the kernel.
 */
struct perf_mapping {
    uint64_t start;
    uint64_t size_bytes;
    uint64_t file_offset;
};

enum perf_place_flag {
    ADDRESS_IS_RETURN = 1, /* a return address: the call is just before it */
    ADDRESS_IS_KERNEL = 2,
    ADDRESS_IS_GUEST = 4,
    ADDRESS_IS_CUT = 8 /* not an address: outer frames are missing, not copied or not found */
};

/* An address of a stack. Compared bytewise, so it must have no padding. */
struct perf_place {
    uint64_t address;
    uint64_t flags; /* enum perf_place_flag */
};

enum { PERF_ABI_32_BIT = 1 };

/* User registers, and a copy of the user stack from the stack pointer up. */
struct perf_stack_copy {
    uint64_t registers_abi; /* 0: no registers; PERF_ABI_32_BIT; 2: of a 64-bit thread */
    uint64_t registers_mask;
    struct text registers; /* words, one per bit of the mask */
    struct text bytes;     /* only the valid ones */
};

struct perf_address_stack {
    const struct perf_place *places; /* innermost first */
    uint32_t place_count;
    bool is_in_kernel;                  /* the sample was taken in kernel code */
    const struct perf_stack_copy *copy; /* has what is further out; NULL: nothing is */
    const struct perf_place *only;      /* the stack if there is no other address; NULL: there is none */
};

/* The record's text is the payload of a tracepoint. A stack consists of lines or of addresses. */
struct perf_sample {
    uint32_t event;    /* ID_NONE: the sample counts for no event */
    int32_t processor; /* -1: unknown */
    uint64_t period;
    uint64_t cgroup;       /* id of the control group; 0: unknown */
    uint64_t address;      /* where the data is that the sample is about, if has_address */
    uint64_t cookie;       /* names the user stack that follows later, or this user stack; 0: none */
    const uint32_t *lines; /* numbers of the stack's lines, innermost frame first */
    uint32_t line_count;
    bool has_period;
    bool has_address;
    bool is_raw;         /* the payload is laid out as the formats say, not text */
    bool has_stack;      /* the stack is more than an address */
    bool is_repeated;    /* the previous sample, which counts for another event as well */
    bool is_interrupted; /* user code was interrupted: what there is of the stack stands in for the user stack */
    const struct perf_address_stack *addresses; /* NULL: the stack consists of lines */
};

struct perf_switch {
    int32_t processor; /* -1: unknown */
    bool is_out;
    bool is_preempted;    /* if it stops running: another task takes its place */
    bool is_of_processor; /* all switches of the processor are recorded, not those of some processes */
};

struct perf_throttle_change {
    bool is_end;
    uint64_t stream; /* an event on one processor, or in one thread */
    uint32_t event;  /* unless is_end */
};

/* Two kinds of records count the same losses. */
struct perf_loss {
    uint64_t count;
    bool is_of_samples; /* LOST_SAMPLES, not LOST */
};

/* The record's name is the cause. */
struct perf_count {
    enum gecko_convert_unit unit;
    enum gecko_convert_fate fate;
    uint64_t count;
};

struct perf_record {
    enum perf_record_type type;
    uint32_t machine; /* 0: the host; otherwise a virtual machine */
    int64_t pid;      /* PID_UNKNOWN: only the tid is known */
    int64_t tid;
    int64_t time_ns; /* TIME_NONE: the record has none */
    struct position position;
    struct text name; /* what the record is about: comm, event, path, key */
    struct text text; /* what else is known of it: the value of a key, a payload, a build id, a command line */
    union {
        struct perf_event_description event; /* for PERF_EVENT; its number is also for PERF_EVENT_NAME */
        struct perf_clock clock;
        struct perf_times times;
        struct perf_ticks ticks;
        struct perf_fork fork;
        struct perf_namespace_list namespaces;
        uint64_t cgroup;
        struct perf_mapping mapping;
        struct perf_line line;
        struct perf_sample sample; /* for PERF_SAMPLE and PERF_USER_STACK */
        struct perf_switch running;
        struct perf_throttle_change throttle;
        struct perf_loss loss;
        struct perf_count count;
        bool is_exec; /* for PERF_COMM: the task has executed a program of that name */
    };
};

/* Returns the mapping that a PERF_MAPPING describes. */
static inline struct code_map_record perf_record_mapping(const struct perf_record *record) {
    return (struct code_map_record){.pid = record->pid,
                                    .start = record->mapping.start,
                                    .size_bytes = record->mapping.size_bytes,
                                    .file_offset = record->mapping.file_offset,
                                    .path = record->name,
                                    .build_id = record->text};
}

/* Where a parser's records go. A record and what it points to are valid during the call. */
struct perf_sink {
    void (*take)(void *context, const struct perf_record *record);
    void *context;
};

static inline void perf_emit(struct perf_sink sink, const struct perf_record *record) {
    sink.take(sink.context, record);
}
