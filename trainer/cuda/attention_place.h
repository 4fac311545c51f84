/* attention_place.h - what a block of attention's kernels computes, and which tokens see which
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ATTENTION_PLACE_H
#define MUSTER_ATTENTION_PLACE_H

#include "cuda/element.h"
#include "cuda/ops_cuda.h"

#define PHILOX_FUNCTION static __device__ inline
#include "model/philox.h"

#define HEAD_MAX 256 /* columns per head */

/* The rows of one head of one sequence in memory. */
template <typename T> struct rows {
    T  *first;
    int row; /* elements between two rows */
    int length;
};

/* The part of the work that a block does. In s, begins is in the GPU's memory. */
struct place {
    struct attention s;
    int              sequence, head, kv_head; /* head: of queries */
    int              tile;                    /* the first row of the block's own tile */
    float            scale;
};

/* Blocks have tiles of rows of this number of heads: of queries, or of keys. The last tile comes
 * first: in causal attention, it has the most keys. */
static __device__ inline struct place place_of(const struct attention &s, int heads, int tile)
{
    const int    tiles = (s.length + tile - 1) / tile;
    const int    head = (int)(blockIdx.x / tiles % heads), group = s.heads / s.kv_heads;
    struct place p;

    p.s = s;
    p.tile = (tiles - 1 - (int)(blockIdx.x % tiles)) * tile;
    p.kv_head = heads == s.heads ? head / group : head;
    p.head = heads == s.heads ? head : head * group;
    p.sequence = (int)(blockIdx.x / tiles / heads);
    p.scale = 1 / sqrtf((float)s.head_width);
    return p;
}

/* Returns the rows of a head in an array with this number of elements per token. */
template <typename T>
static __device__ inline struct rows<T> rows_of(const struct place &p, T *all, int row, int head)
{
    struct rows<T> r;

    r.row = row;
    r.length = p.s.length;
    r.first = all + (size_t)p.sequence * p.s.length * row + (size_t)head * p.s.head_width;
    return r;
}

/* Returns the index of a row in [sequences][heads][length]. */
static __device__ inline size_t number_of(const struct place &p, int row)
{
    return ((size_t)p.sequence * p.s.heads + p.head) * p.s.length + row;
}

/* Returns the first key that the query sees. It does not become less from query to query. */
static __device__ inline int first_key(const struct place &p, int query)
{
    const int in_window = p.s.window > 0 ? query - p.s.window + 1 : 0;
    const int begin = p.s.begins != NULL && query < p.s.length
                          ? p.s.begins[(size_t)p.sequence * p.s.length + query]
                          : 0;

    return begin > in_window ? begin : in_window;
}

/* from: the first key that the query sees. */
static __device__ inline bool sees(const struct place &p, int query, int key, int from)
{
    return query < p.s.length && key < p.s.length && (!p.s.causal || (key <= query && key >= from));
}

/* Return the first and the last key that a tile's queries may see; the last is not included. */
static __device__ inline int keys_begin(const struct place &p, int tile)
{
    return p.s.causal ? first_key(p, p.tile) / tile * tile : 0;
}

static __device__ inline int keys_end(const struct place &p, int tile)
{
    return p.s.causal && p.tile + tile < p.s.length ? p.tile + tile : p.s.length;
}

/* Returns whether this query and all after it see none of the keys of the block's own tile. */
static __device__ inline bool is_past(const struct place &p, int query, int tile)
{
    return p.s.causal && first_key(p, query) >= p.tile + tile;
}

/* Returns the factor by which dropout multiplies a weight. */
static __device__ inline float factor_of(const struct place &p, int query, int key)
{
    const uint64_t row = (uint64_t)p.head * p.s.length + query;

    return p.s.drop.rate > 0 ? dropout_factor(&p.s.drop, p.sequence, row * p.s.length + key) : 1;
}

#endif
