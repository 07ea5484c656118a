/* Reads any bytes as a mapped file with call frame information, and walks stacks through it. */
#include <stdlib.h>
#include <string.h>

#include "checked_conversion.h"
#include "readers/unwind/unwinder.h"

enum { STACK_WORDS_MAX = 512, FRAMES_MAX = 64, WALKS_MAX = 96, MAPPED_BYTES = 1 << 20 };

static const uint64_t FILE_START = UINT64_C(0x7f0000000000), JIT_START = UINT64_C(0x7e0000000000),
                      STACK_START = UINT64_C(0x7fff00000000);

struct subject {
    struct unwinder *unwinder;
    struct unwind_process process;
    struct text bytes;
    uint64_t stack[STACK_WORDS_MAX];
    struct unwind_registers registers;
};

static bool find_mapping(void *context, uint64_t address, struct unwind_mapping *mapping) {
    bool is_file = address - FILE_START < MAPPED_BYTES;
    uint64_t start = is_file ? FILE_START : JIT_START;
    *mapping = (struct unwind_mapping){.start = start, .end = start + MAPPED_BYTES, .file = is_file ? context : NULL};
    return address - start < MAPPED_BYTES;
}

/* Returns a word that a walk can use: an address of code or of the stack, zero, or some of the bytes themselves. */
static uint64_t make_word(const struct text *bytes, size_t number) {
    uint64_t value = 0;
    size_t at = bytes->bytes_count - 1 - number * 4 % bytes->bytes_count;
    for (size_t i = 0; i < 8 && i <= at; i++) value = value << 8 | (unsigned char)bytes->bytes[at - i];
    switch (value % 5) {
        case 0: return FILE_START + value / 5 % 0x3000;
        case 1: return STACK_START + value / 5 % sizeof(((struct subject *)0)->stack) / 8 * 8;
        case 2: return JIT_START + value / 5 % 0x1000;
        case 3: return 0;
        default: return value;
    }
}

static size_t walk(struct subject *subject, struct unwound_frame *frames, enum unwind_end *end) {
    struct unwind_stack stack = {.start = STACK_START, .bytes = subject->stack, .bytes_count = sizeof subject->stack};
    memset(frames, 0, FRAMES_MAX * sizeof *frames);
    return unwinder_walk(subject->unwinder, &subject->process, &subject->registers, &stack, frames, FRAMES_MAX, end);
}

/* Walks twice. The second walk takes its rules from the cache. */
static void check_walk(struct subject *subject) {
    struct unwound_frame first[FRAMES_MAX], second[FRAMES_MAX];
    enum unwind_end first_end, second_end;
    size_t count = walk(subject, first, &first_end);
    FUZZ_CHECK(count >= 1 && count <= FRAMES_MAX, "%zu frames", count);
    FUZZ_CHECK(first[0].address == subject->registers.pc && first[0].is_exact, "first frame");
    FUZZ_CHECK((first_end == UNWIND_END_FRAMES_MAX) <= (count == FRAMES_MAX), "%zu frames", count);
    FUZZ_CHECK(walk(subject, second, &second_end) == count && first_end == second_end, "%zu frames", count);
    for (size_t i = 0; i < count; i++)
        FUZZ_CHECK(first[i].address == second[i].address && first[i].is_exact == second[i].is_exact, "frame %zu", i);
}

static void check_machine(struct text bytes, enum unwinder_machine machine) {
    struct failure failure = {0};
    struct unwinder_options options = {.machine = machine, .failure = &failure};
    struct subject subject = {.unwinder = unwinder_create(&options), .bytes = bytes};
    FUZZ_CHECK(subject.unwinder, "no memory");
    subject.process =
        (struct unwind_process){.find_mapping = find_mapping, .context = unwinder_add_bytes(subject.unwinder, bytes)};
    for (size_t i = 0; i < STACK_WORDS_MAX; i++) subject.stack[i] = make_word(&bytes, i);
    for (uint32_t i = 0; i < UNWIND_REGISTER_COUNT_MAX; i++) subject.registers.values[i] = make_word(&bytes, i * 3);
    subject.registers.values[machine == UNWINDER_X86_64 ? 7 : 31] = STACK_START;
    subject.registers.known = UINT32_MAX;
    for (uint64_t i = 0; i < WALKS_MAX; i++) {
        subject.registers.pc = FILE_START + i * 37;
        check_walk(&subject);
    }
    FUZZ_CHECK(!failure_is_set(&failure), "%s", failure.message);
    unwinder_destroy(subject.unwinder);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t bytes_count) {
    /* The copy has exactly the file's size, so that a sanitizer detects reads outside of it. */
    char *copy = bytes_count ? malloc(bytes_count) : NULL;
    if (!copy) return 0;
    memcpy(copy, bytes, bytes_count);
    check_machine((struct text){copy, bytes_count}, UNWINDER_X86_64);
    check_machine((struct text){copy, bytes_count}, UNWINDER_AARCH64);
    free(copy);
    return 0;
}
