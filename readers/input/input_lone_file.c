#include <stdio.h>
#include <stdlib.h>

#include "input.h"
#include "input_archive.h"
#include "input_folder.h"
#include "libconvert/base/printable.h"

enum { NAME_BYTES = 100 };

struct lone_file {
    const struct input_wrapper *wrapper;
    struct input *below; /* borrowed */
    struct input_archive *archive;
    uint32_t number;  /* input_folder_number of the file */
    bool has_file;    /* a regular file was found */
    bool has_content; /* it was not empty */
    char name[NAME_BYTES];
    char wrapping[NAME_BYTES + 16];
};

/* False also for the files that the Finder of macOS adds for each file that it packs and each folder that it shows. */
static bool is_wanted(const struct input_member *member) {
    struct text name = text_base_name(member->path);
    return member->kind == INPUT_MEMBER_FILE && !text_starts_with(member->path, TEXT("__MACOSX/")) &&
           !text_starts_with(name, TEXT("._")) && !text_equal(name, TEXT(".DS_Store"));
}

static void show_name(char name[NAME_BYTES], struct text path) {
    printable_copy(name, NAME_BYTES, path.bytes_count ? path : TEXT("?"));
}

static void show_wrapping(struct lone_file *lone, struct text path) {
    show_name(lone->name, path);
    snprintf(lone->wrapping, sizeof lone->wrapping, "%s > %s", lone->wrapper->name, lone->name);
}

static void begin_file(struct lone_file *lone, const struct input_member *member) {
    struct text folder;
    lone->has_file = true;
    lone->number = INPUT_FOLDER_OTHER;
    if (!lone->wrapper->format) return;
    show_wrapping(lone, member->path);
    lone->number = input_folder_number(member->path, &folder);
}

static void fail_recording(struct lone_file *lone) {
    failure_set(input_failure(lone->below), FAILURE_INPUT, "%s: " INPUT_FOLDER_PACKED, input_name(lone->below));
}

static void fail_several(struct lone_file *lone, struct text second) {
    char second_name[NAME_BYTES];
    struct text folder;
    uint32_t number = input_folder_number(second, &folder);
    if (lone->number != INPUT_FOLDER_OTHER && number != INPUT_FOLDER_OTHER && number != lone->number) {
        fail_recording(lone);
        return;
    }
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

/* Returns whether the file, which begins with these bytes, is one of a recording in several files, but not its header.
 * Another trace may be named data.0, too. A record of perf begins with its type, a 32-bit number below 256. */
static bool is_part(const struct lone_file *lone, struct text start) {
    bool is_record = text_starts_with(text_from(start, 1), TEXT("\0\0\0"));
    return lone->number == INPUT_FOLDER_KERNEL || (lone->number < INPUT_FOLDER_HEADER && is_record);
}

static struct text read_file(void *context) {
    struct lone_file *lone = context;
    struct text bytes;
    do bytes = input_archive_read(lone->archive);
    while (!bytes.bytes_count && find_file(lone));
    if (!bytes.bytes_count || lone->has_content) return bytes;
    lone->has_content = true;
    if (!is_part(lone, bytes)) return bytes;
    fail_recording(lone);
    return (struct text){0};
}

static void close_lone_file(void *context) {
    struct lone_file *lone = context;
    input_archive_close(lone->archive);
    free(lone);
}

bool input_lone_file_open(struct input_source *source, const struct input_wrapper *wrapper, struct input *below) {
    struct lone_file *lone = failure_check_memory(input_failure(below), calloc(1, sizeof *lone));
    if (!lone) return false;
    lone->wrapper = wrapper;
    lone->below = below;
    lone->archive = input_archive_open(wrapper, below);
    snprintf(lone->wrapping, sizeof lone->wrapping, "%s", wrapper->name);
    *source =
        (struct input_source){.context = lone, .read = read_file, .close = close_lone_file, .wrapping = lone->wrapping};
    if (lone->archive) return true;
    close_lone_file(lone);
    return false;
}
