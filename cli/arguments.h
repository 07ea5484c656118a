/* Reads a command line into values, driven by a table of the options of all commands. */
#pragma once

#include <stdio.h>

#include "libconvert/base/failure.h"
#include "libconvert/base/text.h"

enum option_kind {
    OPTION_FLAG,   /* takes no value; the target is a bool */
    OPTION_TEXT,   /* the target is a const char * */
    OPTION_EXTRA,  /* like OPTION_TEXT, but the value may be left out; it is then empty */
    OPTION_NUMBER, /* the value is from number_min to number_max; the target is an unsigned */
    OPTION_SIZE,   /* a number of bytes, optionally followed by K, M, G or T; "unlimited" is UINT64_MAX; the target is a
                      uint64_t */
    OPTION_TIME,   /* a time above 0 with its unit: s, ms, us or ns; the target is an int64_t, in nanoseconds */
    OPTION_LIST,   /* the target is a struct options_list, to which each use adds */
    OPTION_CHOICE, /* the value is one of the choices; the target is an unsigned, set to the number of the choice */
    OPTION_NAME,   /* the value is one of the choices; the target is a const char *, set to the name of the choice */
    OPTION_ACTION  /* takes no value; the target is an unsigned, set to `action` */
};

/* Returns the name of choice `number`; NULL after the last. */
typedef const char *choice_name(size_t number);

struct option {
    const char *name;
    char letter;       /* '\0': the option has no letter */
    unsigned commands; /* a bit for each command that has the option */
    enum option_kind kind;
    bool has_commas; /* OPTION_LIST: one value can be several, with commas, and is cut up in place */
    size_t target;   /* offset of the target within the struct of values */
    unsigned action;
    unsigned number_min;
    unsigned number_max;
    choice_name *choices;
    const char *alias[2];   /* a value that help does not name, and the choice that it stands for */
    const char *value_name; /* name of the value in --help if there are no choices */
    const char *help;       /* lines of at most 70 columns */
    const char *json_key;   /* in the manifest of a batch; NULL: the option does not change a profile */
};

/* The values of an option that may be given several times. */
struct options_list {
    const char **values; /* owned; the strings are borrowed */
    size_t count;
};

/* All options that a command line may have. No two options of one command have the same name. */
struct option_table {
    const struct option *options;
    size_t option_count;
    size_t operands;           /* offset of the struct options_list that receives the operands */
    unsigned ended_by_operand; /* bits of commands whose operands are a command line: all that follows the first one */
};

/* Returns how messages name the command, a bit. */
typedef const char *command_namer(unsigned command);

/* Reads the arguments of the command, a bit, into `values`, the struct that contains the table's targets. Options and
 * operands may be in any order, except for commands whose options are ended by an operand. After "--" there are only
 * operands; after an action the rest is ignored. Failures are FAILURE_USAGE or FAILURE_MEMORY. */
void arguments_read(const struct option_table *table, unsigned command, command_namer *name_command, void *values,
                    int argument_count, char *const *arguments, struct failure *failure);

/* Frees the lists in the values. */
void arguments_fini(const struct option_table *table, void *values);

/* Returns how much the name differs from a known one; SIZE_MAX if that cannot have been meant. */
size_t arguments_name_distance(struct text name, const char *known);

/* Parses a time with its unit, such as "1.5s" or "-20ms". Returns false if the text is not a time. */
bool arguments_parse_time(struct text text, int64_t *time_ns);

/* Prints the part of --help that describes the options of the command, a bit. */
void arguments_print_help(const struct option_table *table, unsigned command, FILE *stream);
