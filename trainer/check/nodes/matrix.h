/* matrix.h - what was measured between each two nodes, and what is slow
 *
 * Tables are nodes * nodes long; [from * nodes + to] is that direction.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_MATRIX_H
#define MUSTER_MATRIX_H

#include <stdbool.h>

/* Of the reference, and below it is slow. Nodes that are one machine take the time from each
 * other; of two nodes there is nothing to compare with but the other direction. */
#define MATRIX_SLOW          0.8
#define MATRIX_SLOW_OF_TWO   0.5
#define MATRIX_SLOW_ON_ONE   0.1

struct matrix {
    int     nodes;
    double  share; /* of the reference that a pair needs: one of the above */
    double *bandwidth; /* bytes a second, while other pairs are busy, too; 0: not measured */
    double *duplex;    /* the same while the other direction is busy */
    double *latency_s; /* of 8 bytes, half of there and back */
    double *alone;     /* bandwidth, measured again while all others pause; 0: was not */
    double  reference; /* what a pair should have */
    double  lowest, highest; /* of bandwidth */
    double  latency_median_s;
    bool   *slow;      /* see matrix_judge */
};

void matrix_make(struct matrix *matrix, int nodes, bool on_one_machine);
void matrix_clear(struct matrix *matrix);

/* The circle method: in each round a node has one peer, or pauses (-1), and after all rounds
 * it has had each other node once. */
int matrix_rounds(int nodes);
int matrix_peer(int nodes, int round, int node);

/* Set reference, lowest, highest and the median. The reference is the median; of three nodes
 * it is the median of each one's best, since a slow node has two of the three pairs. */
void matrix_summarize(struct matrix *matrix);

/* What a pair needs. */
double matrix_needed(const struct matrix *matrix);

/* Has one direction between the two less? */
bool matrix_is_suspect(const struct matrix *matrix, int a, int b);

/* Set slow: suspects that are no better alone, or were not tried. */
void matrix_judge(struct matrix *matrix);

#endif
