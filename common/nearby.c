/* nearby.c - see nearby.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "nearby.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define LENGTH_MAX       40 /* longer words are not compared */
#define LETTERS_PER_SLIP 4

static size_t distance(const char *name, size_t length, const char *known, size_t known_length);
static bool   is_same(char a, char b);
static size_t least(size_t a, size_t b);

size_t nearby(const char *name, size_t length, const char *known)
{
    size_t known_length = strlen(known), found;

    if (length > LENGTH_MAX || known_length > LENGTH_MAX)
        return SIZE_MAX;
    found = distance(name, length, known, known_length);
    return found * LETTERS_PER_SLIP <= length ? found : SIZE_MAX;
}

/* Optimal string alignment: Levenshtein's distance, but a swap of two neighbours counts
 * once. */
static size_t distance(const char *name, size_t length, const char *known, size_t known_length)
{
    size_t cost[LENGTH_MAX + 1][LENGTH_MAX + 1], i, j;

    for (i = 0; i <= length; i++)
        cost[i][0] = i;
    for (j = 0; j <= known_length; j++)
        cost[0][j] = j;
    for (i = 1; i <= length; i++) {
        for (j = 1; j <= known_length; j++) {
            cost[i][j] = least(cost[i - 1][j - 1] + !is_same(name[i - 1], known[j - 1]),
                               least(cost[i - 1][j], cost[i][j - 1]) + 1);
            if (i > 1 && j > 1 && is_same(name[i - 1], known[j - 2]) &&
                is_same(name[i - 2], known[j - 1]))
                cost[i][j] = least(cost[i][j], cost[i - 2][j - 2] + 1);
        }
    }
    return cost[length][known_length];
}

static bool is_same(char a, char b)
{
    return (a == '_' ? '-' : a) == (b == '_' ? '-' : b);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}
