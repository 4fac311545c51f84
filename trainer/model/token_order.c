/* token_order.c - see token_order.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/token_order.h"

#include <stdlib.h>

#include "xalloc.h"

struct place {
    int32_t token, row;
};

static int by_token(const void *a, const void *b);

struct token_order token_order_make(const int32_t *tokens, int rows)
{
    struct place      *places = xcalloc((size_t)rows + 1, sizeof *places);
    struct token_order order = { .row = xcalloc((size_t)rows + 1, sizeof *order.row),
                                 .first = xcalloc((size_t)rows + 1, sizeof *order.first) };
    int                i;

    for (i = 0; i < rows; i++)
        places[i] = (struct place){ tokens[i], i };
    qsort(places, (size_t)rows, sizeof *places, by_token);
    for (i = 0; i < rows; i++) {
        order.row[i] = places[i].row;
        if (i == 0 || places[i - 1].token != places[i].token)
            order.first[order.count++] = i;
    }
    order.first[order.count] = rows;
    free(places);
    return order;
}

void token_order_clear(struct token_order *order)
{
    free(order->row);
    free(order->first);
    *order = (struct token_order){ 0 };
}

static int by_token(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    if (x->token != y->token)
        return x->token < y->token ? -1 : 1;
    return x->row < y->row ? -1 : 1;
}
