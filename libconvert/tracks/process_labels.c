#include "process_labels.h"

#include "libconvert/base/cursor.h"
#include "libconvert/base/value_table.h"
#include "libconvert/profile/launchers.h"
#include "libconvert/profile/profile_finish.h"

/* An argument that processes of a name have. The argument ID_NONE stands for the processes themselves. */
struct use {
    uint32_t name; /* a row of `texts`, like the argument */
    uint32_t argument;
};

struct use_count {
    uint32_t process_count;
    uint32_t last_user; /* the process that was counted last, and then the label that has the argument */
};

struct labels {
    struct profile *profile;
    unsigned character_count_max;
    uint32_t label_count; /* how many were begun, also those that did not fit */
    struct strings texts;
    struct value_table uses; /* struct use_count by struct use */
};

/* Programs may write a title in place of their arguments: "postgres: walwriter", "redis-server *:6379",
 * "/usr/lib/chromium/chromium --type=renderer", or "php-fpm: pool www" of php-fpm8.2. Returns what follows the name
 * there. Nothing follows if the name is the title, as Python's setproctitle makes it. */
static struct text title_of(const struct process *process, struct text program) {
    size_t end = process->name.bytes_count, word_bytes = text_find(program, ' ');
    program = text_from(program, word_bytes - text_base_name(text_slice(program, 0, word_bytes)).bytes_count);
    if (!text_starts_with(program, process->name)) end = text_find(program, ':');
    if (!end || end == program.bytes_count || !text_starts_with(process->name, text_slice(program, 0, end)))
        return (struct text){0};
    struct text rest = text_from(program, end);
    if (text_starts_with(rest, TEXT(":"))) rest = text_from(rest, 1);
    return text_starts_with(rest, TEXT(" ")) ? text_trim(rest) : (struct text){0};
}

/* Returns whether the first argument is the script that the process is named after: "gunicorn" of "python3",
 * "/usr/bin/gunicorn". */
static bool begins_with_script(const struct process *process, struct text program, struct text arguments) {
    return !text_equal(text_base_name(program), process->name) &&
           text_equal(text_base_name(arguments_take(&arguments)), process->name);
}

/* Returns the arguments of the process without the path of the program. */
static struct text arguments_of(const struct process *process) {
    struct text arguments = process->command_line ? process->command_line->arguments : (struct text){0};
    struct text program = arguments_take(&arguments);
    if (begins_with_script(process, program, arguments)) arguments_take(&arguments);
    return arguments.bytes_count ? arguments : title_of(process, program);
}

/* Returns what comes between the name of the process and its arguments: a colon too if its title has one. */
static struct text separator_of(const struct process *process) {
    struct text arguments = process->command_line->arguments, program = arguments_take(&arguments);
    bool is_titled =
        !arguments.bytes_count && text_ends_with(text_slice(program, 0, text_find(program, ' ')), TEXT(":"));
    return is_titled ? TEXT(": ") : TEXT(" ");
}

/* ---- What processes have in common. ---- */

/* Returns NULL if memory ran out (latched). */
static struct use_count *count_of(struct labels *labels, uint32_t name, uint32_t argument) {
    const struct use use = {name, argument};
    return value_table_intern(&labels->uses, &use, &(struct use_count){0, ID_NONE});
}

/* Returns false if it was the last user. */
static bool set_last_user(struct use_count *count, uint32_t user) {
    bool is_other = count->last_user != user;
    count->last_user = user;
    return is_other;
}

static void count_use(struct labels *labels, uint32_t name, uint32_t argument, uint32_t process) {
    struct use_count *count = count_of(labels, name, argument);
    if (count) count->process_count += set_last_user(count, process);
}

static uint32_t number_of(struct labels *labels, struct text text) {
    return strings_intern(&labels->texts, text).index;
}

static void count_arguments(struct labels *labels, uint32_t row) {
    const struct process *process = column_at(&labels->profile->processes, row);
    uint32_t name = number_of(labels, process->name);
    count_use(labels, name, ID_NONE, row);
    for (struct text rest = arguments_of(process); rest.bytes_count;)
        count_use(labels, name, number_of(labels, arguments_take(&rest)), row);
}

/* ---- A label. ---- */

enum { CHARACTER_BYTES_MAX = 4, LABEL_BYTES_MAX = CHARACTER_BYTES_MAX * PROCESS_LABEL_CHARACTERS_MAX };

struct label {
    char bytes[LABEL_BYTES_MAX + CHARACTER_BYTES_MAX];
    size_t bytes_count;
    unsigned character_count;
    unsigned character_count_max;
    bool is_cut;
    bool has_word; /* an argument that is no option */
};

/* Returns whether the byte begins a character of UTF-8. */
static bool begins_character(char byte) { return ((unsigned char)byte & 0xc0) != 0x80; }

static void append(struct label *label, struct text text) {
    for (size_t i = 0; i < text.bytes_count && !label->is_cut; i++) {
        bool is_control = (unsigned char)text.bytes[i] < ' ';
        label->character_count += begins_character(text.bytes[i]);
        label->is_cut = label->character_count > label->character_count_max || label->bytes_count == LABEL_BYTES_MAX;
        if (!label->is_cut) label->bytes[label->bytes_count++] = is_control ? ' ' : text.bytes[i];
    }
}

/* Puts an ellipsis in place of the last character. */
static void show_cut(struct label *label) {
    static const struct text ellipsis = TEXT("…");
    while (label->bytes_count && !begins_character(label->bytes[--label->bytes_count])) continue;
    for (size_t i = 0; i < ellipsis.bytes_count; i++) label->bytes[label->bytes_count++] = ellipsis.bytes[i];
}

/* Returns the last part of an absolute path: the command line has the rest. */
static struct text without_folders(struct text argument) {
    struct text name = text_base_name(argument);
    return text_starts_with(argument, TEXT("/")) && name.bytes_count ? name : argument;
}

static bool is_temporary(struct text argument) {
    return text_starts_with(argument, TEXT("/tmp/")) || text_starts_with(argument, TEXT("/var/tmp/"));
}

static bool is_option(struct text argument) { return text_starts_with(argument, TEXT("-")); }

/* Returns whether the argument is to be shown: it sets the process apart, because another process of its name does not
 * have it, or there is no other; and the label does not have it yet. A word that follows one that is shown may be its
 * value: without it, "-w 4 -b" would be read as "-w -b". */
static bool is_telling(struct labels *labels, uint32_t name, struct text argument, bool follows_shown) {
    const struct use_count *all = count_of(labels, name, ID_NONE);
    struct use_count *own = count_of(labels, name, number_of(labels, argument));
    if (!all || !own) return false;
    bool is_common = all->process_count > 1 && own->process_count == all->process_count;
    if (is_common && (!follows_shown || is_option(argument))) return false;
    return set_last_user(own, labels->label_count);
}

/* Which arguments a label may have. */
struct choice {
    bool has_temporary; /* temporary files besides others */
    bool has_options;   /* words that begin with "-", and their numbers */
    bool is_of_output;  /* the option -o and its value alone */
};

/* Returns whether the argument is most likely the value of the option before it: "8080", "50%", "1500x1000", "30s". A
 * file may begin with digits, too: "01_train.py". */
static bool is_number_of(struct text option, struct text argument) {
    struct text ending = text_from(argument, text_find_last(argument, '.') + 1);
    bool is_file =
        text_find(argument, '/') < argument.bytes_count || (ending.bytes_count && !cursor_is_digit(ending.bytes[0]));
    return is_option(option) && argument.bytes_count && cursor_is_digit(argument.bytes[0]) && !is_file;
}

static bool is_chosen(struct choice choice, struct text before, struct text argument) {
    bool is_setting = text_find(argument, '=') < argument.bytes_count; /* "ssh -o User=me" */
    if (choice.is_of_output && is_setting) return false;
    return argument.bytes_count && !text_equal(argument, TEXT("/dev/null")) &&
           (choice.has_temporary || !is_temporary(argument)) &&
           (choice.has_options || !(is_option(argument) || is_number_of(before, argument)));
}

static struct label begin_label(const struct labels *labels, const struct process *process) {
    struct label label = {.character_count_max = labels->character_count_max};
    for (size_t i = 0; i < process->name.bytes_count; i++)
        label.character_count += begins_character(process->name.bytes[i]);
    return label;
}

/* Makes a label of the telling arguments, each once. It is empty if there are none. */
static struct label make_label(struct labels *labels, const struct process *process, struct choice choice) {
    struct label label = begin_label(labels, process);
    uint32_t name = number_of(labels, process->name);
    bool is_output = !choice.is_of_output, is_shown = false;
    struct text before = {0};
    for (struct text rest = arguments_of(process); rest.bytes_count && !label.is_cut;) {
        struct text argument = arguments_take(&rest);
        is_shown = is_output && is_chosen(choice, before, argument) && is_telling(labels, name, argument, is_shown);
        before = argument;
        if (choice.is_of_output) is_output = text_equal(argument, TEXT("-o"));
        if (!is_shown) continue;
        append(&label, choice.is_of_output ? TEXT(" -o ") : label.bytes_count ? TEXT(" ") : separator_of(process));
        append(&label, without_folders(argument));
        label.has_word = label.has_word || !is_option(argument);
    }
    labels->label_count++;
    return label;
}

/* Returns the file that a compiler of GCC compiles, "-" for standard input. The names of what the compiler dumps come
 * after it, and so does what it writes when it only preprocesses. */
static struct text source_of(const struct process *process) {
    struct text file = {0}, before = {0};
    for (struct text rest = arguments_of(process); rest.bytes_count;) {
        struct text argument = arguments_take(&rest);
        if (text_equal(argument, TEXT("-dumpbase")) || text_equal(argument, TEXT("-dumpdir"))) return file;
        bool is_input = !is_option(argument) || text_equal(argument, TEXT("-"));
        if (is_input && !text_equal(before, TEXT("-o"))) file = argument;
        before = argument;
    }
    return (struct text){0};
}

/* Options and their numbers are left out if the rest fits then, mostly names of files.
 * Compilers and linkers are best known by the file that they write, as values of options look like files. */
static struct label best_label(struct labels *labels, const struct process *process) {
    struct text source = source_of(process);
    struct label label = begin_label(labels, process);
    append(&label, source.bytes_count ? TEXT(" ") : source);
    append(&label, without_folders(source));
    if (label.bytes_count) return label;
    label = make_label(labels, process, (struct choice){.has_options = true});
    if (!label.is_cut && !label.has_word)
        return make_label(labels, process, (struct choice){.has_temporary = true, .has_options = true});
    if (!label.is_cut) return label;
    struct label output = make_label(labels, process, (struct choice){.is_of_output = true});
    if (output.bytes_count && !program_is_launcher(process->name)) return output;
    struct label shorter = make_label(labels, process, (struct choice){.has_options = false});
    return shorter.bytes_count && !shorter.is_cut ? shorter : label;
}

static void label_process(struct labels *labels, uint32_t row) {
    struct profile *profile = labels->profile;
    struct process *process = column_at(&profile->processes, row);
    struct command_line *line = process->command_line;
    line->shown = arguments_shown(profile, line->arguments);
    struct label label = best_label(labels, process);
    if (label.is_cut && label.bytes_count) show_cut(&label);
    if (label.bytes_count)
        line->label = profile_text_format(profile, "%.*s%.*s", TEXT_ARGS(process->name), TEXT_ARGS(label));
}

void profile_label_processes(struct profile *profile, unsigned character_count_max) {
    struct labels labels = {.profile = profile, .character_count_max = character_count_max};
    if (failure_is_set(profile->failure) || !character_count_max) return;
    profile_name_tasks(profile);
    strings_init(&labels.texts, profile->failure);
    value_table_init(&labels.uses, sizeof(struct use), sizeof(struct use_count), profile->failure);
    for (uint32_t i = 0; i < profile->processes.count; i++)
        if (arguments_of(column_at(&profile->processes, i)).bytes_count) count_arguments(&labels, i);
    for (uint32_t i = 0; i < value_table_count(&labels.uses); i++)
        ((struct use_count *)value_table_at(&labels.uses, i))->last_user = ID_NONE;
    for (uint32_t i = 0; i < profile->processes.count && !failure_is_set(profile->failure); i++)
        if (arguments_of(column_at(&profile->processes, i)).bytes_count) label_process(&labels, i);
    strings_fini(&labels.texts);
    value_table_fini(&labels.uses);
}
