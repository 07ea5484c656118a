#include "library_message.h"

#include <stdint.h>
#include <stdlib.h>

static bool send_text(struct channel *channel, struct text text) {
    uint64_t bytes_count = text.bytes_count;
    return channel_send(channel, &bytes_count, sizeof bytes_count) && channel_send(channel, text.bytes, bytes_count);
}

bool library_send(struct channel *channel, const struct lib *lib) {
    return send_text(channel, lib->name) && send_text(channel, lib->path) && send_text(channel, lib->code_id);
}

static bool receive_text(struct channel *channel, struct text *text) {
    enum { TEXT_BYTES_MAX = 1 << 16 };
    uint64_t bytes_count;
    if (!channel_receive(channel, &bytes_count, sizeof bytes_count)) return false;
    if (bytes_count > TEXT_BYTES_MAX) return false;
    char *bytes = malloc(bytes_count + 1);
    if (!bytes) child_leave();
    *text = (struct text){bytes, bytes_count};
    return channel_receive(channel, bytes, bytes_count);
}

bool library_receive(struct channel *channel, struct lib *lib) {
    *lib = (struct lib){0};
    return receive_text(channel, &lib->name) && receive_text(channel, &lib->path) &&
           receive_text(channel, &lib->code_id);
}

void library_received_fini(struct lib *lib) {
    free((char *)(uintptr_t)lib->name.bytes);
    free((char *)(uintptr_t)lib->path.bytes);
    free((char *)(uintptr_t)lib->code_id.bytes);
}
