/* open_mpi.h - programs of Open MPI, which do not find each other under muster
 *
 * muster speaks PMI-1, as MPICH, MVAPICH and Intel MPI do. Open MPI needs PMIx. Without PMIx
 * each rank becomes a world of its own, computes everything alone and exits with status 0.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_OPEN_MPI_H
#define MUSTER_AGENT_OPEN_MPI_H

#include <stdbool.h>

#include "plan/node_plan.h"
#include "plan/prepare.h"

#define OPEN_MPI_HINT                                                                          \
    "build it with MPICH, or start it with Open MPI's mpirun; if each rank should run alone, " \
    "use "                                                                                     \
    "--allow-open-mpi"

/* Does this library belong to Open MPI, by its file name ("libmpi.so.40")? */
bool open_mpi_has(const char *library);

/* Would each rank of the plan be a world of its own, if it were a program of Open MPI? */
bool open_mpi_matters(const struct node_plan *plan);

/* -1 with failure if the ranks of the plan would start an executable that
 * is linked with Open MPI. */
int open_mpi_refuse(const struct node_plan *plan, const char *program, struct failure *failure);

#endif
