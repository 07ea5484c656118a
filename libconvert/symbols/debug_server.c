#include "debug_server.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "libconvert/base/monotonic_clock.h"

static const uint64_t NS_PER_S = 1000000000;

/* ---- The library. It is not linked, so that neither building nor running needs it. ---- */

/* Its interface, as elfutils/debuginfod.h declares it. A build id of length 0 is a text. */
static struct {
    void *(*begin)(void);
    void (*end)(void *client);
    int (*find_debuginfo)(void *client, const unsigned char *build_id, int build_id_bytes, char **path);
    int (*find_executable)(void *client, const unsigned char *build_id, int build_id_bytes, char **path);
    int (*find_source)(void *client, const unsigned char *build_id, int build_id_bytes, const char *name, char **path);
    void (*set_progressfn)(void *client, int (*report)(void *client, long done, long total));
    void (*set_user_data)(void *client, void *data);
    void *(*get_user_data)(void *client);
} debuginfod;

static bool is_loaded;

/* A program without a dynamic linker can load nothing. The library stays loaded, since it may have started threads. */
static void load(void) {
    static const struct {
        const char *name;
        void *function;
    } functions[] = {
        {"debuginfod_begin", &debuginfod.begin},
        {"debuginfod_end", &debuginfod.end},
        {"debuginfod_find_debuginfo", &debuginfod.find_debuginfo},
        {"debuginfod_find_executable", &debuginfod.find_executable},
        {"debuginfod_find_source", &debuginfod.find_source},
        {"debuginfod_set_progressfn", &debuginfod.set_progressfn},
        {"debuginfod_set_user_data", &debuginfod.set_user_data},
        {"debuginfod_get_user_data", &debuginfod.get_user_data},
    };
    void *library = getauxval(AT_BASE) ? dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_NODELETE) : NULL;
    for (size_t i = 0; library && i < sizeof functions / sizeof *functions; i++) {
        void *found = dlsym(library, functions[i].name);
        if (!found) return;
        memcpy(functions[i].function, &found, sizeof found);
    }
    is_loaded = library;
}

/* ---- Servers. ---- */

static bool must_stop(struct debug_server *server) {
    if (server->failure && failure_is_set(server->failure)) return true;
    if (monotonic_now_ns() < server->end_ns) return false;
    server->is_late = true;
    return true;
}

/* The library calls this several times a second while it fetches a file. */
static int report(void *client, long done, long total) {
    struct debug_server *server = debuginfod.get_user_data(client);
    if (done >= 0 && total > 0) progress_report(server->progress, (uint64_t)done, (uint64_t)total);
    return must_stop(server);
}

static uint64_t seconds_allowed(void) {
    const char *chosen = getenv("DEBUGINFOD_MAXTIME");
    long seconds = chosen ? strtol(chosen, NULL, 10) : 0;
    return seconds > 0 && seconds < DEBUG_SERVER_S_MAX ? (uint64_t)seconds : DEBUG_SERVER_S_MAX;
}

bool debug_server_open(struct debug_server *server, struct failure *failure) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const char *urls = getenv("DEBUGINFOD_URLS");
    *server = (struct debug_server){.failure = failure};
    if (!urls || !urls[strspn(urls, " ")]) return false;
    pthread_once(&once, load);
    if (is_loaded) server->client = debuginfod.begin();
    if (!server->client) return false;
    server->end_ns = monotonic_now_ns() + seconds_allowed() * NS_PER_S;
    debuginfod.set_user_data(server->client, server);
    debuginfod.set_progressfn(server->client, report);
    return true;
}

void debug_server_close(struct debug_server *server) {
    if (server->client) debuginfod.end(server->client);
    server->client = NULL;
}

void debug_server_note_delay(const struct debug_server *server, struct ledger *ledger) {
    ledger_enter(ledger, LEDGER_VALUES, LEDGER_NOTED,
                 TEXT("search on the servers of DEBUGINFOD_URLS that took too long: not everything was fetched"),
                 server->is_late, NULL);
}

/* Copies the text, NUL-terminated. Returns false if it is too long, or not a build id. */
static bool copy_build_id(char copy[65], struct text build_id) {
    if (!build_id.bytes_count || !text_copy(build_id, copy, 65)) return false;
    return strspn(copy, "0123456789abcdef") == build_id.bytes_count;
}

/* Notes the folder from the path CACHE/BUILD_ID/NAME, which is freed. */
static void note_cache(struct debug_server *server, char *path) {
    if (!path) return;
    struct text folder = text_of(path);
    for (int i = 0; i < 2; i++) folder = text_slice(folder, 0, text_find_last(folder, '/'));
    if (folder.bytes_count) text_copy(folder, server->cache, sizeof server->cache);
    free(path);
}

static void fetch(struct debug_server *server, struct text build_id,
                  int (*find)(void *client, const unsigned char *build_id, int build_id_bytes, char **path)) {
    char id[65];
    char *path = NULL;
    if (!copy_build_id(id, build_id) || must_stop(server)) return;
    int file = find(server->client, (const unsigned char *)id, 0, &path);
    if (file < 0) return;
    close(file);
    note_cache(server, path);
}

void debug_server_fetch_executable(struct debug_server *server, struct text build_id) {
    fetch(server, build_id, debuginfod.find_executable);
}

void debug_server_fetch_debug_information(struct debug_server *server, struct text build_id) {
    fetch(server, build_id, debuginfod.find_debuginfo);
}

int debug_server_open_source(struct debug_server *server, struct text build_id, struct text path) {
    char id[65], name[PATH_MAX];
    if (!copy_build_id(id, build_id) || !text_copy(path, name, sizeof name) || must_stop(server)) return -1;
    int file = debuginfod.find_source(server->client, (const unsigned char *)id, 0, name, NULL);
    if (file < 0) return -1;
    lseek(file, 0, SEEK_SET); /* a file that was just fetched has been written to its end */
    return file;
}
