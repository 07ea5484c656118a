#include "input_lone_file.h"

#include <stdio.h>
#include <stdlib.h>

#include "input.h"
#include "input_archive.h"
#include "input_folder.h"
#include "input_spool.h"
#include "libconvert/base/printable.h"

enum { NAME_BYTES = 100 };

struct lone_file {
    const struct input_wrapper *wrapper;
    struct input *below; /* borrowed */
    struct input_archive *archive;
    struct text begun; /* bytes of the file that were read ahead */
    bool has_file;     /* a regular file was found */
    bool has_content;  /* it was not empty */
    char name[NAME_BYTES];
    char wrapping[NAME_BYTES + 16];
};

/* False also for the files that the Finder of macOS adds for each file that it packs. */
static bool is_wanted(const struct input_member *member) {
    return member->kind == INPUT_MEMBER_FILE && !text_starts_with(member->path, TEXT("__MACOSX/")) &&
           !text_starts_with(text_base_name(member->path), TEXT("._"));
}

static void show_name(char name[NAME_BYTES], struct text path) {
    printable_copy(name, NAME_BYTES, path.bytes_count ? path : TEXT("?"));
}

static void show_wrapping(struct lone_file *lone, struct text path) {
    show_name(lone->name, path);
    snprintf(lone->wrapping, sizeof lone->wrapping, "%s > %s", lone->wrapper->name, lone->name);
}

static void begin_file(struct lone_file *lone, const struct input_member *member) {
    lone->has_file = true;
    if (lone->wrapper->format) show_wrapping(lone, member->path);
}

static void fail_several(struct lone_file *lone, struct text second) {
    char second_name[NAME_BYTES];
    struct failure *failure = input_failure(lone->below);
    show_name(second_name, second);
    failure_set(failure, FAILURE_INPUT,
                "%s: the %s archive holds several files (\"%s\", \"%s\"...); extract the one wanted (%s)",
                input_name(lone->below), lone->wrapper->name, lone->name, second_name, lone->wrapper->extract_command);
    failure->is_of_many = true;
}

/* An archive need not have a member's size before its content. */
static bool is_empty(struct lone_file *lone, const struct input_member *member) {
    return member->has_size ? member->size_bytes == 0 : !input_archive_read(lone->archive).bytes_count;
}

/* Goes to the file to read. Returns false if there is none left and after a failure. */
static bool find_file(struct lone_file *lone) {
    struct input_member member;
    while (input_archive_next_member(lone->archive, &member)) {
        if (!is_wanted(&member)) continue;
        if (!lone->has_content) {
            begin_file(lone, &member);
            return true;
        }
        if (is_empty(lone, &member)) continue;
        fail_several(lone, member.path);
        return false;
    }
    if (!lone->has_file && lone->wrapper->format)
        failure_set(input_failure(lone->below), FAILURE_INPUT, "%s: the %s archive holds no file",
                    input_name(lone->below), lone->wrapper->name);
    return false;
}

static struct text read_file(void *context) {
    struct lone_file *lone = context;
    struct text bytes = lone->begun;
    if (bytes.bytes_count) {
        lone->begun = (struct text){0};
        return bytes;
    }
    do bytes = input_archive_read(lone->archive);
    while (!bytes.bytes_count && find_file(lone));
    lone->has_content = lone->has_content || bytes.bytes_count;
    return bytes;
}

static void close_lone_file(void *context) {
    struct lone_file *lone = context;
    input_archive_close(lone->archive);
    free(lone);
}

/* ---- A recording in several files. ---- */

/* The bytes of a member, of which some may have been read. */
struct rest {
    struct input_archive *archive;
    struct text begun;
};

static struct text read_rest(void *context) {
    struct rest *rest = context;
    struct text bytes = rest->begun;
    rest->begun = (struct text){0};
    return bytes.bytes_count ? bytes : input_archive_read(rest->archive);
}

/* Returns whether the only file can be another one with such a name. */
static bool is_lone_part(const struct input_spool *spool) {
    return input_spool_count(spool) == 1 && input_spool_number(spool, 0) != INPUT_FOLDER_UNREAD;
}

/* Copies the member and all other files of its folder. Returns false after a failure, also if the archive has other
 * files. */
static bool copy_files(struct lone_file *lone, struct input_spool *spool, uint32_t number, const char *folder) {
    struct failure *failure = input_failure(lone->below);
    struct rest rest = {lone->archive, lone->begun};
    struct input_member member;
    if (!input_spool_add(spool, number, read_rest, &rest, failure)) return false;
    while (!failure_is_set(failure) && input_archive_next_member(lone->archive, &member)) {
        if (!is_wanted(&member)) continue;
        struct text other_folder;
        number = input_folder_number(member.path, &other_folder);
        bool is_of_folder = number != INPUT_FOLDER_OTHER && text_equal(other_folder, text_of(folder));
        if (is_of_folder && !input_spool_add(spool, number, read_rest, &rest, failure)) return false;
        if (!is_of_folder && !is_empty(lone, &member)) fail_several(lone, member.path);
    }
    if (!failure_is_set(failure) && !input_spool_has_header(spool) && !is_lone_part(spool)) {
        failure_set(failure, FAILURE_INPUT,
                    "%s: the %s archive holds several files (\"%s\"...) and no data, the header of a recording by perf "
                    "record --threads or --kcore; extract the one wanted (%s)",
                    input_name(lone->below), lone->wrapper->name, lone->name, lone->wrapper->extract_command);
        failure->is_of_many = true;
    }
    return !failure_is_set(failure);
}

/* Makes *source read the recording that the member, which is the current one, is a file of. Returns false after a
 * failure (latched). */
static bool open_recording(struct input_source *source, struct lone_file *lone, uint32_t number,
                           struct text folder_path) {
    struct failure *failure = input_failure(lone->below);
    char *folder = strndup(folder_path.bytes_count ? folder_path.bytes : "", folder_path.bytes_count);
    struct input_spool *spool = folder ? input_spool_create(input_name(lone->below), failure) : NULL;
    if (!folder) failure_set_memory(failure);
    bool is_good = spool && copy_files(lone, spool, number, folder);
    if (!is_good) {
        free(folder);
        input_spool_destroy(spool);
        return false;
    }
    /* Whichever of its files comes first, the recording has the name of the folder. */
    bool has_name = strcmp(folder, "") != 0 && strcmp(folder, "./") != 0;
    if (input_spool_count(spool) > 1)
        show_wrapping(lone, has_name ? (struct text){folder, strlen(folder) - 1} : TEXT("data"));
    free(folder);
    return input_spool_open(source, spool, lone->wrapping, input_name(lone->below), failure);
}

/* Goes to the first file that is not empty. Returns whether it is one of a recording in several files, and its number
 * and folder. A data.N, which may be empty, has no bytes that tell what it is. */
static bool begins_recording(struct lone_file *lone, uint32_t *number, struct text *folder) {
    struct input_member member;
    while (input_archive_next_member(lone->archive, &member)) {
        if (!is_wanted(&member)) continue;
        begin_file(lone, &member);
        *number = input_folder_number(member.path, folder);
        if (*number != INPUT_FOLDER_HEADER && *number != INPUT_FOLDER_OTHER) return true;
        if (member.has_size && !member.size_bytes) continue;
        if (*number != INPUT_FOLDER_HEADER) return false;
        lone->begun = input_archive_read(lone->archive);
        return input_folder_is_recording(lone->begun);
    }
    return false;
}

bool input_lone_file_open(struct input_source *source, const struct input_wrapper *wrapper, struct input *below) {
    struct lone_file *lone = calloc(1, sizeof *lone);
    if (!lone) {
        failure_set_memory(input_failure(below));
        return false;
    }
    lone->wrapper = wrapper;
    lone->below = below;
    lone->archive = input_archive_open(wrapper, below);
    snprintf(lone->wrapping, sizeof lone->wrapping, "%s", wrapper->name);
    *source =
        (struct input_source){.context = lone, .read = read_file, .close = close_lone_file, .wrapping = lone->wrapping};
    struct text folder;
    uint32_t number;
    bool is_open = lone->archive;
    bool is_recording = is_open && wrapper->format && begins_recording(lone, &number, &folder);
    if (is_recording) is_open = open_recording(source, lone, number, folder);
    if (is_open && !is_recording) return true;
    /* The source of a recording has another context and does not need the archive any more. */
    close_lone_file(lone);
    return is_open;
}
