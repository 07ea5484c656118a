/* gecko-convert view: a recording or a profile, opened in the Firefox Profiler (docs/offline.md). */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "browser.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/ending_signals.h"
#include "cli/several_inputs.h"
#include "http_server.h"
#include "libconvert/base/memory.h"
#include "libconvert/options_check.h"
#include "page_address.h"
#include "profile_archive.h"
#include "profile_loading.h"
#include "site.h"
#include "view_libraries.h"

static const char public_viewer[] = "https://profiler.firefox.com";

enum { WAITING_CONNECTIONS_MAX = 128, URL_BYTES = 2048 };

static const uint64_t NS_PER_S = 1000000000;

static const char usage[] =
    "Usage: gecko-convert view [options] INPUT...\n"
    "\n"
    "Converts a recording and opens it in the Firefox Profiler, in the browser. INPUT\n"
    "is whatever gecko-convert converts, or a finished profile; - is standard input.\n"
    "Several recordings become one profile, on one timeline. Several finished\n"
    "profiles are compared, and those in an archive are listed.\n"
    "The profile stays on this machine: the viewer's page fetches it from here, and\n"
    "with it source files and machine code that the profile names. Ctrl-C ends it.\n"
    "With --symbols none no file that the profile names is opened, neither source nor\n"
    "code. With --quiet only the address is printed.\n";

static const char notes[] =
    "On a machine without a browser: gecko-convert view --port 4000 --no-open INPUT\n"
    "there, ssh -L 4000:127.0.0.1:4000 HOST here, then open the printed address here.\n"
    "\n"
    "Exit codes:\n"
    "  0  Ctrl-C or --idle-exit ended it\n"
    "  1  an input is not valid\n"
    "  2  the command line is wrong\n"
    "  3  a file cannot be read, or the port is in use\n"
    "  4  memory ran out, or more than --max-memory was needed\n";

/* ---- State of the command. ---- */

struct view {
    const struct options *options;
    struct failure failure;
    struct memory_limit memory;
    struct command_output output; /* for messages and the progress bar */
    int socket;
    struct site site;
    struct viewer_folder folder;
    char viewer_base[URL_BYTES];   /* the URL of the viewer's pages, without a slash at the end */
    char viewer_origin[URL_BYTES]; /* scheme, host and port of viewer_base */
    struct profile_loading loading;
    enum shown_as shown_as;
    struct byte_buffer archive; /* what the viewer lists; empty: it shows the profiles */
    struct native_service native;
};

/* Prints a message on standard error. */
static void print_notice(struct view *view, const char *message) {
    struct failure failure = {0};
    failure_set(&failure, FAILURE_IO, "%s", message);
    command_print_failure(&view->output, view->loading.input_path, &failure);
}

/* ---- The port. ---- */

/* Binds before converting, so that a port in use is known at once. */
static bool bind_port(struct view *view) {
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)view->options->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t address_bytes = sizeof address;
    int yes = 1;
    view->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* Connections of an earlier server that are still closing do not count as a port in use. */
    bool is_bound = view->socket >= 0 && setsockopt(view->socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
                    bind(view->socket, (struct sockaddr *)&address, sizeof address) == 0 &&
                    getsockname(view->socket, (struct sockaddr *)&address, &address_bytes) == 0;
    if (is_bound && site_init(&view->site, ntohs(address.sin_port))) return true;
    failure_set(&view->failure, FAILURE_IO, "cannot listen on port %u of 127.0.0.1: %s%s", view->options->port,
                strerror(errno), errno == EADDRINUSE ? "; name another --port, or none for any free one" : "");
    return false;
}

/* ---- The viewer. ---- */

/* Splits "scheme://host[:port][/path]" into the base and the origin, which has no path. Returns false if the address
 * has another form. */
static bool parse_viewer_address(struct view *view, const char *address) {
    struct text base = text_of(address);
    while (text_ends_with(base, TEXT("/"))) base.bytes_count--;
    struct text host = text_from(base, text_starts_with(base, TEXT("https://")) ? 8 : 7);
    struct text host_part = text_slice(host, 0, text_find(host, '/'));
    size_t origin_bytes = (size_t)(host_part.bytes - base.bytes) + host_part.bytes_count;
    bool is_good = host_part.bytes_count && base.bytes_count < URL_BYTES;
    for (size_t i = 0; i < base.bytes_count && is_good; i++)
        is_good = base.bytes[i] > ' ' && base.bytes[i] < 0x7f && !strchr("?#\"'<>\\@", base.bytes[i]);
    if (!is_good) {
        failure_set(&view->failure, FAILURE_USAGE, "%s is not an address of a viewer", address);
        return false;
    }
    text_copy(base, view->viewer_base, URL_BYTES);
    text_copy(text_slice(base, 0, origin_bytes), view->viewer_origin, URL_BYTES);
    return true;
}

static bool prepare_viewer(struct view *view) {
    const char *viewer = view->options->viewer ? view->options->viewer : public_viewer;
    bool is_address = strncmp(viewer, "http://", 7) == 0 || strncmp(viewer, "https://", 8) == 0;
    if (is_address) return parse_viewer_address(view, viewer);
    snprintf(view->viewer_base, URL_BYTES, "http://%s", view->site.host);
    snprintf(view->viewer_origin, URL_BYTES, "http://%s", view->site.host);
    view->site.folder = &view->folder;
    return viewer_folder_open(&view->folder, viewer, &view->failure);
}

/* ---- The profiles. ---- */

/* Prints which threads the viewer compares. Users can choose others with filters, or in the addresses. */
static void print_compared_threads(struct view *view) {
    struct report_text text = {.bytes_count = 0};
    report_append(&text, "comparing");
    for (const struct served_profile *served = view->loading.profiles; served; served = served->next) {
        size_t number = page_compared_thread(&view->site, served);
        const struct served_thread *thread =
            number < served->threads.count ? column_at(&served->threads, number) : NULL;
        report_append(&text, "%s thread %zu", served == view->loading.profiles ? "" : " with", number);
        if (thread) report_append(&text, ", %.*s,", TEXT_ARGS(thread->name));
        report_append(&text, " of %.*s", TEXT_ARGS(served->name));
    }
    report_end_line(&text, 0);
    if (!view->options->is_quiet) console_print(&text);
}

/* Prints which profile has another unit than the first one, so that their difference means nothing. */
static void print_unit_mismatch(struct view *view) {
    const struct served_profile *first = view->loading.profiles, *other = first->next;
    while (other && (text_equal(other->unit, first->unit) || !other->unit.bytes_count)) other = other->next;
    if (!other || !first->unit.bytes_count || view->options->is_quiet) return;
    console_print_line("%.*s is in %.*s and %.*s in %.*s: the viewer subtracts them as if these were the same",
                       TEXT_ARGS(first->name), TEXT_ARGS(first->unit), TEXT_ARGS(other->name), TEXT_ARGS(other->unit));
}

static bool load_profiles(struct view *view) {
    view->shown_as = profile_loading_run(&view->loading);
    if (failure_is_set(&view->failure)) return false;
    view->native.profiles = view->site.profiles = view->loading.profiles;
    if (view->shown_as == SHOWN_COMPARED) {
        print_compared_threads(view);
        print_unit_mismatch(view);
    }
    if (view->shown_as != SHOWN_TO_CHOOSE) return true;
    profile_archive_write(&view->archive, view->loading.profiles);
    view->site.archive = &view->archive;
    return !failure_is_set(&view->failure);
}

/* ---- The address. ---- */

static bool print_address(struct view *view, const char *address) {
    if (printf("%s\n", address) > 0 && fflush(stdout) == 0) return true;
    failure_set(&view->failure, FAILURE_IO, "cannot write the address to standard output: %s", strerror(errno));
    return false;
}

static bool has_route_to(const struct sockaddr *address, socklen_t address_bytes) {
    int route = socket(address->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool is_found = route >= 0 && connect(route, address, address_bytes) == 0;
    if (route >= 0) close(route);
    return is_found;
}

/* Returns whether there is a route to other machines. Nothing is sent: connecting a datagram socket only looks up a
 * route. The addresses are reserved for documentation, so no machine has them. */
static bool has_route(void) {
    struct sockaddr_in version_4 = {.sin_family = AF_INET, .sin_port = htons(443)};
    struct sockaddr_in6 version_6 = {.sin6_family = AF_INET6, .sin6_port = htons(443)};
    inet_pton(AF_INET, "192.0.2.1", &version_4.sin_addr);
    inet_pton(AF_INET6, "2001:db8::1", &version_6.sin6_addr);
    return has_route_to((struct sockaddr *)&version_4, sizeof version_4) ||
           has_route_to((struct sockaddr *)&version_6, sizeof version_6);
}

static void print_serving(const struct view *view) {
    if (view->options->is_quiet) return;
    if (view->options->idle_s)
        console_print_line("serving until Ctrl-C, or until nobody has asked for %u s", view->options->idle_s);
    else
        console_print_line("serving until Ctrl-C");
    if (!view->options->viewer && !has_route())
        console_print_line(
            "this machine has no network, and the page comes from %s: --viewer DIR serves one from here "
            "(docs/offline.md)",
            public_viewer);
}

/* ---- Serving. ---- */

/* Checks the program that was started to open the browser. It ends when the browser has the address, or if there is no
 * browser. */
static void check_browser(struct view *view, struct browser *browser) {
    int status;
    if (!browser->pid || waitpid(browser->pid, &status, WNOHANG) != browser->pid) return;
    browser->pid = 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
    char message[256];
    snprintf(message, sizeof message, "%s could not open a browser: open the address above in one", browser->name);
    print_notice(view, message);
}

static void open_browser(struct view *view, struct browser *browser, const char *address) {
    *browser = (struct browser){.pid = 0};
    if (view->options->opens_nothing || browser_open(browser, address)) return;
    char message[256];
    snprintf(message, sizeof message, "cannot start %s: %s: open the address above in a browser",
             *browser->name ? browser->name : "a browser", strerror(errno));
    print_notice(view, message);
}

static struct timespec time_left(const struct view *view, struct http_server *server) {
    enum { CHECK_MS = 100, NS_PER_MS = 1000000 };
    uint64_t idle_ns = http_server_idle_ns(server), limit_ns = view->options->idle_s * NS_PER_S;
    uint64_t left_ns = idle_ns < limit_ns ? limit_ns - idle_ns : 0;
    if (left_ns < CHECK_MS * NS_PER_MS) left_ns = CHECK_MS * NS_PER_MS;
    return (struct timespec){(time_t)(left_ns / NS_PER_S), (long)(left_ns % NS_PER_S)};
}

static bool is_idle(const struct view *view, struct http_server *server) {
    return view->options->idle_s && http_server_idle_ns(server) >= view->options->idle_s * NS_PER_S;
}

/* Returns when a signal arrives or no request has come for long enough. */
static void wait_for_end(struct view *view, struct http_server *server, const sigset_t *signals,
                         struct browser *browser) {
    while (!is_idle(view, server)) {
        struct timespec left = time_left(view, server);
        int signal_number = view->options->idle_s ? sigtimedwait(signals, NULL, &left) : sigwaitinfo(signals, NULL);
        check_browser(view, browser);
        if (signal_number > 0 && signal_number != SIGCHLD) return;
    }
}

/* Serves the profile until a signal. Signals are blocked first, and threads of the server inherit that. */
static bool serve(struct view *view) {
    sigset_t signals = ending_signals_get(), before;
    struct http_site site = {&view->site, site_admit, site_answer};
    struct browser browser;
    sigaddset(&signals, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &signals, &before);
    bool is_listening = listen(view->socket, WAITING_CONNECTIONS_MAX) == 0;
    struct http_server *server = is_listening ? http_server_start(view->socket, &site) : NULL;
    if (!server) {
        failure_set(&view->failure, FAILURE_IO, "cannot serve on %s: %s", view->site.host, strerror(errno));
        return false;
    }
    char *address =
        failure_check_memory(&view->failure, page_address_create(&view->site, view->viewer_base, view->shown_as));
    if (address && print_address(view, address)) {
        print_serving(view);
        open_browser(view, &browser, address);
        wait_for_end(view, server, &signals, &browser);
    }
    free(address);
    /* From here on a second signal ends the program at once. */
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    native_service_cancel(&view->native);
    http_server_stop(server);
    return !failure_is_set(&view->failure);
}

/* ---- The whole. ---- */

static void init(struct view *view, const struct options *options) {
    *view = (struct view){.options = options, .socket = -1};
    view->loading = (struct profile_loading){.options = options,
                                             .failure = &view->failure,
                                             .memory = &view->memory,
                                             .output = &view->output,
                                             .input_path = options->inputs.values[0]};
    view->folder.descriptor = -1;
    view->output.command = &command_view;
    memory_limit_init(&view->memory, options->convert.max_memory_bytes);
    view->failure.memory = &view->memory;
    bool draws = isatty(STDERR_FILENO) && !options->is_quiet;
    progress_tty_init(&view->output.bar, STDERR_FILENO, draws, PROGRESS_TTY_DELAY_NS);
    const struct gecko_convert_options *convert = &options->convert;
    native_service_init(
        &view->native,
        (struct debug_folders){
            .paths = convert->debug_dirs, .count = convert->debug_dir_count, .sysroot = convert->sysroot},
        (struct source_search){convert->source_maps, convert->source_map_count, convert->source_dirs,
                               convert->source_dir_count, convert->sysroot});
    view->native.asks_servers = convert->debuginfod != GECKO_CONVERT_DEBUGINFOD_NO;
    view->native.memory = &view->memory;
    view->site.viewer_origin = view->viewer_origin;
    view->site.native = convert->symbols == GECKO_CONVERT_SYMBOLS_NONE ? NULL : &view->native;
}

static void fini(struct view *view) {
    native_service_fini(&view->native);
    byte_buffer_fini(&view->archive);
    served_profile_destroy_all(view->loading.profiles);
    viewer_folder_close(&view->folder);
    if (view->socket >= 0) close(view->socket);
}

static void complete(struct options *options, struct failure *failure) {
    struct gecko_convert_options *convert = &options->convert;
    if (convert->symbols == GECKO_CONVERT_SYMBOLS_NONE) convert->sources = GECKO_CONVERT_SOURCES_NONE;
    options_check_sources(convert, failure);
    if (options->compares && options->inputs.count < 2)
        failure_set(failure, FAILURE_USAGE, "--compare needs several inputs");
    if (options->compares && options->alignments.count)
        failure_set(failure, FAILURE_USAGE, "--align is for one timeline, and --compare gives each input its own");
    several_inputs_take(options, failure);
}

/* Does what can fail before a profile is made. */
static bool prepare(struct view *view) {
    return view_libraries_load(&view->failure) && bind_port(view) && prepare_viewer(view);
}

static void check(const struct options *options, struct failure *failure) {
    struct view view;
    init(&view, options);
    if (!prepare(&view)) failure_set(failure, view.failure.code, "%s", view.failure.message);
    fini(&view);
}

static int show(struct options *options) {
    struct view view;
    init(&view, options);
    if (prepare(&view) && load_profiles(&view)) serve(&view);
    int exit_code = (int)view.failure.code;
    if (exit_code == FAILURE_USAGE)
        command_refuse(&command_view, &view.failure);
    else if (exit_code)
        command_print_failure(&view.output, view.loading.input_path, &view.failure);
    fini(&view);
    return exit_code;
}

const struct command command_view = {.name = "view",
                                     .bit = VIEW,
                                     .usage = usage,
                                     .notes = notes,
                                     .defaults = {.convert.sources = GECKO_CONVERT_SOURCES_EMBED},
                                     .complete = complete,
                                     .check = check,
                                     .run = show};
