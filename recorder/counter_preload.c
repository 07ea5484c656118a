/* Stands before the C library's prctl, in the shared library alone: a thread that is going to be forbidden to read the
 * cycle counter must not read it for the recorder. Programs that make the system call themselves are not reached. */
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gecko_recorder.h"
#include "session.h"

GREC_API int prctl(int option, ...) {
    unsigned long arguments[4];
    va_list list;
    va_start(list, option);
    for (int i = 0; i < 4; i++) arguments[i] = va_arg(list, unsigned long);
    va_end(list);
    if (option == PR_SET_TSC && arguments[0] == PR_TSC_SIGSEGV) session_forbid_counter();
    return (int)syscall(SYS_prctl, option, arguments[0], arguments[1], arguments[2], arguments[3]);
}
