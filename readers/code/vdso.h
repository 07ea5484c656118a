/* The functions of the vDSO, the library that the kernel maps into each process. They come from the running kernel's
 * vDSO if it is the recorded one, otherwise from perf's copy. */
#pragma once

#include "code_name.h"
#include "libconvert/base/failure.h"
#include "libconvert/symbols/debug_file_search.h"
#include "libconvert/symbols/symbol_table.h"

/* What recordings call the vDSO. */
static const struct text vdso_name = TEXT("[vdso]");

struct vdso {
    struct failure *failure; /* borrowed */
    bool has_looked;         /* vdso_load was called */
    struct text image;       /* the vDSO's bytes; empty: not loaded */
    char *copy;              /* owns the image if it is perf's copy; else NULL */
    struct debug_file file;
    struct symbol_table symbols;
};

void vdso_init(struct vdso *vdso, struct failure *failure);
void vdso_fini(struct vdso *vdso);

/* Loads the vDSO with that build id (hex). Without a build id, uses the running kernel's vDSO if that kernel has the
 * given release. Returns false if none is found, or neither is known yet. The folders may be those of "perf archive".
 * Only the first call that knows one looks for it: all processes have the same. */
bool vdso_load(struct vdso *vdso, const struct debug_folders *folders, struct text build_id, struct text release);

/* Finds the function at the offset in the vDSO. The start in `name` is also an offset. */
bool vdso_find(const struct vdso *vdso, uint64_t offset, struct code_name *name);
