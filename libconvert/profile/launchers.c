#include "launchers.h"

bool program_is_launcher(struct text name) {
    static const struct text launchers[] = {
        TEXT("bash"),    TEXT("chrt"),  TEXT("dash"),    TEXT("env"),     TEXT("ionice"),
        TEXT("nice"),    TEXT("nohup"), TEXT("numactl"), TEXT("runuser"), TEXT("setsid"),
        TEXT("sleep"),   TEXT("sh"),    TEXT("stdbuf"),  TEXT("su"),      TEXT("sudo"),
        TEXT("taskset"), TEXT("time"),  TEXT("timeout"), TEXT("xargs"),
    };
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
        if (text_equal(name, launchers[i])) return true;
    return false;
}
