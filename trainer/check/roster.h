/* roster.h - who the ranks of this run are, and whether they are all there
 *
 * Each rank tells the others through PMI where it runs and what it was told about
 * its place. Two single runs that believe they are one, or one rank that was
 * started twice, give plausible timings; here they are found out before anything
 * is measured.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ROSTER_H
#define MUSTER_ROSTER_H

#include "comm/comm.h"
#include "err.h"
#include "comm/pmi_client.h"

struct roster_rank {
    char version[24]; /* of muster-train */
    char host[65];
    char boot_id[37]; /* tells machines apart where host names do not */
    int  node_rank;   /* from the environment; -1: not told */
    int  local_rank;
    int  local_size;
    int  env_rank, env_size;
    struct comm_device device;
    int  node; /* found out: nodes are numbered as they appear */
};

struct roster {
    int                 size;
    int                 nodes, machines;
    struct roster_rank *rank;
    char              **label; /* "rank 3 on te2" */
    char              **name;  /* of nodes: "te2", or "te2 (node 1)" if several are te2 */
    int                *leader; /* of nodes: the first rank */
};

/* Tell and learn. local_rank and device are what this rank found out. -1 when PMI
 * fails. Free with roster_clear. */
int  roster_exchange(struct roster *roster, struct pmi *pmi, struct error *err);
void roster_clear(struct roster *roster);

/* The ranks that are here are the ranks that were launched: 0, else -1 with what
 * does not fit. All ranks come to the same result. */
int roster_verify(const struct roster *roster, struct error *err);

/* Every rank has a GPU of its own and the same NCCL: 0, else -1 with why not. */
int roster_gpus(const struct roster *roster, struct error *err);

#endif
