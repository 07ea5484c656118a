#include "read_as_profile.h"

#include "writer/emitter.h"

/* The text of a profile while it is read. */
struct profile_text {
    struct chunk_list chunks;
    bool is_begun; /* the first chunk has been read */
};

/* An input_next_block. Frees the chunk that was read before. */
static struct text next_chunk(void *context) {
    struct profile_text *text = context;
    if (text->is_begun && text->chunks.first) chunk_list_drop_first(&text->chunks);
    text->is_begun = true;
    const struct chunk *chunk = text->chunks.first;
    return chunk ? (struct text){chunk->bytes, chunk->used_bytes} : (struct text){0};
}

/* Copies what is known of the recording, but has no place in a profile. */
static void keep_facts(struct profile *profile, const struct profile *recording) {
    ledger_fini(&profile->ledger);
    ledger_init(&profile->ledger, profile->failure);
    ledger_add(&profile->ledger, &recording->ledger);
    for (size_t i = 0; i < recording->events.count; i++) {
        struct profile_event *event = column_push(&profile->events);
        if (!event) return;
        *event = *(const struct profile_event *)column_at(&recording->events, i);
        event->name = profile_text(profile, event->name);
    }
    for (size_t i = 0; i < recording->lib_troubles.count; i++) {
        struct lib_trouble *trouble = column_push(&profile->lib_troubles);
        if (!trouble) return;
        *trouble = *(const struct lib_trouble *)column_at(&recording->lib_troubles, i);
        trouble->path = profile_text(profile, trouble->path);
        trouble->code_id = profile_text(profile, trouble->code_id);
    }
}

void read_as_profile(struct input_loader *loader) {
    struct profile *recording = loader->profile, profile;
    struct failure *failure = recording->failure;
    struct profile_text text = {.is_begun = false};
    chunk_list_init(&text.chunks, failure);
    profile_init(&profile, failure);
    emitter_processed.emit(recording, &recording->ledger, &text.chunks, &(struct emit_options){0},
                           (struct progress){0});
    struct input *input = failure_is_set(failure) ? NULL : input_from_blocks(loader->name, next_chunk, &text, failure);
    if (input) reader_profile.run(input, &profile, &(struct reader_options){0});
    input_close(input);
    profile.meta.is_as_written = true;
    keep_facts(&profile, recording);
    loader->wrapping = profile_text(&profile, loader->wrapping);
    profile_fini(recording);
    *recording = profile;
    chunk_list_fini(&text.chunks);
}
