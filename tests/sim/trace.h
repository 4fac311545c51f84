/* trace.h - what happens to the hosts of a cluster, and when
 *
 *     # comment
 *     hosts 8                 their names are host1 ... host8, all there at first
 *     price 1.00 0.30         of a host and hour, on demand and spot
 *     until 24h               here it ends
 *     10m    notice host3 2m  it goes in two minutes
 *     12m    lose host3       it is gone; without a notice before, all of a sudden
 *     40m30s return host3
 *     55m    fail host5       a rank fails there; the host is well
 *
 * Times rise. A host that is gone cannot go, and one that is there cannot return.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SIM_TRACE_H
#define MUSTER_SIM_TRACE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "err.h"

#define TRACE_HOSTS_MAX  1024
#define TRACE_EVENTS_MAX 1000000
#define TRACE_UNTIL_MAX  (400.0 * 86400) /* seconds */

enum trace_kind { TRACE_NOTICE, TRACE_LOSE, TRACE_RETURN, TRACE_FAIL, TRACE_KINDS };

struct trace_event {
    double          at_s;
    enum trace_kind kind;
    int             host;   /* 0 ... hosts - 1 */
    double          lead_s; /* NOTICE: until it goes */
};

struct trace {
    int                 hosts;
    double              price, spot_price, until_s;
    struct trace_event *event;
    size_t              count;
};

/* -1 with "FILE:LINE: ..." in err. Clear it in any case. */
int  trace_read(struct trace *trace, const char *path, struct error *err);
void trace_clear(struct trace *trace);

/* What a generated one is like. Times in seconds, all of them means. */
struct trace_weather {
    int    hosts;
    double until_s, up_s, down_s;
    double lead_s;    /* of a notice */
    double noticed;   /* the share of losses that have one */
    double together;  /* the share of losses that take a neighbour along */
    double flapping;  /* the share of returns that do not last */
    double fail_s;    /* between failures of ranks, anywhere; 0: none fail */
};

/* The same for the same seed, everywhere. */
void trace_generate(struct trace *trace, const struct trace_weather *weather, uint64_t seed);
void trace_write(const struct trace *trace, FILE *out);

#endif
