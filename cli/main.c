/* The program: reads the arguments, runs a command, a batch or one conversion, and turns its outcome into the exit
 * code. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bus_guard.h"
#include "cli/batch/batch.h"
#include "command.h"
#include "console.h"
#include "exit_guard.h"
#include "libconvert/report.h"
#include "options.h"
#include "progress_tty.h"
#include "writer/sink.h"

#define HINT "see gecko-convert --help\n"

/* ---- Signals. ---- */

/* Ends the process with the same signal. The signal is blocked until the handler returns; by then SA_RESETHAND has
 * restored its default action. */
static void end_by_signal(int signal_number) {
    sink_abandon();
    raise(signal_number);
}

static void handle(int signal_number, void (*handler)(int)) {
    struct sigaction old, action = {.sa_handler = handler, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    /* A signal that the caller ignores (as nohup does) stays ignored. */
    if (sigaction(signal_number, NULL, &old) == 0 && old.sa_handler == SIG_IGN) return;
    sigaction(signal_number, &action, NULL);
}

static void handle_signals(void) {
    static const int ending_signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof ending_signals / sizeof *ending_signals; i++)
        handle(ending_signals[i], end_by_signal);
    bus_guard_install(sink_abandon, FAILURE_IO);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

/* ---- Memory. ---- */

/* By default glibc gives memory back to the kernel, which has to clear it when it is needed again: for output, which is
 * written and freed every 4 MB, these were 78 000 of 169 000 page faults for the profile of 5 million markers; for
 * tables that grow, 2 600 of 12 000 for 100 MB of varied perf script text. Larger blocks would be kept at the cost of
 * memory. */
static void keep_freed_memory(void) {
#ifdef __GLIBC__
    enum { KEPT_BYTES = 8 * 1024 * 1024, MAPPED_BYTES = 2 * 1024 * 1024 };
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
    mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
#endif
}

/* ---- Standard streams. ---- */

/* If a standard stream is closed, the next file to be opened would take its number and receive what is written to the
 * stream. So each closed stream is replaced by a descriptor that fails every use. */
static void fill_closed_streams(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
        int opened = open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
        (void)opened; /* open returns the lowest free number, which is fd */
    }
}

static void print_hint(enum gecko_convert_status status) {
    static const struct report_text hint = {.bytes_count = sizeof HINT - 1, .bytes = HINT};
    if (status == GECKO_CONVERT_BAD_USAGE) console_print(&hint);
}

/* Returns EXIT_SUCCESS if all output was written. */
static int close_standard_output(void) {
    bool is_good = !ferror(stdout);
    if (fclose(stdout) == 0 && is_good) return EXIT_SUCCESS;
    console_print_message("cannot write standard output");
    return FAILURE_IO;
}

static int show_help(void) {
    options_print_help(stdout);
    return close_standard_output();
}

static int show_version(void) {
    printf("gecko-convert %s\n", gecko_convert_version());
    return close_standard_output();
}

/* ---- Converting. ---- */

static bool draws_progress(const struct options *options) {
    if (options->is_quiet || options->progress == PROGRESS_NEVER) return false;
    return options->progress == PROGRESS_ALWAYS || isatty(STDERR_FILENO);
}

/* Returns the exit code of writing the report; EXIT_SUCCESS if none was requested. */
static int write_report(const struct options *options, const struct gecko_convert_result *result) {
    if (!options->report_path) return EXIT_SUCCESS;
    struct failure failure = {0};
    struct chunk_list chunks;
    uint64_t written_bytes;
    chunk_list_init(&chunks, &failure);
    report_json(&options->convert, result, &chunks);
    if (sink_write(&chunks, options->report_path, &failure, (struct progress){0}, &written_bytes)) return EXIT_SUCCESS;
    char message[sizeof failure.message + 32];
    snprintf(message, sizeof message, "the report: %s", failure.message);
    console_print_message(message);
    return (int)failure.code;
}

static void print_inputs(const struct gecko_convert_result *result) {
    for (size_t i = 0; i < result->input_count; i++) {
        struct report_text text;
        report_input(result, i, &text);
        console_print(&text);
    }
}

static void print_outcome(const struct options *options, const struct gecko_convert_result *result) {
    struct report_text text = {.bytes_count = 0};
    if (result->status == GECKO_CONVERT_GOOD && !options->is_quiet) print_inputs(result);
    if (result->status != GECKO_CONVERT_GOOD)
        report_error(&options->convert, result, &text);
    else if (!options->is_quiet)
        report_summary(&options->convert, result, &text);
    console_print(&text);
    print_hint(result->status);
}

static int convert_single(struct options *options, struct progress_tty *bar) {
    options->convert.progress = progress_tty_draw;
    options->convert.progress_context = bar;
    struct gecko_convert_result result = {.struct_bytes = sizeof result};
    gecko_convert(&options->convert, &result);
    progress_tty_clear(bar);
    print_outcome(options, &result);
    int report_exit = write_report(options, &result);
    int exit_code = result.status != GECKO_CONVERT_GOOD ? (int)result.status : report_exit;
    gecko_convert_result_fini(&result);
    return exit_code;
}

static int convert(struct options *options) {
    bool is_forced = options->progress == PROGRESS_ALWAYS;
    struct progress_tty bar;
    progress_tty_init(&bar, STDERR_FILENO, draws_progress(options), is_forced ? 0 : PROGRESS_TTY_DELAY_NS);
    return options_are_batch(options) ? batch_run(options, &bar) : convert_single(options, &bar);
}

static int refuse(const struct failure *failure) {
    console_print_message(failure->message);
    print_hint(failure->code);
    return (int)failure->code;
}

static int act(struct options *options, const struct failure *failure) {
    if (failure_is_set(failure)) return refuse(failure);
    switch (options->action) {
        case OPTIONS_SHOW_HELP:
            return show_help();
        case OPTIONS_SHOW_VERSION:
            return show_version();
        case OPTIONS_CONVERT:
            break;
    }
    return convert(options);
}

static int run(int argument_count, char *const *arguments) {
    int exit_code;
    if (command_run(argument_count, arguments, &exit_code)) return exit_code;
    struct failure failure = {0};
    struct options options;
    options_init(&options, argument_count, arguments, &failure);
    exit_code = act(&options, &failure);
    options_fini(&options);
    return exit_code;
}

int main(int argc, char **argv) {
    fill_closed_streams();
    handle_signals();
    keep_freed_memory();
    exit_guard_begin();
    int exit_code = run(argc > 0 ? argc - 1 : 0, argv + 1);
    exit_guard_end();
    return exit_code;
}
