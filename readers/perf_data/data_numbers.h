/* The numbers of records and of the header's sections in perf.data, which are read here and which gecko-convert record
 * writes. */
#pragma once

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
    RECORD_AUX = 11,
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
    RECORD_COMPRESSED2 = 83,
    /* Of Android's simpleperf. */
    RECORD_SIMPLEPERF_FIRST = 32768,
    RECORD_SIMPLEPERF_PART = 32772,
    RECORD_SIMPLEPERF_PARTS_END = 32773,
    RECORD_SIMPLEPERF_FORMATS = 32777,
    RECORD_SIMPLEPERF_LAST = 32778
};

/* Bits of sections. Names and layouts: Linux tools/perf/util/header.c. */
enum feature {
    FEATURE_TRACING_DATA = 1,
    FEATURE_BUILD_ID = 2,
    FEATURE_HOSTNAME = 3,
    FEATURE_OS_RELEASE = 4,
    FEATURE_VERSION = 5,
    FEATURE_ARCH = 6,
    FEATURE_CPU_COUNT = 7,
    FEATURE_CPU_DESCRIPTION = 8,
    FEATURE_CPU_ID = 9,
    FEATURE_MEMORY = 10,
    FEATURE_COMMAND_LINE = 11,
    FEATURE_EVENTS = 12,
    FEATURE_SAMPLE_TIMES = 21,
    FEATURE_CLOCK_ID = 23,
    FEATURE_FOLDER = 24,
    FEATURE_COMPRESSED = 27,
    FEATURE_CLOCK = 29,
    FEATURE_LAST = 32,
    /* Of Android's simpleperf. */
    FEATURE_FILE = 128,
    FEATURE_PROPERTIES = 129,
    FEATURE_FILE2 = 132
};
