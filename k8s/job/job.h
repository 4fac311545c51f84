/* job.h - a job: what the user asked `muster k8s submit` for, without any state of the cluster
 *
 * A job is made from the command line (job_argv.h) or from a document (job_document.h). Start
 * from { 0 }, finish with job_clear().
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

#define JOB_WORKERS_MAX  1000 /* one Secret has all host keys, and holds at most 1 MiB */
#define JOB_SLOTS_MAX    1024
#define JOB_NAME_MAX     63 /* of a Pod's name, which is a label of a host name */
#define JOB_MAX_WAIT_S   3600
#define JOB_BACKOFF_MAX  1000
#define JOB_LOGDIR       "/training_logs"
#define JOB_PAGE_PORT    9464 /* for page and metrics, if the user names none */
#define JOB_GRACE_S      120 /* from SIGTERM to SIGKILL, so that ranks can write a checkpoint */
#define SSH_PORT         2222

enum job_launcher { LAUNCHER_POD, LAUNCHER_WORKER0 };
enum job_cleanup { CLEANUP_UNFINISHED, CLEANUP_NONE, CLEANUP_ALL };
/* Which failed attempts muster repeats: none, all, or those where the program is not at fault
 * (an exit status of 128 or more, a lost Pod). */
enum job_restart { RESTART_NEVER, RESTART_ON_FAILURE, RESTART_EXIT_CODE };

/* An elastic run that loses a worker: does it continue with the others, or wait for another? */
enum job_recovery { RECOVERY_ELASTIC, RECOVERY_FULL };

/* How Prometheus finds the metrics of the run, if it may read them. */
enum job_scrape { SCRAPE_NONE, SCRAPE_ANNOTATION, SCRAPE_MONITOR };

/* Whose PodGroup contains the job's Pods. */
enum job_gang { GANG_NONE, GANG_VOLCANO, GANG_PLUGINS, GANG_T9K };

/* "pod", "worker0"; "Unfinished", "None", "All"; "Never", "OnFailure", "ExitCode"; each list
 * ends with NULL. */
extern const char *const job_launchers[];
extern const char *const job_cleanups[];
extern const char *const job_restarts[];
extern const char *const job_recoveries[]; /* "elastic", "full" */
extern const char *const job_scrapes[]; /* "none", "annotation", "servicemonitor" */
extern const char *const job_gangs[]; /* "none", "volcano" ... */

/* How the Pods, of workers and launcher, differ in debug mode or after a pause (run_mode.h). */
struct run_pods {
    bool           skips_init; /* no init containers */
    struct strlist command;    /* empty: the run's command (resumed), or only sshd (debug) */
    struct strlist args;
};

struct job {
    char             *name;
    char             *space;   /* namespace; NULL: that of the context */
    int64_t           workers;
    int64_t           least, most; /* workers of an elastic job; 0: not elastic */
    enum job_recovery recovery;    /* of an elastic job */
    int64_t           slots;   /* per worker; 0: one per GPU, at least one */
    enum job_launcher launcher;
    struct strlist    command; /* muster's arguments, after those for hosts and keys */
    bool              is_custom; /* command runs instead of muster */
    json_t           *template;  /* PodTemplateSpec of the workers */
    enum job_cleanup  cleanup;
    int64_t           deadline_s; /* of the launcher, from its start; 0: none */
    int64_t           max_wait_s; /* until all workers are ready; 0: JOB_MAX_WAIT_S */
    enum job_restart  restart;
    int64_t           backoff_limit; /* how many failed attempts muster repeats */
    int64_t           ttl_s;      /* from the job's end to its deletion; -1: never delete */
    bool              is_paused;
    bool              is_debug; /* the launcher idles and does not run command */
    struct run_pods   debug;    /* if is_debug; all workers run its command beside sshd */
    struct run_pods   resumed;  /* after a pause */
    enum job_gang     gang;
    char             *queue;          /* NULL: none */
    int64_t           queue_priority; /* only for T9k, 0 to 100 */
    char             *logdir;      /* where TensorBoard reads; NULL: no TensorBoard */
    char             *board_image; /* TensorBoard's image; NULL: the workers' */
    bool              has_page;     /* the launcher serves the page, for port-forward */
    enum job_scrape   scrape;       /* ... and the metrics, and the page, to Prometheus */
    char             *scrape_space; /* only to Pods of this namespace; NULL: to all */
    int64_t           page_port;    /* 0: JOB_PAGE_PORT */
    bool              as_root;
    struct strlist    warnings;   /* what the user asked for and will not get */
};

void job_clear(struct job *job);

struct fields;
/* Reads name and namespace; the cluster adds other fields, which are not for muster. */
void job_read_metadata(struct job *job, struct fields *metadata);

/* Checks all that muster can check without the cluster. The error names the field or option and
 * says what to write. */
int job_check(const struct job *job, struct error *err);

/* Does the job have kube-queue's annotation at first, and begin when kube-queue removes it? */
bool job_is_queued(const struct job *job);

/* Adds a warning if TensorBoard could not see the files that the ranks write. */
void job_warn_board(struct job *job);

bool    job_is_elastic(const struct job *job);
/* Returns for how many workers the job has keys; the Secrets are immutable. */
int64_t job_keys(const struct job *job);
bool    job_has_board(const struct job *job);
/* Does the launcher serve page and metrics? At which port? */
bool    job_has_page(const struct job *job);
int64_t job_page_port(const struct job *job);
int64_t job_slots(const struct job *job);
int64_t job_max_wait_s(const struct job *job);
int64_t job_gpus(const struct job *job); /* per worker */

#endif
