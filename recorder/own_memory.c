#include "own_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

bool own_memory_open(struct own_memory *memory) {
    *memory = (struct own_memory){.file = open("/proc/thread-self/mem", O_RDONLY | O_CLOEXEC)};
    return memory->file >= 0;
}

void own_memory_close(struct own_memory *memory) { close(memory->file); }

size_t own_memory_copy(struct own_memory *memory, void *to, uint64_t address, size_t bytes_count) {
    size_t copied = 0;
    /* A gap begins where a first read ends early, and a second one fails. */
    while (copied < bytes_count) {
        ssize_t count = pread(memory->file, (char *)to + copied, bytes_count - copied, (off_t)(address + copied));
        if (count <= 0) {
            memory->is_forbidden |= count < 0 && (errno == EPERM || errno == EACCES || errno == ENOSYS);
            break;
        }
        copied += (size_t)count;
    }
    return copied;
}
