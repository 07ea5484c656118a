#include "crowds.h"

#include "crowd_steps.h"
#include "lanes.h"
#include "libconvert/base/cursor.h"
#include "libconvert/base/glob.h"
#include "libconvert/base/memory.h"
#include "libconvert/base/value_table.h"
#include "libconvert/profile/profile_finish.h"

/* ---- Crowds. ---- */

/* What the members of a crowd have in common, or the crowds of one kind: those of parents of one kind. */
struct crowd_key {
    uint32_t parent;    /* what they belong to, or its kind; ID_NONE: unknown */
    uint32_t name;      /* a row of `names` */
    uint32_t event;     /* event of these tracks, a row of `names`; ID_NONE: they have none */
    uint32_t is_wanted; /* the pattern matches their names */
};

/* Threads are counted without those that would have no track anyway. A process counts because it is a marker. */
struct crowd {
    uint32_t member_count;
    uint32_t kind;
    bool is_wanted; /* two members are enough */
};

/* What a process or a thread belongs to. */
struct parent {
    uint32_t number; /* a process or, after the numbers of processes, a merged crowd; ID_NONE: unknown */
    uint32_t kind;   /* ID_NONE: unknown */
};

/* A process or a thread that may be a member of a crowd. */
struct candidate {
    uint32_t row;
    uint32_t crowd;
};

struct crowds {
    struct profile *profile;
    struct text pattern;
    struct time_range events; /* from the first to the last one of all, where filters have left out others */
    struct strings names;
    struct value_table rows;  /* struct crowd by struct crowd_key */
    struct value_table kinds; /* how many members the crowds of a kind have, by struct crowd_key */
    struct column candidates; /* struct candidate */
};

static void crowds_init(struct crowds *crowds, struct profile *profile, struct text pattern) {
    *crowds = (struct crowds){.profile = profile, .pattern = pattern, .events = profile_events(profile)};
    strings_init(&crowds->names, profile->failure);
    value_table_init(&crowds->rows, sizeof(struct crowd_key), sizeof(struct crowd), profile->failure);
    value_table_init(&crowds->kinds, sizeof(struct crowd_key), sizeof(uint32_t), profile->failure);
    column_init(&crowds->candidates, sizeof(struct candidate), profile->failure);
}

static void crowds_fini(struct crowds *crowds) {
    strings_fini(&crowds->names);
    value_table_fini(&crowds->rows);
    value_table_fini(&crowds->kinds);
    column_fini(&crowds->candidates);
}

static struct crowd *crowd_at(const struct crowds *crowds, uint32_t number) {
    return value_table_at(&crowds->rows, number);
}

static bool is_merged(const struct crowds *crowds, uint32_t number) {
    const struct crowd *crowd = crowd_at(crowds, number);
    const uint32_t *kind_count = value_table_at(&crowds->kinds, crowd->kind);
    return crowd->member_count > 1 && (crowd->is_wanted || *kind_count > CROWD_MEMBERS_MAX);
}

static void count_members(const struct crowds *crowds, uint32_t number, uint32_t count) {
    struct crowd *crowd = crowd_at(crowds, number);
    crowd->member_count += count;
    *(uint32_t *)value_table_at(&crowds->kinds, crowd->kind) += count;
}

enum { NAME_BYTES_MAX = 64 };

/* Returns the name with # in place of each number, in `buffer`, or as it is if it is too long. */
static struct text without_numbers(struct text name, char *buffer) {
    size_t count = 0;
    if (name.bytes_count > NAME_BYTES_MAX) return name;
    for (size_t i = 0; i < name.bytes_count; i++) {
        bool is_digit = cursor_is_digit(name.bytes[i]);
        if (is_digit && i && cursor_is_digit(name.bytes[i - 1])) continue;
        buffer[count++] = is_digit ? '#' : name.bytes[i];
    }
    return (struct text){buffer, count};
}

/* Returns the number of the crowd; ID_NONE if memory ran out (latched). Names in which only numbers differ are one: of
 * threads in a pool, and of processes that a server names after their requests. */
static uint32_t crowd_of(struct crowds *crowds, struct parent parent, struct text name, uint32_t event) {
    char buffer[NAME_BYTES_MAX];
    bool is_wanted = crowds->pattern.bytes && glob_matches(crowds->pattern, name);
    struct crowd_key key = {parent.kind, strings_intern(&crowds->names, without_numbers(name, buffer)).index, event,
                            is_wanted};
    const struct crowd empty = {.kind = value_table_number(&crowds->kinds, &key, &(uint32_t){0}),
                                .is_wanted = is_wanted};
    key.parent = parent.number;
    return empty.kind == ID_NONE ? ID_NONE : value_table_number(&crowds->rows, &key, &empty);
}

/* Adds a candidate if it lived between events, unless memory runs out (latched). It may have no content. */
static void add_candidate(struct crowds *crowds, uint32_t row, uint32_t number, const struct time_range *times,
                          bool is_counted) {
    const struct time_range *range = &times[row], *events = &crowds->events;
    bool is_outside = range->last_ns < events->first_ns || range->first_ns > events->last_ns;
    if (crowds->profile->meta.has_times && is_outside) return;
    count_members(crowds, number, is_counted);
    column_add(&crowds->candidates, &(struct candidate){row, number});
}

/* Returns the end of a member; members need to take some time. */
static int64_t end_of(const struct time_range *range) {
    bool is_instant = range->first_ns == range->last_ns && range->first_ns < INT64_MAX;
    return range->last_ns + is_instant;
}

/* The first turn begins before the first event. */
static void add_turns(const struct crowds *crowds, struct lane_member *member) {
    member->turns = crowd_turns_of_thread(crowds->profile, member->row, &member->turn_count);
    if (member->turn_count && member->turns->first_ns < member->start_ns) member->start_ns = member->turns->first_ns;
}

/* Sets the heads of the candidates whose crowds are merged, and forgets all candidates. Threads have turns of their
 * own; processes run all the time. */
static void find_heads(struct crowds *crowds, struct time_range *times, bool have_turns, uint32_t *heads) {
    struct failure *failure = crowds->profile->failure;
    struct lane_member *members = memory_allocate(failure, crowds->candidates.count * sizeof *members);
    size_t count = 0;
    for (size_t i = 0; members && i < crowds->candidates.count; i++) {
        const struct candidate *candidate = column_at(&crowds->candidates, i);
        struct time_range *range = &times[candidate->row];
        if (!is_merged(crowds, candidate->crowd) || time_range_is_empty(range)) continue;
        members[count] = (struct lane_member){.group = candidate->crowd,
                                              .row = candidate->row,
                                              .turns = range,
                                              .turn_count = 1,
                                              .start_ns = range->first_ns,
                                              .end_ns = end_of(range),
                                              .head = candidate->row};
        if (have_turns) add_turns(crowds, &members[count]);
        count++;
    }
    crowds->candidates.count = 0;
    if (count) lanes_assign(members, count, have_turns ? crowd_period_ns(crowds->profile) : 0, failure);
    for (size_t i = 0; i < count; i++) {
        heads[members[i].row] = members[i].head;
        if (have_turns) memory_free(members[i].turns);
    }
    memory_free(members);
}

/* ---- Processes. ---- */

enum { DEPTH_UNKNOWN = UINT32_MAX, DEPTH_IN_PATH = UINT32_MAX - 1 };

struct placed_process {
    uint32_t depth; /* how many ancestors it has */
    uint32_t row;
};

static int compare_depths(const void *left, const void *right) {
    const struct placed_process *a = left, *b = right;
    return ORDER(a->depth, b->depth) ?: ORDER(a->row, b->row);
}

/* Sets the depths of the process and its ancestors. In a damaged trace, a process may descend from itself. */
static void find_depth(const struct profile *profile, struct placed_process *places, uint32_t row, uint32_t *path) {
    uint32_t count = 0, i = row;
    for (; i != ID_NONE && places[i].depth == DEPTH_UNKNOWN;
         i = profile_process_at(profile, (process_id){i})->parent.index) {
        places[i].depth = DEPTH_IN_PATH;
        path[count++] = i;
    }
    uint32_t depth = i == ID_NONE || places[i].depth == DEPTH_IN_PATH ? 0 : places[i].depth + 1;
    while (count) places[path[--count]].depth = depth++;
}

/* Returns all processes, ancestors before their descendants; the caller frees them. NULL if memory ran out (latched).
 */
static struct placed_process *place_processes(const struct profile *profile) {
    uint32_t count = profile->processes.count;
    struct placed_process *places = memory_allocate(profile->failure, count * sizeof *places);
    uint32_t *path = memory_allocate(profile->failure, count * sizeof *path);
    if (places && path) {
        for (uint32_t i = 0; i < count; i++) places[i] = (struct placed_process){DEPTH_UNKNOWN, i};
        for (uint32_t i = 0; i < count; i++) find_depth(profile, places, i, path);
        memory_sort(profile->failure, places, count, sizeof *places, compare_depths);
    }
    memory_free(path);
    return places;
}

/* `parents` has what children of each process belong to. */
static void find_level(struct crowds *crowds, const struct placed_process *places, size_t count,
                       const struct crowd_heads *heads, struct parent *parents) {
    const struct profile *profile = crowds->profile;
    for (size_t i = 0; i < count; i++) {
        uint32_t row = places[i].row;
        const struct process *process = profile_process_at(profile, (process_id){row});
        struct parent parent = {ID_NONE, ID_NONE};
        if (!process_is_none(process->parent)) parent = parents[process->parent.index];
        uint32_t number = crowd_of(crowds, parent, process->name, ID_NONE);
        if (number == ID_NONE) return;
        add_candidate(crowds, row, number, heads->process_times, true);
        parents[row].kind = heads->process_kinds[row] = crowd_at(crowds, number)->kind;
    }
    COLUMN_EACH(const struct candidate, candidate, &crowds->candidates)
        if (is_merged(crowds, candidate->crowd))
            parents[candidate->row].number = profile->processes.count + candidate->crowd;
    find_heads(crowds, heads->process_times, false, heads->processes);
}

/* Finds the crowds of one level of ancestry after the other, because children of merged parents have one parent. */
static void find_process_heads(struct profile *profile, struct text pattern, const struct crowd_heads *heads) {
    struct crowds crowds;
    size_t count = profile->processes.count;
    struct placed_process *places = place_processes(profile);
    struct parent *parents = memory_allocate(profile->failure, count * sizeof *parents);
    crowds_init(&crowds, profile, pattern);
    for (uint32_t i = 0; parents && i < count; i++) parents[i] = (struct parent){i, ID_NONE};
    for (size_t i = 0, level; i < count && !failure_is_set(profile->failure); i += level) {
        for (level = 1; i + level < count && places[i + level].depth == places[i].depth;) level++;
        find_level(&crowds, &places[i], level, heads, parents);
    }
    crowds_fini(&crowds);
    MEMORY_FREE_ALL(parents, places);
}

/* ---- Threads. ---- */

static uint32_t event_of(struct crowds *crowds, const struct thread *thread) {
    if (!thread_is_track(thread)) return ID_NONE;
    return strings_intern(&crowds->names, profile_track_of(crowds->profile, thread)->event).index;
}

static void add_thread(struct crowds *crowds, uint32_t row, const struct crowd_heads *heads, bool is_of_crowd) {
    const struct thread *thread = column_at(&crowds->profile->threads, row);
    uint32_t process = heads->processes[thread->process.index];
    struct parent parent = {process, heads->process_kinds[process]};
    uint32_t number = crowd_of(crowds, parent, thread->name, event_of(crowds, thread));
    if (number == ID_NONE) return;
    crowd_at(crowds, number)->is_wanted |= is_of_crowd;
    add_candidate(crowds, row, number, heads->thread_times, thread_has_content(thread));
}

/* Main threads go with their processes. */
static void find_thread_heads(struct profile *profile, struct text pattern, const struct crowd_heads *heads) {
    struct crowds crowds;
    bool *are_crowds = memory_allocate_zeroed(profile->failure, profile->processes.count, sizeof *are_crowds);
    crowds_init(&crowds, profile, pattern);
    for (uint32_t i = 0; are_crowds && i < profile->processes.count; i++)
        if (heads->processes[i] != i) are_crowds[heads->processes[i]] = true;
    for (uint32_t i = 0; are_crowds && i < profile->threads.count; i++) {
        const struct thread *thread = column_at(&profile->threads, i);
        uint32_t head = heads->processes[thread->process.index];
        uint32_t main_thread = profile_process_at(profile, (process_id){head})->main_thread.index;
        if (!thread->is_main || main_thread == ID_NONE)
            add_thread(&crowds, i, heads, are_crowds[head]);
        else
            heads->threads[i] = main_thread;
    }
    find_heads(&crowds, heads->thread_times, profile->meta.has_times, heads->threads);
    crowds_fini(&crowds);
    memory_free(are_crowds);
}

/* ---- The whole. ---- */

static bool crowd_heads_init(struct crowd_heads *heads, const struct profile *profile) {
    struct failure *failure = profile->failure;
    size_t thread_count = profile->threads.count, process_count = profile->processes.count;
    heads->threads = memory_allocate(failure, thread_count * sizeof *heads->threads);
    heads->processes = memory_allocate(failure, process_count * sizeof *heads->processes);
    heads->process_kinds = memory_allocate(failure, process_count * sizeof *heads->process_kinds);
    heads->thread_times = memory_allocate(failure, thread_count * sizeof *heads->thread_times);
    heads->process_times = memory_allocate(failure, process_count * sizeof *heads->process_times);
    if (failure_is_set(failure)) return false;
    for (uint32_t i = 0; i < thread_count; i++) heads->threads[i] = i;
    for (uint32_t i = 0; i < process_count; i++) heads->processes[i] = i;
    return true;
}

static void crowd_heads_fini(struct crowd_heads *heads) {
    MEMORY_FREE_ALL(heads->threads, heads->processes, heads->process_kinds, heads->thread_times, heads->process_times);
}

void profile_merge_crowds(struct profile *profile, struct text pattern) {
    struct crowd_heads heads = {0};
    bool are_many = pattern.bytes || profile->threads.count > CROWD_MEMBERS_MAX;
    if (failure_is_set(profile->failure) || !are_many) return;
    profile_name_tasks(profile);
    /* In a track of several threads, times between samples say nothing of the interval. */
    if (!profile->meta.interval_ns) profile->meta.interval_ns = profile_estimate_interval_ns(profile);
    if (crowd_heads_init(&heads, profile)) {
        crowd_times_find(profile, &heads);
        find_process_heads(profile, pattern, &heads);
        find_thread_heads(profile, pattern, &heads);
        if (!failure_is_set(profile->failure)) crowd_moves_run(profile, &heads);
    }
    crowd_heads_fini(&heads);
}
