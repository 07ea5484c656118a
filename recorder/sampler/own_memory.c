#include "own_memory.h"

#include <errno.h>

bool own_memory_begin(struct own_memory *memory) {
    char path[OWN_FILE_PATH_BYTES];
    own_file_of_process(path, "mem");
    memory->is_forbidden = false;
    memory->file = own_file_open(&memory->kept, path);
    return memory->file >= 0;
}

void own_memory_end(struct own_memory *memory) { own_file_release(&memory->kept, memory->file); }

size_t own_memory_copy(struct own_memory *memory, void *to, uint64_t address, size_t bytes_count) {
    size_t copied = 0;
    /* The first read ends early at a page that is not mapped; the second one fails. */
    while (copied < bytes_count) {
        ssize_t count = own_file_read_at(memory->file, (char *)to + copied, bytes_count - copied, address + copied);
        if (count <= 0) {
            memory->is_forbidden |= count < 0 && (errno == EPERM || errno == EACCES || errno == ENOSYS);
            break;
        }
        copied += (size_t)count;
    }
    return copied;
}
