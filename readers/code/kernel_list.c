#include "kernel_list.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include "libconvert/base/cursor.h"
#include "libconvert/base/memory.h"
#include "libconvert/base/regular_file.h"

const char kernel_list_running[] = "/proc/kallsyms";

static struct kernel_list kept;

struct text kernel_list_code(const struct kernel_list *list) {
    return (struct text){list->bytes, list->code_bytes};
}

struct text kernel_list_text(const struct kernel_list *list) {
    return (struct text){list->bytes, list->bytes_count};
}

struct text kernel_list_kept(void) {
    return kernel_list_code(&kept);
}

void kernel_list_fini(struct kernel_list *list) {
    memory_free(list->bytes);
    *list = (struct kernel_list){0};
}

void kernel_list_forget(void) { kernel_list_fini(&kept); }

/* Returns the offset of the end of the line that has the symbol of that name; 0: there is none. */
static size_t line_end_of(struct text list, struct text name) {
    for (size_t at = 0; at < list.bytes_count;) {
        const char *found = memmem(list.bytes + at, list.bytes_count - at, name.bytes, name.bytes_count);
        if (!found) return 0;
        size_t end = (size_t)(found - list.bytes) + name.bytes_count;
        if (found > list.bytes && found[-1] == ' ' && end < list.bytes_count && list.bytes[end] == '\n') return end + 1;
        at = end;
    }
    return 0;
}

uint64_t kernel_list_address(struct text list, struct text name) {
    uint64_t address = 0;
    size_t end = line_end_of(list, name);
    if (!end) return 0;
    const char *before = memrchr(list.bytes, '\n', end - 1);
    struct text line = text_from(list, before ? (size_t)(before + 1 - list.bytes) : 0);
    return cursor_take_number(&line, 16, &address) ? address : 0;
}

/* Reads the next bytes of the list. Returns false at the end, and if memory ran out. */
static bool read_more(int file, struct kernel_list *list, size_t *capacity_bytes, struct failure *failure) {
    enum { READ_BYTES = 1024 * 1024 };
    if (*capacity_bytes - list->bytes_count < READ_BYTES) {
        char *bytes = memory_resize(failure, list->bytes, *capacity_bytes + 2 * READ_BYTES);
        if (!bytes) return false;
        list->bytes = bytes;
        *capacity_bytes += 2 * READ_BYTES;
    }
    ssize_t read_bytes = read(file, list->bytes + list->bytes_count, READ_BYTES);
    if (read_bytes > 0) list->bytes_count += (size_t)read_bytes;
    return read_bytes > 0;
}

/* For a user who may not see addresses, all are 0. In many kernels, so are those of the first symbols, which are
 * variables. */
static bool hides_addresses(struct text list) {
    return line_end_of(list, TEXT("_text")) && !kernel_list_address(list, TEXT("_text"));
}

bool kernel_list_read(struct kernel_list *list, const char *path, struct memory_limit *memory) {
    enum { HEAD_BYTES = 64 * 1024 }; /* has "_text" */
    size_t capacity_bytes = 0;
    struct failure failure = {.memory = memory};
    int file = open(path, O_RDONLY | O_CLOEXEC);
    *list = (struct kernel_list){0};
    if (file < 0) return false;
    while (read_more(file, list, &capacity_bytes, &failure))
        if (list->bytes_count < HEAD_BYTES && hides_addresses(kernel_list_text(list))) break;
    close(file);
    struct text all = kernel_list_text(list);
    list->code_bytes = failure_is_set(&failure) || hides_addresses(all) ? 0 : line_end_of(all, TEXT("_etext"));
    if (!list->code_bytes) kernel_list_fini(list);
    return list->code_bytes > 0;
}

struct text kernel_list_keep(void) {
    kernel_list_forget();
    kernel_list_read(&kept, kernel_list_running, NULL);
    return kernel_list_kept();
}

/* A note has the sizes of its name and content, its type, its name and its content. Name and content are padded to four
 * bytes each. */
size_t kernel_build_id_read(const char *path, char id[KERNEL_BUILD_ID_BYTES_MAX]) {
    enum { NOTES_BYTES_MAX = 4096 };
    char bytes[NOTES_BYTES_MAX];
    struct text notes = regular_file_start(path, bytes, sizeof bytes);
    Elf64_Nhdr note;
    while (notes.bytes_count >= sizeof note) {
        memcpy(&note, notes.bytes, sizeof note);
        size_t id_at = sizeof note + (((size_t)note.n_namesz + 3) & ~(size_t)3);
        struct text content = text_slice(notes, id_at, id_at + note.n_descsz);
        bool is_build_id = note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof "GNU" &&
                           id_at <= notes.bytes_count && memcmp(notes.bytes + sizeof note, "GNU", sizeof "GNU") == 0;
        bool fits = content.bytes_count == note.n_descsz && content.bytes_count <= KERNEL_BUILD_ID_BYTES_MAX;
        if (is_build_id && !fits) return 0;
        if (is_build_id) memcpy(id, content.bytes, content.bytes_count);
        if (is_build_id) return content.bytes_count;
        notes = text_from(notes, id_at + (((size_t)note.n_descsz + 3) & ~(size_t)3));
    }
    return 0;
}
