/* matrix.h - the measurements between each pair of nodes, and the slow pairs
 *
 * Tables have nodes * nodes elements; [from * nodes + to] is that direction.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_MATRIX_H
#define MUSTER_MATRIX_H

#include <stdbool.h>

/* A pair is slow below this fraction of the reference. Nodes on the same machine share its
 * CPUs, and two nodes can be compared only with the other direction, so these limits are
 * lower. */
#define MATRIX_SLOW          0.8
#define MATRIX_SLOW_OF_TWO   0.5
#define MATRIX_SLOW_ON_ONE   0.1

struct matrix {
    int     nodes;
    double  share; /* the fraction of the reference that a pair needs, one of the above */
    double *bandwidth; /* bytes per second, while other pairs are busy, too; 0: not measured */
    double *duplex;    /* bandwidth while the other direction is busy */
    double *latency_s; /* half of the round trip of 8 bytes */
    double *alone;     /* bandwidth, measured again while all others pause; 0: not measured */
    double  reference; /* the bandwidth that a pair should have */
    double  lowest, highest; /* of bandwidth */
    double  latency_median_s;
    bool   *slow;      /* see matrix_judge */
};

void matrix_make(struct matrix *matrix, int nodes, bool on_one_machine);
void matrix_clear(struct matrix *matrix);

/* The circle method: in each round a node has one peer or pauses (-1). After all rounds it has
 * met each other node once. */
int matrix_rounds(int nodes);
int matrix_peer(int nodes, int round, int node);

/* Sets reference, lowest, highest and the median latency. The reference is the median
 * bandwidth. With three nodes it is the median of each node's best, because a slow node is part
 * of two of the three pairs. */
void matrix_summarize(struct matrix *matrix);

/* Returns the bandwidth that a pair needs. */
double matrix_needed(const struct matrix *matrix);

/* Is the bandwidth in one direction between the two below that? */
bool matrix_is_suspect(const struct matrix *matrix, int a, int b);

/* Sets slow for suspects that are not faster alone, or were not measured alone. */
void matrix_judge(struct matrix *matrix);

#endif
