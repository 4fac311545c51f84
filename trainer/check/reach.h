/* reach.h - do the nodes reach each other over TCP, at the addresses that will be used?
 *
 * A firewall, a wrong interface or an address that two nodes have makes NCCL and Gloo wait,
 * and say little. Here the first rank of each node listens on a port that the kernel chooses,
 * and connects to all others at once. What answers must be the rank that is meant.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_REACH_H
#define MUSTER_REACH_H

#include <pthread.h>

#include "comm/iface.h"
#include "check/nodes/reach_call.h"
#include "check/roster.h"
#include "comm/pmi_client.h"
#include "strlist.h"

struct reach {
    const struct roster *roster;
    int                  round; /* part of the names under which ranks post */
    struct iface         iface;
    int                  listener; /* -1: this rank does not speak for its node */
    int                  stop[2];  /* a pipe; its end ends the thread */
    pthread_t            thread;
    char                 token[REACH_TOKEN + 1]; /* what this rank answers to those who connect */
};

/* Listen on iface, and post where, if this rank speaks for its node. round: another number
 * each time. -1 with err. */
int reach_open(struct reach *reach, const struct roster *roster, struct pmi *pmi,
               const struct iface *iface, int round, struct error *err);

/* After a barrier: connect to all others, within timeout_s, and post what failed. failed is
 * how many did. */
int reach_try(struct reach *reach, struct pmi *pmi, double timeout_s, int *failed,
              struct error *err);

/* After another barrier, on one rank: add a line for each node or pair that does not reach. */
int reach_judge(const struct reach *reach, struct pmi *pmi, struct strlist *lines,
                struct error *err);

void reach_close(struct reach *reach);

#endif
