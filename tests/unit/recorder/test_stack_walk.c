#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "recorder/unwind/mappings.h"
#include "recorder/unwind/stack_walk.h"
#include "recorder/unwind/thread_stack.h"
#include "tests/support/random_numbers.h"
#include "tests/support/unit_test.h"

/* Gives each function under test a frame of its own. Whether it has a frame pointer is left to the compiler's flags. */
#if defined(__clang__)
#define FRAME __attribute__((noinline))
#else
#define FRAME __attribute__((noinline, noclone))
#endif

/* The sanitizers wrap backtrace() in a function of theirs, which adds a frame. */
#if defined(__has_feature)
#define IS_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

/* For functions that read stack memory of other functions, as the stack walk does. */
#define READS_STACK __attribute__((no_sanitize("address", "thread")))

enum { FRAME_COUNT_MAX = 512 };

struct walked {
    struct walked_frame frames[FRAME_COUNT_MAX];
    size_t count;
    bool is_truncated;
};

static struct stack_limits own_limits;

static void *keep_reachable;

static struct stack_limits stack_of_self(void) {
    return thread_stack_of_self((uint64_t)(uintptr_t)__builtin_frame_address(0));
}

static void refresh_snapshot(void) {
    unwind_snapshot_refresh();
    unwind_snapshot_want_all();
    unwind_snapshot_build_wanted();
}

static int set_up(void **state) {
    void *addresses[4];
    backtrace(addresses, 4); /* this first call loads the library that backtrace needs */
    refresh_snapshot();
    mappings_read(NULL);
    own_limits = stack_of_self();
    return own_limits.high ? 0 : -1;
}

static int tear_down(void **state) {
    unwind_snapshot_forget();
    mappings_forget();
    return 0;
}

#define WALK_HERE(walked)                                                                                       \
    (walked)->count = stack_walk_here(unwind_snapshot_current(), own_limits, (walked)->frames, FRAME_COUNT_MAX, \
                                      &(walked)->is_truncated)

static void assert_stack_ends_grow(const struct walked *walked) {
    for (size_t i = 1; i < walked->count; i++)
        assert_true(walked->frames[i].stack_end >= walked->frames[i - 1].stack_end);
}

/* ---- Comparison with the compiler's own unwinder. Both must be called from the same function. Their first frames
 * have only this function in common. ---- */

static void assert_same_callers(const struct walked *walked, void *const *addresses, int count) {
    assert_false(walked->is_truncated);
    assert_true(count > 3);
    size_t skipped = (size_t)count - walked->count;
    assert_true(skipped <= IS_SANITIZED);
    for (size_t i = 1; i < walked->count; i++)
        assert_int_equal(walked->frames[i].address, (uintptr_t)addresses[i + skipped]);
    assert_stack_ends_grow(walked);
}

#define COMPARE_HERE()                                                 \
    do {                                                               \
        static struct walked walked_here;                              \
        static void *addresses_here[FRAME_COUNT_MAX];                  \
        WALK_HERE(&walked_here);                                       \
        int count_here = backtrace(addresses_here, FRAME_COUNT_MAX);   \
        assert_same_callers(&walked_here, addresses_here, count_here); \
        compared_frame_count += (uint32_t)count_here;                  \
    } while (0)

static uint32_t compared_frame_count;

FRAME static int recurse(int depth) {
    volatile int padding[8] = {depth};
    if (depth == 0) {
        COMPARE_HERE();
        return 1;
    }
    return recurse(depth - 1) + padding[0];
}

/* Recurses with frames whose size is known only at run time, and which are addressed by the frame pointer. */
FRAME static int recurse_sized(int depth, size_t bytes_count) {
    volatile char bytes[bytes_count];
    bytes[bytes_count - 1] = (char)depth;
    if (depth == 0) {
        COMPARE_HERE();
        return 1;
    }
    return recurse_sized(depth - 1, bytes_count * 3 % 1000 + 1) + bytes[bytes_count - 1];
}

/* Recurses with a realigned stack, whose return address is found through a saved register. */
FRAME static int recurse_aligned(int depth, size_t bytes_count) {
    volatile char bytes[bytes_count];
    _Alignas(128) volatile char aligned[128];
    bytes[0] = aligned[0] = (char)depth;
    assert_int_equal((uintptr_t)aligned % 128, 0);
    if (depth == 0) {
        COMPARE_HERE();
        return 1;
    }
    return recurse_aligned(depth - 1, bytes_count + 13) + bytes[0] + aligned[0];
}

TEST(test_recursion) {
    compared_frame_count = 0;
    for (int depth = 0; depth < 64; depth++) recurse(depth);
    assert_int_equal(recurse(300) > 0, 1);
    for (int depth = 0; depth < 32; depth++) recurse_sized(depth, (size_t)depth + 1);
    for (int depth = 0; depth < 32; depth++) recurse_aligned(depth, (size_t)depth + 1);
    assert_true(compared_frame_count > 3000);
}

/* A walk on a stack that is neither the thread's own nor in the list of mappings must find no frames. */
TEST(test_stack_of_nobody) {
    struct stack_limits before = own_limits;
    struct walked walked;
    own_limits.high = own_limits.low + 64;
    mappings_forget();
    WALK_HERE(&walked);
    assert_int_equal(walked.count, 0);
    assert_true(walked.is_truncated);
    assert_true(mappings_are_wanted());
    own_limits = before;
    mappings_read(NULL);
    assert_false(mappings_are_wanted());
}

static uint32_t compare_call_count;

static int compare_integers(const void *left, const void *right) {
    if (compare_call_count++ % 16 == 0) COMPARE_HERE();
    const int *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

TEST(test_callbacks_of_libc) {
    int values[200];
    for (int i = 0; i < 200; i++) values[i] = i * 7919 % 200;
    compare_call_count = 0;
    qsort(values, 200, sizeof values[0], compare_integers);
    assert_int_equal(values[199], 199);
    assert_true(compare_call_count > 500);
    int key = 5;
    assert_ptr_equal(bsearch(&key, values, 200, sizeof values[0], compare_integers), &values[5]);
}

static void *compare_in_thread(void *context) {
    struct stack_limits before = own_limits;
    mappings_read(NULL);
    own_limits = stack_of_self();
    assert_true(own_limits.high);
    recurse(5);
    own_limits = before;
    return NULL;
}

TEST(test_threads) {
    pthread_t thread;
    compared_frame_count = 0;
    assert_int_equal(pthread_create(&thread, NULL, compare_in_thread, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(compared_frame_count >= 8);
}

/* ---- Objects that are loaded and unloaded. ---- */

struct walked_call {
    int (*compare)(const void *, const void *);
    int values[16];
    int depth;
};

static void *load_object(void) {
    char path[4096];
    ssize_t count = readlink("/proc/self/exe", path, sizeof path - 32);
    assert_true(count > 0);
    path[count] = '\0';
    strcpy(strrchr(path, '/') + 1, "walked_object.so");
    void *object = dlopen(path, RTLD_LAZY);
    if (!object) fail_msg("%s", dlerror());
    return object;
}

typedef int walked_function(struct walked_call *call, int depth);

static walked_function *find_walked(void *object) {
    union {
        void *address;
        walked_function *function;
    } found = {.address = dlsym(object, "walked_call")};
    assert_non_null(found.address);
    return found.function;
}

TEST(test_loaded_object) {
    struct walked_call call = {.compare = compare_integers, .values = {3, 2, 1}};
    void *object = load_object();
    refresh_snapshot();
    compare_call_count = 0;
    compared_frame_count = 0;
    find_walked(object)(&call, 10);
    assert_true(compared_frame_count > 15);
    dlclose(object);
    refresh_snapshot();
    unwind_snapshot_reclaim();
    assert_int_equal(recurse(3) > 0, 1);
}

/* ---- Signals. ---- */

static struct walked from_handler, from_context, from_outside;

static void walk_in_handler(int number, siginfo_t *info, void *context) {
    WALK_HERE(&from_handler);
    from_context.count = stack_walk(unwind_snapshot_current(), context, own_limits, from_context.frames,
                                    FRAME_COUNT_MAX, &from_context.is_truncated);
}

FRAME static int raise_signal(int depth) {
    volatile int padding[8] = {depth};
    if (depth > 0) return raise_signal(depth - 1) + padding[0];
    WALK_HERE(&from_outside);
    raise(SIGUSR1);
    return padding[0];
}

static void install(int number, void (*handler)(int, siginfo_t *, void *), int flags) {
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};
    sigemptyset(&action.sa_mask);
    assert_int_equal(sigaction(number, &action, NULL), 0);
}

/* Checks that the last frames of `walked` are those of `outer` from `first` on. Returns how many frames of `walked`
 * are before them. */
static size_t assert_ends_like(const struct walked *walked, const struct walked *outer, size_t first) {
    assert_false(walked->is_truncated);
    assert_false(outer->is_truncated);
    assert_true(outer->count > first && walked->count >= outer->count - first);
    size_t before = walked->count - (outer->count - first);
    for (size_t i = first; i < outer->count; i++) {
        assert_int_equal(walked->frames[before + i - first].address, outer->frames[i].address);
        assert_int_equal(walked->frames[before + i - first].stack_end, outer->frames[i].stack_end);
    }
    return before;
}

static void check_signal(int flags) {
    memset(&from_handler, 0, sizeof from_handler);
    memset(&from_context, 0, sizeof from_context);
    install(SIGUSR1, walk_in_handler, flags);
    raise_signal(20);
    assert_int_equal(from_outside.count >= 24, 1);
    assert_ends_like(&from_context, &from_outside, 1);
    assert_true(from_context.frames[0].is_exact);
    for (size_t i = 1; i < from_context.count; i++) assert_false(from_context.frames[i].is_exact);
    /* The walk from the handler has two more frames than the walk from its context: the handler, and the return from
     * it. Then comes the interrupted code. */
    size_t skipped = from_handler.count - from_context.count;
    assert_int_equal(skipped, 2);
    for (size_t i = 0; i < from_context.count; i++) {
        assert_int_equal(from_handler.frames[i + skipped].address, from_context.frames[i].address);
        assert_int_equal(from_handler.frames[i + skipped].is_exact, from_context.frames[i].is_exact);
        assert_int_equal(from_handler.frames[i + skipped].stack_end, from_context.frames[i].stack_end);
    }
}

TEST(test_signal_handler) { check_signal(0); }

TEST(test_alternate_stack) {
    enum { BYTES = 65536 };
    stack_t stack = {.ss_sp = malloc(BYTES), .ss_size = BYTES}, before;
    assert_non_null(stack.ss_sp);
    assert_int_equal(sigaltstack(&stack, &before), 0);
    check_signal(SA_ONSTACK);
    /* The handler's frames are on the alternate stack. The frames of the interrupted code are not. */
    uint64_t low = (uintptr_t)stack.ss_sp;
    assert_in_range(from_handler.frames[0].stack_end, low, low + BYTES);
    assert_in_range(from_handler.frames[1].stack_end, low, low + BYTES);
    assert_in_range(from_handler.frames[2].stack_end, own_limits.low, own_limits.high);
    assert_int_equal(sigaltstack(&before, NULL), 0);
    free(stack.ss_sp);
}

/* Signals arrive at any time. The walk must always find the callers of the storm's function. */
/* A round takes a microsecond or more, so this limit is many times what the signals need. */
enum { STORM_COUNT = 50, ROUNDS_MAX = 10000000 };

static struct {
    struct walked outer;
    volatile uint32_t count;
    volatile uint32_t bad_count;
} storm;

static bool ends_like(const struct walked *walked, const struct walked *outer) {
    if (walked->is_truncated || outer->is_truncated || walked->count < outer->count) return false;
    size_t before = walked->count - outer->count;
    for (size_t i = 1; i < outer->count; i++)
        if (walked->frames[before + i].address != outer->frames[i].address ||
            walked->frames[before + i].stack_end != outer->frames[i].stack_end)
            return false;
    return true;
}

static void walk_in_storm(int number, siginfo_t *info, void *context) {
    static struct walked walked;
    walked.count = stack_walk(unwind_snapshot_current(), context, own_limits, walked.frames, FRAME_COUNT_MAX,
                              &walked.is_truncated);
    if (!ends_like(&walked, &storm.outer)) storm.bad_count++;
    storm.count++;
}

FRAME static uint64_t fibonacci(uint32_t n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

static int compare_plain(const void *left, const void *right) {
    const int *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

FRAME static void work(void) {
    int values[64];
    char text[64];
    for (int i = 0; i < 64; i++) values[i] = i * 7919 % 64;
    qsort(values, 64, sizeof values[0], compare_plain);
    snprintf(text, sizeof text, "%.17g %s", (double)fibonacci(12) / 3, "text");
    keep_reachable = realloc(keep_reachable, strlen(text) + 1);
}

FRAME static void work_in_storm(void) {
    WALK_HERE(&storm.outer);
    struct itimerval interval = {.it_interval = {.tv_usec = 100}, .it_value = {.tv_usec = 100}}, none = {0};
    setitimer(ITIMER_PROF, &interval, NULL);
    /* The kernel sends at most 250 of these signals per second of processor time, whatever interval is set. */
    for (uint32_t round = 0; round < ROUNDS_MAX && storm.count < STORM_COUNT; round++) work();
    setitimer(ITIMER_PROF, &none, NULL);
}

TEST(test_timer_signals) {
    install(SIGPROF, walk_in_storm, SA_RESTART);
    work_in_storm();
    assert_true(storm.count >= STORM_COUNT);
    assert_int_equal(storm.bad_count, 0);
}

/* Objects are loaded and unloaded, and snapshots are replaced, while handlers walk stacks. */
static bool is_reloading_over;

static void *reload_objects(void *context) {
    sigset_t profiling;
    sigemptyset(&profiling);
    sigaddset(&profiling, SIGPROF);
    pthread_sigmask(SIG_BLOCK, &profiling, NULL);
    uint32_t round_count = 0;
    for (; round_count < 4 || !__atomic_load_n(&is_reloading_over, __ATOMIC_ACQUIRE); round_count++) {
        void *object = load_object();
        refresh_snapshot();
        dlclose(object);
        refresh_snapshot();
    }
    return (void *)(uintptr_t)round_count;
}

TEST(test_replaced_snapshots) {
    pthread_t thread;
    void *round_count;
    storm.count = storm.bad_count = 0;
    is_reloading_over = false;
    install(SIGPROF, walk_in_storm, SA_RESTART);
    assert_int_equal(pthread_create(&thread, NULL, reload_objects, NULL), 0);
    work_in_storm();
    __atomic_store_n(&is_reloading_over, true, __ATOMIC_RELEASE);
    assert_int_equal(pthread_join(thread, &round_count), 0);
    unwind_snapshot_reclaim();
    assert_true((uintptr_t)round_count >= 4);
    assert_true(storm.count >= STORM_COUNT);
    assert_int_equal(storm.bad_count, 0);
    assert_int_equal(recurse(3) > 0, 1);
}

/* ---- Walks at every instruction. The processor's trap flag interrupts after each instruction. A shadow stack
 * follows calls and returns, so the test knows exactly what the walk must find. ---- */

#if defined(__x86_64__)

enum { TRAP_FLAG = 0x100, SHADOW_COUNT_MAX = 256, BAD_COUNT_KEPT = 8 };

static struct {
    struct walked outer; /* the frames of step_through */
    struct {
        uint64_t place;
        uint64_t return_address;
    } shadow[SHADOW_COUNT_MAX];
    size_t shadow_count;
    uint64_t pc;
    uint64_t sp;
    uint32_t step_count;
    uint32_t deepest_count;
    uint32_t bad_count;
    uint64_t bad_pcs[BAD_COUNT_KEPT];
} stepping;

READS_STACK static uint64_t word_at(uint64_t address) { return *(const uint64_t *)(uintptr_t)address; }

static void follow(uint64_t pc, uint64_t sp) {
    while (stepping.shadow_count && stepping.shadow[stepping.shadow_count - 1].place < sp) stepping.shadow_count--;
    bool is_pushed = sp == stepping.sp - 8;
    uint64_t distance = is_pushed ? word_at(sp) - stepping.pc : 0;
    if (distance >= 2 && distance <= 15 && pc - stepping.pc > 15 && stepping.shadow_count < SHADOW_COUNT_MAX) {
        stepping.shadow[stepping.shadow_count].place = sp;
        stepping.shadow[stepping.shadow_count++].return_address = word_at(sp);
    }
    stepping.pc = pc;
    stepping.sp = sp;
    if (stepping.shadow_count > stepping.deepest_count) stepping.deepest_count = (uint32_t)stepping.shadow_count;
}

/* Returns whether the walk found the frames that were stepped into, followed by the callers of step_through. */
static bool is_as_followed(const struct walked *walked) {
    size_t count = stepping.shadow_count;
    if (!ends_like(walked, &stepping.outer)) return false;
    if (walked->count != 1 + count + stepping.outer.count - 1) return false;
    for (size_t i = 0; i < count; i++)
        if (walked->frames[1 + i].address != stepping.shadow[count - 1 - i].return_address ||
            walked->frames[i].stack_end != stepping.shadow[count - 1 - i].place + 8)
            return false;
    return walked->frames[0].address == stepping.pc;
}

static void step(int number, siginfo_t *info, void *context) {
    static struct walked walked;
    const ucontext_t *interrupted = context;
    follow((uint64_t)interrupted->uc_mcontext.gregs[REG_RIP], (uint64_t)interrupted->uc_mcontext.gregs[REG_RSP]);
    /* Inside step_through itself, inline assembly moves sp, which the unwind tables do not describe. */
    if (!stepping.shadow_count) return;
    walked.count = stack_walk(unwind_snapshot_current(), context, own_limits, walked.frames, FRAME_COUNT_MAX,
                              &walked.is_truncated);
    if (!is_as_followed(&walked)) {
        if (stepping.bad_count < BAD_COUNT_KEPT) stepping.bad_pcs[stepping.bad_count] = stepping.pc;
        stepping.bad_count++;
    }
    stepping.step_count++;
}

/* Moves sp below the red zone, so that pushing the flags does not overwrite it. */
#define SET_TRAP_FLAG(operation)                                                                              \
    __asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\t" operation "\n\tpopfq\n\tlea 128(%%rsp), %%rsp" :: \
                         : "memory", "cc")

FRAME static void step_through(void (*function)(void *), void *argument) {
    stepping.shadow_count = stepping.step_count = stepping.deepest_count = stepping.bad_count = 0;
    stepping.pc = stepping.sp = 0;
    WALK_HERE(&stepping.outer);
    SET_TRAP_FLAG("orq $0x100, (%%rsp)");
    function(argument);
    SET_TRAP_FLAG("andq $~0x100, (%%rsp)");
}

static void print_bad_steps(void) {
    for (uint32_t i = 0; i < stepping.bad_count && i < BAD_COUNT_KEPT; i++) {
        Dl_info symbol = {0};
        dladdr((void *)(uintptr_t)stepping.bad_pcs[i], &symbol);
        print_error("wrong at %s+%#lx of %s\n", symbol.dli_sname ? symbol.dli_sname : "?",
                    stepping.bad_pcs[i] - (uintptr_t)(symbol.dli_sname ? symbol.dli_saddr : symbol.dli_fbase),
                    symbol.dli_fname);
    }
}

static void recurse_stepped(void *context) { fibonacci(9); }

FRAME static int frame_of_each_kind(int depth, size_t bytes_count) {
    volatile char bytes[bytes_count];
    _Alignas(64) volatile char aligned[64];
    bytes[0] = aligned[0] = (char)depth;
    if (depth == 0) return bytes[0];
    return frame_of_each_kind(depth - 1, bytes_count + 5) + aligned[0];
}

static void frames_stepped(void *context) { frame_of_each_kind(9, 3); }

static void sort_stepped(void *context) {
    int values[24];
    for (int i = 0; i < 24; i++) values[i] = i * 7919 % 24;
    qsort(values, 24, sizeof values[0], compare_plain);
}

static void print_stepped(void *context) {
    char text[64];
    snprintf(text, sizeof text, "%.17g %s %-10d", 1.0 / 3, "text", 12);
}

static void allocate_stepped(void *context) {
    keep_reachable = realloc(keep_reachable, 3000);
    keep_reachable = realloc(keep_reachable, 20);
}

static void jump_stepped(void *context) {
    jmp_buf place;
    if (!setjmp(place)) longjmp(place, 1);
}

struct loaded_call {
    walked_function *function;
    struct walked_call call;
};

static void loaded_stepped(void *context) {
    struct loaded_call *loaded = context;
    loaded->function(&loaded->call, 3);
}

static void check_steps(void (*function)(void *), void *argument, uint32_t step_count_min, uint32_t depth_min) {
    step_through(function, argument);
    print_bad_steps();
    assert_int_equal(stepping.bad_count, 0);
    assert_true(stepping.step_count >= step_count_min);
    assert_true(stepping.deepest_count >= depth_min);
}

TEST(test_every_instruction) {
    install(SIGTRAP, step, 0);
    check_steps(recurse_stepped, NULL, 500, 8);
    check_steps(frames_stepped, NULL, 200, 10);
    check_steps(print_stepped, NULL, 500, 3);
    check_steps(allocate_stepped, NULL, 50, 2);
}

TEST(test_every_instruction_of_sorting) {
    install(SIGTRAP, step, 0);
    check_steps(sort_stepped, NULL, 1000, 4);
}

TEST(test_every_instruction_of_jumps) {
    install(SIGTRAP, step, 0);
    step_through(jump_stepped, NULL);
    /* For the last instructions of longjmp before its jump, the C library's unwind rules describe the target of the
     * jump. */
    assert_in_range(stepping.bad_count, 0, 20);
    assert_true(stepping.step_count > 60);
}

/* Steps through the stubs of the linkage table and through the code that binds a function at its first call. */
TEST(test_every_instruction_of_binding) {
    void *object = load_object();
    struct loaded_call loaded = {.function = find_walked(object), .call = {.compare = compare_plain}};
    refresh_snapshot();
    install(SIGTRAP, step, 0);
    check_steps(loaded_stepped, &loaded, 1000, 6);
    dlclose(object);
    refresh_snapshot();
    unwind_snapshot_reclaim();
}

/* Checks that the comparison above detects errors: without tables, frame pointers alone are not enough. */
TEST(test_every_instruction_without_tables) {
    unwind_snapshot_forget();
    install(SIGTRAP, step, 0);
    step_through(print_stepped, NULL);
    refresh_snapshot();
    assert_true(stepping.bad_count > 100);
}

#endif

/* ---- Frame pointers, on a stack between two pages that cannot be read. ---- */

struct made_stack {
    unsigned char *mapping;
    uint64_t *words;
    struct stack_limits limits;
};

enum { PAGE_BYTES = 65536, MADE_WORD_COUNT = PAGE_BYTES / 8 };

static void made_stack_init(struct made_stack *stack) {
    stack->mapping = mmap(NULL, 3 * PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(stack->mapping != MAP_FAILED);
    assert_int_equal(mprotect(stack->mapping + PAGE_BYTES, PAGE_BYTES, PROT_READ | PROT_WRITE), 0);
    stack->words = (uint64_t *)(void *)(stack->mapping + PAGE_BYTES);
    uint64_t low = (uintptr_t)stack->words;
    stack->limits = (struct stack_limits){.low = low, .high = low + PAGE_BYTES};
}

static void made_stack_fini(struct made_stack *stack) { munmap(stack->mapping, 3 * PAGE_BYTES); }

static ucontext_t made_context(uint64_t pc, uint64_t sp, uint64_t fp) {
    ucontext_t context;
    memset(&context, 0, sizeof context);
    context.uc_stack.ss_flags = SS_DISABLE;
#if defined(__x86_64__)
    context.uc_mcontext.gregs[REG_RIP] = (greg_t)pc;
    context.uc_mcontext.gregs[REG_RSP] = (greg_t)sp;
    context.uc_mcontext.gregs[REG_RBP] = (greg_t)fp;
#else
    context.uc_mcontext.pc = pc;
    context.uc_mcontext.sp = sp;
    context.uc_mcontext.regs[29] = fp;
#endif
    return context;
}

/* An address that is in no object. */
enum { CODE = 0x10000 };

static uint64_t place_of(const struct made_stack *stack, uint32_t word) { return (uintptr_t)&stack->words[word]; }

static void put_record(struct made_stack *stack, uint32_t word, uint64_t fp, uint64_t return_address) {
    stack->words[word] = fp;
    stack->words[word + 1] = return_address;
}

static void walk_made(const struct made_stack *stack, uint64_t fp, struct walked *walked) {
    ucontext_t context = made_context(CODE, place_of(stack, 4), fp);
    walked->count = stack_walk(unwind_snapshot_current(), &context, stack->limits, walked->frames, FRAME_COUNT_MAX,
                               &walked->is_truncated);
}

static void put_chain(struct made_stack *stack) {
    put_record(stack, 10, place_of(stack, 20), CODE + 1);
    put_record(stack, 20, place_of(stack, 30), CODE + 2);
    put_record(stack, 30, 0, 0);
}

TEST(test_frame_pointers) {
    struct made_stack stack;
    struct walked walked;
    made_stack_init(&stack);
    put_chain(&stack);
    walk_made(&stack, place_of(&stack, 10), &walked);
    assert_int_equal(walked.count, 3);
    assert_false(walked.is_truncated);
    assert_true(walked.frames[0].is_exact && !walked.frames[1].is_exact && !walked.frames[2].is_exact);
    for (uint32_t i = 0; i < 3; i++) assert_int_equal(walked.frames[i].address, CODE + i);
    assert_int_equal(walked.frames[0].stack_end, place_of(&stack, 12));
    assert_int_equal(walked.frames[1].stack_end, place_of(&stack, 22));
    assert_int_equal(walked.frames[2].stack_end, stack.limits.high);
    /* A walk without any tables. */
    ucontext_t context = made_context(CODE, place_of(&stack, 4), place_of(&stack, 10));
    assert_int_equal(stack_walk(NULL, &context, stack.limits, walked.frames, FRAME_COUNT_MAX, &walked.is_truncated), 3);
    /* The walk must not return more frames than fit. */
    for (size_t capacity = 0; capacity < 5; capacity++) {
        size_t count = stack_walk(NULL, &context, stack.limits, walked.frames, capacity, &walked.is_truncated);
        assert_int_equal(count, capacity < 3 ? capacity : 3);
        assert_int_equal(walked.is_truncated, capacity < 3);
    }
    made_stack_fini(&stack);
}

static void assert_cut(struct made_stack *stack, uint64_t fp, size_t expected_count) {
    struct walked walked;
    walk_made(stack, fp, &walked);
    assert_true(walked.is_truncated);
    assert_int_equal(walked.count, expected_count);
    assert_int_equal(walked.frames[0].address, CODE);
}

TEST(test_broken_frame_pointers) {
    struct made_stack stack;
    made_stack_init(&stack);
    put_chain(&stack);
    assert_cut(&stack, 0, 1);
    assert_cut(&stack, 1, 1);
    assert_cut(&stack, UINT64_MAX, 1);
    assert_cut(&stack, UINT64_MAX - 7, 1);
    assert_cut(&stack, place_of(&stack, 3), 1); /* below sp */
    assert_cut(&stack, place_of(&stack, 10) + 4, 1);
    assert_cut(&stack, stack.limits.high, 1);
    assert_cut(&stack, stack.limits.high - 8, 1);
    assert_cut(&stack, stack.limits.low - 8, 1);
    /* The second frame record is bad: it does not grow, is outside of the stack, or has an invalid return address. */
    put_record(&stack, 20, place_of(&stack, 20), CODE + 2);
    assert_cut(&stack, place_of(&stack, 10), 3);
    put_record(&stack, 20, place_of(&stack, 10), CODE + 2);
    assert_cut(&stack, place_of(&stack, 10), 3);
    put_record(&stack, 20, stack.limits.high, CODE + 2);
    assert_cut(&stack, place_of(&stack, 10), 3);
    put_record(&stack, 20, place_of(&stack, 30), 12);
    assert_cut(&stack, place_of(&stack, 10), 2);
    /* A frame record in the last words of the stack. */
    put_record(&stack, MADE_WORD_COUNT - 2, 0, CODE + 3);
    assert_cut(&stack, place_of(&stack, MADE_WORD_COUNT - 2), 2);
    stack.limits.high -= 4;
    assert_cut(&stack, place_of(&stack, MADE_WORD_COUNT - 2), 1);
    made_stack_fini(&stack);
}

#if defined(__x86_64__)

/* Python -X perf calls each of its functions by code whose frame is one word, which leaves the frame pointer as it is.
 */
TEST(test_frame_of_a_word) {
    struct made_stack stack;
    struct walked walked;
    uint64_t caller = (uintptr_t)walk_made + 1;
    made_stack_init(&stack);
    put_record(&stack, 10, 0xdead, CODE + 1);
    stack.words[13] = caller;
    walk_made(&stack, place_of(&stack, 10), &walked);
    assert_true(walked.count >= 3);
    assert_int_equal(walked.frames[1].address, CODE + 1);
    assert_int_equal(walked.frames[2].address, caller);
    assert_false(walked.frames[2].is_exact);
    assert_int_equal(walked.frames[1].stack_end, place_of(&stack, 14));
    /* Only code with a rule can be the caller, and only code that calls has such a frame. */
    stack.words[13] = CODE + 2;
    assert_cut(&stack, place_of(&stack, 10), 2);
    stack.words[5] = caller;
    assert_cut(&stack, 0xdead, 1);
    made_stack_fini(&stack);
}

#endif

TEST(test_unknown_stack) {
    struct made_stack stack;
    struct walked walked;
    made_stack_init(&stack);
    put_chain(&stack);
    ucontext_t context = made_context(CODE, place_of(&stack, 4), place_of(&stack, 10));
    /* An old list may still have another mapping at this address. */
    mappings_forget();
    const struct stack_limits limits[] = {{0}, own_limits, {place_of(&stack, 5), stack.limits.high}};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        assert_int_equal(stack_walk(NULL, &context, limits[i], walked.frames, FRAME_COUNT_MAX, &walked.is_truncated),
                         1);
        assert_true(walked.is_truncated);
        assert_int_equal(walked.frames[0].stack_end, place_of(&stack, 4));
    }
    mappings_read(NULL);
    made_stack_fini(&stack);
}

/* Returns a random value: one that is typical of stacks and registers, or one that is not. */
static uint64_t random_value(struct random_numbers *random, const struct made_stack *stack) {
    uint64_t of_object = (uintptr_t)qsort, of_program = (uintptr_t)walk_made;
    switch (random_below(random, 8)) {
        case 0: return random_next(random);
        case 1: return stack->limits.high - random_below(random, 64);
        case 2: return stack->limits.low + random_below(random, PAGE_BYTES);
        case 3: return of_program + random_below(random, 0x2000);
        case 4: return random_below(random, 32);
        case 5: return of_object - 0x20000 + random_below(random, 0x80000);
        default: return stack->limits.low + 8 * (uint64_t)random_below(random, MADE_WORD_COUNT);
    }
}

TEST(test_garbage) {
    struct made_stack stack;
    struct random_numbers random = {7};
    size_t deepest = 0;
    made_stack_init(&stack);
    /* Threads never run on unmapped memory. But random values may point to mappings that an old list still has, so
     * read the list again. */
    mappings_read(NULL);
    for (uint32_t round = 0; round < 200000; round++) {
        if (round % 100 == 0)
            for (uint32_t i = 0; i < MADE_WORD_COUNT; i++) stack.words[i] = random_value(&random, &stack);
        ucontext_t context = made_context(random_value(&random, &stack), 0, random_value(&random, &stack));
#if defined(__x86_64__)
        for (int i = 0; i < 16; i++)
            if (i != REG_RIP) context.uc_mcontext.gregs[i] = (greg_t)random_value(&random, &stack);
#else
        for (int i = 0; i < 31; i++) context.uc_mcontext.regs[i] = random_value(&random, &stack);
        context.uc_mcontext.sp = random_value(&random, &stack);
#endif
        struct walked walked;
        walked.count = stack_walk(unwind_snapshot_current(), &context, stack.limits, walked.frames, FRAME_COUNT_MAX,
                                  &walked.is_truncated);
        assert_in_range(walked.count, 1, FRAME_COUNT_MAX);
        if (walked.count > deepest) deepest = walked.count;
    }
    assert_true(deepest > 3);
    made_stack_fini(&stack);
}

/* ---- Stacks that the program switches to by itself. ---- */

static ucontext_t coroutine, caller;
static struct walked in_coroutine;

static void run_coroutine(void) { WALK_HERE(&in_coroutine); }

static void enter_coroutine(void *stack, size_t bytes_count) {
    assert_int_equal(getcontext(&coroutine), 0);
    coroutine.uc_stack = (stack_t){.ss_sp = stack, .ss_size = bytes_count};
    coroutine.uc_link = &caller;
    makecontext(&coroutine, run_coroutine, 0);
    assert_int_equal(swapcontext(&caller, &coroutine), 0);
}

/* The function in which a context starts has no unwind rule that ends the stack. It must be the outermost frame. */
TEST(test_switched_stack) {
    enum { BYTES = 262144 };
    void *stack = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(stack != MAP_FAILED);
    mappings_forget();
    enter_coroutine(stack, BYTES);
    assert_true(in_coroutine.is_truncated);
    assert_int_equal(in_coroutine.count, 0);
    mappings_read(NULL);
    enter_coroutine(stack, BYTES);
    assert_false(in_coroutine.is_truncated);
    assert_int_equal(in_coroutine.count, 2);
    munmap(stack, BYTES);
}

/* ---- Finding the bounds of stacks. ---- */

TEST(test_first_stack) {
    uint64_t here = (uintptr_t)__builtin_frame_address(0);
    struct stack_limits limits, below;
    struct rlimit limit;
    assert_true(thread_stack_find(0, true, &limits));
    assert_true(limits.low <= here && here < limits.high);
    assert_true((uintptr_t)environ[0] < limits.high);
    assert_int_equal(limits.high % 4096, 0);
    /* The space into which the stack may still grow belongs to it. */
    assert_int_equal(getrlimit(RLIMIT_STACK, &limit), 0);
    if (limit.rlim_cur == RLIM_INFINITY) return;
    assert_true(mappings_find(limits.high - limit.rlim_cur / 2, &below));
    assert_memory_equal(&below, &limits, sizeof limits);
}

struct found_stack {
    struct stack_limits before, after; /* the limits before and after the mappings are read */
    uint64_t here;
};

static void *find_stack(void *context) {
    struct found_stack *found = context;
    found->here = (uintptr_t)__builtin_frame_address(0);
    mappings_forget();
    found->before = thread_stack_of_self(found->here);
    mappings_read(NULL);
    found->after = thread_stack_of_self(found->here);
    return NULL;
}

static struct found_stack find_stack_in_thread(const pthread_attr_t *attributes) {
    struct found_stack found = {0};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, attributes, find_stack, &found), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(found.before.low <= found.here && found.here < found.before.high);
    assert_true(found.after.low < found.here && found.here < found.after.high);
    assert_int_equal(found.before.high, found.after.high);
    return found;
}

TEST(test_stacks_of_threads) {
    enum { BYTES = 1 << 20, CONTROL_BLOCK_BYTES_MAX = 65536 };
    find_stack_in_thread(NULL);
    /* A stack that the program allocated itself. */
    void *stack = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_t attributes;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstack(&attributes, stack, BYTES), 0);
    struct found_stack found = find_stack_in_thread(&attributes);
    assert_in_range(found.after.high, (uintptr_t)stack + BYTES - CONTROL_BLOCK_BYTES_MAX, (uintptr_t)stack + BYTES);
    pthread_attr_destroy(&attributes);
    munmap(stack, BYTES);
}

TEST(test_addresses_of_no_stack) {
    struct made_stack stack;
    struct stack_limits limits;
    made_stack_init(&stack);
    mappings_read(NULL);
    assert_false(mappings_find(0, &limits));
    assert_false(mappings_find(UINT64_MAX, &limits));
    assert_false(mappings_find((uintptr_t)test_addresses_of_no_stack, &limits));
    assert_false(mappings_find(stack.limits.low - 1, &limits));
    assert_false(mappings_find(stack.limits.high, &limits));
    assert_true(mappings_find(stack.limits.high - 1, &limits));
    assert_memory_equal(&limits, &stack.limits, sizeof limits);
    made_stack_fini(&stack);
}

/* Copies of the list that a thread may still be reading stay until they are reclaimed. */
TEST(test_mappings_replaced) {
    struct stack_limits limits;
    uint32_t read_count = mappings_read_count();
    mappings_reclaim();
    assert_false(mappings_are_replaced());
    mappings_read(NULL);
    assert_true(mappings_are_replaced());
    assert_int_equal(mappings_read_count(), read_count + 1);
    mappings_reclaim();
    assert_false(mappings_are_replaced());
    assert_true(mappings_find((uintptr_t)&limits, &limits));
    /* The list is read again only if an address was looked up without success. */
    mappings_read_wanted(UINT64_MAX);
    assert_int_equal(mappings_read_count(), read_count + 1);
    assert_false(mappings_find(0, &limits));
    mappings_read_wanted(0);
    assert_int_equal(mappings_read_count(), read_count + 1);
    mappings_read_wanted(UINT64_MAX);
    assert_int_equal(mappings_read_count(), read_count + 2);
}

int main(void) { return unit_tests_run(set_up, tear_down); }
