/* Tests labels, script frames, and the samples that contain them. */
#include <stdio.h>
#include <stdlib.h>

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>

#include "tests/support/recorder_trace.h"
#include "tests/support/sanitizers.h"
#include "tests/support/unit_test.h"

static struct grec_options no_options;

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

/* Compares the samples of all threads with a text: one stack a line, thread by thread. */
static void assert_samples(const struct profile *profile, const char *expected) {
    struct profile_text *got = profile_text_create();
    for (size_t i = 0; i < profile->threads.count; i++) {
        const struct thread *thread = column_at(&profile->threads, i);
        int64_t last_ns = 0;
        for (size_t j = 0; j < samples_count(&thread->samples); j++) {
            int64_t time_ns = samples_at(&thread->samples, j)->time_ns;
            assert_true(time_ns >= last_ns);
            last_ns = time_ns;
            profile_text_add_stack(got, profile, samples_at(&thread->samples, j)->stack);
            profile_text_add(got, TEXT("\n"));
        }
    }
    assert_printed(got, expected);
}

static const struct thread *only_thread(const struct profile *profile) {
    assert_int_equal(profile->threads.count, 1);
    return column_at(&profile->threads, 0);
}

/* Returns a frame of a sample of the only thread. `above` is the distance from the innermost frame. */
static const struct frame *frame_of(const struct profile *profile, size_t sample, int above) {
    stack_id stack = samples_at(&only_thread(profile)->samples, sample)->stack;
    for (; above; above--) stack = profile_stack_at(profile, stack)->prefix;
    return profile_frame_at(profile, profile_stack_at(profile, stack)->frame);
}

static const char *file_of(const struct profile *profile, const struct frame *frame) {
    static char name[1024];
    const struct func *func = profile_func_at(profile, frame->func);
    if (source_is_none(func->source)) return NULL;
    struct text text = strings_text(&profile->strings, profile_source_at(profile, func->source)->filename);
    snprintf(name, sizeof name, "%.*s", (int)text.bytes_count, text.bytes);
    return name;
}

static struct text category_of(const struct profile *profile, const struct frame *frame) {
    return categories_at(&profile->categories, frame->category)->name;
}

static struct text subcategory_of(const struct profile *profile, const struct frame *frame) {
    return *category_subcategory_at(categories_at(&profile->categories, frame->category), frame->subcategory);
}

/* ---- Nesting. ---- */

static void recurse(int depth) {
    GREC_LABEL("recurse", NULL);
    if (depth) recurse(depth - 1);
    grec_sample();
}

static int leave_early(int where) {
    GREC_LABEL("function", NULL);
    for (int i = 0; i < 3; i++) {
        GREC_LABEL("loop", NULL);
        if (i == where) return i;
        if (i == 1) continue;
        grec_sample();
    }
    return -1;
}

TEST(test_nesting, set_up_folder, tear_down_folder) {
    start_recording(*state, "nesting.trace", no_options);
    grec_sample();
    {
        GREC_LABEL("outer", NULL);
        grec_sample();
        {
            GREC_LABEL("first", NULL);
            grec_sample();
        }
        {
            GREC_LABEL("second", NULL);
            grec_sample();
        }
        grec_sample();
    }
    grec_sample();
    recurse(2);
    grec_sample();
    leave_early(0);
    leave_early(2);
    leave_early(3);
    grec_sample();
    const struct recorded *recorded = stop_and_read_whole(*state, "nesting.trace");
    assert_samples(&recorded->profile,
                   "\n"
                   "outer\n"
                   "outer;first\n"
                   "outer;second\n"
                   "outer\n"
                   "\n"
                   "recurse;recurse;recurse\n"
                   "recurse;recurse\n"
                   "recurse\n"
                   "\n"
                   "function;loop\n"
                   "function;loop\n"
                   "function;loop\n"
                   "\n");
}

/* Pushes labels by hand, and pushes one struct at several levels. */
TEST(test_push_and_pop, set_up_folder, tear_down_folder) {
    static struct grec_label label = GREC_LABEL_AT("by hand", NULL, NULL, 0);
    start_recording(*state, "push.trace", no_options);
    grec_label_place first = grec_label_push(&label, NULL);
    grec_label_place second = grec_label_push(&label, "twice");
    assert_non_null(first);
    grec_sample();
    grec_label_pop(second);
    grec_sample();
    grec_label_pop(first);
    grec_sample();
    grec_label_pop(0);
    grec_sample();
    const struct recorded *recorded = stop_and_read_whole(*state, "push.trace");
    assert_samples(&recorded->profile, "by hand;by hand twice\nby hand\n\n\n");
}

/* ---- Texts, positions, categories. ---- */

TEST(test_texts, set_up_folder, tear_down_folder) {
    static struct grec_label nameless = GREC_LABEL_AT(NULL, NULL, NULL, 0);
    static char long_text[GREC_NAME_BYTES_MAX + 2], expected[2048];
    char changing[16] = "one";
    memset(long_text, 'l', GREC_NAME_BYTES_MAX + 1);
    start_recording(*state, "texts.trace", no_options);
    {
        GREC_LABEL_TEXT("text", NULL, changing);
        grec_sample();
        /* Label texts are borrowed: a sample has the text at the moment when it is taken. */
        strcpy(changing, "two");
        grec_sample();
    }
    {
        GREC_LABEL_TEXT("empty", NULL, "");
        grec_sample();
    }
    {
        GREC_LABEL_TEXT("none", NULL, NULL);
        grec_sample();
    }
    {
        GREC_LABEL_TEXT("", NULL, "text alone");
        grec_sample();
    }
    grec_label_place pushed = grec_label_push(&nameless, "of the nameless");
    grec_sample();
    grec_label_pop(pushed);
    pushed = grec_label_push(NULL, NULL);
    grec_sample();
    grec_label_pop(pushed);
    pushed = grec_label_push(NULL, "text");
    grec_sample();
    grec_label_pop(pushed);
    {
        GREC_LABEL_TEXT("not UTF-8", NULL, "\xff\t\xc3\xa9");
        grec_sample();
    }
    for (size_t cut = 0; cut < 3; cut++) {
        GREC_LABEL_TEXT("long", NULL, long_text + cut);
        grec_sample();
    }
    const struct recorded *recorded = stop_and_read(*state, "texts.trace");
    snprintf(expected, sizeof expected,
             "text one\ntext two\nempty\nnone\ntext alone\nof the nameless\n(unknown label)\n(unknown label) text\n"
             "not UTF-8 \\xff\t\xc3\xa9\nlong %.*s\nlong %.*s\nlong %.*s\n",
             GREC_NAME_BYTES_MAX, long_text, GREC_NAME_BYTES_MAX, long_text, GREC_NAME_BYTES_MAX - 1, long_text);
    assert_samples(&recorded->profile, expected);
    assert_int_equal(recorded->header.cut_text_count, 1);
    assert_int_equal(count_of_cause(&recorded->profile.ledger, LEDGER_LOST, "frame whose label"), 2);
    assert_int_equal(count_of_cause(&recorded->profile.ledger, LEDGER_LOST, ""), 2);
}

TEST(test_positions_and_categories, set_up_folder, tear_down_folder) {
    static struct grec_category category = GREC_CATEGORY("Serving", GREC_COLOR_BLUE);
    static struct grec_category subcategory = GREC_SUBCATEGORY("Reading", &category);
    static struct grec_label placed = GREC_LABEL_AT("placed", &subcategory, "src/server.c", 4711);
    static struct grec_label placeless = GREC_LABEL_AT("placeless", &category, NULL, 0);
    start_recording(*state, "positions.trace", no_options);
    grec_label_place outer = grec_label_push(&placed, NULL);
    grec_label_place middle = grec_label_push(&placed, "with a text");
    grec_label_place inner = grec_label_push(&placeless, NULL);
    grec_sample();
    grec_label_pop(inner);
    grec_label_pop(middle);
    grec_label_pop(outer);
    uint32_t line;
    {
        line = __LINE__ + 1;
        GREC_LABEL("here", NULL);
        grec_sample();
    }
    const struct recorded *recorded = stop_and_read_whole(*state, "positions.trace");
    const struct profile *profile = &recorded->profile;
    assert_samples(profile, "placed;placed with a text;placeless\nhere\n");
    for (int above = 1; above <= 2; above++) {
        const struct frame *frame = frame_of(profile, 0, above);
        assert_string_equal(file_of(profile, frame), "src/server.c");
        assert_int_equal(profile_func_at(profile, frame->func)->line, 4711);
        assert_int_equal(profile_func_at(profile, frame->func)->flags, 0);
        assert_int_equal(frame->line, 0);
        assert_true(text_equal(category_of(profile, frame), TEXT("Serving")));
        assert_true(text_equal(subcategory_of(profile, frame), TEXT("Reading")));
    }
    const struct frame *frame = frame_of(profile, 0, 0);
    assert_null(file_of(profile, frame));
    assert_int_equal(profile_func_at(profile, frame->func)->line, 0);
    assert_true(text_equal(category_of(profile, frame), TEXT("Serving")));
    assert_true(text_equal(subcategory_of(profile, frame), TEXT("Other")));
    frame = frame_of(profile, 1, 0);
    assert_string_equal(file_of(profile, frame), __FILE__);
    assert_int_equal(profile_func_at(profile, frame->func)->line, line);
    assert_true(text_equal(category_of(profile, frame), TEXT("Other")));
}

/* ---- Scripts. ---- */

TEST(test_scripts, set_up_folder, tear_down_folder) {
    static struct grec_category category = GREC_CATEGORY("JavaScript", GREC_COLOR_YELLOW);
    static struct grec_label script = GREC_LABEL_AT("interpreter", &category, "interpreter.c", 9);
    assert_null(grec_script_push(&script, "f", "f.js", 1, 1));
    start_recording(*state, "scripts.trace", no_options);
    grec_label_place outer = grec_script_push(&script, "main", "main.js", 10, 3);
    grec_label_place inner = grec_script_push(&script, "helper", "helper.js", 0, 0);
    grec_sample();
    grec_script_line(inner, 7, 21);
    grec_sample();
    grec_label_pop(inner);
    /* Scripts without a file, without a function, or without a label. */
    inner = grec_script_push(NULL, "no file", NULL, 5, 6);
    grec_label_place innermost = grec_script_push(&script, NULL, "nameless.js", 1, 0);
    grec_sample();
    grec_label_pop(innermost);
    grec_label_pop(inner);
    grec_script_line(outer, 11, 4);
    {
        GREC_LABEL("native", NULL);
        grec_sample();
    }
    grec_label_pop(outer);
    grec_script_line(0, 1, 1);
    grec_sample();
    const struct recorded *recorded = stop_and_read_whole(*state, "scripts.trace");
    const struct profile *profile = &recorded->profile;
    assert_samples(profile, "main;helper\nmain;helper\nmain;no file;\nmain;native\n\n");
    const struct {
        size_t sample;
        int above;
        uint32_t line, column;
        const char *file; /* NULL if the frame has none */
        struct text category;
    } expected[] = {
        {0, 1, 10, 3, "main.js", TEXT("JavaScript")},    {0, 0, 0, 0, "helper.js", TEXT("JavaScript")},
        {1, 0, 7, 21, "helper.js", TEXT("JavaScript")},  {2, 1, 5, 6, NULL, TEXT("JavaScript")},
        {2, 0, 1, 0, "nameless.js", TEXT("JavaScript")}, {3, 1, 11, 4, "main.js", TEXT("JavaScript")},
    };
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        const struct frame *frame = frame_of(profile, expected[i].sample, expected[i].above);
        assert_int_equal(frame->line, expected[i].line);
        assert_int_equal(frame->column, expected[i].column);
        assert_int_equal(profile_func_at(profile, frame->func)->flags, FUNC_IS_JS);
        assert_true(text_equal(category_of(profile, frame), expected[i].category));
        if (expected[i].file)
            assert_string_equal(file_of(profile, frame), expected[i].file);
        else
            assert_null(file_of(profile, frame));
    }
    /* A function is the same one at any line. */
    assert_true(frame_of(profile, 0, 1)->func.index == frame_of(profile, 3, 1)->func.index);
}

/* ---- Labels beyond the maximum depth. ---- */

/* A script's frame takes the room of two labels. */
static void check_depth(const struct temp_folder *folder, uint32_t depth_max, bool are_scripts) {
    enum { BEYOND = 5, COUNT_MAX = GREC_LABEL_DEPTH_MAX + BEYOND };
    static struct grec_label labels[COUNT_MAX];
    static char names[COUNT_MAX][8];
    grec_label_place pushed[COUNT_MAX];
    uint32_t count = depth_max + BEYOND;
    start_recording(folder, "depth.trace", no_options);
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < count; i++) {
            snprintf(names[i], sizeof names[i], "l%u", i);
            labels[i].name = names[i];
            pushed[i] =
                are_scripts ? grec_script_push(&labels[i], names[i], NULL, 1, 1) : grec_label_push(&labels[i], NULL);
            if (are_scripts) grec_script_line(pushed[i], i + 100, 2);
            if (i >= depth_max - 2) grec_sample();
        }
        for (uint32_t i = count; i-- > 0;) {
            grec_label_pop(pushed[i]);
            if (i >= depth_max - 2) grec_sample();
        }
        grec_sample();
    }
    const struct recorded *recorded = stop_and_read_whole(folder, "depth.trace");
    const struct profile *profile = &recorded->profile;
    const struct thread *thread = only_thread(profile);
    size_t row = 0;
    for (int round = 0; round < 2; round++) {
        for (uint32_t depth = depth_max - 1; depth <= count; depth++, row++) {
            uint32_t expected = depth < depth_max ? depth : depth_max;
            stack_id stack = samples_at(&thread->samples, row)->stack;
            assert_int_equal(stack_depth(profile, stack), expected);
            for (uint32_t i = expected; i > 0; i--) {
                char name[8];
                const struct stack *at = profile_stack_at(profile, stack);
                snprintf(name, sizeof name, "l%u", i - 1);
                assert_true(text_equal(frame_func_name(profile, at->frame), text_of(name)));
                assert_int_equal(profile_frame_at(profile, at->frame)->line, are_scripts ? i - 1 + 100 : 0);
                stack = at->prefix;
            }
        }
        for (uint32_t depth = count; depth-- > depth_max - 2; row++) {
            uint32_t expected = depth < depth_max ? depth : depth_max;
            assert_int_equal(stack_depth(profile, samples_at(&thread->samples, row)->stack), expected);
        }
        assert_true(stack_is_none(samples_at(&thread->samples, row++)->stack));
    }
    assert_int_equal(samples_count(&thread->samples), row);
}

TEST(test_depth, set_up_folder, tear_down_folder) {
    check_depth(*state, GREC_LABEL_DEPTH_MAX, false);
    check_depth(*state, GREC_LABEL_DEPTH_MAX / 2, true);
}

/* If the texts of a stack do not fit into a block together, the trace has the outer frames, and the missing frames
 * are counted. */
TEST(test_more_than_a_block, set_up_folder, tear_down_folder) {
    enum { DEPTH = 20, TEXT_BYTES = 300, CHUNK_BYTES = 4096 };
    static struct grec_label label = GREC_LABEL_AT("deep", NULL, NULL, 0);
    static char text[TEXT_BYTES + 1];
    grec_label_place pushed[DEPTH];
    memset(text, 't', TEXT_BYTES);
    start_recording(*state, "block.trace", (struct grec_options){.chunk_bytes = CHUNK_BYTES, .limit_bytes = 1 << 20});
    for (int i = 0; i < DEPTH; i++) pushed[i] = grec_label_push(&label, text);
    grec_sample();
    static struct grec_backtrace backtrace;
    grec_take_backtrace(&backtrace);
    grec_add_named_marker("with stack", NULL, NULL, &(struct grec_marker_options){.with_stack = 1}, NULL, 0);
    for (int i = DEPTH - 1; i >= 0; i--) grec_label_pop(pushed[i]);
    GREC_INSTANT("behind", NULL);
    struct grec_status status;
    grec_get_status(&status);
    const struct recorded *recorded = stop_and_read_whole(*state, "block.trace");
    const struct profile *profile = &recorded->profile;
    stack_id stack = samples_at(&only_thread(profile)->samples, 0)->stack;
    /* A block may use half of a chunk. A stack that accompanies a payload may use half of that. */
    assert_in_range(stack_depth(profile, stack), CHUNK_BYTES / 2 / (TEXT_BYTES + 30) - 1, CHUNK_BYTES / 2 / TEXT_BYTES);
    assert_in_range(stack_depth(profile, find_marker(profile, "with stack", NULL)->stack),
                    CHUNK_BYTES / 4 / (TEXT_BYTES + 50) - 1, CHUNK_BYTES / 4 / TEXT_BYTES);
    assert_int_equal(count_markers(profile, "behind"), 1);
    assert_int_equal(status.texts_cut, 3);
}

/* ---- Pauses, stops and other options. ---- */

TEST(test_pause, set_up_folder, tear_down_folder) {
    start_recording(*state, "pause.trace", no_options);
    {
        GREC_LABEL("from before", NULL);
        grec_pause();
        grec_sample();
        {
            GREC_LABEL("within", NULL);
            grec_sample();
        }
        {
            GREC_LABEL("until after", NULL);
            grec_resume();
            grec_sample();
        }
        grec_sample();
        {
            GREC_LABEL("over", NULL);
            grec_pause();
            grec_resume();
            grec_sample();
        }
        grec_pause();
    }
    grec_resume();
    grec_sample();
    const struct recorded *recorded = stop_and_read_whole(*state, "pause.trace");
    assert_samples(&recorded->profile, "from before;until after\nfrom before\nfrom before;over\n\n");
}

TEST(test_start_and_stop, set_up_folder, tear_down_folder) {
    const struct recorded *recorded;
    {
        /* This label was pushed before the start, so the recording has no frame for it. Its pop must not remove
         * another label's frame. */
        GREC_LABEL("before", NULL);
        start_recording(*state, "first.trace", no_options);
        GREC_LABEL("inside", NULL);
        grec_sample();
        {
            GREC_LABEL("stopped within", NULL);
            grec_sample();
            recorded = stop_and_read_whole(*state, "first.trace");
            assert_samples(&recorded->profile, "inside\ninside;stopped within\n");
            GREC_LABEL("between recordings", NULL);
            grec_sample();
        }
        {
            GREC_LABEL("between again", NULL);
            start_recording(*state, "second.trace", no_options);
            /* Labels that were pushed before the stop are still open. */
            grec_sample();
            GREC_LABEL("second", NULL);
            grec_sample();
        }
        grec_sample();
    }
    grec_sample();
    recorded = stop_and_read_whole(*state, "second.trace");
    assert_samples(&recorded->profile, "inside\ninside;second\ninside\n\n");
}

/* Open labels stay open when a recording continues under other options in another file. */
TEST(test_hand_over, set_up_folder, tear_down_folder) {
    start_recording(*state, NULL, (struct grec_options){.storage = GREC_STORAGE_MEMORY});
    {
        GREC_LABEL("outer", NULL);
        GREC_LABEL_TEXT("in memory", NULL, "text");
        grec_sample();
        start_recording(*state, "file.trace", (struct grec_options){.limit_bytes = 8u << 20});
        grec_sample();
        GREC_LABEL("in the file", NULL);
        start_recording(*state, "renamed.trace", (struct grec_options){.threads = ""});
        grec_sample();
    }
    grec_sample();
    const struct recorded *recorded = stop_and_read_whole(*state, "renamed.trace");
    assert_samples(&recorded->profile,
                   "outer;in memory text\nouter;in memory text\nouter;in memory text;in the file\n\n");
}

/* ---- Threads. ---- */

enum { THREAD_COUNT = 4, ROUND_COUNT = 2000 };

static void *sample_its_own(void *argument) {
    const char *name = argument;
    grec_thread_register(name);
    for (int i = 0; i < ROUND_COUNT; i++) {
        GREC_LABEL_TEXT("thread", NULL, name);
        if (i % 2) {
            GREC_LABEL("odd", NULL);
            grec_sample();
        } else {
            grec_sample();
        }
    }
    return NULL;
}

TEST(test_threads, set_up_folder, tear_down_folder) {
    static char names[THREAD_COUNT][16];
    pthread_t threads[THREAD_COUNT];
    GREC_LABEL("the main thread's, from before", NULL);
    start_recording(*state, "threads.trace", no_options);
    GREC_LABEL("the main thread's", NULL);
    for (int i = 0; i < THREAD_COUNT; i++) {
        snprintf(names[i], sizeof names[i], "t%d", i);
        assert_int_equal(pthread_create(&threads[i], NULL, sample_its_own, names[i]), 0);
    }
    for (int i = 0; i < THREAD_COUNT; i++) pthread_join(threads[i], NULL);
    const struct recorded *recorded = stop_and_read_whole(*state, "threads.trace");
    for (int i = 0; i < THREAD_COUNT; i++) {
        const struct thread *thread = find_thread(&recorded->profile, names[i]);
        assert_non_null(thread);
        assert_int_equal(samples_count(&thread->samples), ROUND_COUNT);
        for (size_t j = 0; j < ROUND_COUNT; j++) {
            char expected[32];
            snprintf(expected, sizeof expected, "thread %s%s", names[i], j % 2 ? ";odd" : "");
            assert_stack(&recorded->profile, samples_at(&thread->samples, j)->stack, expected);
            assert_int_equal(samples_at(&thread->samples, j)->weight, 1);
        }
    }
    assert_int_equal(count_of_cause(&recorded->profile.ledger, LEDGER_KEPT, "sample"), THREAD_COUNT * ROUND_COUNT);
}

/* Ends a thread with labels still pushed. The next thread must not inherit them. */
static void *leave_labels_open(void *argument) {
    static struct grec_label label = GREC_LABEL_AT("left open", NULL, NULL, 0);
    grec_sample();
    for (int i = 0; i < 3; i++) grec_label_push(&label, NULL);
    grec_sample();
    return argument;
}

TEST(test_labels_left_open, set_up_folder, tear_down_folder) {
    start_recording(*state, "open.trace", no_options);
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, leave_labels_open, NULL), 0);
        pthread_join(thread, NULL);
    }
    const struct recorded *recorded = stop_and_read_whole(*state, "open.trace");
    assert_samples(&recorded->profile, "\nleft open;left open;left open\n\nleft open;left open;left open\n");
}

/* ---- Functions that longjmp leaves. ---- */

/* Put this after a function's last call, so that the compiler does not turn the call into a jump. */
#define NOT_THE_LAST_THING() __asm__ volatile("" ::: "memory")

static jmp_buf caught;

__attribute__((noinline)) static void fail_within(void) {
    GREC_LABEL("fails", NULL);
    {
        GREC_LABEL("deeper", NULL);
        longjmp(caught, 1);
    }
}

__attribute__((noinline)) static void sample_within(void) {
    GREC_LABEL("after", NULL);
    grec_sample();
    NOT_THE_LAST_THING();
}

__attribute__((noinline)) static void sample_deep_within(int depth) {
    char room[200];
    room[0] = (char)depth;
    __asm__ volatile("" : : "r"(room) : "memory");
    if (depth) {
        sample_deep_within(depth - 1);
    } else {
        GREC_LABEL("deep after", NULL);
        grec_sample();
    }
    NOT_THE_LAST_THING();
}

/* The labels of a function that longjmp has left are gone, for samples and for later labels, at any depth. */
TEST(test_longjmp, set_up_folder, tear_down_folder) {
    enum { JUMP_COUNT = 3 * GREC_LABEL_DEPTH_MAX };
    start_recording(*state, "jumps.trace", no_options);
    {
        GREC_LABEL("main", NULL);
        if (!setjmp(caught)) fail_within();
        grec_sample();
        sample_deep_within(8);
        for (volatile int i = 0; i < JUMP_COUNT; i++)
            if (!setjmp(caught)) fail_within();
        grec_sample();
        sample_within();
    }
    grec_sample();
    const struct recorded *recorded = stop_and_read_whole(*state, "jumps.trace");
    assert_samples(&recorded->profile, "main\nmain;deep after\nmain\nmain;after\n\n");
}

/* A function may catch its own jump, and have labels of its own before and after. */
TEST(test_longjmp_within_a_function, set_up_folder, tear_down_folder) {
    volatile int count = 0;
    start_recording(*state, "jumps.trace", no_options);
    {
        GREC_LABEL("before", NULL);
        setjmp(caught);
        {
            GREC_LABEL("within", NULL);
            grec_sample();
            if (count++ < 2) longjmp(caught, 1);
        }
        grec_sample();
    }
    const struct recorded *recorded = stop_and_read(*state, "jumps.trace");
    assert_samples(&recorded->profile, "before;within\nbefore;within\nbefore;within\nbefore\n");
}

/* ---- Coroutines. ---- */

/* Sanitizers do not know that the stack changes. */
static void skip_coroutines_under_sanitizers(void) {
    if (IS_SANITIZED) skip();
}

enum { COROUTINE_COUNT = 3, COROUTINE_BYTES = 64 * 1024 };

static ucontext_t scheduler, coroutines[COROUTINE_COUNT];
static char coroutine_stacks[COROUTINE_COUNT][COROUTINE_BYTES];

static void yield_from(int number) { swapcontext(&coroutines[number], &scheduler); }
static void resume(int number) { swapcontext(&scheduler, &coroutines[number]); }

static void run_coroutine(int number) {
    static const char *const texts[COROUTINE_COUNT] = {"one", "two", "three"};
    GREC_LABEL_TEXT("coroutine", NULL, texts[number]);
    grec_sample();
    yield_from(number);
    {
        GREC_LABEL("again", NULL);
        grec_sample();
        yield_from(number);
    }
    grec_sample();
    yield_from(number);
}

static void start_coroutine(int number) {
    ucontext_t *context = &coroutines[number];
    assert_int_equal(getcontext(context), 0);
    context->uc_stack = (stack_t){.ss_sp = coroutine_stacks[number], .ss_size = COROUTINE_BYTES};
    context->uc_link = &scheduler;
    makecontext(context, (void (*)(void))run_coroutine, 1, number);
}

/* Each coroutine, and the thread itself, has only its own labels, in whatever order they are pushed and popped. */
TEST(test_coroutines, set_up_folder, tear_down_folder) {
    skip_coroutines_under_sanitizers();
    start_recording(*state, "coroutines.trace", no_options);
    for (int i = 0; i < COROUTINE_COUNT; i++) start_coroutine(i);
    {
        GREC_LABEL("main", NULL);
        for (int i = 0; i < COROUTINE_COUNT; i++) resume(i);
        sample_within();
        resume(1);
        resume(0);
        {
            GREC_LABEL("elsewhere", NULL);
            resume(0);
            grec_sample();
            resume(2);
        }
        resume(1);
        resume(2);
        grec_sample();
        for (int i = 0; i < COROUTINE_COUNT; i++) resume(i);
        grec_sample();
    }
    grec_sample();
    const struct recorded *recorded = stop_and_read_whole(*state, "coroutines.trace");
    assert_samples(&recorded->profile,
                   "coroutine one\ncoroutine two\ncoroutine three\nmain;after\n"
                   "coroutine two;again\ncoroutine one;again\ncoroutine one\nmain;elsewhere\ncoroutine three;again\n"
                   "coroutine two\ncoroutine three\nmain\nmain\n\n");
}

static void enter_and_stay(void) {
    GREC_LABEL("stays", NULL);
    swapcontext(&coroutines[0], &scheduler);
}

/* If coroutines end within their labels, the thread still has room for others. */
TEST(test_coroutines_that_end, set_up_folder, tear_down_folder) {
    enum { ENDED_COUNT = 2 * GREC_LABEL_DEPTH_MAX, ROOM_BYTES = 16 * 1024 };
    skip_coroutines_under_sanitizers();
    char *room = malloc((size_t)ENDED_COUNT * ROOM_BYTES);
    assert_non_null(room);
    start_recording(*state, "coroutines.trace", no_options);
    for (size_t i = 0; i < ENDED_COUNT; i++) {
        assert_int_equal(getcontext(&coroutines[0]), 0);
        coroutines[0].uc_stack = (stack_t){.ss_sp = room + i * ROOM_BYTES, .ss_size = ROOM_BYTES};
        makecontext(&coroutines[0], enter_and_stay, 0);
        resume(0);
    }
    start_coroutine(1);
    resume(1);
    sample_within();
    const struct recorded *recorded = stop_and_read_whole(*state, "coroutines.trace");
    assert_samples(&recorded->profile, "coroutine two\nafter\n");
    free(room);
}

static void sample_in_handler(int number) {
    GREC_LABEL("handler", NULL);
    grec_sample();
}

/* A handler on an alternate stack interrupts the labels of the thread's own stack. */
TEST(test_alternate_stack, set_up_folder, tear_down_folder) {
    static char room[64 * 1024];
    stack_t alternate = {.ss_sp = room, .ss_size = sizeof room}, before;
    struct sigaction action = {.sa_handler = sample_in_handler, .sa_flags = SA_ONSTACK}, action_before;
    start_recording(*state, "alternate.trace", no_options);
    assert_int_equal(sigaltstack(&alternate, &before), 0);
    assert_int_equal(sigaction(SIGUSR1, &action, &action_before), 0);
    {
        GREC_LABEL("interrupted", NULL);
        raise(SIGUSR1);
        grec_sample();
    }
    assert_int_equal(sigaction(SIGUSR1, &action_before, NULL), 0);
    assert_int_equal(sigaltstack(&before, NULL), 0);
    const struct recorded *recorded = stop_and_read(*state, "alternate.trace");
    assert_samples(&recorded->profile, "interrupted;handler\ninterrupted\n");
}

int main(void) { return unit_tests_run(NULL, NULL); }
