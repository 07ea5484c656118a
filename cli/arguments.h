/* Command lines: from arguments to values, by one table of options. */
#ifndef GECKO_ARGUMENTS_H
#define GECKO_ARGUMENTS_H

#include <stdio.h>

#include "libconvert/failure.h"

enum option_kind {
    OPTION_FLAG,   /* takes no value; the target is a bool */
    OPTION_TEXT,   /* the target is a const char * */
    OPTION_EXTRA,  /* the same, but the value may be left out; then it is empty */
    OPTION_NUMBER, /* from number_min to number_max; the target is an unsigned */
    OPTION_SIZE,   /* bytes, with K, M, G or T behind them; "unlimited" is UINT64_MAX; the target is a uint64_t */
    OPTION_LIST,   /* the target is a struct options_list, to which each use adds */
    OPTION_CHOICE, /* one of the choices; the target is an unsigned number, the choice's */
    OPTION_NAME,   /* one of the choices; the target is a const char *, the choice's name */
    OPTION_ACTION  /* takes no value; the target is the action, and the number is what it becomes */
};

/* Names that a value can have, by number; NULL past the last. */
typedef const char *choice_name(size_t number);

struct option {
    const char *name;
    char letter; /* '\0': none */
    enum option_kind kind;
    size_t target; /* offset among the values */
    unsigned action;
    unsigned number_min;
    unsigned number_max;
    choice_name *choices;
    const char *value_name; /* as --help has it where there are no choices */
    const char *help;       /* lines of at most 70 columns */
};

/* Values of an option that may be given again and again. */
struct options_list {
    const char **values; /* owned; the texts are borrowed */
    size_t count;
};

/* What a command line can say. */
struct option_table {
    const struct option *options;
    size_t option_count;
    size_t operands; /* offset of the struct options_list of them among the values */
    const char *operand_name;
};

/* Reads the arguments into a struct that has the table's targets. Options and operands stand in any order; behind "--"
 * are operands alone, behind an action nothing is looked at. Failures are FAILURE_USAGE or FAILURE_MEMORY. */
void arguments_read(const struct option_table *table, void *values, int argument_count, char *const *arguments,
                    struct failure *failure);

/* What --help says of each option. */
void arguments_print_help(const struct option_table *table, FILE *stream);

#endif
