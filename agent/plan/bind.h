/* bind.h - which cores each local rank gets
 *
 * Works like DeepSpeed's --bind_cores_to_rank, but uses only CPUs that this process may use,
 * needs no numactl, and binds near the rank's GPU: each rank gets cores / local ranks,
 * contiguous; the remainder is unused. A core is never divided: a rank gets all its
 * hyperthreads, and no two ranks share one.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_BIND_H
#define MUSTER_AGENT_BIND_H

#include <sched.h>
#include <stddef.h>

#include <hwloc.h>

#include "err.h"

#define BIND_CPU_MAX 8192 /* the highest CPU number plus one */

/* The unit to distribute: a core or, with a list, one CPU. */
struct bind_unit {
    int            numa;  /* NUMA node, -1: unknown */
    hwloc_bitmap_t cpus;
};

struct binding {
    int         each; /* units per rank: OMP_NUM_THREADS */
    int         ranks;
    size_t      mask_size; /* bytes of a mask */
    cpu_set_t **mask;      /* one per rank, for sched_setaffinity() */
};

/* Distributes cores. list: "" or DeepSpeed's "0,2-4,6" of CPU numbers. slot[i] is the
 * GPU of rank i. -1 with err. */
int  bind_make(struct binding *binding, const char *list, const int *slot, int ranks,
               struct error *err);
void bind_clear(struct binding *binding);

/* The two halves that only compute. bind_list: parses numbers that ascend and do not overlap
 * into set. bind_deal: chooses units (there are count) for each rank, chosen[i * each + j]
 * for rank i; near[i] is the NUMA node that rank i wants, or -1. Returns each, the units per
 * rank; 0 if there are too few. */
int bind_list(const char *list, hwloc_bitmap_t set, struct error *err);
int bind_deal(const struct bind_unit *unit, int count, const int *near, int ranks, int *chosen);

#endif
