/* swarm_file.h - put what another node has read into the page cache of a file
 *
 * There is one way to have a page in memory that the disk was not asked for: write it. Here the
 * bytes that a file has are written to their own place. That changes nothing, if they are these
 * bytes, and no power cut can make a difference. A chunk is written only if
 *
 *  - its SHA-256 is that of the record;
 *  - the file has the size, inode, mtime and ctime of the record, so that nobody has changed it
 *    since; afterwards, the ctime that our own write gave it;
 *  - nobody else has the file open: the kernel gives us a lease (fcntl(2)) and makes whoever
 *    opens the file wait until the chunk is written;
 *  - the chunk is not in memory already.
 *
 * The mtime is set back. Only whole blocks are written, since the kernel reads one of which a
 * part is written: what is left is at the end of the file, and the caller's.
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

/* A descriptor of the file, for all threads: a second one would refuse us the lease. -1: it has
 * changed, is open for execution, or cannot be written here. A descriptor that the caller has
 * opened itself may be closed so, too. */
int  swarm_file_open(struct swarm_files *files, uint32_t file);
void swarm_file_close(struct swarm_files *files, uint32_t file, int fd);

/* How much of a chunk can be written in whole blocks: the rest is to be read. */
size_t swarm_file_whole(const struct warm_file *file, uint32_t index);

/* Put a chunk of the sums into memory; its hash was compared. Only one thread may do this.
 * False: read it from this disk. */
bool swarm_file_put(struct swarm_files *files, const struct warm_chunk *chunk,
                    const void *bytes);

/* All that was put is on the disk. -1 with err. */
int swarm_files_sync(struct swarm_files *files, struct error *err);

#endif
