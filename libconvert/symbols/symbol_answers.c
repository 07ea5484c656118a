#include "symbol_answers.h"

#include "libconvert/base/memory.h"
#include "symbol_lines.h"

/* Returns that many numbers ID_NONE; NULL if memory ran out (latched). */
static uint32_t *allocate_numbers(struct failure *failure, uint32_t count) {
    uint32_t *numbers = memory_allocate(failure, count * sizeof *numbers);
    if (numbers) memset(numbers, 0xff, count * sizeof *numbers);
    return numbers;
}

void symbol_answers_init(struct symbol_answers *answers, struct profile *profile) {
    struct failure *failure = profile->failure;
    uint32_t frame_count = row_table_count(&profile->frames);
    *answers = (struct symbol_answers){.profile = profile};
    column_init(&answers->chains, sizeof(struct symbol_chain), failure);
    column_init(&answers->links, sizeof(struct symbol_chain_link), failure);
    column_init(&answers->frames, sizeof(frame_id), failure);
    column_init(&answers->names, sizeof(string_id), failure);
    column_init(&answers->files, sizeof(source_id), failure);
    answers->chain_of_frame = allocate_numbers(failure, frame_count);
    answers->frames_of = allocate_numbers(failure, frame_count);
}

void symbol_answers_fini(struct symbol_answers *answers) {
    COLUMNS_FINI(&answers->chains, &answers->links, &answers->frames, &answers->names, &answers->files);
    MEMORY_FREE_ALL(answers->chain_of_frame, answers->frames_of);
}

void symbol_answers_restart(struct symbol_answers *answers) { answers->names.count = answers->files.count = 0; }

/* ---- Receiving. ---- */

static bool receive_name(struct symbol_answers *answers, struct text text) {
    string_id *name = column_push(&answers->names);
    if (name) *name = profile_string(answers->profile, text);
    return name;
}

static bool receive_file(struct symbol_answers *answers, struct text text) {
    source_id *file = column_push(&answers->files);
    source_id *looked_up = column_push(&answers->profile->looked_up_sources);
    if (!file || !looked_up) return false;
    *file = *looked_up = profile_source(answers->profile, text);
    return !source_is_none(*file);
}

bool symbol_answers_receive_text(struct symbol_answers *answers, struct channel *channel,
                                 const struct symbol_message *message) {
    char bytes[SYMBOL_TEXT_BYTES_MAX];
    if (message->bytes_count > sizeof bytes || !channel_receive(channel, bytes, message->bytes_count)) return false;
    struct text text = {bytes, message->bytes_count};
    return message->kind == SYMBOL_MESSAGE_NAME ? receive_name(answers, text) : receive_file(answers, text);
}

/* A process that is about to crash may send anything, so numbers are checked before they are used. */
static bool is_number_in(uint32_t number, const struct column *texts) {
    return number == ID_NONE || number < texts->count;
}

static string_id name_at(const struct symbol_answers *answers, uint32_t number) {
    if (number == ID_NONE) return string_none();
    return *(const string_id *)column_at(&answers->names, number);
}

static source_id file_at(const struct symbol_answers *answers, uint32_t number) {
    if (number == ID_NONE) return source_none();
    return *(const source_id *)column_at(&answers->files, number);
}

static bool receive_link(struct symbol_answers *answers, struct channel *channel) {
    struct symbol_link link;
    if (!channel_receive(channel, &link, sizeof link)) return false;
    if (!is_number_in(link.name, &answers->names) || !is_number_in(link.file, &answers->files)) return false;
    return column_add(&answers->links, &(struct symbol_chain_link){.name = name_at(answers, link.name),
                                                                   .source = file_at(answers, link.file),
                                                                   .func_line = link.func_line,
                                                                   .line = link.line,
                                                                   .column = link.column});
}

bool symbol_answers_receive_chain(struct symbol_answers *answers, struct channel *channel, lib_id lib,
                                  const struct symbol_answer *given, uint32_t *row) {
    if (given->link_count > SYMBOL_CALLS_MAX || !is_number_in(given->symbol_name, &answers->names)) return false;
    struct symbol_chain chain = {.address = given->address,
                                 .native_symbol = native_symbol_none(),
                                 .first_link = (uint32_t)answers->links.count,
                                 .link_count = given->link_count,
                                 .has_lines = given->has_lines};
    string_id name = name_at(answers, given->symbol_name);
    if (!string_is_none(name) && given->symbol_address != ID_NONE)
        chain.native_symbol = profile_native_symbol(answers->profile, lib, given->symbol_address, name);
    for (uint32_t i = 0; i < given->link_count; i++)
        if (!receive_link(answers, channel)) return false;
    *row = (uint32_t)answers->chains.count;
    struct symbol_chain *added = column_push(&answers->chains);
    if (added) *added = chain;
    return added;
}
