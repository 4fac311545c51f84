/* roster.h - the ranks of this run, and whether all of them are present
 *
 * Each rank publishes through PMI where it runs, and the rank that its environment gives.
 * Two separate runs that are mistaken for one, or a rank that was started twice, would give
 * plausible timings. The roster finds these errors before anything is measured.
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
    char boot_id[37]; /* distinguishes machines that have the same host name */
    int  node_rank;   /* from the environment; -1: not set */
    int  local_rank;
    int  local_size;
    int  env_rank, env_size;
    struct comm_device device;
    int  node; /* computed: nodes are numbered in the order of their first ranks */
};

struct roster {
    int                 size;
    int                 nodes, machines;
    struct roster_rank *rank;
    char              **label; /* "rank 3 on te2" */
    char              **name;  /* per node: "te2", or "te2 (node 1)" if several are named te2 */
    int                *leader; /* per node: its first rank */
};

/* Publishes this rank's entry and reads all others. -1 if PMI fails. Free with
 * roster_clear(). */
int  roster_exchange(struct roster *roster, struct pmi *pmi, struct error *err);
void roster_clear(struct roster *roster);

/* Are the ranks those that were launched? Returns 0, or -1 with the mismatch in err. All ranks
 * get the same result. */
int roster_verify(const struct roster *roster, struct error *err);

/* Does every rank have its own GPU and the same version of NCCL? Returns 0, or -1 with the
 * reason in err. */
int roster_gpus(const struct roster *roster, struct error *err);

#endif
