/* job_mpi.h - a job from a Kubeflow MPIJob (kubeflow.org/v2beta1)
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_JOB_MPI_H
#define MUSTER_JOB_MPI_H

#include "job/job.h"

#define JOB_MPI_VERSION "kubeflow.org/v2beta1"
#define JOB_MPI_KIND    "MPIJob"

/* Like job_from_document(). muster replaces mpirun and reads its options. A field that muster
 * cannot translate is an error, which names it; one that muster does not need is a warning. */
int job_from_mpi(struct job *job, const json_t *document, struct error *err);

#endif
