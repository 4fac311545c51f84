/* swarm_file.h - puts chunks that another node has read into the page cache of a file
 *
 * The only way to get a page into memory without reading the disk is by writing it. So this
 * module overwrites the file's bytes with the same bytes. That changes nothing, even with a
 * power cut. It writes a chunk only if
 *
 *  - its SHA-256 is the recorded one;
 *  - the file has the recorded size, inode, mtime and ctime, so that it has not changed since;
 *    later, the ctime that our own write gave it;
 *  - no other process has the file open: the kernel gives us a lease (fcntl(2)) and makes a
 *    process that opens the file wait until the chunk is written;
 *  - the chunk is not in memory already.
 *
 * It restores the mtime. It writes only whole blocks, since the kernel would read a block that
 * is written partly. The caller reads the rest at the end of the file.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_SWARM_FILE_H
#define MUSTER_AGENT_SWARM_FILE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "warm/warm_sums.h"

#define SWARM_BLOCK 65536 /* a multiple of all block and page sizes */

struct swarm_file;

struct swarm_files {
    const struct warm_sums *sums;
    struct swarm_file      *file;
    pthread_mutex_t         lock;
};

void swarm_files_begin(struct swarm_files *files, const struct warm_sums *sums);
void swarm_files_end(struct swarm_files *files);

/* Returns a descriptor of the file, for all threads: a second open would refuse us the lease.
 * -1: the file has changed, is open for execution, or cannot be written here. The caller may
 * also close a descriptor with swarm_file_close() that it has opened itself. */
int  swarm_file_open(struct swarm_files *files, uint32_t file);
void swarm_file_close(struct swarm_files *files, uint32_t file, int fd);

/* Returns the bytes of a chunk that can be written in whole blocks: the
 * caller must read the rest. */
size_t swarm_file_whole(const struct warm_file *file, uint32_t index);

/* Puts a chunk of the sums into memory; the caller has compared its hash. Only one thread may
 * do this. False: read it from this disk. */
bool swarm_file_put(struct swarm_files *files, const struct warm_chunk *chunk,
                    const void *bytes);

/* Waits until all written chunks are on the disk. -1 with err. */
int swarm_files_sync(struct swarm_files *files, struct error *err);

#endif
