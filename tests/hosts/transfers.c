/* Test programs that transfer many bytes by one call, which a signal would cut short. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "host.h"

/* ---- Reading. ---- */

enum { READ_COUNT = 10, ZERO_BYTES = 32 << 20, RANDOM_BYTES = 2 << 20 };

static void print_reads(const char *path, char *bytes, size_t bytes_count) {
    int whole_count = 0, file = open(path, O_RDONLY);
    for (int i = 0; i < READ_COUNT; i++) whole_count += read(file, bytes, bytes_count) == (ssize_t)bytes_count;
    printf("%s: %d whole\n", path, whole_count);
    close(file);
}

static void read_devices(void) {
    char *bytes = malloc(ZERO_BYTES);
    int whole_count = 0;
    if (!bytes) return;
    print_reads("/dev/zero", bytes, ZERO_BYTES);
    print_reads("/dev/full", bytes, ZERO_BYTES);
    print_reads("/dev/urandom", bytes, RANDOM_BYTES);
    print_reads("/dev/random", bytes, RANDOM_BYTES);
    for (int i = 0; i < READ_COUNT; i++) whole_count += getrandom(bytes, RANDOM_BYTES, 0) == RANDOM_BYTES;
    printf("getrandom: %d whole\n", whole_count);
}

static void handle(int number) { (void)number; }

static void read_devices_with_handler(void) {
    signal(SIGUSR1, handle);
    read_devices();
}

/* ---- Writing. ---- */

enum { WRITE_COUNT = 10, WRITE_BYTES = 4 << 20, TERMINAL_BYTES = 256 << 10 };

/* Forks a child that reads slowly, and prints how much. */
static pid_t start_reader(int from, int other_end) {
    enum { BYTES_MAX = 65536, NAP_US = 100 };
    static char bytes[BYTES_MAX];
    long total = 0;
    ssize_t count;
    fflush(stdout);
    pid_t pid = fork();
    if (pid) return pid;
    close(other_end);
    while ((count = read(from, bytes, BYTES_MAX)) > 0) {
        total += count;
        usleep(NAP_US);
    }
    printf("%ld bytes read\n", total);
    fflush(stdout);
    _exit(0);
}

static ssize_t by_write(int file, const void *bytes, size_t count) { return write(file, bytes, count); }
static ssize_t by_send(int file, const void *bytes, size_t count) { return send(file, bytes, count, MSG_NOSIGNAL); }

static void print_writes(const int ends[2], ssize_t (*transfer)(int file, const void *bytes, size_t count),
                         size_t bytes_count) {
    char *bytes = calloc(1, bytes_count);
    int whole_count = 0;
    if (!bytes) return;
    pid_t reader = start_reader(ends[0], ends[1]);
    close(ends[0]);
    for (int i = 0; i < WRITE_COUNT; i++) whole_count += transfer(ends[1], bytes, bytes_count) == (ssize_t)bytes_count;
    close(ends[1]);
    wait_for(reader);
    printf("%d whole\n", whole_count);
    free(bytes);
}

static void write_much(void) {
    int ends[2];
    if (pipe(ends) != 0) return;
    print_writes(ends, by_write, WRITE_BYTES);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return;
    print_writes(ends, by_write, WRITE_BYTES);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return;
    print_writes(ends, by_send, WRITE_BYTES);
}

static void write_much_with_handler(void) {
    signal(SIGUSR1, handle);
    write_much();
}

static ssize_t by_parts(int file, const void *bytes, size_t count) {
    const struct iovec parts[] = {{(void *)(uintptr_t)bytes, count / 2}, {(void *)(uintptr_t)bytes, count - count / 2}};
    return writev(file, parts, 2);
}

static ssize_t by_message(int file, const void *bytes, size_t count) {
    struct iovec part = {(void *)(uintptr_t)bytes, count};
    const struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    return sendmsg(file, &message, MSG_NOSIGNAL);
}

static ssize_t by_sendto(int file, const void *bytes, size_t count) {
    return sendto(file, bytes, count, MSG_NOSIGNAL, NULL, 0);
}

/* Sends a file by the kernel, without reading it. */
static ssize_t by_sendfile(int file, const void *bytes, size_t count) {
    static int source = -1;
    off_t offset = 0;
    if (source < 0) {
        source = memfd_create("source", 0);
        if (write(source, bytes, count) != (ssize_t)count) return -1;
    }
    return sendfile(file, source, &offset, count);
}

static const struct iovec *volatile invalid = (const void *)8;

static void write_otherwise(void) {
    static ssize_t (*const transfers[])(int file, const void *bytes, size_t count) = {by_parts, by_message, by_sendto,
                                                                                      by_sendfile};
    int ends[2];
    for (size_t i = 0; i < sizeof transfers / sizeof *transfers; i++)
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0) print_writes(ends, transfers[i], WRITE_BYTES);
    if (pipe(ends) == 0) print_writes(ends, by_parts, WRITE_BYTES);
    ssize_t result = writev(STDOUT_FILENO, invalid, 1);
    printf("%zd, error %d\n", result, errno);
}

static void write_otherwise_with_handler(void) {
    signal(SIGUSR1, handle);
    write_otherwise();
}

/* Reads all of what a slow writer sends. */
static void receive_all(void) {
    static char bytes[WRITE_BYTES];
    int ends[2], whole_count = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return;
    fflush(stdout);
    pid_t pid = fork();
    if (!pid) {
        enum { PART_BYTES = 65536, NAP_US = 100 };
        for (int i = 0; i < 3 * WRITE_BYTES / PART_BYTES; i++) {
            if (write(ends[1], bytes, PART_BYTES) != PART_BYTES) _exit(1);
            usleep(NAP_US);
        }
        _exit(0);
    }
    struct iovec part = {bytes, sizeof bytes};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    whole_count += recv(ends[0], bytes, sizeof bytes, MSG_WAITALL) == WRITE_BYTES;
    whole_count += recvfrom(ends[0], bytes, sizeof bytes, MSG_WAITALL, NULL, NULL) == WRITE_BYTES;
    whole_count += recvmsg(ends[0], &message, MSG_WAITALL) == WRITE_BYTES;
    printf("child %d, %d whole\n", wait_for(pid), whole_count);
}

static void write_to_terminal(void) {
    int ends[2] = {posix_openpt(O_RDWR | O_NOCTTY), -1};
    if (ends[0] < 0 || grantpt(ends[0]) != 0 || unlockpt(ends[0]) != 0) return;
    ends[1] = open(ptsname(ends[0]), O_RDWR | O_NOCTTY);
    print_writes(ends, by_write, TERMINAL_BYTES);
}

/* A handler of the program cuts short a write that nobody reads. The alarm repeats because the first one may come
 * before the write. */
static void write_until_alarm(void) {
    enum { ALARM_COUNT = 20, ALARM_US = 20000 };
    static char bytes[WRITE_BYTES];
    signal(SIGALRM, handle);
    for (int i = 0; i < ALARM_COUNT; i++) {
        int ends[2];
        if (pipe(ends) != 0) return;
        ualarm(ALARM_US, ALARM_US);
        work(2);
        printf("%zd\n", write(ends[1], bytes, sizeof bytes));
        close(ends[0]);
        close(ends[1]);
    }
}

static sigjmp_buf before_write;

static void jump(int number) {
    (void)number;
    siglongjmp(before_write, 1);
}

/* Jumps out of writes that nobody reads. The thread must have stacks afterwards. */
static void jump_out_of_write(void) {
    enum { JUMP_COUNT = 5, ALARM_US = 30000 };
    static char bytes[WRITE_BYTES];
    static volatile int jump_count;
    int ends[2];
    if (pipe(ends) != 0) return;
    signal(SIGALRM, jump);
    if (sigsetjmp(before_write, 1)) jump_count++;
    if (jump_count < JUMP_COUNT) {
        ualarm(ALARM_US, 0);
        printf("%zd written\n", write(ends[1], bytes, sizeof bytes));
    }
    for (int i = 0; i < 20; i++) {
        usleep(1000);
        work(20);
    }
    printf("%d jumps\n", jump_count);
}

/* A non-blocking write writes as much as there is room for. */
static void write_without_waiting(void) {
    static char bytes[WRITE_BYTES];
    int ends[2];
    if (pipe(ends) != 0) return;
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    for (int i = 0; i < 3; i++) {
        work(20);
        printf("%zd\n", write(ends[1], bytes, sizeof bytes));
    }
}

/* ---- Allocating. ---- */

/* libraries/allocation.c defines the functions. */
static void allocate_files(void) {
    for (int i = 0; i < 2; i++) {
        printf("%d\n", fallocate(-1, 0, 0, 1));
        printf("%d\n", posix_fallocate(-1, 0, 1));
    }
    work(400);
}

static const struct host_case cases[] = {
    {"read-devices", read_devices},
    {"read-devices-with-handler", read_devices_with_handler},
    {"write-much", write_much},
    {"write-much-with-handler", write_much_with_handler},
    {"write-otherwise", write_otherwise},
    {"write-otherwise-with-handler", write_otherwise_with_handler},
    {"receive-all", receive_all},
    {"write-until-alarm", write_until_alarm},
    {"jump-out-of-write", jump_out_of_write},
    {"write-to-terminal", write_to_terminal},
    {"write-without-waiting", write_without_waiting},
    {"allocate-files", allocate_files},
};

HOST_MAIN(cases)
