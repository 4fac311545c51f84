/* partition.h - which rank holds which elements of the parameters
 *
 * All parameters are in one flat array, layer by layer. It is divided into buckets of whole
 * layers, and each bucket into pieces of equal size, one per rank: rank r holds piece r of
 * every bucket. So each bucket needs only one reduce-scatter and one all-gather, independent
 * of the other buckets.
 *
 *     flat      |  layer 0   |     layer 1     | layer 2 |
 *     buckets   |  0         |  1                        |
 *     padded    | 0: | 1:  --|  0:          | 1:       --|     2 ranks
 *     share     | 0: |  0:          |                          the share of rank 0
 *
 * The last pieces of a bucket may be partly or entirely padding (--). Positions in the flat
 * array do not depend on the number of ranks; positions in the padded array and in a share do.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PARTITION_H
#define MUSTER_PARTITION_H

#include <stddef.h>

#define PARTITION_ALIGN 32 /* elements; aligns pieces to 64 bytes, for 16-bit types too */

struct partition_bucket {
    int    first_layer, layers;
    size_t start, count; /* in the flat array */
    size_t piece;        /* elements; ranks * piece >= count */
    size_t padded_start; /* in an array of whole buckets, including padding */
    size_t share_start;  /* in an array of one rank's pieces */
};

struct partition {
    int                      ranks, layers, buckets;
    struct partition_bucket *bucket;
    int                     *bucket_of;    /* for each layer; -1: it has no elements */
    size_t                  *layer_start;  /* for each layer, in the flat array */
    size_t                   count;        /* of the flat array */
    size_t                   padded;       /* of all whole buckets, including padding */
    size_t                   share;        /* of one rank's pieces */
    size_t                   largest;      /* of the largest bucket, including padding */
};

/* A range of the flat array. */
struct partition_range {
    size_t start, count;
};

/* layer_counts: the number of elements of each layer. A bucket has at least one layer, and more
 * as long as it has at most bucket_max elements; layers without elements are in no bucket. Free
 * with partition_clear(). */
void partition_init(struct partition *partition, const size_t *layer_counts, int layers,
                    int ranks, size_t bucket_max);
void partition_clear(struct partition *partition);

/* Returns the part of the bucket that a rank holds, without padding. */
struct partition_range partition_range(const struct partition *partition, int bucket, int rank);

/* Returns where the layer starts in an array of whole buckets. */
size_t partition_layer_place(const struct partition *partition, int layer);

#endif
