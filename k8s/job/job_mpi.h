/* job_mpi.h - a job from a Kubeflow MPIJob (kubeflow.org/v2beta1)
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_JOB_MPI_H
#define MUSTER_JOB_MPI_H

#include "job/job.h"

#define JOB_MPI_VERSION "kubeflow.org/v2beta1"
#define JOB_MPI_KIND    "MPIJob"

/* muster takes the place of mpirun, whose options it reads. What cannot be translated is an error
 * that names the field; what is not needed is a warning. As job_from_document(). */
int job_from_mpi(struct job *job, const json_t *document, struct error *err);

#endif
