/* The labels of a thread: which of them belong to the stack that it runs on, and what each says. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/gecko_recorder.h"
#include "recorder/state/shared.h"

/* Addresses of the stack that a thread runs on, from its stack pointer on. */
struct stack_part {
    uint64_t low;
    /* If it is not the thread's own stack: */
    uint64_t high;    /* where its outermost frame ends */
    bool reaches_own; /* it goes on on the thread's own stack, which a signal has interrupted */
};

/* If the end of another stack than the thread's own is not known, this much of it is looked at: the next stack may
 * begin right behind it. */
enum { OTHER_STACK_BYTES = 16 * 1024 };

/* How the memory of another thread is read. `copy` returns how many bytes from the address on it could copy. */
struct label_reader {
    size_t (*copy)(void *context, void *to, uint64_t address, size_t bytes_count);
    void *context;
};

/* One label, or one script's frame. */
struct label_view {
    struct grec_label *label;
    const char *text;
    const char *file;    /* file of a script's frame; NULL: this is a label */
    const void *address; /* see struct grec_label_frame */
    uint32_t line;
    uint32_t column;
};

/* Whether the address is on the thread's own stack. [signal-safe] */
bool labels_are_own(const struct grec_label_stack *labels, uint64_t address) GREC_SHARED(labels_are_own);

/* Finds the labels of that stack, the outermost first. Leaves out those of functions that longjmp has left. Stores
 * where they are in labels->frames, and returns how many there are. reader NULL: the labels are the calling thread's.
 * [signal-safe] */
uint32_t labels_find(const struct grec_label_stack *labels, struct stack_part part, const struct label_reader *reader,
                     uint8_t places[GREC_LABEL_DEPTH_MAX]) GREC_SHARED(labels_find);

/* Returns the label at that place. [signal-safe] */
struct label_view labels_view(const struct grec_label_stack *labels, uint8_t place) GREC_SHARED(labels_view);

/* Whether any label is pushed. */
bool labels_are_pushed(const struct grec_label_stack *labels);

/* Removes all labels. */
void labels_forget(struct grec_label_stack *labels);

/* Call this in the thread that the labels belong to: notes where its own stack ends. [signal-safe] */
void labels_find_own_end(struct grec_label_stack *labels);
