/* What the child process has found: for each frame that was looked up, the chain of functions that run at its address.
 */
#pragma once

#include "libconvert/base/child_process.h"
#include "libconvert/profile/profile.h"
#include "symbol_worker.h"

/* One function of a chain. */
struct symbol_chain_link {
    string_id name; /* none: the frame's own */
    source_id source;
    uint32_t func_line;
    uint32_t line;
    uint32_t column;
};

/* The functions at an address: the physical one, then each function that is inlined into the previous one. */
struct symbol_chain {
    int32_t address; /* relative to the start of the library, even if the frame's is an offset in the file */
    native_symbol_id native_symbol;
    uint32_t first_link;
    uint32_t link_count;
    bool has_lines; /* the links are from debug information, which knows about inlined functions */
};

struct symbol_answers {
    struct profile *profile;      /* borrowed */
    profile_name_func *name_func; /* see symbolize_options */
    uint32_t *chain_of_frame;     /* owned; one for each frame of the profile. ID_NONE: nothing was found */
    struct column chains;         /* struct symbol_chain */
    struct column links;          /* struct symbol_chain_link */
    struct column frames;         /* frame_id: those that replace a frame, which are made when a stack needs them */
    uint32_t *frames_of;          /* owned; the first one of each frame of the profile. ID_NONE: not made yet */

    /* What the present child process has sent. */
    struct column names; /* string_id */
    struct column files; /* source_id */
};

/* Running out of memory is latched in the profile's failure; then the answers can only be finished. */
void symbol_answers_init(struct symbol_answers *answers, struct profile *profile);
void symbol_answers_fini(struct symbol_answers *answers);

/* Forgets the names and files that were received, since the next ones are numbered from 0. */
void symbol_answers_restart(struct symbol_answers *answers);

/* Receive what follows a message for a name or a file, or an answer of SYMBOL_FOUND: its links. *row becomes the row of
 * the chain. Return false if the process sent something wrong or has ended, or after a failure (latched). */
bool symbol_answers_receive_text(struct symbol_answers *answers, struct channel *channel,
                                 const struct symbol_message *message);
bool symbol_answers_receive_chain(struct symbol_answers *answers, struct channel *channel, lib_id lib,
                                  const struct symbol_answer *given, uint32_t *row);

/* Replaces each frame that has a chain by frames for the functions of the chain, in all stacks of the profile. All ids
 * of stacks become invalid. */
void symbol_answers_apply(struct symbol_answers *answers);
