/* The print rule of a tracepoint, an expression in C's syntax: "vec=%u [action=%s]", REC->vec,
 * __print_symbolic(REC->vec, { 0, "HI" }, { 1, "TIMER" }). It tells which numbers are addresses, and the words that
 * numbers stand for. */
#pragma once

#include "libconvert/base/value_table.h"
#include "libconvert/profile/profile.h"

/* Returns the format of a number as the rule prints it: in hexadecimal, with a unit, or MARKER_INTEGER. */
enum marker_format perf_print_rule_format(struct text rule, const char *field);

/* How a rule prints what the kernel has at the address that a field has. */
enum perf_function_form {
    FUNCTION_NONE,        /* it prints the number, or words */
    FUNCTION_ALONE,       /* "%ps": "kfree" */
    FUNCTION_WITH_OFFSET, /* "%pS": "kfree+0x1c" */
    FUNCTION_TEXT         /* "%s": the text there */
};

enum perf_function_form perf_print_rule_function(struct text rule, const char *field);

/* Returns whether the rule prints the bytes of a field as an IP address: "%pI4", "%pI6c". */
bool perf_print_rule_is_ip(struct text rule, const char *field);

/* The words for the values of a field. */
struct perf_words;

/* Finds the words that the rule prints for the field: "S" for a state of 1. *key: what is printed before them, if the
 * rule prints the field as a number, too; otherwise empty. Returns NULL if the rule prints no words, or they depend on
 * more than the field. The result is in the profile's memory, and so is what the rule points to. */
struct perf_words *perf_words_create(struct profile *profile, struct text rule, const char *field, struct text *key);

/* Initialises a table of words that have been asked for, of all fields of a profile. */
void perf_known_words_init(struct value_table *known, struct failure *failure);

/* Returns the words for a value, which libtraceevent would print: what has no word is in hexadecimal. So is a value
 * whose words are too long or undefined, and one after too many others. */
string_id perf_words_of(struct perf_words *words, struct value_table *known, struct profile *profile, uint64_t value);
