/* reach.h - do the nodes reach each other over TCP, at the addresses that will be used?
 *
 * With a firewall, a wrong interface or an address used by two nodes, NCCL and Gloo wait
 * without a useful message. In this test the first rank of each node listens on a port that the
 * kernel chooses, and connects to all others at the same time. It checks that the right rank
 * answers.
 *
 * The port answers each caller, a stranger, too, with bytes of no meaning. It reads nothing and
 * closes the connection at once.
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
    int                  listener; /* -1: this rank is not the first of its node */
    int                  stop[2];  /* a pipe; the thread exits at its end of file */
    pthread_t            thread;
    char                 token[REACH_TOKEN + 1]; /* this rank's answer to a connection */
};

/* If this rank is the first of its node, listens on iface and posts the address. round: a new
 * number for each call. -1 with err. */
int reach_open(struct reach *reach, const struct roster *roster, struct pmi *pmi,
               const struct iface *iface, int round, struct error *err);

/* Call it after a barrier: connects to all others within timeout_s, and posts the failures.
 * *failed: their number. */
int reach_try(struct reach *reach, struct pmi *pmi, double timeout_s, int *failed,
              struct error *err);

/* Call it after another barrier, on one rank: adds a line for each node or pair with
 * failures. */
int reach_judge(const struct reach *reach, struct pmi *pmi, struct strlist *lines,
                struct error *err);

void reach_close(struct reach *reach);

#endif
