/* Decides which processes and threads of the inputs are the same.
 *
 * A pid means something only in its namespace and on its machine, and only while one task has it. perf records when a
 * process began and ended. The recorder records when it began to watch a process, which happens again when the process
 * executes another program. So a task of a recorder trace belongs to the last task with its ids that another input saw
 * begin before that. */
#include <inttypes.h>

#include "libconvert/base/cursor.h"
#include "libconvert/base/first_row.h"
#include "libconvert/base/memory.h"
#include "libconvert/base/value_table.h"
#include "merge_steps.h"

/* By how much clocks of two inputs may disagree about one event. */
static const int64_t TOLERANCE_NS = 1000000;
static const int64_t EVENTS_TOLERANCE_NS = 10000000;

/* The kernel's number for the pid namespace that exists from the start (PROC_PID_INIT_INO). */
static const uint64_t INITIAL_PID_NAMESPACE = 0xeffffffc;

/* A process or a thread of an input. A process with an outer pid has two of these. */
struct task {
    uint64_t group[3];       /* tasks with other groups are other tasks */
    int64_t number;          /* pid or tid */
    int64_t start_ns;        /* TIME_NONE, which is less than any time: before the input */
    int64_t end_ns;          /* INT64_MAX: unknown */
    uint64_t home_namespace; /* pid namespace of a process; 0: unknown */
    uint32_t row;            /* among all tasks of all inputs */
    uint32_t input;
};

static int compare_tasks(const void *left, const void *right) {
    const struct task *a = left, *b = right;
    for (size_t i = 0; i < sizeof a->group / sizeof *a->group; i++)
        if (a->group[i] != b->group[i]) return ORDER(a->group[i], b->group[i]);
    if (a->number != b->number) return ORDER(a->number, b->number);
    return ORDER(a->input, b->input) ?: ORDER(a->start_ns, b->start_ns) ?: ORDER(a->row, b->row);
}

static bool have_same_ids(const struct task *a, const struct task *b) {
    return a->number == b->number && memcmp(a->group, b->group, sizeof a->group) == 0;
}

/* ---- Sets of equal tasks: each row names another of its set, the representative itself. ---- */

static uint32_t representative(uint32_t *sets, uint32_t row) {
    while (sets[row] != row) row = sets[row] = sets[sets[row]];
    return row;
}

/* The representative is the lowest row. */
static void join(uint32_t *sets, uint32_t a, uint32_t b) {
    a = representative(sets, a);
    b = representative(sets, b);
    if (a < b)
        sets[b] = a;
    else
        sets[a] = b;
}

/* ---- Finding equal tasks. ---- */

struct matching {
    const struct merge *merge;
    struct ledger *ledger; /* borrowed; receives notes */
    uint32_t *sets;
    bool is_of_processes;
};

static int64_t tolerance_ns(const struct merge_input *a, const struct merge_input *b) {
    bool is_vague = a->timeline == GECKO_CONVERT_TIMELINE_EVENTS || b->timeline == GECKO_CONVERT_TIMELINE_EVENTS ||
                    a->timeline == GECKO_CONVERT_TIMELINE_TIME_OF_DAY ||
                    b->timeline == GECKO_CONVERT_TIMELINE_TIME_OF_DAY || a->timeline == GECKO_CONVERT_TIMELINE_GIVEN ||
                    b->timeline == GECKO_CONVERT_TIMELINE_GIVEN;
    return is_vague ? EVENTS_TOLERANCE_NS : TOLERANCE_NS;
}

/* Joins the task with the last one of the run that began before it, if that lived long enough. A task that began before
 * its input belongs to the first one. The run has the tasks of another input with the same ids, sorted by start. */
static void match_task(const struct matching *matching, const struct task *task, const struct task *run,
                       size_t run_count) {
    const struct merge_input *inputs = matching->merge->inputs;
    int64_t tolerance = tolerance_ns(&inputs[task->input], &inputs[run->input]);
    bool has_start = task->start_ns != TIME_NONE;
    int64_t latest_ns = task->start_ns < INT64_MAX - tolerance ? task->start_ns + tolerance : task->start_ns;
    size_t next = has_start ? FIRST_ROW(i, run_count, run[i].start_ns > latest_ns) : 1;
    if (!next) return;
    const struct task *other = &run[next - 1];
    if (task->home_namespace && other->home_namespace && task->home_namespace != other->home_namespace) return;
    if (has_start && other->end_ns < INT64_MAX - tolerance && task->start_ns > other->end_ns + tolerance) return;
    if (!has_start && other->start_ns > task->end_ns) return;
    /* Within a process, the recorder gives one start for all its traces. */
    bool are_recorders = inputs[task->input].is_recorder && inputs[run->input].is_recorder;
    bool is_other =
        has_start && other->start_ns != TIME_NONE && merge_difference(task->start_ns, other->start_ns) > tolerance;
    if (are_recorders && matching->is_of_processes && is_other) {
        bool is_contradiction = other->end_ns != INT64_MAX && task->start_ns < other->end_ns - tolerance;
        ledger_enter(matching->ledger, LEDGER_RECORDS, LEDGER_NOTED,
                     TEXT("process that began while another one had its pid: kept apart"), is_contradiction, NULL);
        return;
    }
    join(matching->sets, task->row, other->row);
}

static void match_runs(const struct matching *matching, const struct task *a, size_t a_count, const struct task *b,
                       size_t b_count) {
    bool is_a_recorder = matching->merge->inputs[a->input].is_recorder;
    bool is_b_recorder = matching->merge->inputs[b->input].is_recorder;
    if (is_a_recorder || !is_b_recorder)
        for (size_t i = 0; i < a_count; i++) match_task(matching, &a[i], b, b_count);
    if (is_b_recorder || !is_a_recorder)
        for (size_t i = 0; i < b_count; i++) match_task(matching, &b[i], a, a_count);
}

/* Returns how many of the tasks, from the first on, have the same ids; with `is_of_input`, and the same input. */
static size_t count_same(const struct task *tasks, size_t count, bool is_of_input) {
    size_t same = 1;
    while (same < count && have_same_ids(tasks, &tasks[same]) && (!is_of_input || tasks->input == tasks[same].input))
        same++;
    return same;
}

/* Matches the tasks with the same ids, whose inputs ascend. */
static void match_ids(const struct matching *matching, const struct task *tasks, size_t count) {
    for (size_t a = 0, a_count; a < count; a += a_count) {
        a_count = count_same(tasks + a, count - a, true);
        for (size_t b = a + a_count, b_count; b < count; b += b_count) {
            b_count = count_same(tasks + b, count - b, true);
            match_runs(matching, tasks + a, a_count, tasks + b, b_count);
        }
    }
}

/* Sorts the tasks and joins equal ones. A task ends at the latest when the next one with its ids begins. */
static void match_all(const struct matching *matching, struct task *tasks, size_t count) {
    memory_sort(matching->merge->failure, tasks, count, sizeof *tasks, compare_tasks);
    for (size_t i = 0; i + 1 < count; i++) {
        bool is_followed = have_same_ids(&tasks[i], &tasks[i + 1]) && tasks[i].input == tasks[i + 1].input;
        bool is_next_known = is_followed && tasks[i + 1].start_ns != TIME_NONE;
        if (is_next_known && tasks[i + 1].start_ns < tasks[i].end_ns) tasks[i].end_ns = tasks[i + 1].start_ns;
    }
    for (size_t i = 0, same; i < count; i += same) {
        same = count_same(tasks + i, count - i, false);
        match_ids(matching, tasks + i, same);
    }
}

/* ---- Namespaces. ---- */

/* Returns the namespace of pids for which the input does not name it: the initial one if any input of the machine has a
 * process in it, or one that is seen from it; otherwise the only one that those inputs name; 0 if there are several.
 */
static uint64_t default_namespace(const struct merge *merge, uint32_t machine) {
    uint64_t only = 0;
    bool are_several = false;
    for (size_t i = 0; i < merge->input_count; i++) {
        const struct column *processes = &merge->inputs[i].profile.processes;
        for (size_t j = 0; j < processes->count && merge->inputs[i].machine == machine; j++) {
            const struct process *process = column_at(processes, j);
            uint64_t namespace = process->pid_namespace;
            bool is_in_initial = namespace == INITIAL_PID_NAMESPACE || process->home_namespace == INITIAL_PID_NAMESPACE;
            if (process->outer_pid || is_in_initial) return INITIAL_PID_NAMESPACE;
            are_several |= namespace && only && namespace != only;
            if (namespace) only = namespace;
        }
    }
    return are_several ? 0 : only;
}

/* ---- Adding to the whole profile. ---- */

/* The recorder's names come from the program itself. Of several runs, the first one that has a name gives it. */
static void take_name(const struct merge *merge, struct text *name, struct text other, bool is_recorder) {
    bool is_better = is_recorder && !merge->runs;
    if (other.bytes_count && (is_better || !name->bytes_count)) *name = other;
}

/* Numbers tasks with the same id in order of appearance. */
struct generations {
    struct strings texts;
    struct value_table next; /* uint32_t by struct id_key; all ids with a text are there before the first is numbered */
};

/* The id of a task: a number, or a text if it has one. */
struct id_key {
    uint64_t group; /* a thread's process */
    int64_t number;
    uint64_t text; /* ID_NONE: it has none */
};

static const uint32_t FIRST_GENERATION = 0;

static uint32_t next_generation(struct generations *generations, struct id_key key) {
    uint32_t *next = value_table_intern(&generations->next, &key, &FIRST_GENERATION);
    return next ? (*next)++ : 0;
}

static void expect_id(struct generations *generations, struct id_key key, struct text text) {
    if (!text.bytes_count) return;
    key.text = strings_intern(&generations->texts, text).index;
    value_table_number(&generations->next, &key, &FIRST_GENERATION);
}

/* Returns the id without the number that distinguishes tasks with the same id: "unknown pid" for "unknown pid.2". The
 * whole profile numbers them anew. If no task has the rest as its id, the number belongs to the id and stays. */
static struct text plain_id(struct generations *generations, struct id_key key, struct text id) {
    enum { NUMBERS_MAX = 4 };
    struct text plain = id, rest = id;
    for (unsigned i = 0; i < NUMBERS_MAX; i++) {
        size_t dot = text_find_last(rest, '.');
        uint64_t number;
        if (!cursor_parse_number(text_from(rest, dot + 1), 10, &number) || number < 2) break;
        rest = text_slice(rest, 0, dot);
        key.text = strings_intern(&generations->texts, rest).index;
        if (value_table_find(&generations->next, &key)) plain = rest;
    }
    return plain;
}

/* Returns how many tasks with the same id came before. The second task with a text as id gets "unknown pid.2". */
static uint32_t number_id(struct generations *generations, struct profile *whole, struct id_key key,
                          struct text *text) {
    *text = plain_id(generations, key, *text);
    if (text->bytes_count) key.text = strings_intern(&generations->texts, *text).index;
    uint32_t generation = next_generation(generations, key);
    if (text->bytes_count && generation)
        *text = profile_text_format(whole, "%.*s.%" PRIu32, TEXT_ARGS(*text), generation + 1);
    return generation;
}

static void generations_init(struct generations *generations, struct failure *failure) {
    strings_init(&generations->texts, failure);
    value_table_init(&generations->next, sizeof(struct id_key), sizeof(uint32_t), failure);
}

static void generations_fini(struct generations *generations) {
    strings_fini(&generations->texts);
    value_table_fini(&generations->next);
}

/* The start and end of a task. */
struct lifetime {
    int64_t *start_ns;
    int64_t *end_ns;
};

/* Extends the lifetime by what another input knows of the task. In a merge of runs, a start or an end that one run does
 * not know becomes unknown. */
static void merge_lifetimes(const struct merge *merge, struct lifetime whole, int64_t start_ns, int64_t end_ns,
                            bool is_first) {
    bool knows_start = *whole.start_ns != TIME_NONE && start_ns != TIME_NONE;
    bool knows_end = *whole.end_ns != TIME_NONE && end_ns != TIME_NONE;
    bool takes_any = !merge->runs || is_first;
    *whole.start_ns = takes_any || knows_start ? time_earlier(*whole.start_ns, start_ns) : TIME_NONE;
    *whole.end_ns = takes_any || knows_end ? time_later(*whole.end_ns, end_ns) : TIME_NONE;
}

/* A process has the command line of the last program that it executed. Call it before `is_replaced` is merged. */
static void merge_command_line(struct process *whole, const struct process *part) {
    bool is_of_last = part->is_replaced == whole->is_replaced ? !whole->command_line : whole->is_replaced;
    if (is_of_last) whole->command_line = part->command_line;
}

/* Returns no name if it is only the kind and the id, as "thread 12" or "process 12.2", which tasks without a name get.
 * The merged task gets one from its own id. */
static struct text given_name(struct text name, const char *kind, int64_t id) {
    struct text rest = name;
    int64_t number;
    uint64_t generation;
    if (!cursor_take(&rest, text_of(kind)) || !cursor_take_id(&rest, &number) || number != id) return name;
    bool is_made_up =
        !rest.bytes_count || (cursor_take(&rest, TEXT(".")) && cursor_parse_number(rest, 10, &generation));
    return is_made_up ? (struct text){0} : name;
}

static struct text given_name_of_process(const struct process *process) {
    return given_name(process->name, "process ", process->pid);
}

static struct text given_name_of_thread(const struct thread *thread) {
    return given_name(thread->name, "thread ", thread->tid);
}

/* A process whose end perf has recorded is over, even if the recorder watched it only for a while. */
static void merge_process(const struct merge *merge, struct process *whole, const struct process *part,
                          bool is_recorder, bool is_first) {
    bool is_first_end = whole->end_ns == TIME_NONE;
    if (part->end_ns != TIME_NONE) whole->lives_on = part->lives_on && (is_first_end || whole->lives_on);
    merge_lifetimes(merge, (struct lifetime){&whole->start_ns, &whole->end_ns}, part->start_ns, part->end_ns, is_first);
    take_name(merge, &whole->name, given_name_of_process(part), is_recorder);
    take_name(merge, &whole->ending, part->ending, is_recorder);
    whole->type = is_first || text_equal(whole->type, part->type) ? part->type : (struct text){0};
    if (!whole->pid_namespace) whole->pid_namespace = part->pid_namespace;
    if (!whole->home_namespace) whole->home_namespace = part->home_namespace;
    if (!whole->outer_pid) whole->outer_pid = part->outer_pid;
    merge_command_line(whole, part);
    whole->is_replaced &= part->is_replaced;
    whole->has_lost_content |= part->has_lost_content;
}

static void merge_thread(const struct merge *merge, struct thread *whole, const struct thread *part, bool is_recorder,
                         bool is_first) {
    merge_lifetimes(merge, (struct lifetime){&whole->start_ns, &whole->end_ns}, part->start_ns, part->end_ns, is_first);
    take_name(merge, &whole->name, given_name_of_thread(part), is_recorder);
    if (merge->runs) whole->is_made_up = part->is_made_up && (is_first || whole->is_made_up);
}

/* The main thread of a process is that of its first run that has one. */
static void take_main_thread(struct profile *whole, thread_id thread, process_id process, const struct thread *part) {
    struct process *owner = profile_process_at(whole, process);
    if (!part->is_main || !thread_is_none(owner->main_thread)) return;
    owner->main_thread = thread;
    profile_thread_at(whole, thread)->is_main = true;
}

static bool shows_some_threads(const struct profile *profile) {
    COLUMN_EACH(const struct thread, thread, &profile->threads)
        if (thread->is_visible) return true;
    return false;
}

/* Shows what any of the runs shows at first. A run that leaves the choice to the front-end shows all, unless all runs
 * do. */
static void show_threads_of_runs(const struct merge_tasks *tasks, const struct merge *merge, struct profile *whole) {
    bool is_chosen = false;
    for (size_t i = 0; i < merge->input_count; i++) is_chosen |= shows_some_threads(&merge->inputs[i].profile);
    for (size_t i = 0; i < merge->input_count && is_chosen; i++) {
        const struct profile *profile = &merge->inputs[i].profile;
        bool shows_all = !shows_some_threads(profile);
        for (size_t j = 0; j < profile->threads.count; j++) {
            const struct thread *part = column_at(&profile->threads, j);
            thread_id thread = tasks->threads[tasks->first_threads[i] + j];
            profile_thread_at(whole, thread)->is_visible |= shows_all || part->is_visible;
        }
    }
}

/* The text of a pid that is known may be that of another process in another run. */
static struct text text_of_pid(const struct merge *merge, const struct process *part) {
    return merge->runs && part->pid != PID_UNKNOWN ? (struct text){0} : part->pid_text;
}

static struct id_key key_of_pid(const struct process *part) { return (struct id_key){0, part->pid, ID_NONE}; }

static process_id add_process(struct generations *generations, const struct merge *merge, struct profile *whole,
                              const struct process *part) {
    struct text text = text_of_pid(merge, part);
    uint32_t generation = number_id(generations, whole, key_of_pid(part), &text);
    process_id id = profile_add_process(whole, part->pid, generation);
    if (process_is_none(id)) return id;
    profile_process_at(whole, id)->pid_text = text;
    profile_process_at(whole, id)->is_replaced = part->is_replaced;
    return id;
}

static void expect_pids(struct generations *generations, const struct merge *merge) {
    for (size_t i = 0; i < merge->input_count; i++) {
        const struct column *processes = &merge->inputs[i].profile.processes;
        COLUMN_EACH(const struct process, part, processes)
            expect_id(generations, key_of_pid(part), text_of_pid(merge, part));
    }
}

static void add_processes(struct merge_tasks *tasks, const struct merge *merge, uint32_t *sets, struct profile *whole) {
    struct generations generations;
    generations_init(&generations, merge->failure);
    expect_pids(&generations, merge);
    for (size_t i = 0; i < merge->input_count; i++) {
        const struct merge_input *input = &merge->inputs[i];
        for (size_t j = 0; j < input->profile.processes.count && !failure_is_set(merge->failure); j++) {
            const struct process *part = column_at(&input->profile.processes, j);
            uint32_t row = tasks->first_processes[i] + (uint32_t)j, first = representative(sets, row);
            tasks->processes[row] =
                first == row ? add_process(&generations, merge, whole, part) : tasks->processes[first];
            if (failure_is_set(merge->failure)) break;
            merge_process(merge, profile_process_at(whole, tasks->processes[row]), part, input->is_recorder,
                          first == row);
        }
    }
    generations_fini(&generations);
}

static void add_parents(const struct merge_tasks *tasks, const struct merge *merge, struct profile *whole) {
    for (size_t i = 0; i < merge->input_count && !failure_is_set(merge->failure); i++) {
        const struct profile *profile = &merge->inputs[i].profile;
        for (size_t j = 0; j < profile->processes.count; j++) {
            process_id parent = ((const struct process *)column_at(&profile->processes, j))->parent;
            struct process *process = profile_process_at(whole, tasks->processes[tasks->first_processes[i] + j]);
            if (process_is_none(process->parent) && !process_is_none(parent))
                process->parent = tasks->processes[tasks->first_processes[i] + parent.index];
        }
    }
}

/* Adds the track to the whole profile, which has its owner. A track of several runs is one. */
static thread_id add_track(const struct merge_tasks *tasks, const struct merge *merge, uint32_t first_thread,
                           const struct event_track *part, struct profile *whole, struct generations *generations) {
    struct event_track track = *part;
    track.owner = tasks->threads[first_thread + part->owner.index];
    if (!merge->runs) return profile_add_track(whole, &track);
    /* No thread has such a number. */
    int64_t number = INT64_MIN + 2 * track.counts_ns + track.is_processor;
    struct id_key key = {track.owner.index, number, strings_intern(&generations->texts, track.event).index};
    uint32_t *end = value_table_intern(&generations->next, &key, &FIRST_GENERATION);
    if (!end) return thread_none();
    if (!*end) *end = profile_add_track(whole, &track).index + 1;
    return (thread_id){*end - 1};
}

/* A text with a number, such as "12.2" or "0.2", is made of that again, but other texts are names. */
static struct text text_of_tid(const struct thread *part) {
    struct text rest = part->tid_text;
    uint64_t number;
    bool is_zero = cursor_take(&rest, TEXT("0.")) && cursor_parse_number(rest, 10, &number);
    return part->tid || is_zero ? (struct text){0} : part->tid_text;
}

static struct id_key key_of_tid(process_id process, const struct thread *part) {
    return (struct id_key){process.index, part->tid, ID_NONE};
}

static thread_id add_thread(struct generations *generations, struct profile *whole, process_id process,
                            const struct thread *part) {
    struct text text = text_of_tid(part);
    uint32_t generation = number_id(generations, whole, key_of_tid(process, part), &text);
    thread_id id = profile_add_thread(whole, process, part->tid, generation);
    if (!thread_is_none(id)) profile_thread_at(whole, id)->tid_text = text;
    return id;
}

/* Adds the threads of an input that are not tracks, or only the tracks, whose owners may come later in the input. */
static void add_threads_of(struct merge_tasks *tasks, const struct merge *merge, uint32_t *sets, struct profile *whole,
                           size_t number, bool are_tracks, struct generations *generations) {
    const struct merge_input *input = &merge->inputs[number];
    for (size_t j = 0; j < input->profile.threads.count && !failure_is_set(merge->failure); j++) {
        const struct thread *part = column_at(&input->profile.threads, j);
        if (thread_is_track(part) != are_tracks) continue;
        uint32_t row = tasks->first_threads[number] + (uint32_t)j, first = representative(sets, row);
        process_id process = tasks->processes[tasks->first_processes[number] + part->process.index];
        size_t thread_count = whole->threads.count;
        if (are_tracks)
            tasks->threads[row] = add_track(tasks, merge, tasks->first_threads[number],
                                            profile_track_of(&input->profile, part), whole, generations);
        else
            tasks->threads[row] = first == row ? add_thread(generations, whole, process, part) : tasks->threads[first];
        if (failure_is_set(merge->failure)) break;
        struct thread *thread = profile_thread_at(whole, tasks->threads[row]);
        merge_thread(merge, thread, part, input->is_recorder, whole->threads.count > thread_count);
        if (merge->runs) take_main_thread(whole, tasks->threads[row], process, part);
    }
}

static void expect_tids(struct generations *generations, const struct merge_tasks *tasks, const struct merge *merge) {
    for (size_t i = 0; i < merge->input_count; i++) {
        const struct column *threads = &merge->inputs[i].profile.threads;
        COLUMN_EACH(const struct thread, part, threads) {
            process_id process = tasks->processes[tasks->first_processes[i] + part->process.index];
            if (!thread_is_track(part)) expect_id(generations, key_of_tid(process, part), text_of_tid(part));
        }
    }
}

static void add_threads(struct merge_tasks *tasks, const struct merge *merge, uint32_t *sets, struct profile *whole) {
    struct generations generations;
    generations_init(&generations, merge->failure);
    expect_tids(&generations, tasks, merge);
    for (size_t i = 0; i < merge->input_count; i++) {
        add_threads_of(tasks, merge, sets, whole, i, false, &generations);
        add_threads_of(tasks, merge, sets, whole, i, true, &generations);
    }
    generations_fini(&generations);
    if (merge->runs && !failure_is_set(merge->failure)) show_threads_of_runs(tasks, merge, whole);
}

/* ---- Runs. ---- */

/* The key by which a task is found in another run. */
struct run_key {
    uint64_t group;   /* a thread's process */
    int64_t id;       /* by what tasks are matched: a name, or a pid */
    uint64_t ordinal; /* among tasks of the run with the same group and id */
};

struct run_matching {
    enum merge_match match;
    struct strings names;
    struct value_table first_rows; /* uint32_t by struct run_key: the first task with the key */
    struct generations seen;       /* in the current run */
    uint32_t *sets;                /* borrowed */
};

static void run_matching_init(struct run_matching *matching, const struct merge *merge, uint32_t *sets) {
    *matching = (struct run_matching){.match = merge->runs->match, .sets = sets};
    strings_init(&matching->names, merge->failure);
    value_table_init(&matching->first_rows, sizeof(struct run_key), sizeof(uint32_t), merge->failure);
}

static void run_matching_fini(struct run_matching *matching) {
    value_table_fini(&matching->first_rows);
    strings_fini(&matching->names);
}

/* Joins the task with the first one that has the same key. */
static void match_in_runs(struct run_matching *matching, uint32_t row, uint64_t group, int64_t number,
                          struct text name) {
    struct run_key key = {.group = group};
    if (matching->match == MERGE_MATCH_NAME) key.id = strings_intern(&matching->names, name).index;
    if (matching->match == MERGE_MATCH_PID) key.id = number;
    key.ordinal = next_generation(&matching->seen, (struct id_key){group, key.id, ID_NONE});
    const uint32_t *first = value_table_intern(&matching->first_rows, &key, &row);
    if (first) join(matching->sets, *first, row);
}

static void match_processes_of_runs(const struct merge_tasks *tasks, const struct merge *merge, uint32_t *sets) {
    struct run_matching matching;
    run_matching_init(&matching, merge, sets);
    for (uint32_t i = 0; i < merge->input_count && !failure_is_set(merge->failure); i++) {
        const struct profile *profile = &merge->inputs[i].profile;
        generations_init(&matching.seen, merge->failure);
        for (uint32_t j = 0; j < profile->processes.count; j++) {
            const struct process *process = column_at(&profile->processes, j);
            match_in_runs(&matching, tasks->first_processes[i] + j, 0, process->pid, given_name_of_process(process));
        }
        generations_fini(&matching.seen);
    }
    run_matching_fini(&matching);
}

static void match_threads_of_runs(const struct merge_tasks *tasks, const struct merge *merge, uint32_t *sets) {
    struct run_matching matching;
    run_matching_init(&matching, merge, sets);
    for (uint32_t i = 0; i < merge->input_count && !failure_is_set(merge->failure); i++) {
        const struct column *threads = &merge->inputs[i].profile.threads;
        generations_init(&matching.seen, merge->failure);
        for (uint32_t j = 0; j < threads->count; j++) {
            const struct thread *thread = column_at(threads, j);
            process_id process = tasks->processes[tasks->first_processes[i] + thread->process.index];
            if (thread_is_track(thread)) continue; /* it follows its owner */
            match_in_runs(&matching, tasks->first_threads[i] + j, process.index, thread->tid,
                          given_name_of_thread(thread));
        }
        generations_fini(&matching.seen);
    }
    run_matching_fini(&matching);
}

/* ---- The whole. ---- */

static int64_t known_end_ns(int64_t end_ns) { return end_ns == TIME_NONE ? INT64_MAX : end_ns; }

/* Processes whose pid is unknown, is that of no process, or has a text of its own (of a guest) equal no other. */
static void match_processes(const struct merge_tasks *tasks, const struct merge *merge, struct profile *whole,
                            struct task *rows, uint32_t *sets) {
    size_t count = 0;
    for (uint32_t i = 0; i < merge->input_count; i++) {
        const struct merge_input *input = &merge->inputs[i];
        uint64_t default_id = default_namespace(merge, input->machine);
        for (uint32_t j = 0; j < input->profile.processes.count; j++) {
            const struct process *process = column_at(&input->profile.processes, j);
            uint64_t namespace = process->pid_namespace ? process->pid_namespace : default_id;
            if (process->pid < 0 || process->pid_text.bytes_count) continue;
            struct task row = {.group = {input->machine, namespace},
                               .number = process->pid,
                               .start_ns = process->start_ns,
                               .end_ns = known_end_ns(process->end_ns),
                               .home_namespace = process->home_namespace,
                               .row = tasks->first_processes[i] + j,
                               .input = i};
            rows[count++] = row;
            if (!process->outer_pid) continue;
            row.group[1] = INITIAL_PID_NAMESPACE;
            row.number = process->outer_pid;
            rows[count++] = row;
        }
    }
    match_all(&(struct matching){merge, &whole->ledger, sets, true}, rows, count);
}

/* Threads of a process with an outer pid are compared by their outer tids. The recorder does not know those of threads
 * that only its sampler has seen, which equal no thread of perf. */
static int64_t find_tid(const struct profile *profile, const struct thread *thread) {
    const struct process *process = column_at(&profile->processes, thread->process.index);
    if (process->outer_pid && thread->tid == process->pid) return process->outer_pid;
    return thread->outer_tid ? thread->outer_tid : thread->tid;
}

/* Tids of other groups are in other namespaces. */
static uint64_t find_tid_group(const struct profile *profile, const struct thread *thread) {
    const struct process *process = column_at(&profile->processes, thread->process.index);
    bool is_inner = process->outer_pid && !thread->outer_tid && thread->tid != process->pid;
    return is_inner ? process->pid_namespace : 0;
}

static void match_threads(const struct merge_tasks *tasks, const struct merge *merge, struct profile *whole,
                          struct task *rows, uint32_t *sets) {
    size_t count = 0;
    for (uint32_t i = 0; i < merge->input_count; i++) {
        const struct profile *profile = &merge->inputs[i].profile;
        for (uint32_t j = 0; j < profile->threads.count; j++) {
            const struct thread *thread = column_at(&profile->threads, j);
            rows[count++] =
                (struct task){.group = {tasks->processes[tasks->first_processes[i] + thread->process.index].index,
                                        find_tid_group(profile, thread),
                                        thread_is_track(thread) ? 1 + tasks->first_threads[i] + j : 0},
                              .number = find_tid(profile, thread),
                              .start_ns = profile->meta.are_starts_guessed ? TIME_NONE : thread->start_ns,
                              .end_ns = known_end_ns(thread->end_ns),
                              .row = tasks->first_threads[i] + j,
                              .input = i};
        }
    }
    match_all(&(struct matching){merge, &whole->ledger, sets, false}, rows, count);
}

void merge_tasks_init(struct merge_tasks *tasks, const struct merge *merge, struct profile *whole) {
    size_t process_count = 0, thread_count = 0;
    struct failure *failure = merge->failure;
    *tasks = (struct merge_tasks){.first_processes = memory_allocate(failure, merge->input_count * sizeof(uint32_t)),
                                  .first_threads = memory_allocate(failure, merge->input_count * sizeof(uint32_t))};
    if (failure_is_set(failure)) return;
    for (size_t i = 0; i < merge->input_count; i++) {
        tasks->first_processes[i] = (uint32_t)process_count;
        tasks->first_threads[i] = (uint32_t)thread_count;
        process_count += merge->inputs[i].profile.processes.count;
        thread_count += merge->inputs[i].profile.threads.count;
    }
    size_t row_count = process_count > thread_count ? process_count : thread_count;
    tasks->processes = memory_allocate(failure, process_count * sizeof *tasks->processes);
    tasks->threads = memory_allocate(failure, thread_count * sizeof *tasks->threads);
    struct task *rows = memory_allocate(failure, 2 * row_count * sizeof *rows);
    uint32_t *sets = memory_allocate(failure, row_count * sizeof *sets);
    if (!failure_is_set(failure)) {
        for (uint32_t i = 0; i < row_count; i++) sets[i] = i;
        if (merge->runs)
            match_processes_of_runs(tasks, merge, sets);
        else
            match_processes(tasks, merge, whole, rows, sets);
        add_processes(tasks, merge, sets, whole);
        add_parents(tasks, merge, whole);
    }
    if (!failure_is_set(failure)) {
        for (uint32_t i = 0; i < row_count; i++) sets[i] = i;
        if (merge->runs)
            match_threads_of_runs(tasks, merge, sets);
        else
            match_threads(tasks, merge, whole, rows, sets);
        add_threads(tasks, merge, sets, whole);
    }
    MEMORY_FREE_ALL(rows, sets);
}

void merge_tasks_fini(struct merge_tasks *tasks) {
    MEMORY_FREE_ALL(tasks->first_processes, tasks->first_threads, tasks->processes, tasks->threads);
    *tasks = (struct merge_tasks){0};
}
