#include "dwarf_session.h"

#include <stdint.h>

#include "libconvert/base/child_process.h"

/* A file with empty debug information. If libdw is not given a supplement, it looks for one by itself and takes one of
 * another build. Where there is none, it gets this one. */
static const struct {
    Elf64_Ehdr header;
    Elf64_Shdr sections[3];
    char names[24];
} empty_file = {
    .header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
                           __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB, EV_CURRENT},
               .e_type = ET_REL,
               .e_version = EV_CURRENT,
               .e_shoff = sizeof(Elf64_Ehdr),
               .e_ehsize = sizeof(Elf64_Ehdr),
               .e_shentsize = sizeof(Elf64_Shdr),
               .e_shnum = 3,
               .e_shstrndx = 2},
    .sections = {[1] = {.sh_name = 1,
                        .sh_type = SHT_PROGBITS,
                        .sh_offset = sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Shdr),
                        .sh_size = 1},
                 [2] = {.sh_name = 13,
                        .sh_type = SHT_STRTAB,
                        .sh_offset = sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Shdr),
                        .sh_size = 24}},
    .names = "\0.debug_info\0.shstrtab",
};

void dwarf_session_init(struct dwarf_session *session, Elf *elf, Elf *supplement) {
    *session = (struct dwarf_session){.elf = elf, .supplement_elf = supplement};
    if (supplement) return;
    session->supplement_elf = session->empty_elf = elf_memory((char *)(uintptr_t)&empty_file, sizeof empty_file);
}

static void end_libdw(struct dwarf_session *session) {
    if (session->dwarf) dwarf_end(session->dwarf);
    if (session->supplement) dwarf_end(session->supplement);
    session->dwarf = session->supplement = NULL;
}

void dwarf_session_fini(struct dwarf_session *session) {
    end_libdw(session);
    if (session->empty_elf) elf_end(session->empty_elf);
}

bool dwarf_session_start(struct dwarf_session *session) {
    end_libdw(session);
    session->supplement = dwarf_begin_elf(session->supplement_elf, DWARF_C_READ, NULL);
    if (!session->supplement) return false;
    session->dwarf = dwarf_begin_elf(session->elf, DWARF_C_READ, NULL);
    if (!session->dwarf) return false;
    dwarf_new_oom_handler(session->dwarf, child_leave);
    dwarf_new_oom_handler(session->supplement, child_leave);
    dwarf_setalt(session->dwarf, session->supplement);
    return true;
}
