/* token_order.h - which rows of a batch have the same token
 *
 * So that their gradients are summed in one order, and by one thread.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_TOKEN_ORDER_H
#define MUSTER_TOKEN_ORDER_H

#include <stdint.h>

/* The rows of token k, in rising order: row[first[k]] to row[first[k + 1] - 1]. */
struct token_order {
    int32_t *row, *first;
    int      count; /* of different tokens */
};

struct token_order token_order_make(const int32_t *tokens, int rows);
void               token_order_clear(struct token_order *order);

#endif
