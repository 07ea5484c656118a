/* How to find the caller at some address: the rules that call frame information expresses, the machines whose registers
 * they name, and the objects that they are read from. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Machines. ---- */

/* Registers by their DWARF numbers. Besides the stack pointer and the return address, two registers are followed from
 * frame to frame: the frame pointer, and the one that addresses unusual frames of the dynamic linker and of
 * compilers. */
struct unwind_machine {
    uint8_t sp;
    uint8_t fp;
    uint8_t base;
    uint8_t return_address;
    uint8_t register_count;    /* a return address with a higher number is in no register */
    bool has_stub_expressions; /* the linker describes its stubs by an expression: see UNWIND_CFA_PLT */
    bool has_signed_returns;   /* call frame information marks where a return address is signed */
};

extern const struct unwind_machine unwind_machine_x86_64;
extern const struct unwind_machine unwind_machine_aarch64;

/* The machine of this process. A call leaves sp ENTRY_DEPTH bytes below the CFA. */
#if defined(GREC_LABELS_ONLY)
#define UNWIND_KNOWS_MACHINE 0 /* tests are built like this to check an unknown machine */
#elif defined(__x86_64__)
#define UNWIND_KNOWS_MACHINE 1
#define UNWIND_OWN_MACHINE   (&unwind_machine_x86_64)
enum {
    UNWIND_SP = 7,
    UNWIND_FP = 6,
    UNWIND_BASE = 3,
    UNWIND_RETURN = 16,
    UNWIND_REGISTER_COUNT = 16,
    UNWIND_ENTRY_DEPTH = 8
};
#elif defined(__aarch64__)
#define UNWIND_KNOWS_MACHINE 1
#define UNWIND_OWN_MACHINE   (&unwind_machine_aarch64)
enum {
    UNWIND_SP = 31,
    UNWIND_FP = 29,
    UNWIND_BASE = 19,
    UNWIND_RETURN = 30,
    UNWIND_REGISTER_COUNT = 32,
    UNWIND_ENTRY_DEPTH = 0
};
#else
#define UNWIND_KNOWS_MACHINE 0 /* no tables and no walks: see unwind_none.c */
#endif

/* ---- Rules. ---- */

/* The canonical frame address: the caller's sp. */
enum unwind_cfa_kind {
    UNWIND_CFA_UNKNOWN = 0, /* no rule: the walk uses the frame pointer, or ends */
    UNWIND_CFA_REGISTER,    /* register + offset */
    UNWIND_CFA_DEREF,       /* the word at register + offset */
    UNWIND_CFA_PLT,         /* sp + offset, plus one word if pc % 16 is at least cfa_register */
    UNWIND_CFA_SIGNAL,      /* the caller was interrupted: all its registers lie at sp */
    UNWIND_CFA_TO_COME,     /* not yet known: the walk ends */
    UNWIND_CFA_EXPRESSION,  /* the value of the expression at offset; only if the image keeps expressions */
};

/* Where the caller's value of a register is. */
enum unwind_place_kind {
    UNWIND_PLACE_SAME = 0, /* unchanged */
    UNWIND_PLACE_AT_CFA,   /* the word at CFA + offset */
    UNWIND_PLACE_AT_SP,
    UNWIND_PLACE_AT_FP,
    UNWIND_PLACE_AT_BASE,
    UNWIND_PLACE_REGISTER,  /* in the register numbered offset, which is known only in an interrupted frame */
    UNWIND_PLACE_UNDEFINED, /* for the return address: there is no caller */
    UNWIND_PLACE_UNKNOWN,
    UNWIND_PLACE_CFA_VALUE,     /* CFA + offset */
    UNWIND_PLACE_AT_EXPRESSION, /* the word at the address that the expression at offset computes, with the CFA pushed
                                 * first; only if the image keeps expressions */
    UNWIND_PLACE_EXPRESSION,    /* the value that such an expression computes */
};

enum unwind_column { UNWIND_COLUMN_RETURN, UNWIND_COLUMN_FP, UNWIND_COLUMN_BASE, UNWIND_COLUMN_COUNT };

/* A rule. Rules are compared bytewise, so unused fields must be zero. */
struct unwind_rule {
    uint8_t cfa_kind;
    uint8_t cfa_register;
    uint8_t place_kinds[UNWIND_COLUMN_COUNT];
    uint8_t is_sp_elsewhere; /* the caller's sp is not the CFA; never set in a rule that was found */
    uint8_t reserved[2];
    int32_t cfa_offset;
    int32_t place_offsets[UNWIND_COLUMN_COUNT];
};

/* A rule of kind UNKNOWN. */
extern const struct unwind_rule unwind_rule_unknown;

/* ---- Objects. ---- */

enum unwind_entries_kind {
    UNWIND_ENTRIES_NONE = 0,
    UNWIND_ENTRIES_HEADER, /* .eh_frame_hdr, which leads to .eh_frame */
    UNWIND_ENTRIES_EH_FRAME,
    UNWIND_ENTRIES_DEBUG_FRAME,
};

/* An object as its call frame information sees it: addresses, and the bytes at some of them. */
struct unwind_image {
    const struct unwind_machine *machine;
    uint64_t base; /* address of the lowest page; functions have offsets from it */
    uint64_t end;
    uint64_t entries; /* address of the entries or of their header; expressions have offsets from it */
    uint64_t entries_bytes_count;
    enum unwind_entries_kind entries_kind;
    bool keeps_expressions; /* rules may refer to expressions; the image must then exist as long as its rules */
    bool has_trampoline;    /* the object may contain the kernel's return from signal handlers, without an entry */
    uint32_t segment_count;
    struct unwind_segment {
        uint64_t start;
        uint64_t end;
        uint64_t shift; /* see struct bytes */
        bool is_executable;
    } segments[16]; /* readable bytes */
};

/* Returns the segment that contains the bytes; NULL if they are not readable. */
const struct unwind_segment *unwind_image_segment(const struct unwind_image *image, uint64_t address, uint64_t count);
