/* job_training.c - see job_training.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "job/job_training.h"

#include <string.h>

#include "job/replicas.h"
#include "number.h"

static void read_head(struct job *job, struct fields *root);
static void read_annotations(struct job *job, struct fields *metadata);
static void read_spec(struct job *job, struct fields *spec);
static void read_policy(struct job *job, struct fields *spec);
static void read_worker(struct job *job, struct fields *worker);

void job_training_read(struct job *job, struct fields *root)
{
    struct fields spec;

    read_head(job, root);
    fields_object(root, "spec", &spec);
    read_spec(job, &spec);
}

static void read_head(struct job *job, struct fields *root)
{
    const char   *kind;
    struct fields metadata;

    fields_any(root, "apiVersion"); /* the caller has checked it */
    kind = fields_text(root, "kind");
    if (kind != NULL && strncmp(kind, "Scale", strlen("Scale")) == 0)
        fields_wrong(root, "kind", "%.60s changes a job that is there: muster k8s scale -f FILE",
                     kind);
    else if (kind == NULL || strcmp(kind, JOB_TRAINING_KIND) != 0)
        fields_wrong(root, "kind", "must be " JOB_TRAINING_KIND);
    fields_object(root, "metadata", &metadata);
    job_read_metadata(job, &metadata);
    replicas_warn_labels(job, &metadata);
    read_annotations(job, &metadata);
}

/* Arena tells the operator's supervisor by annotations what the job wants. */
static void read_annotations(struct job *job, struct fields *metadata)
{
    static const char wait[] = "job-supervisor.kube-ai.io/max-wait-time";
    static const char suspended[] = "job-supervisor.kube-ai.io/job-suspended";
    struct fields     annotations;
    struct error      why;
    const char       *text;

    fields_object(metadata, "annotations", &annotations);
    if ((text = fields_text(&annotations, wait)) != NULL &&
        parse_number(text, 1, INT32_MAX, &job->max_wait_s, &why) < 0)
        fields_wrong(&annotations, wait, "%s", why.text);
    text = fields_text(&annotations, suspended);
    job->is_paused = text != NULL && strcmp(text, "true") == 0;
}

static void read_spec(struct job *job, struct fields *spec)
{
    static const char *const modes[] = { "ssh", "kubexec", NULL };
    struct fields            replicas, inner;

    job->launcher = LAUNCHER_POD;
    job->ttl_s = -1;
    job->slots = fields_number(spec, "slotsPerWorker", 1, JOB_SLOTS_MAX, 0);
    if (fields_choice(spec, "launcherAttachMode", modes) == 1)
        strlist_add(&job->warnings, "spec.launcherAttachMode: kubexec is read as ssh");
    read_policy(job, spec);
    fields_object(spec, "etReplicaSpecs", &replicas);
    fields_object(&replicas, "worker", &inner);
    read_worker(job, &inner);
    fields_object(&replicas, "launcher", &inner);
    replicas_read_launcher(job, &inner, NULL);
    fields_any(&inner, "restartPolicy"); /* the job's decides */
    fields_end(&inner);
    fields_end(&replicas);
    fields_end(spec);
}

static void read_policy(struct job *job, struct fields *spec)
{
    static const char *const cleanups[] = { "Running", "None", "All", NULL };
    static const enum job_cleanup cleanup[] = { CLEANUP_UNFINISHED, CLEANUP_NONE, CLEANUP_ALL };
    static const char *const      policies[] = { "Never", "OnFailure", NULL };
    int64_t                       retries;

    job->cleanup = cleanup[fields_choice(spec, "cleanPodPolicy", cleanups)];
    retries = fields_number(spec, "backoffLimit", 0, JOB_BACKOFF_MAX, REPLICAS_RETRIES);
    if (fields_choice(spec, "restartPolicy", policies) == 1) {
        job->restart = RESTART_ON_FAILURE;
        job->backoff_limit = retries;
    }
}

static void read_worker(struct job *job, struct fields *worker)
{
    int64_t least, most;

    replicas_read_worker(job, worker, NULL);
    least = fields_number(worker, "minReplicas", 1, JOB_WORKERS_MAX, 0);
    most = fields_number(worker, "maxReplicas", 1, JOB_WORKERS_MAX, 0);
    if (least > 0 || most > 0) {
        job->least = least > 0 ? least : job->workers;
        job->most = most > 0 ? most : job->workers;
    }
    if (fields_has(worker, "restartPolicy"))
        strlist_addf(&job->warnings, "%s: restartPolicy is not read: lost workers of an elastic "
                     "job are replaced", worker->path);
    fields_any(worker, "restartPolicy");
    fields_end(worker);
}
