#include "bus_guard.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* Globals, because a signal handler has no other way to receive them. */
static void (*end_program)(void);
static int end_code;
static uintptr_t page_bytes;
static _Thread_local volatile sig_atomic_t is_guarded;
static _Thread_local volatile sig_atomic_t has_lost_bytes;

/* Maps a page of zeros in place of the missing one. */
static bool replace_page(void *address) {
    int saved_errno = errno;
    void *page = (void *)((uintptr_t)address & ~(page_bytes - 1));
    bool is_good = mmap(page, page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page;
    errno = saved_errno;
    return is_good;
}

static void handle(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)context;
    if (is_guarded && info->si_code == BUS_ADRERR && replace_page(info->si_addr)) {
        has_lost_bytes = 1;
        return;
    }
    static const char message[] = "gecko-convert: the input became shorter while it was read\n";
    ssize_t written = write(STDERR_FILENO, message, sizeof message - 1);
    (void)written;
    end_program();
    _exit(end_code);
}

void bus_guard_install(void (*end)(void), int exit_code) {
    end_program = end;
    end_code = exit_code;
    page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    struct sigaction old, action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGBUS, NULL, &old) == 0 && old.sa_handler == SIG_IGN) return;
    sigaction(SIGBUS, &action, NULL);
}

const volatile sig_atomic_t *bus_guard_begin(void) {
    has_lost_bytes = 0;
    is_guarded = 1;
    return &has_lost_bytes;
}

void bus_guard_end(void) { is_guarded = 0; }
