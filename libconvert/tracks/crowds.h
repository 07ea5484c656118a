/* Makes one track of the members of a crowd: of threads of one name that follow each other in a process, and of
 * processes of one name that follow each other in a parent. A server with a thread for each request, and a script that
 * runs a thousand programs, would otherwise have more tracks than anybody can look at. Tasks follow each other if their
 * events do: a thread that only waits for its end does not overlap with the next one. In a large crowd, threads of
 * which no two run at a time follow each other too. */
#pragma once

#include "libconvert/profile/profile.h"

/* Merges crowds with more members than this. Those of parents of one kind are counted together: a hundred processes
 * below five shells are as many tracks as a hundred below one. */
enum { CROWD_MEMBERS_MAX = 30 };

/* Moves samples, markers, allocations and counters of the members of each crowd to its tracks, of which there are as
 * many as there are members with events at a time. Each member becomes an interval marker in its track. Names count as
 * one if only digits differ. Those that match the pattern, if there is one (bytes not NULL), are a crowd of their own,
 * which is merged if it has two members. If times are made up, all members of a crowd follow each other. Enters in the
 * ledger how many threads and processes have no track of their own. Call it before profile_finish. Running out of
 * memory is latched. */
void profile_merge_crowds(struct profile *profile, struct text pattern);
