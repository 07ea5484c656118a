#include "launchers.h"

bool program_is_launcher(struct text name) {
    static const struct text launchers[] = {
        TEXT("bash"),    TEXT("chroot"),  TEXT("chrt"),    TEXT("dash"),    TEXT("doas"),
        TEXT("env"),     TEXT("ionice"),  TEXT("nice"),    TEXT("nohup"),   TEXT("nsenter"),
        TEXT("numactl"), TEXT("runuser"), TEXT("setarch"), TEXT("setpriv"), TEXT("setsid"),
        TEXT("sh"),      TEXT("sleep"),   TEXT("stdbuf"),  TEXT("su"),      TEXT("sudo"),
        TEXT("taskset"), TEXT("time"),    TEXT("timeout"), TEXT("unshare"), TEXT("xargs"),
    };
    return TEXT_IS_IN(name, launchers);
}

/* Returns the words of the text, each with a NUL after it, but perhaps the last one. */
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

/* Takes the options, numbers and variables before the program that a launcher starts, and the program. */
static struct text take_launched(struct text *arguments) {
    struct text word;
    do word = arguments_take(arguments);
    while (word.bytes_count && (strchr("-0123456789", word.bytes[0]) || text_has(word, TEXT("="))));
    return text_base_name(word);
}

struct text program_script(struct text program, struct text arguments) {
    static const struct text shells[] = {TEXT("bash"), TEXT("dash"), TEXT("sh")};
    static const struct text options[] = {TEXT("-e"), TEXT("-u"), TEXT("-x"), TEXT("-eu"), TEXT("-ex"), TEXT("--")};
    struct text word;
    while (program_is_launcher(program) && !TEXT_IS_IN(program, shells)) program = take_launched(&arguments);
    if (!TEXT_IS_IN(program, shells)) return (struct text){0};
    do word = arguments_take(&arguments);
    while (TEXT_IS_IN(word, options));
    bool is_file = word.bytes_count && !strchr("-+", word.bytes[0]) && !text_starts_with(word, TEXT("/dev/"));
    return is_file ? text_base_name(word) : (struct text){0};
}
