/* Tells which file a path leads to, even if it does not exist yet: an output must not overwrite the input. */
#pragma once

#include <sys/types.h>

#include "libconvert/base/text.h"

struct file_identity {
    bool is_known; /* false: it is no regular file and no folder (a pipe, a device), or cannot be examined */
    dev_t device;
    ino_t inode;      /* inode of the file, or of its folder if the file does not exist yet */
    struct text name; /* the last part of the path if the file does not exist yet; otherwise empty */
};

/* `standard_fd` is the descriptor for the path "-". The path must outlive the identity. */
struct file_identity file_identity_of(const char *path, int standard_fd);

/* Returns false if one of them is unknown. */
bool file_identity_is_same(struct file_identity a, struct file_identity b);

/* Returns whether both paths are those of one file. NULL: there is none. */
bool file_identity_is_one(const char *path, const char *other_path, int standard_fd);
