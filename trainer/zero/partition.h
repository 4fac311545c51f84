/* partition.h - which rank holds which elements of the parameters
 *
 * All parameters lie in one flat array, layer by layer. It is cut into buckets, each
 * of whole layers, and each bucket into as many pieces of one size as there are ranks:
 * rank r holds piece r of every bucket. So a bucket is reduced by one reduce-scatter
 * and made whole by one all-gather, without regard to the others.
 *
 *     flat      |  layer 0   |     layer 1     | layer 2 |
 *     buckets   |  0         |  1                        |
 *     padded    | 0: | 1:  --|  0:          | 1:       --|     2 ranks
 *     share     | 0: |  0:          |                          what rank 0 holds
 *
 * The last pieces of a bucket may be partly, or all, padding (--). Places in the flat
 * array do not depend on the number of ranks; the others do.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PARTITION_H
#define MUSTER_PARTITION_H

#include <stddef.h>

#define PARTITION_ALIGN 32 /* elements; pieces begin at 64 bytes, for 16-bit types too */

struct partition_bucket {
    int    first_layer, layers;
    size_t start, count; /* in the flat array */
    size_t piece;        /* elements; ranks * piece >= count */
    size_t padded_start; /* in an array of whole buckets, padding included */
    size_t share_start;  /* in an array of the pieces of one rank */
};

struct partition {
    int                      ranks, layers, buckets;
    struct partition_bucket *bucket;
    int                     *bucket_of;    /* for each layer */
    size_t                  *layer_start;  /* for each layer, in the flat array */
    size_t                   count;        /* of the flat array */
    size_t                   padded;       /* of all whole buckets */
    size_t                   share;        /* of one rank's pieces */
    size_t                   largest;      /* bucket, padding included */
};

/* Elements of the flat array. */
struct partition_range {
    size_t start, count;
};

/* Layers with these numbers of elements. A bucket takes layers as long as it has at most
 * bucket_max elements, and one in any case. Free with partition_clear. */
void partition_init(struct partition *partition, const size_t *layer_counts, int layers,
                    int ranks, size_t bucket_max);
void partition_clear(struct partition *partition);

/* What of the bucket a rank holds, without padding. */
struct partition_range partition_range(const struct partition *partition, int bucket, int rank);

/* Where the layer begins in an array of whole buckets. */
size_t partition_layer_place(const struct partition *partition, int layer);

#endif
