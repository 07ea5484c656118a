/* Tests the frame depth that is found from machine code. Compares it with the unwind tables for functions that the
 * compiler made without frame pointers, and checks it for hand-written code. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dlfcn.h>
#include <link.h>

#include "recorder/unwind/frame_depth.h"
#include "recorder/unwind/unwind_table.h"
#include "tests/support/random_numbers.h"
#include "tests/support/unit_test.h"

#if defined(__x86_64__)

/* ---- Comparison with the unwind tables. ---- */

/* Entries of functions. Calls never target the parts that a compiler has split off a function, and the tables of
 * these parts begin in the middle of the function. */
struct entries {
    uint64_t *all;
    size_t count;
    size_t capacity;
};

struct comparison {
    const struct unwind_snapshot *snapshot;
    struct entries called; /* functions that are called, sorted once all are known */
    uint32_t call_count;   /* calls whose depth by the code is that of the tables */
    uint32_t unknown_count;
    uint32_t framed_count; /* calls in functions with frame pointers */
    uint32_t found_count;  /* calls among these where the frame pointer is found */
};

enum { CALL_BYTES = 5, FUNCTION_BYTES_MAX = 8192 };

/* Returns the target of the call instruction at `code`, or 0 if there is no call. `code` may point to any byte; the
 * byte 0xe8 counts as a call only if the target is the start of a function. */
static uint64_t called_by(const struct unwind_snapshot *snapshot, const unsigned char *code) {
    int32_t distance;
    uint64_t start, end;
    memcpy(&distance, code + 1, sizeof distance);
    uint64_t target = (uint64_t)(uintptr_t)code + CALL_BYTES + (uint64_t)(int64_t)distance;
    bool is_function = *code == 0xe8 && unwind_snapshot_find_function(snapshot, target, &start, &end);
    return is_function && target == start ? target : 0;
}

static void add_entry(struct entries *entries, uint64_t entry) {
    if (entries->count == entries->capacity) {
        entries->capacity = entries->capacity * 2 + 1024;
        entries->all = realloc(entries->all, entries->capacity * sizeof *entries->all);
        assert_non_null(entries->all);
    }
    entries->all[entries->count++] = entry;
}

static int compare_entries(const void *left, const void *right) {
    const uint64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

static void add_calls(struct comparison *all, uint64_t start, uint64_t end) {
    const unsigned char *code = (const unsigned char *)(uintptr_t)start;
    for (uint64_t i = 0; i + CALL_BYTES <= end - start; i++) {
        uint64_t target = called_by(all->snapshot, code + i);
        if (target) add_entry(&all->called, target);
    }
}

static void compare_call(struct comparison *all, uint64_t start, uint64_t function_end, uint64_t end) {
    struct unwind_rule rule;
    struct frame_depth depth = {0, 0};
    bool is_found = frame_depth_find((const unsigned char *)(uintptr_t)start, (uint32_t)(function_end - start),
                                     (uint32_t)(end - start), &depth);
    if (!unwind_snapshot_find(all->snapshot, end - 1, &rule) || rule.cfa_kind != UNWIND_CFA_REGISTER) return;
    if (rule.cfa_register == UNWIND_SP) {
        all->call_count += is_found;
        all->unknown_count += !is_found;
        if (is_found && depth.sp_bytes != (uint32_t)rule.cfa_offset)
            fail_msg("0x%llx: %u bytes, the tables say %d", (unsigned long long)end, depth.sp_bytes, rule.cfa_offset);
    } else if (rule.cfa_register == UNWIND_FP) {
        all->framed_count++;
        all->found_count += is_found && depth.fp_bytes == (uint32_t)rule.cfa_offset;
    }
}

/* Compares a few calls of each function, so that a large object does not take long. */
static void compare_function(struct comparison *all, uint64_t start, uint64_t end) {
    enum { CALL_COUNT_MAX = 4 };
    const unsigned char *code = (const unsigned char *)(uintptr_t)start;
    int count = 0;
    if (!bsearch(&start, all->called.all, all->called.count, sizeof start, compare_entries)) return;
    for (uint64_t i = 0; i + CALL_BYTES <= end - start && count < CALL_COUNT_MAX; i++) {
        if (!called_by(all->snapshot, code + i)) continue;
        count++;
        compare_call(all, start, end, start + i + CALL_BYTES);
    }
}

struct pass {
    struct comparison *all;
    void (*visit)(struct comparison *all, uint64_t start, uint64_t end);
};

static int visit_object(struct dl_phdr_info *object, size_t bytes_count, void *context) {
    const struct pass *pass = context;
    /* This program has no name. Its code, and that of sanitizers, depends on the flavour of the build. */
    if (!*object->dlpi_name || strstr(object->dlpi_name, "san.so")) return 0;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &object->dlpi_phdr[i];
        if (header->p_type != PT_LOAD || !(header->p_flags & PF_X)) continue;
        uint64_t at = object->dlpi_addr + header->p_vaddr, stop = at + header->p_memsz, start, end;
        while (at < stop) {
            bool is_function = unwind_snapshot_find_function(pass->all->snapshot, at, &start, &end);
            if (is_function && end - start <= FUNCTION_BYTES_MAX) pass->visit(pass->all, start, end);
            at = is_function ? end : at + 1;
        }
    }
    return 0;
}

/* Compares the whole C library and a large library with everything that it needs. */
TEST(test_beside_tables) {
    void *library = dlopen("libarchive.so.13", RTLD_NOW);
    assert_non_null(library);
    unwind_snapshot_refresh();
    unwind_snapshot_want_all();
    unwind_snapshot_build_wanted();
    struct comparison all = {.snapshot = unwind_snapshot_current()};
    assert_non_null(all.snapshot);
    dl_iterate_phdr(visit_object, &(struct pass){&all, add_calls});
    qsort(all.called.all, all.called.count, sizeof *all.called.all, compare_entries);
    dl_iterate_phdr(visit_object, &(struct pass){&all, compare_function});
    free(all.called.all);
    unwind_snapshot_forget();
    if (all.call_count < 1000 || all.unknown_count * 10 > all.call_count || all.found_count * 2 < all.framed_count)
        fail_msg("%u calls, %u not known; %u with frame pointers, %u known", all.call_count, all.unknown_count,
                 all.framed_count, all.found_count);
    dlclose(library);
}

/* ---- Hand-written code. ---- */

struct span {
    const unsigned char *bytes;
    uint32_t count;
};
#define SPAN(text) ((struct span){(const unsigned char *)text, sizeof text - 1})

static void assert_depth(struct span code, uint32_t end, uint32_t sp_bytes, uint32_t fp_bytes) {
    struct frame_depth depth = {0, 0};
    assert_true(frame_depth_find(code.bytes, code.count, end, &depth));
    assert_int_equal(depth.sp_bytes, sp_bytes);
    assert_int_equal(depth.fp_bytes, fp_bytes);
}

static void assert_unknown(struct span code, uint32_t end) {
    struct frame_depth depth;
    assert_false(frame_depth_find(code.bytes, code.count, end, &depth));
}

#define FRAME  "\x55\x48\x89\xe5"     /* push rbp; mov rbp, rsp */
#define CALL   "\xe8\x40\x00\x00\x00" /* call of another function */
#define RETURN "\xc3"

TEST(test_frames) {
    assert_depth(SPAN(CALL RETURN), 5, 8, FRAME_DEPTH_UNKNOWN);
    assert_depth(SPAN(FRAME "\x48\x83\xec\x20" CALL "\xc9" RETURN), 13, 48, 16);
    assert_depth(SPAN(FRAME "\x48\x81\xec\x00\x10\x00\x00" CALL "\xc9" RETURN), 16, 16 + 4096, 16);
    assert_depth(SPAN(FRAME "\x41\x57\x53" CALL), 12, 32, 16);           /* push r15; push rbx */
    assert_depth(SPAN("\xf3\x0f\x1e\xfa" FRAME "\x0f\x05"), 10, 16, 16); /* endbr64; syscall */
    assert_depth(SPAN(FRAME "\x6a\x01\x68\x02\x00\x00\x00" CALL), 16, 32, 16);
    assert_depth(SPAN(FRAME "\xff\x75\x08" CALL), 12, 24, 16);                    /* push [rbp + 8] */
    assert_depth(SPAN(FRAME "\x50\x48\x83\xc4\x08" CALL), 14, 16, 16);            /* push rax; add rsp, 8 */
    assert_depth(SPAN(FRAME "\x50\x48\x8d\x64\x24\x08" CALL), 15, 16, 16);        /* lea rsp, [rsp + 8] */
    assert_depth(SPAN(FRAME "\x50\xc9" CALL RETURN), 11, 8, FRAME_DEPTH_UNKNOWN); /* leave */
    assert_depth(SPAN(FRAME "\x50\x48\x89\xec\x5d" CALL), 14, 8, FRAME_DEPTH_UNKNOWN);
    assert_depth(SPAN("\x48\x8d\x6c\x24\xf8\x48\x8b\xe5" CALL), 13, 16, 16); /* lea rbp, [rsp - 8]; mov rsp, rbp */
}

/* Functions with frames of variable size. The depth is known again after sp is set from the frame pointer. */
TEST(test_sized_frames) {
    assert_unknown(SPAN(FRAME "\x48\x29\xc4" CALL), 12);             /* sub rsp, rax */
    assert_unknown(SPAN(FRAME "\x48\x83\xe4\xe0" CALL), 13);         /* and rsp, -32 */
    assert_unknown(SPAN(FRAME "\x48\x89\xc4" CALL), 12);             /* mov rsp, rax */
    assert_unknown(SPAN(FRAME "\x48\x8d\x24\x04" CALL), 13);         /* lea rsp, [rsp + rax] */
    assert_unknown(SPAN(FRAME "\x5c" CALL), 10);                     /* pop rsp */
    assert_unknown(SPAN(FRAME "\x48\x94" CALL), 11);                 /* xchg rsp, rax */
    assert_unknown(SPAN(FRAME "\x83\xec\x20" CALL), 12);             /* sub esp, 32 */
    assert_unknown(SPAN(FRAME "\x48\x8b\x24\x25\0\0\0\0" CALL), 17); /* mov rsp, [0] */
    assert_depth(SPAN(FRAME "\x48\x29\xc4\x48\x8d\x65\xf0" CALL), 16, 32, 16);
    assert_depth(SPAN(FRAME "\x48\x89\xc5" CALL), 12, 16, FRAME_DEPTH_UNKNOWN); /* mov rbp, rax */
}

TEST(test_ways) {
    assert_unknown(SPAN(FRAME "\x74\x01\x50" CALL), 12);                        /* je over push rax */
    assert_depth(SPAN(FRAME "\x74\x02\x50\x58" CALL), 13, 16, 16);              /* … push rax; pop rax */
    assert_depth(SPAN(FRAME "\xeb\x01\x06" CALL), 12, 16, 16);                  /* jmp over an invalid byte */
    assert_depth(SPAN("\x50\xeb\x06" CALL RETURN FRAME "\xeb\xf4"), 8, 24, 24); /* jumps there and back */
    assert_unknown(SPAN(FRAME RETURN CALL), 10);                                /* unreachable code */
    assert_unknown(SPAN(FRAME "\x0f\x0b" CALL), 11);                            /* ud2 */
    assert_depth(SPAN(FRAME "\x50\xff\xe0" CALL), 12, 24, 16); /* jmp rax: no other code leads to the call */
    assert_depth(SPAN(FRAME "\xff\xe0" RETURN "\x50\xc3" CALL), 14, 16, 16);
    assert_unknown(SPAN(FRAME "\xff\xe0"
                              "\x50" CALL),
                   12); /* after jmp rax, a push changes the depth */
    assert_depth(SPAN(FRAME "\x74\x02\xff\xe0" CALL), 13, 16, 16);
    assert_unknown(SPAN(FRAME "\x74\x03\x50\xff\xe0" CALL), 14);
    assert_unknown(SPAN(FRAME "\x74\x03\x50\xff\xe0\xff\xe0" RETURN CALL), 17); /* reached with two depths */
    assert_depth(SPAN(FRAME CALL "\xc9\xff\xe0"), 9, 16, 16);                   /* the last instruction is a jump */
    assert_depth(SPAN(FRAME "\x0f\x84\x00\x01\x00\x00" CALL), 15, 16, 16);      /* a jump out of the function */
    assert_depth(SPAN(FRAME "\x48\x85\xc0\x75\xfb" CALL), 14, 16, 16);          /* a loop */
    assert_unknown(SPAN(FRAME "\x50\xeb\xfd" CALL), 12);                        /* a loop that pushes */
}

TEST(test_nonsense) {
    static unsigned char code[FRAME_CODE_BYTES_MAX + 1];
    struct random_numbers numbers = {7};
    struct frame_depth depth;
    assert_unknown(SPAN(""), 0);
    assert_unknown(SPAN(FRAME "\x06" CALL), 10);           /* not an instruction */
    assert_unknown(SPAN(FRAME "\xe8\x00\x00\x00\x00"), 9); /* a call of the next instruction */
    assert_unknown(SPAN(FRAME "\xe8\x40\x00\x00"), 8);     /* cut off */
    assert_unknown(SPAN(FRAME "\x48\x81\xec\x00"), 8);
    assert_unknown(SPAN(FRAME "\xc4\xe2"), 6);
    assert_unknown(SPAN(FRAME CALL RETURN), 8); /* in the middle of an instruction */
    assert_unknown(SPAN(FRAME CALL RETURN), 1000);
    assert_unknown(SPAN("\x58" CALL), 6); /* pops the return address */
    memset(code, 0x90, sizeof code);
    assert_false(frame_depth_find(code, sizeof code, 100, &depth));
    assert_true(frame_depth_find(code, FRAME_CODE_BYTES_MAX, 100, &depth));
    for (int round = 0; round < 2000; round++) {
        for (uint32_t i = 0; i < 256; i++) code[i] = (unsigned char)random_next(&numbers);
        for (uint32_t end = 0; end < 256; end += 17) frame_depth_find(code, 256, end, &depth);
    }
}

#endif

int main(void) { return unit_tests_run(NULL, NULL); }
