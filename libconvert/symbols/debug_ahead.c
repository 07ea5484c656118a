#include "debug_ahead.h"

#include <stdlib.h>
#include <sys/socket.h>

#include "libconvert/base/failure.h"
#include "library_message.h"
#include "shared_sections.h"

static void uncompress(const struct debug_ahead *ahead, const struct lib *lib) {
    struct failure failure = {0};
    struct debug_files files;
    if (debug_files_open(&files, lib, &ahead->folders, &failure) != DEBUG_FILE_FOUND) return;
    struct debug_file *dwarf = debug_files_dwarf(&files);
    if (dwarf) debug_file_uncompress(dwarf);
    if (dwarf && files.supplement.elf) debug_file_uncompress(&files.supplement);
    debug_files_close(&files);
}

static void serve(void *context, struct channel *channel) {
    struct lib lib;
    bool is_good;
    do {
        is_good = library_receive(channel, &lib);
        if (is_good) uncompress(context, &lib);
        library_received_fini(&lib);
    } while (is_good);
}

static void start(struct debug_ahead *ahead) {
    shared_sections_prepare(ahead->memory);
    ahead->child = malloc(sizeof *ahead->child);
    if (ahead->child && child_start(ahead->child, serve, ahead, ahead->memory)) return;
    free(ahead->child);
    ahead->child = NULL;
    ahead->is_over = true;
}

void debug_ahead_tell(struct debug_ahead *ahead, const struct lib *lib) {
    if (ahead->is_over) return;
    if (!ahead->child) start(ahead);
    if (!ahead->child) return;
    struct channel *channel = &ahead->child->channel;
    ahead->is_over = !library_send(channel, lib) || !channel_flush(channel);
}

void debug_ahead_close(struct debug_ahead *ahead) {
    ahead->is_over = true;
    if (ahead->child) shutdown(ahead->child->channel.descriptor, SHUT_WR);
}

void debug_ahead_fini(struct debug_ahead *ahead) {
    if (ahead->child) child_await(ahead->child);
    free(ahead->child);
    *ahead = (struct debug_ahead){0};
}
