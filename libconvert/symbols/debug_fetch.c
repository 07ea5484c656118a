#include "debug_fetch.h"

#include "debug_file_search.h"
#include "libconvert/base/child_process.h"

/* What the child says of a library. */
struct want {
    bool lacks_file;
    bool lacks_debug_information;
    char build_id[DEBUG_BUILD_ID_DIGITS_MAX + 1]; /* empty: unknown */
};

static struct want want_of(const struct lib *lib, const struct debug_folders *folders) {
    struct want want = {.lacks_file = true, .lacks_debug_information = true};
    struct failure failure = {0};
    struct debug_files files;
    struct text id = lib->code_id;
    bool is_found = debug_files_open(&files, lib, folders, &failure) == DEBUG_FILE_FOUND;
    if (failure_is_set(&failure)) child_leave();
    if (is_found) {
        want.lacks_file = false;
        want.lacks_debug_information = !debug_files_dwarf(&files);
        if (!id.bytes_count) id = text_of(files.first.build_id);
    }
    if (id.bytes_count < sizeof want.build_id && id.bytes_count) memcpy(want.build_id, id.bytes, id.bytes_count);
    if (is_found) debug_files_close(&files);
    return want;
}

/* Sends a struct want for each library. */
static void survey(void *context, struct channel *channel) {
    const struct symbol_work *work = context;
    for (size_t i = 0; i < work->request_count; i = symbol_requests_end(work->requests, work->request_count, i)) {
        const struct lib *lib = libs_at(&work->profile->libs, (lib_id){work->requests[i].lib});
        struct want want = want_of(lib, work->folders);
        if (!channel_send(channel, &want, sizeof want) || !channel_flush(channel)) child_leave();
    }
}

static void fetch(struct debug_server *server, const struct want *want) {
    struct text build_id = text_of(want->build_id);
    if (!build_id.bytes_count) return;
    if (want->lacks_file) debug_server_fetch_executable(server, build_id);
    if (want->lacks_debug_information) debug_server_fetch_debug_information(server, build_id);
}

void debug_fetch(struct debug_server *server, const struct symbol_work *work, struct progress progress) {
    struct child_process child;
    struct want want;
    if (!child_start(&child, survey, (void *)(uintptr_t)work, work->profile->failure->memory)) return;
    for (size_t i = 0, end; i < work->request_count; i = end) {
        end = symbol_requests_end(work->requests, work->request_count, i);
        if (!channel_receive(&child.channel, &want, sizeof want)) break;
        want.build_id[sizeof want.build_id - 1] = '\0';
        double count = (double)work->request_count;
        server->progress = progress_part(progress, (double)i / count, (double)end / count);
        fetch(server, &want);
        progress_report(progress, end, work->request_count);
    }
    child_await(&child);
}
