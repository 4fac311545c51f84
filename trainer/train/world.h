/* world.h - the ranks of the run, and the communicator that connects them
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_WORLD_H
#define MUSTER_WORLD_H

#include "check/roster.h"
#include "comm/comm.h"
#include "err.h"
#include "comm/pmi_client.h"

struct world {
    struct pmi    pmi;
    struct roster roster;
    struct comm  *comm; /* works in the background */
    bool          on_gpu;
    int           rank, size;
};

/* Finds the other ranks by PMI, checks that they are the ranks that were launched, and connects
 * them: on GPUs ("cuda"), on CPUs ("cpu"), or on GPUs if every rank has one ("auto"). -1 with
 * err. */
int world_open(struct world *world, const char *device, double timeout_s, struct error *err);

/* All ranks must call it before they exit. */
int world_close(struct world *world, struct error *err);

/* Call it after a failure: does not wait, and frees no memory that the communicator may still
 * use. */
void world_abort(struct world *world);

/* Sum these numbers over all ranks. The communicator owns them until world_sum_end(). */
int world_sum_begin(struct world *world, double *numbers, size_t count, uint64_t *mark,
                    struct error *err);
int world_sum_end(struct world *world, uint64_t mark, struct error *err);

/* Each rank reads configuration, model and data on its own node. If a node has an old copy,
 * ranks would wait for each other or train on the wrong samples. So all ranks call this with a
 * hash of what they have read. Returns -1 with err on a rank whose hash differs from rank 0's.
 * what: the name of the hashed data. */
int world_agree(struct world *world, uint64_t hash, const char *what, struct error *err);

/* Returns "rank 3 on te2", or only "rank 0" if the node is not known yet. */
const char *world_label(const struct world *world);

#endif
