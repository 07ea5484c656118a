#include "launchers.h"

static bool is_among(struct text name, const struct text *names, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (text_equal(name, names[i])) return true;
    return false;
}

bool program_is_launcher(struct text name) {
    static const struct text launchers[] = {
        TEXT("bash"),    TEXT("chrt"),  TEXT("dash"),    TEXT("env"),     TEXT("ionice"),
        TEXT("nice"),    TEXT("nohup"), TEXT("numactl"), TEXT("runuser"), TEXT("setsid"),
        TEXT("sleep"),   TEXT("sh"),    TEXT("stdbuf"),  TEXT("su"),      TEXT("sudo"),
        TEXT("taskset"), TEXT("time"),  TEXT("timeout"), TEXT("xargs"),
    };
    return is_among(name, launchers, sizeof launchers / sizeof *launchers);
}

static struct text with_byte(struct profile *profile, struct text text, char from, char to) {
    char *bytes = arena_take_bytes(&profile->memory, text.bytes_count);
    if (!bytes) return (struct text){0};
    for (size_t i = 0; i < text.bytes_count; i++) bytes[i] = text.bytes[i] == from ? to : text.bytes[i];
    return (struct text){bytes, text.bytes_count};
}

struct text command_line_arguments(struct profile *profile, struct text command_line) {
    bool has_ends = text_find(command_line, '\0') < command_line.bytes_count;
    return has_ends ? command_line : with_byte(profile, command_line, ' ', '\0');
}

struct text arguments_take(struct text *arguments) {
    struct text argument = text_slice(*arguments, 0, text_find(*arguments, '\0'));
    *arguments = text_from(*arguments, argument.bytes_count + 1);
    return argument;
}

struct text arguments_shown(struct profile *profile, struct text arguments) {
    return text_trim_end(with_byte(profile, arguments, '\0', ' '));
}

struct text program_script(struct text program, struct text arguments) {
    static const struct text shells[] = {TEXT("bash"), TEXT("dash"), TEXT("sh")};
    static const struct text options[] = {TEXT("-e"), TEXT("-u"), TEXT("-x"), TEXT("-eu"), TEXT("-ex"), TEXT("--")};
    struct text word;
    if (!is_among(program, shells, sizeof shells / sizeof *shells)) return (struct text){0};
    do word = arguments_take(&arguments);
    while (is_among(word, options, sizeof options / sizeof *options));
    bool is_file = word.bytes_count && !strchr("-+", word.bytes[0]) && !text_starts_with(word, TEXT("/dev/"));
    return is_file ? text_base_name(word) : (struct text){0};
}
