#include "input_members.h"

#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

struct input_members {
    struct failure *failure; /* borrowed; the latch of the archive and of `below` */
    struct input *below;     /* owned; the archive */
    struct input_archive *archive;
    uint64_t member_bytes;
    XXH3_state_t hash;
};

struct input_members *input_members_open(struct input *archive, struct failure *failure) {
    /* malloc and calloc do not guarantee the alignment of the hash state. */
    struct input_members *members = aligned_alloc(_Alignof(struct input_members), sizeof *members);
    if (!members) {
        failure_set_memory(failure);
        input_close(archive);
        return NULL;
    }
    members->failure = failure;
    members->below = archive;
    members->member_bytes = 0;
    const struct input_wrapper *wrapper = input_find_wrapper(archive);
    members->archive = input_archive_open(wrapper, archive);
    if (members->archive) return members;
    input_members_close(members);
    return NULL;
}

void input_members_close(struct input_members *members) {
    if (!members) return;
    input_archive_close(members->archive);
    input_close(members->below);
    free(members);
}

bool input_members_next(struct input_members *members, struct input_member *member) {
    XXH3_64bits_reset(&members->hash);
    members->member_bytes = 0;
    return input_archive_next_member(members->archive, member);
}

static struct text next_block(void *context) {
    struct input_members *members = context;
    struct text block = input_archive_read(members->archive);
    XXH3_64bits_update(&members->hash, block.bytes, block.bytes_count);
    members->member_bytes += block.bytes_count;
    return block;
}

struct input *input_members_input(struct input_members *members, const char *name) {
    return input_from_blocks(name, next_block, members, members->failure);
}

void input_members_finish(struct input_members *members, struct input_digest *digest) {
    while (!failure_is_set(members->failure) && next_block(members).bytes_count) continue;
    *digest = (struct input_digest){members->member_bytes, XXH3_64bits_digest(&members->hash)};
}

bool input_members_recover(struct input_members *members) {
    bool stays = input_archive_is_dead(members->archive) || members->failure->code == FAILURE_MEMORY;
    if (!stays) failure_clear(members->failure);
    return !failure_is_set(members->failure);
}
