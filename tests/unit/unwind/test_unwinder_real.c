/* Tests walks of real stacks on this machine. Compares them with the walks of the compiler's own unwinder. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include "readers/unwind/unwinder.h"
#include "tests/support/sanitizers.h"
#include "tests/support/unit_test.h"

/* Marks functions that read stack memory other than their own. */
#define READS_STACK __attribute__((no_sanitize("address", "thread")))

#if defined(__x86_64__)
#define MACHINE UNWINDER_X86_64

READS_STACK static struct unwind_registers registers_of(const ucontext_t *context) {
    static const uint8_t places[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
                                     REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    struct unwind_registers registers = {.pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP], .known = 0xffff};
    for (size_t i = 0; i < sizeof places; i++) registers.values[i] = (uint64_t)context->uc_mcontext.gregs[places[i]];
    return registers;
}

static uint64_t sp_of(const struct unwind_registers *registers) { return registers->values[7]; }

#elif defined(__aarch64__)
#define MACHINE UNWINDER_AARCH64

READS_STACK static struct unwind_registers registers_of(const ucontext_t *context) {
    struct unwind_registers registers = {.pc = context->uc_mcontext.pc, .known = UINT32_MAX};
    for (size_t i = 0; i < 31; i++) registers.values[i] = context->uc_mcontext.regs[i];
    registers.values[31] = context->uc_mcontext.sp;
    return registers;
}

static uint64_t sp_of(const struct unwind_registers *registers) { return registers->values[31]; }

#endif

#if defined(MACHINE)

enum { FRAMES_MAX = 1024, STACK_BYTES_MAX = 256 * 1024, MAPPINGS_MAX = 1024 };

/* ---- This process, as a recording would describe it. ---- */

static struct failure failure;
static struct unwinder *unwinder;
static struct unwind_mapping mappings[MAPPINGS_MAX];
static size_t mapping_count;

static bool find_mapping(void *context, uint64_t address, struct unwind_mapping *mapping) {
    for (size_t i = 0; i < mapping_count; i++) {
        if (address < mappings[i].start || address >= mappings[i].end) continue;
        *mapping = mappings[i];
        return true;
    }
    return false;
}

static const struct unwind_process process = {.find_mapping = find_mapping};

static struct unwind_file *add_file(const char *path, uint64_t start, uint64_t end) {
    struct text bytes = {(const char *)(uintptr_t)start, end - start};
    if (strcmp(path, "[vdso]") == 0) return unwinder_add_bytes(unwinder, bytes);
    if (path[0] != '/') return NULL;
    struct lib lib = {.name = text_base_name(text_of(path)), .path = text_of(path)};
    return unwinder_add_library(unwinder, &lib);
}

static void read_mappings(void) {
    char line[8192], path[4096], permissions[8];
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    mapping_count = 0;
    while (fgets(line, sizeof line, maps)) {
        unsigned long start, end, offset;
        *path = '\0';
        assert_true(sscanf(line, "%lx-%lx %7s %lx %*s %*s %4095[^\n]", &start, &end, permissions, &offset, path) >= 4);
        if (permissions[2] != 'x') continue;
        assert_true(mapping_count < MAPPINGS_MAX);
        mappings[mapping_count++] = (struct unwind_mapping){
            .start = start, .end = end, .file_offset = offset, .file = add_file(path, start, end)};
    }
    fclose(maps);
}

/* ---- The library under test. ---- */

typedef void probe(void);

static struct {
    int (*recurse)(probe *, int);
    int (*sized)(probe *, size_t);
    int (*aligned)(probe *, size_t);
    long (*registers)(probe *, const long *);
    int (*sort)(probe *);
    int (*handler)(probe *, int);
    int (*work)(int);
} object;

static void *function_of(void *library, const char *name) {
    void *function = dlsym(library, name);
    assert_non_null(function);
    return function;
}

static void load_object(const char *name) {
    char path[4096];
    ssize_t bytes_count = readlink("/proc/self/exe", path, sizeof path - 64);
    assert_true(bytes_count > 0);
    path[bytes_count] = '\0';
    strcpy(strrchr(path, '/') + 1, name);
    void *library = dlopen(path, RTLD_LAZY);
    if (!library) fail_msg("%s", dlerror());
    object.recurse = function_of(library, "unwound_recurse");
    object.sized = function_of(library, "unwound_sized");
    object.aligned = function_of(library, "unwound_aligned");
    object.registers = function_of(library, "unwound_registers");
    object.sort = function_of(library, "unwound_sort");
    object.handler = function_of(library, "unwound_handler");
    object.work = function_of(library, "unwound_work");
}

static void set_up(const char *name) {
    static const struct debug_folders folders;
    struct unwinder_options options = {.machine = MACHINE, .folders = &folders, .failure = &failure};
    void *addresses[4];
    backtrace(addresses, 4); /* loads the library that backtrace needs */
    load_object(name);
    unwinder = unwinder_create(&options);
    assert_non_null(unwinder);
    read_mappings();
}

static void tear_down(void) {
    unwinder_destroy(unwinder);
    assert_false(failure_is_set(&failure));
}

/* ---- Samples. ---- */

static struct sample {
    struct unwind_registers registers;
    struct unwind_stack stack;
    unsigned char stack_bytes[STACK_BYTES_MAX];
    void *expected[FRAMES_MAX]; /* frames found by backtrace, from the interrupted instruction on */
    size_t expected_count;
} sample;

static _Thread_local uint64_t stack_end;

static void find_stack_end(void) {
    pthread_attr_t attributes;
    void *low;
    size_t bytes_count;
    assert_int_equal(pthread_getattr_np(pthread_self(), &attributes), 0);
    pthread_attr_getstack(&attributes, &low, &bytes_count);
    pthread_attr_destroy(&attributes);
    stack_end = (uint64_t)(uintptr_t)low + bytes_count;
}

READS_STACK static void copy_stack(uint64_t start, uint64_t end) {
    size_t count = end > start ? end - start : 0;
    if (count > STACK_BYTES_MAX) count = STACK_BYTES_MAX;
    for (size_t i = 0; i < count; i++) sample.stack_bytes[i] = *(const volatile unsigned char *)(uintptr_t)(start + i);
    sample.stack = (struct unwind_stack){.start = start, .bytes = sample.stack_bytes, .bytes_count = count};
}

/* Fills the sample. Called in a signal handler. */
static void take_sample(const ucontext_t *context) {
    sample.registers = registers_of(context);
    copy_stack(sp_of(&sample.registers), stack_end);
    int count = backtrace(sample.expected, FRAMES_MAX), first = 0;
    while (first < count && (uint64_t)(uintptr_t)sample.expected[first] != sample.registers.pc) first++;
    sample.expected_count = (size_t)(count - first);
    memmove(sample.expected, sample.expected + first, sample.expected_count * sizeof *sample.expected);
}

static struct unwound_frame frames[FRAMES_MAX];

static size_t walk(size_t stack_bytes_count, enum unwind_end *end) {
    struct unwind_stack stack = sample.stack;
    stack.bytes_count = stack_bytes_count;
    return unwinder_walk(unwinder, &process, &sample.registers, &stack, frames, FRAMES_MAX, end);
}

/* Returns how many frames of the walk are as expected. */
static size_t count_right(size_t count) {
    size_t right = 0;
    while (right < count && right < sample.expected_count &&
           frames[right].address == (uint64_t)(uintptr_t)sample.expected[right])
        right++;
    return right;
}

static void assert_whole(void) {
    enum unwind_end end;
    size_t count = walk(sample.stack.bytes_count, &end);
    assert_true(sample.expected_count > 3);
    assert_int_equal(count, sample.expected_count);
    assert_int_equal(count_right(count), count);
    assert_int_equal(end, UNWIND_END_OUTERMOST);
    assert_true(frames[0].is_exact);
}

/* Checks walks of copies of every length: all frames are right, and missing frames are reported. */
static void assert_cut_anywhere(void) {
    enum unwind_end end;
    size_t count_before = 0, count = 0;
    for (size_t bytes_count = 0; bytes_count <= sample.stack.bytes_count; bytes_count += 8) {
        count = walk(bytes_count, &end);
        assert_int_equal(count_right(count), count);
        assert_true(count >= count_before);
        assert_int_equal(end, count < sample.expected_count ? UNWIND_END_STACK_CUT : UNWIND_END_OUTERMOST);
        count_before = count;
    }
    assert_int_equal(count, sample.expected_count);
}

static void handle_probe(int number, siginfo_t *info, void *context) { take_sample(context); }

static void probe_here(void) { raise(SIGUSR1); }

static void handle(int number, void (*handler)(int, siginfo_t *, void *)) {
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    sigaction(number, &action, NULL);
}

/* ---- Tests. They run once for the object of each compiler. ---- */

static void check_shapes(void) {
    static const long values[6];
    object.recurse(probe_here, 0);
    assert_whole();
    assert_cut_anywhere();
    object.recurse(probe_here, 300);
    assert_whole();
    for (size_t bytes_count = 1; bytes_count < 20000; bytes_count = bytes_count * 7 / 2 + 3) {
        object.sized(probe_here, bytes_count);
        assert_whole();
        object.aligned(probe_here, bytes_count);
        assert_whole();
        assert_cut_anywhere();
    }
    object.registers(probe_here, values);
    assert_whole();
    object.sort(probe_here);
    assert_whole();
}

static void check_handlers(void) {
    static unsigned char alternate_bytes[64 * 1024];
    stack_t alternate = {.ss_sp = alternate_bytes, .ss_size = sizeof alternate_bytes}, before;
    enum unwind_end end;
    object.handler(probe_here, 0);
    assert_whole();
    assert_cut_anywhere();
    size_t exact_count = 0, count = walk(sample.stack.bytes_count, &end);
    for (size_t i = 0; i < count; i++) exact_count += frames[i].is_exact;
    assert_int_equal(exact_count, 2);
    /* Only the alternate stack was copied: the interrupted function is the last frame. */
    uint64_t own_end = stack_end;
    assert_int_equal(sigaltstack(&alternate, &before), 0);
    stack_end = (uint64_t)(uintptr_t)alternate_bytes + sizeof alternate_bytes;
    object.handler(probe_here, SA_ONSTACK);
    sigaltstack(&before, NULL);
    stack_end = own_end;
    count = walk(sample.stack.bytes_count, &end);
    assert_int_equal(end, UNWIND_END_STACK_CUT);
    assert_int_equal(count_right(count), count);
    assert_true(count > 4 && frames[count - 1].is_exact);
}

static void *check_in_thread(void *unused) {
    find_stack_end();
    object.recurse(probe_here, 5);
    assert_whole();
    return NULL;
}

static void check_thread(void) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, check_in_thread, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

#if defined(__x86_64__) && !IS_SANITIZED

static size_t step_count, wrong_count;

static void handle_step(int number, siginfo_t *info, void *context) {
    enum unwind_end end;
    take_sample(context);
    size_t count = walk(sample.stack.bytes_count, &end);
    bool is_right = count == sample.expected_count && count_right(count) == count && end == UNWIND_END_OUTERMOST;
    if (!is_right && !wrong_count++) {
        print_message("wrong after %zu instructions, end %d\n", step_count, end);
        for (size_t i = 0; i < count || i < sample.expected_count; i++)
            print_message("  %#lx %p\n", i < count ? (unsigned long)frames[i].address : 0,
                          i < sample.expected_count ? sample.expected[i] : NULL);
    }
    step_count++;
}

/* Walks at every instruction of the object's functions and of the linkage stubs. Also walks in the dynamic linker and
 * the C library when these are called. */
static void check_every_instruction(void) {
    step_count = wrong_count = 0;
    handle(SIGTRAP, handle_step);
    __asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");
    object.work(1);
    __asm__ volatile("pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");
    assert_true(step_count > 3000);
    assert_int_equal(wrong_count, 0);
}

#else

static void check_every_instruction(void) {}

#endif

static void check_object(const char *name) {
    set_up(name);
    find_stack_end();
    handle(SIGUSR1, handle_probe);
    check_shapes();
    check_handlers();
    check_thread();
    check_every_instruction();
    tear_down();
}

TEST(test_gcc) { check_object("unwound_gcc.so"); }

TEST(test_clang) { check_object("unwound_clang.so"); }

#else

TEST(test_gcc) { skip(); }
TEST(test_clang) { skip(); }

#endif

int main(void) { return unit_tests_run(NULL, NULL); }
