/* trace.h - a trace: the events on the hosts of a cluster, with their times
 *
 *     # comment
 *     hosts 8                 named host1 ... host8, all present at first
 *     price 1.00 0.30         of a host per hour, on demand and spot
 *     until 24h               end of the trace
 *     10m    notice host3 2m  host3 will be lost in two minutes
 *     12m    lose host3       host3 is gone; suddenly, if there was no notice
 *     40m30s return host3
 *     55m    fail host5       a rank fails there; the host is healthy
 *     60m    drain host2 5m   the user drains host2, within five minutes
 *     65m    unlist host4 30s host4 is no longer on the list; ranks have 30 s to save
 *     70m    list host4       it is again
 *
 * Times must not decrease. A host that is gone cannot be lost or fail, and a host that is
 * present cannot return.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SIM_TRACE_H
#define MUSTER_SIM_TRACE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "err.h"

#define TRACE_HOSTS_MAX 1024
#define TRACE_EVENTS_MAX 1000000
#define TRACE_UNTIL_MAX (400.0 * 86400) /* seconds */

enum trace_kind {
    TRACE_NOTICE,
    TRACE_LOSE,
    TRACE_RETURN,
    TRACE_FAIL,
    TRACE_DRAIN,
    TRACE_UNLIST,
    TRACE_LIST,
    TRACE_KINDS
};

struct trace_event {
    double          at_s;
    enum trace_kind kind;
    int             host;   /* 0 ... hosts - 1 */
    double          lead_s; /* NOTICE: until the host is lost; DRAIN, UNLIST: to save */
};

struct trace {
    int                 hosts;
    double              price, spot_price, until_s;
    struct trace_event *event;
    size_t              count;
};

/* -1: error, with "FILE:LINE: ..." in err. Call trace_clear() even then. */
int  trace_read(struct trace *trace, const char *path, struct error *err);
void trace_clear(struct trace *trace);

/* Parameters of a generated trace. Times are in seconds; all but until_s are means. */
struct trace_weather {
    int    hosts;
    double until_s, up_s, down_s;
    double lead_s;   /* of a notice */
    double noticed;  /* the share of losses with a notice */
    double together; /* the share of losses that take a neighbour along */
    double flapping; /* the share of returns that do not last */
    double fail_s;   /* between failures of ranks, anywhere; 0: none fail */
    double whim_s;   /* between what the user does to hosts, anywhere; 0: nothing */
};

/* Generates a trace, the same on every machine for the same seed. */
void trace_generate(struct trace *trace, const struct trace_weather *weather, uint64_t seed);
void trace_write(const struct trace *trace, FILE *out);

#endif
