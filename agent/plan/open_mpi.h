/* open_mpi.h - programs of Open MPI, which do not find each other under muster
 *
 * muster speaks PMI-1, as MPICH, MVAPICH and Intel MPI do. Open MPI wants PMIx; without it each
 * rank becomes a world of its own, computes everything alone and ends with 0.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_OPEN_MPI_H
#define MUSTER_AGENT_OPEN_MPI_H

#include <stdbool.h>

#include "plan/node_plan.h"
#include "plan/prepare.h"

#define OPEN_MPI_HINT \
    "build it with MPICH, or start it with Open MPI's mpirun; if each rank is to run alone, give " \
    "--allow-open-mpi"

/* Is such a library Open MPI's, by its file name ("libmpi.so.40")? */
bool open_mpi_has(const char *library);

/* Would each rank of that plan be a world of its own, if it was a program of Open MPI? */
bool open_mpi_matters(const struct node_plan *plan);

/* -1 with failure if the ranks of that plan would start an executable that is linked with it. */
int open_mpi_refuse(const struct node_plan *plan, const char *program, struct failure *failure);

#endif
