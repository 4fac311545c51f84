/* collective.h - the operations that the check runs, one row per operation
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_COLLECTIVE_H
#define MUSTER_COLLECTIVE_H

#include <stdbool.h>

#include "check/pattern.h"
#include "comm/comm.h"

/* The arguments of one call of a collective; count as in comm.h. */
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
    bool        in_place;        /* can run in place, see comm.h */
    bool        in_all, out_all; /* these buffers hold count elements for each rank */
    int         root;            /* -1: none */
    int         ranks_min;
    int (*run)(struct comm *comm, const struct transfer *transfer, struct error *err);
    /* Returns the value that out[i] must have on this rank. */
    int64_t (*want)(const struct pattern *pattern, const struct comm *comm, size_t count,
                    size_t i);
    /* Returns bus bandwidth / algorithm bandwidth: the part of the size that each link
     * carries in the best case. With it, results of different world sizes are comparable. */
    double (*bus_factor)(int ranks);
};

/* In the order in which they run; the last row has no name. The barrier moves no data, so its
 * want is NULL. */
extern const struct collective collectives[];
#define COLLECTIVES_MAX 8

#endif
