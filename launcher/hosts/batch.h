/* batch.h - the batch systems whose jobs allocation.c knows, each by the environment of a job
 *
 * Each reader returns 1 with the job's hosts and their slots; 0 if we are in no such job; -1 with
 * err. here: the environment. no_ssh: muster is started on each host and starts ranks only there.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_BATCH_H
#define MUSTER_BATCH_H

#include <stdbool.h>

#include "err.h"
#include "plan/hostfile.h"

struct batch_job {
    const char     *system; /* "Slurm" */
    const char     *id;     /* borrowed; NULL: unknown */
    struct hostlist hosts;
    const char     *slots_by; /* where their number is from; NULL: the job asked for none */
    bool            counts_cores; /* a slot is a core, or what the user has asked for as such */
    bool            gives_gpus;   /* each host's CUDA_VISIBLE_DEVICES has those of the job */
};

typedef int batch_reader(char *const *here, bool no_ssh, struct batch_job *job,
                         struct error *err);

/* batch_slurm.c: SLURM_JOB_NODELIST; SLURM_GPUS_PER_NODE, else SLURM_TASKS_PER_NODE. srun starts
 * muster more than once: refused unless no_ssh, which takes the hosts of the step. */
batch_reader batch_slurm;

/* batch_flux.c: what "flux resource R" prints in the instance of FLUX_URI, or "flux job info" below
 * flux run (RFC 20). Slots are GPUs, whose numbers each host has in CUDA_VISIBLE_DEVICES, or
 * cores. */
batch_reader batch_flux;

/* Parses R. For batch_flux() and fuzzing. */
int batch_flux_parse(const char *text, size_t size, struct batch_job *job, struct error *err);

/* batch_files.c: files and lists with as many words per host as it has slots. OpenPBS and Torque
 * (PBS_NODEFILE; PBS_GPUFILE), LSF (LSB_DJOB_HOSTFILE, LSB_MCPU_HOSTS), Grid Engine (PE_HOSTFILE),
 * OAR (OAR_NODEFILE). */
batch_reader batch_pbs, batch_lsf, batch_grid_engine, batch_oar;

/* Adds a host, or slots to the one of this name. Returns it, or NULL with err. */
struct host *batch_add(const char *name, size_t slots, struct hostlist *hosts, struct error *err);

/* Does each host have one slot? A job that asked for nothing has one per host, too. */
bool batch_is_single(const struct hostlist *hosts);

/* Returns -1 with an error that says how often starter ("srun") has started muster. */
int batch_refuse_tasks(const char *starter, const char *tasks, const char *variable,
                       struct error *err);

#endif
