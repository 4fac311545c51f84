/* matrix.c - see matrix.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "check/nodes/matrix.h"

#include <stdlib.h>

#include "xalloc.h"

static double median_of(double *values, int count);
static double best_of(const struct matrix *matrix, int node);
static int    by_size(const void *a, const void *b);

void matrix_make(struct matrix *matrix, int nodes, bool on_one_machine)
{
    const size_t pairs = (size_t)nodes * (size_t)nodes;

    *matrix = (struct matrix){ .nodes = nodes, .share = MATRIX_SLOW };
    if (on_one_machine)
        matrix->share = MATRIX_SLOW_ON_ONE;
    else if (nodes == 2)
        matrix->share = MATRIX_SLOW_OF_TWO;
    matrix->bandwidth = xcalloc(pairs, sizeof(double));
    matrix->duplex = xcalloc(pairs, sizeof(double));
    matrix->latency_s = xcalloc(pairs, sizeof(double));
    matrix->alone = xcalloc(pairs, sizeof(double));
    matrix->slow = xcalloc(pairs, sizeof(bool));
}

void matrix_clear(struct matrix *matrix)
{
    free(matrix->bandwidth);
    free(matrix->duplex);
    free(matrix->latency_s);
    free(matrix->alone);
    free(matrix->slow);
    *matrix = (struct matrix){ 0 };
}

int matrix_rounds(int nodes)
{
    return nodes < 2 ? 0 : nodes + nodes % 2 - 1;
}

/* An odd number of nodes is completed by one that does not exist. The last node stays in its
 * place, and the others rotate: in a round, those nodes meet whose numbers add up to the
 * round. */
int matrix_peer(int nodes, int round, int node)
{
    const int circle = nodes + nodes % 2 - 1, last = circle;
    int       peer;

    if (node == last)
        peer = round % 2 == 0 ? round / 2 : (round + circle) / 2;
    else
        peer = (round - node + circle) % circle;
    if (peer == node)
        peer = last;
    return peer < nodes ? peer : -1;
}

void matrix_summarize(struct matrix *matrix)
{
    const int nodes = matrix->nodes, pairs = nodes * nodes;
    double   *values = xcalloc((size_t)pairs + 1, sizeof *values);
    int       i, count = 0;

    for (i = 0; i < pairs; i++)
        if (matrix->latency_s[i] > 0)
            values[count++] = matrix->latency_s[i];
    matrix->latency_median_s = median_of(values, count);
    for (i = count = 0; i < pairs; i++)
        if (matrix->bandwidth[i] > 0)
            values[count++] = matrix->bandwidth[i];
    matrix->reference = median_of(values, count);
    matrix->lowest = count > 0 ? values[0] : 0;
    matrix->highest = count > 0 ? values[count - 1] : 0;
    if (nodes < 4) {
        for (i = 0; i < nodes; i++)
            values[i] = best_of(matrix, i);
        matrix->reference = median_of(values, nodes);
    }
    free(values);
}

static double best_of(const struct matrix *matrix, int node)
{
    const int nodes = matrix->nodes;
    double    best = 0;
    int       peer;

    for (peer = 0; peer < nodes; peer++) {
        if (matrix->bandwidth[node * nodes + peer] > best)
            best = matrix->bandwidth[node * nodes + peer];
        if (matrix->bandwidth[peer * nodes + node] > best)
            best = matrix->bandwidth[peer * nodes + node];
    }
    return best;
}

/* Takes the upper of two middle values: with four nodes, a slow one is in half of the pairs. */
static double median_of(double *values, int count)
{
    if (count == 0)
        return 0;
    qsort(values, (size_t)count, sizeof *values, by_size);
    return values[count / 2];
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double matrix_needed(const struct matrix *matrix)
{
    return matrix->share * matrix->reference;
}

bool matrix_is_suspect(const struct matrix *matrix, int a, int b)
{
    const int    nodes = matrix->nodes;
    const double needed = matrix_needed(matrix);

    return a != b && (matrix->bandwidth[a * nodes + b] < needed ||
                      matrix->bandwidth[b * nodes + a] < needed);
}

void matrix_judge(struct matrix *matrix)
{
    const double needed = matrix_needed(matrix);
    int          i;

    for (i = 0; i < matrix->nodes * matrix->nodes; i++)
        matrix->slow[i] = i % (matrix->nodes + 1) != 0 && matrix->bandwidth[i] < needed &&
                          matrix->alone[i] < needed;
}
