/* partition.c - see partition.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "zero/partition.h"

#include <stdlib.h>

#include "xalloc.h"

static void place_bucket(struct partition *partition, struct partition_bucket *bucket);

void partition_init(struct partition *partition, const size_t *layer_counts, int layers,
                    int ranks, size_t bucket_max)
{
    struct partition_bucket *bucket = NULL;
    int                      layer;

    *partition = (struct partition){ .ranks = ranks, .layers = layers };
    partition->bucket = xcalloc((size_t)layers, sizeof *partition->bucket);
    partition->bucket_of = xcalloc((size_t)layers, sizeof *partition->bucket_of);
    partition->layer_start = xcalloc((size_t)layers, sizeof *partition->layer_start);
    for (layer = 0; layer < layers; layer++) {
        partition->layer_start[layer] = partition->count;
        partition->bucket_of[layer] = -1;
        if (layer_counts[layer] == 0)
            continue;
        if (bucket == NULL || bucket->count + layer_counts[layer] > bucket_max) {
            if (bucket != NULL)
                place_bucket(partition, bucket);
            bucket = &partition->bucket[partition->buckets++];
            *bucket = (struct partition_bucket){ .first_layer = layer,
                                                 .start = partition->count };
        }
        bucket->layers++;
        bucket->count += layer_counts[layer];
        partition->bucket_of[layer] = partition->buckets - 1;
        partition->count += layer_counts[layer];
    }
    if (bucket != NULL)
        place_bucket(partition, bucket);
}

/* Sets the size and the positions of a bucket that has all its layers. */
static void place_bucket(struct partition *partition, struct partition_bucket *bucket)
{
    size_t ranks = (size_t)partition->ranks, whole;

    bucket->piece = (bucket->count + ranks - 1) / ranks;
    bucket->piece = (bucket->piece + PARTITION_ALIGN - 1) / PARTITION_ALIGN * PARTITION_ALIGN;
    bucket->padded_start = partition->padded;
    bucket->share_start = partition->share;
    whole = ranks * bucket->piece;
    partition->padded += whole;
    partition->share += bucket->piece;
    if (whole > partition->largest)
        partition->largest = whole;
}

void partition_clear(struct partition *partition)
{
    free(partition->bucket);
    free(partition->bucket_of);
    free(partition->layer_start);
    *partition = (struct partition){ 0 };
}

struct partition_range partition_range(const struct partition *partition, int bucket, int rank)
{
    const struct partition_bucket *b = &partition->bucket[bucket];
    size_t                         from = (size_t)rank * b->piece, left;

    if (from > b->count)
        from = b->count;
    left = b->count - from;
    return (struct partition_range){ b->start + from, left < b->piece ? left : b->piece };
}

size_t partition_layer_place(const struct partition *partition, int layer)
{
    const struct partition_bucket *b = &partition->bucket[partition->bucket_of[layer]];

    return b->padded_start + partition->layer_start[layer] - b->start;
}
