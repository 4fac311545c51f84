/* order.h - the order of shards in an epoch, without a table
 *
 * A permutation of 0 .. count - 1 that depends only on seed and epoch: every muster on every
 * machine computes the same one, and none keeps it in memory.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ORDER_H
#define MUSTER_ORDER_H

#include <stdint.h>

/* Returns the shard at a place below count. count is at most 2^62. */
uint64_t order_at(uint64_t place, uint64_t count, uint64_t seed, uint64_t epoch);

#endif
