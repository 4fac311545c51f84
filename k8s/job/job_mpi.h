/* job_mpi.h - a job from an MPIJob of Kubeflow's MPI operator or training operator
 *
 * Versions v2beta1, v1 and v1alpha2, which differ in where the policies are. Source:
 * pkg/apis/kubeflow/VERSION/types.go of kubeflow/mpi-operator; its release 0.3.0 has the old ones.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_JOB_MPI_H
#define MUSTER_JOB_MPI_H

#include "job/fields.h"
#include "job/job.h"

#define JOB_MPI_GROUP   "kubeflow.org/"
#define JOB_MPI_VERSION JOB_MPI_GROUP "v2beta1"
#define JOB_MPI_KIND    "MPIJob"

/* Reads a document whose apiVersion is of the group. muster replaces mpirun and reads its options.
 * A field that muster cannot translate is an error, which names it; one that it changes or does not
 * need is a warning. */
void job_mpi_read(struct job *job, struct fields *root);

#endif
