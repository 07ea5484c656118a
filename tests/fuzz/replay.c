/* Runs a fuzz target on files without a fuzzer. Usage: PROGRAM FILE-OR-FOLDER…
 *
 * Each file is one case, which runs as it is, and with each of the choices below appended. Prints how many cases passed
 * and how many failed.
 *
 * All cases run in one process, since a process with sanitizers takes longer to start and end than most cases. If it
 * fails, each case runs in a process of its own, which shows the bad ones. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "checked_conversion.h"
#include "tests/support/temp_folder.h"

enum { CASE_SECONDS_MAX = 120 };

/* These choices cover all weights and roots, with steps of several sizes: see fuzz_take_choices. */
static const uint8_t choices[] = {0 | 0 << 2, 1 | 63 << 2, 2 | 6 << 2, 3 | 1 << 2};

struct cases {
    char **paths;
    unsigned count;
};

/* Runs the target on a copy of the input. The copy has exactly the size of the input, so that a sanitizer detects reads
 * beyond its end. */
static void run_target(const char *bytes, size_t bytes_count) {
    uint8_t *exact = malloc(bytes_count ? bytes_count : 1);
    if (!exact) abort();
    memcpy(exact, bytes, bytes_count);
    LLVMFuzzerTestOneInput(exact, bytes_count);
    free(exact);
}

static void run_case(const char *path) {
    alarm(CASE_SECONDS_MAX);
    size_t bytes_count;
    char *bytes = file_read(path, &bytes_count);
    if (!bytes) {
        fputs("cannot be read\n", stderr);
        exit(EXIT_FAILURE);
    }
    run_target(bytes, bytes_count);
    /* The copy of the file has a terminating byte, which is replaced by the choice. */
    for (size_t i = 0; i < sizeof choices; i++) {
        bytes[bytes_count] = (char)choices[i];
        run_target(bytes, bytes_count + 1);
    }
    free(bytes);
}

/* Runs cases in one process of their own. Returns whether all are good. */
static bool run_cases(char **paths, unsigned count) {
    int status = -1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        for (unsigned i = 0; i < count; i++) run_case(paths[i]);
        exit(EXIT_SUCCESS);
    }
    if (child > 0) waitpid(child, &status, 0);
    bool is_good = WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
    if (!is_good)
        fprintf(stderr, "%s%s: failed: %s\n", paths[0], count > 1 ? " or one after it" : "",
                WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "");
    return is_good;
}

static int is_visible(const struct dirent *entry) { return entry->d_name[0] != '.'; }

static void add_path(struct cases *cases, const char *path) {
    struct stat status;
    struct dirent **entries;
    int entry_count;
    if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode)) {
        cases->paths = realloc(cases->paths, (cases->count + 1) * sizeof *cases->paths);
        if (!cases->paths || !(cases->paths[cases->count++] = strdup(path))) abort();
        return;
    }
    entry_count = scandir(path, &entries, is_visible, alphasort);
    for (int i = 0; i < entry_count; i++) {
        char *entry_path;
        if (asprintf(&entry_path, "%s/%s", path, entries[i]->d_name) < 0) abort();
        add_path(cases, entry_path);
        free(entry_path);
        free(entries[i]);
    }
    if (entry_count >= 0) free(entries);
}

int main(int argument_count, char **arguments) {
    struct cases cases = {0};
    unsigned failed_count = 0;
    fuzz_does_all = true;
    for (int i = 1; i < argument_count; i++) add_path(&cases, arguments[i]);
    if (cases.count && !run_cases(cases.paths, cases.count)) {
        for (unsigned i = 0; i < cases.count; i++) failed_count += !run_cases(&cases.paths[i], 1);
        /* A failure that needs several cases is one, too. */
        if (!failed_count) failed_count = 1;
    }
    printf("%s: %u passed, %u failed\n", program_invocation_short_name, cases.count - failed_count, failed_count);
    for (unsigned i = 0; i < cases.count; i++) free(cases.paths[i]);
    free(cases.paths);
    return failed_count || !cases.count;
}
