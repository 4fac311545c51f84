/* open_mpi.h - programs of Open MPI, which find each other only by muster-pmix
 *
 * muster speaks PMI-1, as MPICH, MVAPICH and Intel MPI do. Open MPI needs PMIx (rank/pmix.h).
 * Without PMIx each rank becomes a world of its own, computes everything alone and exits with
 * status 0.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_OPEN_MPI_H
#define MUSTER_AGENT_OPEN_MPI_H

#include <stdbool.h>
#include <stddef.h>

#include "plan/node_plan.h"
#include "plan/prepare.h"

#define OPEN_MPI_HINT "use --pmix; if each rank should run alone, use --allow-open-mpi"

/* Does this library belong to Open MPI, by its file name ("libmpi.so.40")? */
bool open_mpi_has(const char *library);

/* Would each rank of the plan be a world of its own, if it were a program of Open MPI? */
bool open_mpi_matters(const struct node_plan *plan);

/* Is the executable linked with Open MPI? Sets library to its library. */
bool open_mpi_is_linked(const char *program, char *library, size_t size);

/* Sets failure: the ranks need muster-pmix, which this node does not have. library: of Open MPI;
 * NULL: the user wants PMIx. Returns -1. */
int open_mpi_refuse(const char *program, const char *library, struct failure *failure);

#endif
