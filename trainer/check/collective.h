/* collective.h - the operations that the check runs, one row each
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_COLLECTIVE_H
#define MUSTER_COLLECTIVE_H

#include <stdbool.h>

#include "check/pattern.h"
#include "comm/comm.h"

/* One call of a collective: count as in comm.h. */
struct transfer {
    size_t      count;
    enum dtype  type;
    enum redop  op;
    const void *in;
    void       *out;
};

struct collective {
    const char *name;
    bool        reduces;
    bool        in_place;        /* can be: out == in, or the rank's own part of the larger one */
    bool        in_all, out_all; /* these buffers hold count elements for each rank */
    int         root;            /* -1: none */
    int         ranks_min;
    int (*run)(struct comm *comm, const struct transfer *transfer, struct error *err);
    /* What must be in out[i] here. */
    int64_t (*want)(const struct pattern *pattern, const struct comm *comm, size_t count,
                    size_t i);
    /* Bus bandwidth / algorithm bandwidth: what part of the size each link carries
     * in the best case, so that results of different sizes of world compare. */
    double (*bus_factor)(int ranks);
};

/* In the order in which they are run; ends with a row without a name. The barrier
 * moves no data: its want is NULL. */
extern const struct collective collectives[];
#define COLLECTIVES_MAX 8

#endif
