#include <errno.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/preload/call_filter.h"
#include "tests/support/unit_test.h"

/* Each program ends with an error number in the accumulator, and then answers with it. */
#define ANSWER BPF_STMT(BPF_ALU | BPF_OR | BPF_K, SECCOMP_RET_ERRNO), BPF_STMT(BPF_RET | BPF_A, 0)

enum { CODE_MAX = 12 };

#define LD(k)         BPF_STMT(BPF_LD | BPF_IMM, k)
#define LDX(k)        BPF_STMT(BPF_LDX | BPF_IMM, k)
#define ALU(name, k)  BPF_STMT(BPF_ALU | BPF_##name | BPF_K, k)
#define ALUX(name)    BPF_STMT(BPF_ALU | BPF_##name | BPF_X, 0)
#define JUMP(name, k) BPF_JUMP(BPF_JMP | BPF_##name | BPF_K, k, 1, 0)
#define JUMPX(name)   BPF_JUMP(BPF_JMP | BPF_##name | BPF_X, 0, 1, 0)

static const struct sock_filter programs[][CODE_MAX] = {
    {LD(7), ALU(ADD, 3), ANSWER},
    {LD(7), ALU(SUB, 3), ANSWER},
    {LD(7), ALU(MUL, 3), ANSWER},
    {LD(7), ALU(DIV, 3), ANSWER},
    {LD(7), ALU(AND, 13), ANSWER},
    {LD(7), ALU(XOR, 13), ANSWER},
    {LD(7), ALU(LSH, 3), ANSWER},
    {LD(70), ALU(RSH, 3), ANSWER},
    {LD(0xfffffff0), BPF_STMT(BPF_ALU | BPF_NEG, 0), ANSWER},
    {LDX(3), LD(7), ALUX(ADD), ANSWER},
    {LDX(3), LD(70), ALUX(RSH), ALUX(LSH), ALUX(SUB), ALUX(DIV), ALUX(MUL), ALUX(XOR), ANSWER},
    {LD(5), BPF_STMT(BPF_MISC | BPF_TAX, 0), LD(30), ALUX(OR), ANSWER},
    {LDX(9), LD(30), BPF_STMT(BPF_MISC | BPF_TXA, 0), ANSWER},
    {LD(9), BPF_STMT(BPF_ST, 15), LD(1), BPF_STMT(BPF_LD | BPF_MEM, 15), ANSWER},
    {LDX(8), BPF_STMT(BPF_STX, 2), LDX(1), BPF_STMT(BPF_LDX | BPF_MEM, 2), BPF_STMT(BPF_MISC | BPF_TXA, 0), ANSWER},
    {BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0), ANSWER},
    {BPF_STMT(BPF_LDX | BPF_W | BPF_LEN, 0), BPF_STMT(BPF_MISC | BPF_TXA, 0), ANSWER},
    {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)), ANSWER},
    {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)), ALU(AND, 0xff), ANSWER},
    {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 4), ALU(ADD, 5), ANSWER},
    {LD(7), JUMP(JEQ, 7), ALU(ADD, 50), ANSWER},
    {LD(8), JUMP(JEQ, 7), ALU(ADD, 50), ANSWER},
    {LD(8), JUMP(JGT, 7), ALU(ADD, 50), ANSWER},
    {LD(7), JUMP(JGT, 7), ALU(ADD, 50), ANSWER},
    {LD(7), JUMP(JGE, 7), ALU(ADD, 50), ANSWER},
    {LD(6), JUMP(JGE, 7), ALU(ADD, 50), ANSWER},
    {LD(6), JUMP(JSET, 2), ALU(ADD, 50), ANSWER},
    {LD(4), JUMP(JSET, 2), ALU(ADD, 50), ANSWER},
    {LDX(7), LD(7), JUMPX(JEQ), ALU(ADD, 50), ANSWER},
    {LDX(7), LD(7), JUMPX(JGT), ALU(ADD, 50), ANSWER},
    {LD(7), BPF_STMT(BPF_JMP | BPF_JA, 1), ALU(ADD, 50), ANSWER},
    {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 33)},
};

/* The filter: it answers only to getppid with the program. */
struct filter {
    struct sock_filter code[3 + CODE_MAX];
    struct sock_fprog program;
};

static void make_filter(const struct sock_filter *code, struct filter *filter) {
    static const struct sock_filter start[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    unsigned short count = CODE_MAX;
    while (!code[count - 1].code && !code[count - 1].k) count--;
    memcpy(filter->code, start, sizeof start);
    memcpy(filter->code + 3, code, count * sizeof *code);
    filter->program = (struct sock_fprog){(unsigned short)(3 + count), filter->code};
}

/* Returns the error that getppid has under the filter. */
static int error_under(const struct sock_fprog *program) {
    enum { NOT_INSTALLED = 255 };
    int status;
    pid_t pid = fork();
    if (!pid) {
        bool is_installed =
            prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program) == 0;
        errno = 0;
        syscall(SYS_getppid);
        _exit(is_installed ? errno : NOT_INSTALLED);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) != NOT_INSTALLED);
    return WEXITSTATUS(status);
}

TEST(answers_are_those_of_the_kernel) {
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        struct filter filter;
        struct call_filter found;
        make_filter(programs[i], &filter);
        assert_true(call_filter_find(&filter.program, &found));
        uint32_t expected = SECCOMP_RET_ERRNO | (uint32_t)error_under(&filter.program);
        if (call_filter_answer(&found, SYS_getppid) != expected) fail_msg("program %zu", i);
        assert_int_equal(call_filter_answer(&found, SYS_getpid), SECCOMP_RET_ALLOW);
    }
}

static struct call_filter filter_of(int number, uint32_t answer) {
    static struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    code[1].k = (uint32_t)number;
    code[2].k = answer;
    return (struct call_filter){code, sizeof code / sizeof *code};
}

TEST(handlers_need_their_return) {
    const uint32_t refusals[] = {SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_KILL_THREAD, SECCOMP_RET_TRAP,
                                 SECCOMP_RET_ERRNO | EPERM};
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        struct call_filter filter = filter_of(SYS_rt_sigreturn, refusals[i]);
        assert_false(call_filter_allows_handlers(&filter));
        assert_true(call_filter_allows_calls(&filter));
    }
    struct call_filter filter = filter_of(SYS_rt_sigreturn, SECCOMP_RET_LOG);
    assert_true(call_filter_allows_handlers(&filter));
}

TEST(no_other_call_may_be_fatal) {
    struct call_filter filter = filter_of(SYS_membarrier, SECCOMP_RET_KILL_THREAD);
    assert_false(call_filter_allows_calls(&filter));
    assert_true(call_filter_allows_handlers(&filter));
    filter = filter_of(SYS_fcntl, SECCOMP_RET_TRAP);
    assert_false(call_filter_allows_calls(&filter));
    filter = filter_of(SYS_tgkill, SECCOMP_RET_ERRNO | EPERM);
    assert_true(call_filter_allows_calls(&filter));
}

/* Programs pass such addresses to ask whether the kernel has filters. */
TEST(unreadable_programs_are_not_read) {
    struct call_filter filter;
    long page_bytes = sysconf(_SC_PAGESIZE);
    unsigned char *pages =
        mmap(NULL, 2 * (size_t)page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    assert_int_equal(mprotect(pages + page_bytes, (size_t)page_bytes, PROT_NONE), 0);
    struct sock_filter *last = (struct sock_filter *)(void *)(pages + page_bytes) - 1;
    *last = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    errno = 0;
    assert_false(call_filter_find(NULL, &filter));
    assert_false(call_filter_find((const struct sock_fprog *)(void *)(pages + page_bytes), &filter));
    assert_true(call_filter_find(&(const struct sock_fprog){1, last}, &filter));
    assert_false(call_filter_find(&(const struct sock_fprog){2, last}, &filter));
    assert_false(call_filter_find(&(const struct sock_fprog){0, last}, &filter));
    assert_int_equal(errno, 0);
    munmap(pages, 2 * (size_t)page_bytes);
}

int main(void) { return unit_tests_run(NULL, NULL); }
