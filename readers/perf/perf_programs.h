/* Finds which programs the tasks of a perf recording execute. Records of tasks say so. Without them, the files of
 * frames show it. */
#pragma once

#include "perf_tasks.h"

/* Names the task after the program that it executes now. */
void perf_programs_execute(struct perf_tasks *tasks, struct perf_task *task, struct text comm, int64_t time_ns);

/* Sets the command line of the task's process, whose arguments each end with a NUL; empty: it is unknown. */
void perf_programs_set_arguments(struct perf_tasks *tasks, const struct perf_task *task, struct text arguments);

/* Names the task as it named itself. A process that was forked and has executed nothing is a program of that name. */
void perf_programs_rename(struct perf_tasks *tasks, struct perf_task *task, struct text comm, int64_t time_ns);

/* Gives the task the name that a sample has. Without records of tasks, the name also shows which program the task
 * executes.
 */
void perf_programs_see_name(struct perf_tasks *tasks, struct perf_task *task, struct text comm, int64_t time_ns);

/* Returns the name of the program that a process executes at the end, if the one of that name is the first that it
 * executed. Otherwise returns the name. */
struct text perf_programs_last(const struct perf_tasks *tasks, struct text name);

/* Returns the program of the thread that has the most samples of all that are named after their program, in a recording
 * without pids. Empty if there is none. Call it after perf_tasks_finish. */
struct text perf_programs_busiest(struct perf_tasks *tasks);

/* Names the processes after the programs that they execute at the end, if those are known. Call it after
 * perf_tasks_finish. */
void perf_programs_name_processes(struct perf_tasks *tasks);
