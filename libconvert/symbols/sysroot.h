/* Files of a container or of another machine, whose file system is below a folder of this machine. */
#pragma once

#include <limits.h>

/* Opens the regular file that has that absolute path in the file system below `root`, for reading. Symbolic links and
 * ".." are resolved as if `root` were "/", so they never lead out of it. Stores the file's path in that file system,
 * without links, in real_path. Returns -1 (errno) if there is no such file or it cannot be read. ENOSYS: the kernel is
 * older than 5.6. EPERM: a filter of system calls may forbid the call that needs such a kernel. */
int sysroot_open(const char *root, const char *path, char real_path[PATH_MAX]);
