/* The pool's file: its descriptor, which the program may close, its locks, and its disk space. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "recorder/state/pool.h"
#include "recorder/state/shared.h"

/* Moves the descriptor to a high number, since some programs close descriptors that they do not know, or expect the
 * lowest number for their next file. Returns -1 with errno set. */
int pool_file_move_away(int file);

/* Returns the descriptor that is mapped: the one without a name for a pool in memory. -1: there is none. */
int pool_file_mapped(const struct pool *pool);

/* Returns whether the status is that of the pool's file. A program may close descriptors that it does not know, and get
 * their numbers for files of its own. */
bool pool_file_is(const struct pool *pool, const struct stat *status);

/* Remembers which file the mapped descriptor belongs to, for pool_file_is. */
bool pool_file_remember(struct pool *pool);

/* Takes over the descriptor, and takes the two locks that show other processes that this one records (pool_path.c).
 * Returns false with errno set. */
bool pool_file_adopt(struct pool *pool, int file);

/* Takes a read lock on the byte at the offset of the process's pid, so that others can find out which processes record.
 */
void pool_file_lock_for_process(const struct pool *pool);

/* Takes or releases the lock of the process that will save a pool in memory: see pool_has_other_saver. Children do not
 * inherit it. The kernel releases it when the process ends in any way, even if no parent has waited for it yet, or
 * executes another program. So unlike a pid, the lock shows that this process is still there. */
void pool_file_set_saver(const struct pool *pool, bool is_saver);

/* Returns whether another process has created this pool in memory, still lives and has not left it: that process will
 * save it. Returns false if this is not known, because the pool has no descriptor, or one of the two processes has
 * closed its own. */
bool pool_has_other_saver(const struct pool *pool);

/* Opens the file again if it is not open in the calling thread's own descriptor table: the program had closed it before
 * the thread got the table, or the thread began late. Returns false if that is not possible. Do not call this in
 * threads that share the program's table. */
bool pool_restore_file(const struct pool *pool) GREC_SHARED(pool_restore_file);

/* Returns the descriptor if it is still the trace's; otherwise -1 with errno set. */
int pool_file_number(const struct pool *pool);

/* Returns whether a file of this size would end the process by SIGXFSZ; if so, sets errno. */
bool pool_file_is_beyond_limit(uint64_t end);

/* Allocates the bytes on disk. New ones are zero. Returns false with errno set. [signal-safe] */
bool pool_file_reserve(const struct pool *pool, uint64_t from, uint64_t end) GREC_SHARED(pool_file_reserve);
