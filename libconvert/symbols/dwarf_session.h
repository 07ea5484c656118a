/* libdw on one library, with the supplement that dwz has moved shared debug information to.
 *
 * libdw frees nothing until it is ended, so a session can be started again. If libdw runs out of memory, it ends the
 * process (child_leave) or reports damage; errno is ENOMEM in the second case. */
#pragma once

#include <elfutils/libdw.h>
#include <stdbool.h>

struct dwarf_session {
    Elf *elf;            /* borrowed */
    Elf *supplement_elf; /* borrowed, or empty_elf */
    Elf *empty_elf;      /* owned; NULL if there is a supplement */
    Dwarf *dwarf;        /* owned; NULL until the session is started */
    Dwarf *supplement;   /* owned; NULL until the session is started */
};

/* `supplement` may be NULL. */
void dwarf_session_init(struct dwarf_session *session, Elf *elf, Elf *supplement);
void dwarf_session_fini(struct dwarf_session *session);

/* Starts libdw, or ends and starts it again: everything from it before becomes invalid. Returns false if libdw cannot
 * read the file, or ran out of memory (errno). */
bool dwarf_session_start(struct dwarf_session *session);
