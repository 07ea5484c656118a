#include "launchers.h"

#include "libconvert/base/cursor.h"

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

struct text program_script(struct text program, struct text arguments) {
    static const struct text shells[] = {TEXT("bash"), TEXT("dash"), TEXT("sh")};
    static const struct text options[] = {TEXT("-e"), TEXT("-u"), TEXT("-x"), TEXT("-eu"), TEXT("-ex"), TEXT("--")};
    struct text word;
    if (!is_among(program, shells, sizeof shells / sizeof *shells)) return (struct text){0};
    do word = cursor_take_token(&arguments);
    while (is_among(word, options, sizeof options / sizeof *options));
    bool is_file = word.bytes_count && !strchr("-+", word.bytes[0]) && !text_starts_with(word, TEXT("/dev/"));
    return is_file ? text_base_name(word) : (struct text){0};
}
