/* warm_sums.h - the contents of the files of a warm list, as hashes, so that
 * other nodes can send them
 *
 * muster bootstrap --record writes the sums beside the list. The file format:
 *
 *     # muster sums 1 MARK
 *     file SIZE INODE MTIME CTIME PATH
 *     INDEX SHA-256
 *
 * MARK is that of the list. A time is seconds, a dot and nine digits. Each chunk (chunk.h) of
 * which the list has a part has a line, except small chunks: their last block is read in any
 * case (swarm_file.h), and that takes as long as reading all of it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_WARM_SUMS_H
#define MUSTER_AGENT_WARM_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "copy/chunk.h"
#include "err.h"
#include "warm/warm_list.h"

#define WARM_SUMS_BYTES_MAX (256u << 20)
#define WARM_CHUNK_MIN (64u << 10)
#define WARM_MARK_CHARS 16

/* A file at the time when its chunks were hashed. */
struct warm_file {
    char           *path;
    int64_t         size;
    uint64_t        inode;
    struct timespec mtime, ctime;
    size_t          first, count; /* its chunks */
};

struct warm_chunk {
    uint32_t      file, index;
    unsigned char hash[CHUNK_HASH_BYTES];
};

struct warm_sums {
    struct warm_file  *file; /* in the order of the list */
    size_t             files;
    struct warm_chunk *chunk; /* by file, then index */
    size_t             chunks;
};

/* Writes 16 hex digits for a text: equal texts have equal digits. */
void warm_mark(const char *text, char mark[WARM_MARK_CHARS + 1]);

/* -1 with "line N: why", also if the sums belong to another list; then sums is empty. */
int   warm_sums_parse(const char *text, const char *list_mark, struct warm_sums *sums,
                      struct error *err);
char *warm_sums_text(const struct warm_sums *sums, const char *list_mark); /* caller frees */
void  warm_sums_clear(struct warm_sums *sums);

/* Hashes the chunks that the list names. Leaves out files that are open for writing,
 * have holes, or are on other file systems than ext2 to ext4 and XFS. Calls told
 * regularly, with the bytes so far. */
void warm_sums_make(struct warm_sums *sums, const struct warm_list *list,
                    void (*told)(int64_t bytes, void *arg), void   *arg);

/* Is it still the file that was hashed? No program can change a file and keep its ctime. */
bool warm_file_is(const struct warm_file *file, const struct stat *now);
/* Can its blocks be written without reading them? */
bool warm_file_is_plain(int fd, const struct stat *now);

/* Returns the number of a chunk in sums; -1: not found. */
int64_t warm_sums_find(const struct warm_sums *sums, uint32_t file, uint32_t index);

#endif
