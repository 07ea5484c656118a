/* Which file a path leads to, whether it exists or is to be created: so that an output is not written over the
 * input. */
#ifndef GECKO_FILE_IDENTITY_H
#define GECKO_FILE_IDENTITY_H

#include <sys/types.h>

#include "libconvert/text.h"

struct file_identity {
    bool is_known; /* false: no regular file (a pipe, a device, a folder), or one that cannot be looked at */
    dev_t device;
    ino_t inode;      /* of the file, or of its folder when it is to be created */
    struct text name; /* of a file that is to be created, in the path; empty for one that exists */
};

/* `standard_fd` is what the path "-" stands for. The path must outlive the identity. */
struct file_identity file_identity_of(const char *path, int standard_fd);

/* False when one of them is not known. */
bool file_identity_is_same(struct file_identity a, struct file_identity b);

#endif
