/* pairs.c - see pairs.h
 *
 * In a pair, the node with the lower number leads. It announces each step with a word of 8
 * bytes (LATENCY, THERE, BACK or BOTH, and the number of bytes), measures the time, and
 * finishes with END.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "check/pairs.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "xalloc.h"

#define FIRST_BYTES  ((size_t)64 << 10)
#define GROWTH       4
#define MIDDLE       20 /* number of the ping, in the order of times, that counts */
#define PINGS        (2 * MIDDLE)
#define REPEATS      2  /* of the last size; the best counts */
/* Suspects are measured again until they are fast once, and then are not suspects any more. */
#define ALONE_S   1.0
#define ALONE_MIN 3   /* tries */
#define ALONE_MAX 100 /* suspects; for the others, the first measurement counts */

enum step { STEP_END, STEP_LATENCY, STEP_THERE, STEP_BACK, STEP_BOTH };

struct pairs {
    struct matrix             *matrix;
    struct comm               *comm;
    const struct roster       *roster;
    const struct pairs_limits *limits;
    int                        node; /* this rank's node */
    bool                       leads; /* this rank is the first of its node */
    void                      *out, *in; /* in the communicator's memory */
    void                      *word;
    bool                       is_ours;
    double                     needed; /* not 0: repeat until both directions reach this rate */
};

/* The results of one pair. */
struct result {
    double there, back, both, latency_s;
};

static int measure_rounds(struct pairs *pairs, struct error *err);
static int measure_suspects(struct pairs *pairs, struct error *err);
static int retry_alone(struct pairs *pairs, int a, int b, struct error *err);
static int measure(struct pairs *pairs, int peer, struct result *result, struct error *err);
static int lead(struct pairs *pairs, int to, struct result *result, struct error *err);
static int lead_more(struct pairs *pairs, int to, size_t bytes, struct result *result,
                     struct error *err);
static int lead_both(struct pairs *pairs, int to, size_t bytes, struct result *result,
                     struct error *err);
static int follow(struct pairs *pairs, int to, struct error *err);
static int follow_latency(struct pairs *pairs, int to, struct error *err);
static int lead_latency(struct pairs *pairs, int to, double *latency_s, struct error *err);
static int lead_step(struct pairs *pairs, int to, enum step step, size_t bytes, double *rate,
                     struct error *err);
static int send_word(struct pairs *pairs, int to, enum step step, size_t bytes, struct error *err);
static int recv_word(struct pairs *pairs, int from, enum step *step, size_t *bytes,
                     struct error *err);
static int move(struct pairs *pairs, int peer, size_t sent, size_t got, struct error *err);
static int wait_all(struct comm *comm, struct error *err);
static int share(struct pairs *pairs, double *table, struct error *err);
static int by_time(const void *a, const void *b);

/* Buffers that pending operations of a broken communicator may write to until the process
 * exits. */
static void *volatile abandoned[3];

int pairs_measure(struct matrix *matrix, struct comm *comm, const struct roster *roster,
                  const struct pairs_limits *limits, bool *is_ours, struct error *err)
{
    const size_t room = limits->bytes_max;
    struct pairs pairs = { .matrix = matrix, .comm = comm, .roster = roster, .limits = limits,
                           .node = roster->rank[comm->rank].node };
    int          rc = -1;

    pairs.leads = roster->leader[pairs.node] == comm->rank;
    pairs.out = comm->ops->alloc(comm, room, err);
    pairs.in = pairs.out != NULL ? comm->ops->alloc(comm, room, err) : NULL;
    pairs.word = pairs.in != NULL ? comm->ops->alloc(comm, sizeof(uint64_t), err) : NULL;
    if (pairs.word != NULL) {
        /* Touch all pages before the first measurement. */
        void *zeros = xcalloc(1, room);

        rc = comm->ops->copy(comm, pairs.out, zeros, room, COMM_FROM_HOST, err);
        if (rc == 0)
            rc = comm->ops->copy(comm, pairs.in, zeros, room, COMM_FROM_HOST, err);
        free(zeros);
    }
    matrix_make(matrix, roster->nodes, roster->machines < roster->nodes);
    if (rc == 0)
        rc = measure_rounds(&pairs, err);
    if (rc == 0)
        rc = measure_suspects(&pairs, err);
    *is_ours = pairs.is_ours;
    if (rc < 0) {
        abandoned[0] = pairs.out;
        abandoned[1] = pairs.in;
        abandoned[2] = pairs.word;
        return -1;
    }
    comm->ops->release(pairs.out);
    comm->ops->release(pairs.in);
    comm->ops->release(pairs.word);
    return 0;
}

static int measure_rounds(struct pairs *pairs, struct error *err)
{
    struct matrix *matrix = pairs->matrix;
    const int      nodes = matrix->nodes, node = pairs->node;
    struct result  result;
    int            round, peer;

    for (round = 0; round < matrix_rounds(nodes); round++) {
        if (pairs->comm->ops->barrier(pairs->comm, err) < 0)
            return -1;
        peer = matrix_peer(nodes, round, node);
        if (peer < 0 || !pairs->leads)
            continue;
        if (measure(pairs, peer, &result, err) < 0)
            return -1;
        if (peer < node)
            continue;
        matrix->bandwidth[node * nodes + peer] = result.there;
        matrix->bandwidth[peer * nodes + node] = result.back;
        matrix->duplex[node * nodes + peer] = matrix->duplex[peer * nodes + node] = result.both;
        matrix->latency_s[node * nodes + peer] = result.latency_s;
        matrix->latency_s[peer * nodes + node] = result.latency_s;
    }
    if (share(pairs, matrix->bandwidth, err) < 0 || share(pairs, matrix->duplex, err) < 0 ||
        share(pairs, matrix->latency_s, err) < 0)
        return -1;
    matrix_summarize(matrix);
    return 0;
}

static int measure_suspects(struct pairs *pairs, struct error *err)
{
    struct matrix *matrix = pairs->matrix;
    int            a, b, count = 0;

    for (a = 0; a < matrix->nodes; a++)
        for (b = a + 1; b < matrix->nodes && count < ALONE_MAX; b++) {
            if (!matrix_is_suspect(matrix, a, b))
                continue;
            count++;
            if (retry_alone(pairs, a, b, err) < 0)
                return -1;
        }
    if (share(pairs, matrix->alone, err) < 0)
        return -1;
    matrix_judge(matrix);
    return 0;
}

/* Measures a pair again, while all other ranks wait in the barrier. */
static int retry_alone(struct pairs *pairs, int a, int b, struct error *err)
{
    const int     nodes = pairs->matrix->nodes;
    struct result result;

    if (pairs->comm->ops->barrier(pairs->comm, err) < 0)
        return -1;
    pairs->needed = matrix_needed(pairs->matrix);
    if (pairs->leads && (pairs->node == a || pairs->node == b) &&
        measure(pairs, pairs->node == a ? b : a, &result, err) < 0)
        return -1;
    if (pairs->leads && pairs->node == a) {
        pairs->matrix->alone[a * nodes + b] = result.there;
        pairs->matrix->alone[b * nodes + a] = result.back;
    }
    return pairs->comm->ops->barrier(pairs->comm, err);
}

static int measure(struct pairs *pairs, int peer, struct result *result, struct error *err)
{
    const int    rank = pairs->roster->leader[peer];
    struct error why;
    int          rc;

    *result = (struct result){ 0 };
    rc = pairs->node < peer ? lead(pairs, rank, result, &why) : follow(pairs, rank, &why);
    if (rc == 0)
        return 0;
    pairs->is_ours = true;
    return err_set(err, "between %s and %s: %s", pairs->roster->name[pairs->node],
                   pairs->roster->name[peer], why.text);
}

/* Increases the messages until one takes long enough to measure. */
static int lead(struct pairs *pairs, int to, struct result *result, struct error *err)
{
    const size_t max = pairs->limits->bytes_max;
    size_t       bytes = FIRST_BYTES < max ? FIRST_BYTES : max;
    double       slower;

    if (lead_latency(pairs, to, &result->latency_s, err) < 0)
        return -1;
    for (;; bytes = bytes > max / GROWTH ? max : bytes * GROWTH) {
        result->there = result->back = 0;
        if (lead_both(pairs, to, bytes, result, err) < 0)
            return -1;
        slower = result->there < result->back ? result->there : result->back;
        if (bytes == max || (double)bytes / slower >= pairs->limits->seconds)
            break;
    }
    if (lead_more(pairs, to, bytes, result, err) < 0 ||
        lead_step(pairs, to, STEP_BOTH, bytes, &result->both, err) < 0)
        return -1;
    return send_word(pairs, to, STEP_END, 0, err);
}

/* Repeats the measurement and keeps the best. */
static int lead_more(struct pairs *pairs, int to, size_t bytes, struct result *result,
                     struct error *err)
{
    const int64_t start_ns = clock_now_ns();
    const int     least = pairs->needed > 0 ? ALONE_MIN : REPEATS;
    int           i;

    for (i = 1;; i++) {
        if (i >= least && (pairs->needed <= 0 || clock_now_ns() - start_ns > ALONE_S * NS_PER_S))
            return 0;
        if (pairs->needed > 0 && result->there >= pairs->needed &&
            result->back >= pairs->needed)
            return 0;
        if (lead_both(pairs, to, bytes, result, err) < 0)
            return -1;
    }
}

/* Measures both directions, one after the other, and keeps better results. */
static int lead_both(struct pairs *pairs, int to, size_t bytes, struct result *result,
                     struct error *err)
{
    double there, back;

    if (lead_step(pairs, to, STEP_THERE, bytes, &there, err) < 0 ||
        lead_step(pairs, to, STEP_BACK, bytes, &back, err) < 0)
        return -1;
    result->there = there > result->there ? there : result->there;
    result->back = back > result->back ? back : result->back;
    return 0;
}

static int follow(struct pairs *pairs, int to, struct error *err)
{
    enum step step = STEP_END;
    size_t    bytes = 0;
    int       rc = 0;

    for (;;) {
        if (recv_word(pairs, to, &step, &bytes, err) < 0)
            return -1;
        if (step == STEP_END)
            return 0;
        if (bytes > pairs->limits->bytes_max)
            return err_set(err, "the other rank asked for %zu bytes", bytes);
        if (step == STEP_LATENCY)
            rc = follow_latency(pairs, to, err);
        else if (step == STEP_BACK)
            rc = move(pairs, to, bytes, 0, err);
        else
            rc = move(pairs, to, step == STEP_BOTH ? bytes : 0, bytes, err);
        if (rc == 0 && step == STEP_THERE) /* acknowledge the message */
            rc = move(pairs, to, sizeof(uint64_t), 0, err);
        if (rc < 0)
            return -1;
    }
}

static int follow_latency(struct pairs *pairs, int to, struct error *err)
{
    int i;

    for (i = 0; i < PINGS; i++)
        if (move(pairs, to, 0, sizeof(uint64_t), err) < 0 ||
            move(pairs, to, sizeof(uint64_t), 0, err) < 0)
            return -1;
    return 0;
}

static int lead_latency(struct pairs *pairs, int to, double *latency_s, struct error *err)
{
    int64_t start_ns, took_ns[PINGS];
    int     i;

    if (send_word(pairs, to, STEP_LATENCY, 0, err) < 0)
        return -1;
    for (i = 0; i < PINGS; i++) {
        start_ns = clock_now_ns();
        if (move(pairs, to, sizeof(uint64_t), 0, err) < 0 ||
            move(pairs, to, 0, sizeof(uint64_t), err) < 0)
            return -1;
        took_ns[i] = clock_now_ns() - start_ns;
    }
    qsort(took_ns, PINGS, sizeof took_ns[0], by_time);
    *latency_s = (double)took_ns[MIDDLE] / NS_PER_S / 2;
    return 0;
}

static int by_time(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* rate: bytes per second, in one direction. */
static int lead_step(struct pairs *pairs, int to, enum step step, size_t bytes, double *rate,
                     struct error *err)
{
    int64_t start_ns, took_ns;
    int     rc;

    if (send_word(pairs, to, step, bytes, err) < 0)
        return -1;
    start_ns = clock_now_ns();
    if (step == STEP_THERE)
        rc = move(pairs, to, bytes, 0, err) < 0 ? -1 : move(pairs, to, 0, sizeof(uint64_t), err);
    else
        rc = move(pairs, to, step == STEP_BOTH ? bytes : 0, bytes, err);
    took_ns = clock_now_ns() - start_ns;
    *rate = (double)bytes * NS_PER_S / (double)(took_ns > 0 ? took_ns : 1);
    return rc;
}

static int send_word(struct pairs *pairs, int to, enum step step, size_t bytes, struct error *err)
{
    const uint64_t word = (uint64_t)bytes << 8 | (uint64_t)step;
    struct comm   *comm = pairs->comm;

    if (comm->ops->copy(comm, pairs->word, &word, sizeof word, COMM_FROM_HOST, err) < 0 ||
        comm->ops->send(comm, pairs->word, sizeof word, DTYPE_UINT8, to, err) < 0)
        return -1;
    return wait_all(comm, err);
}

static int recv_word(struct pairs *pairs, int from, enum step *step, size_t *bytes,
                     struct error *err)
{
    struct comm *comm = pairs->comm;
    uint64_t     word;

    if (comm->ops->recv(comm, pairs->word, sizeof word, DTYPE_UINT8, from, err) < 0 ||
        wait_all(comm, err) < 0 ||
        comm->ops->copy(comm, &word, pairs->word, sizeof word, COMM_TO_HOST, err) < 0)
        return -1;
    if ((word & 255) > STEP_BOTH)
        return err_set(err, "the other rank sent an invalid message");
    *step = (enum step)(word & 255);
    *bytes = (size_t)(word >> 8);
    return 0;
}

/* Sends and receives these numbers of bytes, at the same time if neither is 0. */
static int move(struct pairs *pairs, int peer, size_t sent, size_t got, struct error *err)
{
    struct comm *comm = pairs->comm;

    if (comm->ops->group_start(comm, err) < 0 ||
        (sent > 0 && comm->ops->send(comm, pairs->out, sent, DTYPE_UINT8, peer, err) < 0) ||
        (got > 0 && comm->ops->recv(comm, pairs->in, got, DTYPE_UINT8, peer, err) < 0) ||
        comm->ops->group_end(comm, err) < 0)
        return -1;
    return wait_all(comm, err);
}

static int wait_all(struct comm *comm, struct error *err)
{
    return comm->ops->wait(comm, comm->ops->mark(comm), err);
}

/* The leading node of each pair has the results of both directions; the sum over all ranks has
 * the results of all pairs. */
static int share(struct pairs *pairs, double *table, struct error *err)
{
    struct comm *comm = pairs->comm;
    const size_t cells = (size_t)pairs->matrix->nodes * (size_t)pairs->matrix->nodes;
    const size_t bytes = cells * sizeof *table;
    void        *in = comm->ops->alloc(comm, bytes, err);
    void        *out = in != NULL ? comm->ops->alloc(comm, bytes, err) : NULL;

    if (out == NULL || comm->ops->copy(comm, in, table, bytes, COMM_FROM_HOST, err) < 0 ||
        comm->ops->all_reduce(comm, in, out, cells, DTYPE_DOUBLE, REDOP_SUM, err) < 0 ||
        wait_all(comm, err) < 0 ||
        comm->ops->copy(comm, table, out, bytes, COMM_TO_HOST, err) < 0)
        return -1;
    comm->ops->release(in);
    comm->ops->release(out);
    return 0;
}
