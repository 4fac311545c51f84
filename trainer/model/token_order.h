/* token_order.h - the rows of a batch, grouped by token
 *
 * With it, one thread sums the gradients of a token, always in the same order.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_TOKEN_ORDER_H
#define MUSTER_TOKEN_ORDER_H

#include <stdint.h>

/* The rows of token k, in ascending order: row[first[k]] to row[first[k + 1] - 1]. */
struct token_order {
    int32_t *row, *first;
    int      count; /* number of different tokens */
};

struct token_order token_order_make(const int32_t *tokens, int rows);
void               token_order_clear(struct token_order *order);

#endif
