/* Call frame information (.eh_frame) of a loaded object, compiled into rows: from which address on which rule finds the
 * caller. What a rule cannot express becomes "unknown", never a guess.
 *
 * Reads the object's memory, which must stay mapped meanwhile: call it within dl_iterate_phdr, or for what is never
 * unloaded. Every read is checked against the object's readable segments, so nonsense in there costs rows only. Nothing
 * points into the object afterwards. Not for signal handlers. */
#ifndef GREC_UNWIND_CFI_H
#define GREC_UNWIND_CFI_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/* Registers by their DWARF numbers. Besides sp and the return address two are followed from frame to frame: the frame
 * pointer, and the one that the dynamic linker's and the compilers' odd frames are addressed by. A call leaves sp so
 * many bytes below the CFA. */
#if defined(GREC_LABELS_ONLY)
#define UNWIND_KNOWS_MACHINE 0 /* for tests: as on the machines below */
#elif defined(__x86_64__)
#define UNWIND_KNOWS_MACHINE 1
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

/* The canonical frame address: the caller's sp. */
enum unwind_cfa_kind {
    UNWIND_CFA_UNKNOWN = 0, /* no rule: the frame pointer, or the end */
    UNWIND_CFA_REGISTER,    /* register + offset */
    UNWIND_CFA_DEREF,       /* the word at register + offset */
    UNWIND_CFA_PLT,         /* sp + offset, and a word more if pc % 16 is at least cfa_register */
    UNWIND_CFA_SIGNAL,      /* the caller was interrupted: all its registers lie at sp */
    UNWIND_CFA_TO_COME,     /* not known yet: the walk ends */
};

/* Where the caller's value of a register is. */
enum unwind_place_kind {
    UNWIND_PLACE_SAME = 0, /* not changed */
    UNWIND_PLACE_AT_CFA,   /* the word at CFA + offset */
    UNWIND_PLACE_AT_SP,
    UNWIND_PLACE_AT_FP,
    UNWIND_PLACE_AT_BASE,
    UNWIND_PLACE_REGISTER,  /* in the register of number offset, which is known where a thread was interrupted only */
    UNWIND_PLACE_UNDEFINED, /* of the return address: there is no caller */
    UNWIND_PLACE_UNKNOWN,
};

enum unwind_column { UNWIND_COLUMN_RETURN, UNWIND_COLUMN_FP, UNWIND_COLUMN_BASE, UNWIND_COLUMN_COUNT };

/* Compared bytewise: unused ones are zero. */
struct unwind_rule {
    uint8_t cfa_kind;
    uint8_t cfa_register;
    uint8_t place_kinds[UNWIND_COLUMN_COUNT];
    uint8_t is_sp_elsewhere; /* the caller's sp is not the CFA; never in a row */
    uint8_t is_first;        /* the row is a function's first one */
    uint8_t reserved;
    int32_t cfa_offset;
    int32_t place_offsets[UNWIND_COLUMN_COUNT];
};

/* Of kind UNKNOWN. */
extern const struct unwind_rule unwind_rule_unknown;

/* An object's readable memory. */
struct unwind_image {
    uint64_t base; /* of its lowest page: what rows count from */
    uint64_t end;
    uint32_t segment_count;
    struct unwind_segment {
        uint64_t start;
        uint64_t end;
        bool is_executable;
    } segments[16];
};

/* False: nothing of it is loaded. */
bool unwind_image_init(struct unwind_image *image, const struct dl_phdr_info *object);

/* The segment that the bytes lie in; NULL when they are not readable. */
const struct unwind_segment *unwind_image_segment(const struct unwind_image *image, uint64_t address, uint64_t count);

/* Takes rows in the order of their starts, two of one start too: then the second counts. False: it wants no more. */
struct unwind_row_sink {
    bool (*take)(void *context, uint32_t start, const struct unwind_rule *rule);
    void *context;
};

/* Compiles all of an object. `start` counts from image->base; the last row is of the kind UNKNOWN. */
void unwind_cfi_compile(const struct dl_phdr_info *object, const struct unwind_image *image,
                        const struct unwind_row_sink *sink);

#endif
