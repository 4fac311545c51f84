/* world.h - this rank among the others: who they are, and the way to them
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

/* Find the other ranks by PMI, see that they are those that were launched, and connect: on
 * "cuda", on "cpu", or on GPUs if every rank has one ("auto"). -1 with err. */
int world_open(struct world *world, const char *device, double timeout_s, struct error *err);

/* All ranks leave in order. */
int world_close(struct world *world, struct error *err);

/* A rank has failed: nothing is waited for, and no memory is freed that the communicator
 * may still use. */
void world_abort(struct world *world);

/* Sum these numbers over all ranks. They are the communicator's until end. */
int world_sum_begin(struct world *world, double *numbers, size_t count, uint64_t *mark,
                    struct error *err);
int world_sum_end(struct world *world, uint64_t mark, struct error *err);

/* Each rank reads configuration, model and data from its own node. Where one has an old copy, ranks
 * would wait for each other, or train on other samples than it seems. So all call this with a hash
 * of what they have: 0, or -1 on a rank where that is not rank 0's. what: its name. */
int world_agree(struct world *world, uint64_t hash, const char *what, struct error *err);

/* "rank 3 on te2", or "rank 0" before it is known. */
const char *world_label(const struct world *world);

#endif
