/* Preloaded into `record`, imitates an older kernel on a processor that counts events, which virtual machines mostly
 * lack. The kernel's processor clock stands in for all of these events. With LACKS_CYCLES, the first processor counts
 * none. */
#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int refusal_of(const struct perf_event_attr *attr, long processor) {
    if (attr->build_id || attr->read_format) return EINVAL;
    if (attr->precise_ip > 1) return EOPNOTSUPP;
    return attr->type == PERF_TYPE_HARDWARE && processor == 0 && getenv("LACKS_CYCLES") ? ENOENT : 0;
}

long syscall(long number, ...) {
    long arguments[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++) arguments[i] = va_arg(list, long);
    va_end(list);
    struct perf_event_attr attr;
    if (number == SYS_perf_event_open) {
        memcpy(&attr, (void *)arguments[0], sizeof attr);
        errno = refusal_of(&attr, arguments[2]);
        if (errno) return -1;
        if (attr.type != PERF_TYPE_SOFTWARE) {
            attr.type = PERF_TYPE_SOFTWARE;
            attr.config = PERF_COUNT_SW_CPU_CLOCK;
            attr.precise_ip = 0;
        }
        arguments[0] = (long)&attr;
    }
    long (*call)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    return call(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
}
