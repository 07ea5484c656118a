/* A file of the kernel's that stays open: at a high number, since programs hand out the low ones and count on getting
 * them, and only as long as it is ours, whatever the program does to descriptors that it does not know. */
#ifndef GREC_KEPT_FILE_H
#define GREC_KEPT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct kept_file {
    bool is_kept;
    int file;
    dev_t device;
    ino_t number;
};

/* Keeps another descriptor of the open file, in place of what was kept. */
void kept_file_set(struct kept_file *kept, int file);

/* The program has not closed it, nor put a file of its own in its place. */
bool kept_file_is_ours(const struct kept_file *kept);

void kept_file_close(struct kept_file *kept);

/* The text from the file's start on, with a zero behind it, and how many bytes it has; 0: it cannot be read, and errno
 * says why. */
size_t file_read_text(int file, char *text, size_t bytes_max);

#endif
