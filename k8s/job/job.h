/* job.h - a job: what `muster k8s submit` was asked for, and nothing of what the cluster says
 *
 * Made from the command line (job_argv.h) or from a document (job_document.h). Start from { 0 },
 * end with job_clear().
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_JOB_H
#define MUSTER_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "err.h"
#include "strlist.h"

#define JOB_GROUP       "muster.dev"
#define JOB_API_VERSION JOB_GROUP "/v1beta1"
#define JOB_KIND        "DeepSpeedJob"
#define JOB_PLURAL      "deepspeedjobs"

#define JOB_WORKERS_MAX  1000 /* their host keys are one Secret, which holds at most 1 MiB */
#define JOB_SLOTS_MAX    1024
#define JOB_NAME_MAX     63 /* of a Pod: it is a label of a host name */
#define JOB_MAX_WAIT_S   3600
#define JOB_BACKOFF_MAX  1000
#define JOB_LOGDIR       "/training_logs"
#define JOB_GRACE_S      120 /* from SIGTERM to SIGKILL, so that ranks can write a checkpoint */

enum job_launcher { LAUNCHER_POD, LAUNCHER_WORKER0 };
enum job_cleanup { CLEANUP_UNFINISHED, CLEANUP_NONE, CLEANUP_ALL };
/* When a failed attempt is followed by another one: never, after any failure, or after one that is
 * not the program's own (an exit status of 128 or more, a lost Pod). */
enum job_restart { RESTART_NEVER, RESTART_ON_FAILURE, RESTART_EXIT_CODE };

/* What an elastic run does without a worker: goes on with the others, or waits for another one. */
enum job_recovery { RECOVERY_ELASTIC, RECOVERY_FULL };

/* Whose PodGroup all Pods of the job are in. */
enum job_gang { GANG_NONE, GANG_VOLCANO, GANG_PLUGINS, GANG_T9K };

/* "pod", "worker0"; "Unfinished", "None", "All"; "Never", "OnFailure", "ExitCode"; then NULL. */
extern const char *const job_launchers[];
extern const char *const job_cleanups[];
extern const char *const job_restarts[];
extern const char *const job_recoveries[]; /* "elastic", "full" */
extern const char *const job_gangs[]; /* "none", "volcano" ... */

/* Of a job that is not as the run begins (run_mode.h); of the workers, as of the launcher. */
struct run_pods {
    bool           skips_init; /* no init containers */
    struct strlist command;    /* empty: as in the run, or none but sshd */
    struct strlist args;
};

struct job {
    char             *name;
    char             *space;   /* namespace; NULL: that of the context */
    int64_t           workers;
    int64_t           least, most; /* workers of an elastic job; 0: it is none */
    enum job_recovery recovery;    /* of that */
    int64_t           slots;   /* per worker; 0: as many as GPUs, at least one */
    enum job_launcher launcher;
    struct strlist    command; /* the arguments of muster, after those that name hosts and keys */
    bool              is_custom; /* command is run instead of muster */
    json_t           *template;  /* PodTemplateSpec of the workers */
    enum job_cleanup  cleanup;
    int64_t           deadline_s; /* of the launcher, from its start; 0: none */
    int64_t           max_wait_s; /* until all workers are ready; 0: JOB_MAX_WAIT_S */
    enum job_restart  restart;
    int64_t           backoff_limit; /* failed attempts that are followed by another one */
    int64_t           ttl_s;      /* from its end to its deletion; -1: for ever */
    bool              is_paused;
    bool              is_debug; /* the launcher waits for people; command is not run */
    struct run_pods   debug;    /* then; its command is beside sshd in all workers */
    struct run_pods   resumed;  /* after a pause of a run */
    enum job_gang     gang;
    char             *queue;          /* NULL: none */
    int64_t           queue_priority; /* of T9k, 0 to 100 */
    char             *logdir;      /* where TensorBoard reads; NULL: there is none */
    char             *board_image; /* of TensorBoard; NULL: the workers' */
    bool              as_root;
    struct strlist    warnings;   /* what was asked for and will not be done */
};

void job_clear(struct job *job);

/* All that can be checked without the cluster; the text names the field or option and says what
 * to write. */
int job_check(const struct job *job, struct error *err);

/* Is the job created with kube-queue's annotation, and begins when that is taken away? */
bool job_is_queued(const struct job *job);

/* A warning, if TensorBoard would see nothing of what the ranks write. */
void job_warn_board(struct job *job);

bool    job_is_elastic(const struct job *job);
/* For so many its keys are made, which nobody can change later. */
int64_t job_keys(const struct job *job);
bool    job_has_board(const struct job *job);
int64_t job_slots(const struct job *job);
int64_t job_max_wait_s(const struct job *job);
int64_t job_gpus(const struct job *job); /* per worker */

#endif
