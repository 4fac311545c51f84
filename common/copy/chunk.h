/* chunk.h - the pieces in which muster bcast sends files
 *
 * A file is cut into chunks of CHUNK_BYTES; the last one may be shorter, and an empty file has
 * none. A chunk is identified by its tree, its file (the number of its entry) and its index,
 * and checked by the SHA-256 of its contents, which the launcher sends to every node over SSH.
 * In frames, all numbers big-endian:
 *
 *     id   0..3 tree | 4..7 file | 8..11 index
 *     row  id | 12..43 SHA-256
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_CHUNK_H
#define MUSTER_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <openssl/evp.h>

#include "frame.h"
#include "xalloc.h"

#define CHUNK_BYTES      (1u << 20)
#define CHUNK_HASH_BYTES 32
#define CHUNK_ID_BYTES   12
#define CHUNK_ROW_BYTES  (CHUNK_ID_BYTES + CHUNK_HASH_BYTES)
/* Rows that a node has received and not settled: both ends may have to remember this many. */
#define CHUNK_OPEN_MAX   4096u
/* As the index in a row: the launcher withdraws this file, because it has changed. */
#define CHUNK_WITHDRAWN  UINT32_MAX

struct chunk {
    uint32_t tree, file, index;
};

/* Return how many chunks a file of this size has, and how large one of them is. */
static inline uint32_t chunk_count(uint64_t size)
{
    return (uint32_t)((size + CHUNK_BYTES - 1) / CHUNK_BYTES);
}

static inline size_t chunk_size(uint64_t size, uint32_t index)
{
    uint64_t left = size - (uint64_t)index * CHUNK_BYTES;

    return left < CHUNK_BYTES ? (size_t)left : CHUNK_BYTES;
}

static inline void chunk_put(unsigned char at[CHUNK_ID_BYTES], struct chunk chunk)
{
    put_u32(at, chunk.tree);
    put_u32(at + 4, chunk.file);
    put_u32(at + 8, chunk.index);
}

static inline struct chunk chunk_get(const unsigned char at[CHUNK_ID_BYTES])
{
    return (struct chunk){ get_u32(at), get_u32(at + 4), get_u32(at + 8) };
}

static inline bool chunk_same(struct chunk a, struct chunk b)
{
    return a.tree == b.tree && a.file == b.file && a.index == b.index;
}

/* Can only fail for lack of memory. */
static inline void chunk_hash(const void *bytes, size_t size, unsigned char hash[CHUNK_HASH_BYTES])
{
    if (EVP_Digest(bytes, size, hash, NULL, EVP_sha256(), NULL) != 1)
        xalloc_die();
}

#endif
