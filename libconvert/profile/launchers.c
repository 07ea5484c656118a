#include "launchers.h"

bool program_is_launcher(struct text name) {
    static const struct text launchers[] = {
        TEXT("bash"),    TEXT("choom"),    TEXT("chroot"),  TEXT("chrt"),    TEXT("dash"),    TEXT("doas"),
        TEXT("env"),     TEXT("faketime"), TEXT("flock"),   TEXT("gosu"),    TEXT("ionice"),  TEXT("ltrace"),
        TEXT("nice"),    TEXT("nohup"),    TEXT("nsenter"), TEXT("numactl"), TEXT("prlimit"), TEXT("runuser"),
        TEXT("setarch"), TEXT("setpriv"),  TEXT("setsid"),  TEXT("sh"),      TEXT("sleep"),   TEXT("stdbuf"),
        TEXT("strace"),  TEXT("su"),       TEXT("sudo"),    TEXT("taskset"), TEXT("time"),    TEXT("timeout"),
        TEXT("tini"),    TEXT("unshare"),  TEXT("xargs"),
    };
    return TEXT_IS_IN(name, launchers);
}

/* Returns whether the launcher has another word before the program: a folder, a file, a time or a user. */
static bool has_place(struct text launcher) {
    static const struct text launchers[] = {TEXT("chroot"), TEXT("faketime"), TEXT("flock"), TEXT("gosu")};
    return TEXT_IS_IN(launcher, launchers);
}

/* Returns whether the next word is the value of the launcher's option. Options with a number are not listed, because
 * take_launched skips all numbers. */
static bool has_value(struct text launcher, struct text option) {
    static const struct {
        struct text launcher;
        const char *letters;
    } rows[] = {{TEXT("doas"), "Cu"},          {TEXT("env"), "CSu"},
                {TEXT("ionice"), "c"},         {TEXT("ltrace"), "ADFaelnopsuwx"},
                {TEXT("numactl"), "CNilmp"},   {TEXT("runuser"), "Ggsuw"},
                {TEXT("stdbuf"), "eio"},       {TEXT("strace"), "EIOPSUXabeopsu"},
                {TEXT("sudo"), "CDRTUghprtu"}, {TEXT("time"), "fo"},
                {TEXT("timeout"), "ks"},       {TEXT("unshare"), "GRSw"},
                {TEXT("xargs"), "EILPadns"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (text_equal(rows[i].launcher, launcher))
            return option.bytes_count == 2 && strchr(rows[i].letters, option.bytes[1]);
    return false;
}

/* Returns the words of the text, each followed by a NUL, except perhaps the last one. */
static struct text end_words(struct profile *profile, struct text text) {
    char *bytes = arena_take_bytes(&profile->memory, text.bytes_count);
    size_t count = 0;
    for (size_t i = 0; bytes && i < text.bytes_count; i++) {
        bool is_blank = text_is_blank_byte(text.bytes[i]);
        if (!is_blank || (count && bytes[count - 1])) bytes[count++] = is_blank ? '\0' : text.bytes[i];
    }
    return (struct text){bytes, count};
}

struct text command_line_arguments(struct profile *profile, struct text command_line) {
    bool has_ends = text_find(command_line, '\0') < command_line.bytes_count;
    return has_ends ? command_line : end_words(profile, command_line);
}

struct text arguments_take(struct text *arguments) {
    struct text argument = text_slice(*arguments, 0, text_find(*arguments, '\0'));
    *arguments = text_from(*arguments, argument.bytes_count + 1);
    return argument;
}

struct text arguments_shown(struct profile *profile, struct text arguments) {
    char *bytes = arena_take_bytes(&profile->memory, arguments.bytes_count);
    if (!bytes) return (struct text){0};
    for (size_t i = 0; i < arguments.bytes_count; i++) bytes[i] = arguments.bytes[i] ? arguments.bytes[i] : ' ';
    return text_trim_end((struct text){bytes, arguments.bytes_count});
}

/* Takes the launcher's own arguments (options, numbers and variables) and the program that it starts. Returns the name
 * of the program. */
static struct text take_launched(struct text launcher, struct text *arguments) {
    bool is_placed = !has_place(launcher);
    for (;;) {
        struct text word = arguments_take(arguments);
        bool is_option = text_starts_with(word, TEXT("-"));
        bool is_setting = word.bytes_count && (strchr("0123456789", word.bytes[0]) || text_has(word, TEXT("=")));
        if (is_option && has_value(launcher, word)) arguments_take(arguments);
        if (is_option || is_setting) continue;
        if (is_placed || !word.bytes_count) return text_base_name(word);
        is_placed = true;
    }
}

static bool is_shell(struct text program) {
    static const struct text shells[] = {TEXT("bash"), TEXT("dash"), TEXT("sh")};
    return TEXT_IS_IN(program, shells);
}

/* Returns the first program that is a shell or starts no other. Empty: there is none. */
static struct text skip_launchers(struct text program, struct text *arguments) {
    while (program_is_launcher(program) && !is_shell(program)) program = take_launched(program, arguments);
    return program;
}

struct text program_launched(const struct profile *profile, struct text program, struct text arguments) {
    enum { COMM_BYTES_MAX = 15 };
    program = skip_launchers(program, &arguments);
    if (!program.bytes_count || is_shell(program)) return (struct text){0};
    COLUMN_EACH(const struct process, process, &profile->processes) {
        struct text name = process->name;
        bool is_cut = name.bytes_count == COMM_BYTES_MAX && text_starts_with(program, name);
        if (is_cut || text_equal(program, name)) return program;
    }
    return (struct text){0};
}

struct text program_script(struct text program, struct text arguments) {
    static const struct text options[] = {TEXT("-e"), TEXT("-u"), TEXT("-x"), TEXT("-eu"), TEXT("-ex"), TEXT("--")};
    struct text word;
    if (!is_shell(skip_launchers(program, &arguments))) return (struct text){0};
    do word = arguments_take(&arguments);
    while (TEXT_IS_IN(word, options));
    bool is_file = word.bytes_count && !strchr("-+", word.bytes[0]) && !text_starts_with(word, TEXT("/dev/"));
    return is_file ? text_base_name(word) : (struct text){0};
}
