/* Where `gecko-convert record` keeps the command lines of processes, for which perf.data has no place: in COMM records
 * of executed programs, after the name, whose NULs end at a multiple of 8 bytes. The field has this mark, arguments
 * that each end with a NUL, and NULs up to a multiple of 8 bytes; then the record's trailer follows. perf reads the
 * name up to its NUL and the trailer from the end of the record, so it does not see the field. */
#pragma once

#define COMMAND_FIELD_MARK "cmdline" /* with its NUL */
enum { COMMAND_FIELD_MARK_BYTES = sizeof COMMAND_FIELD_MARK };
