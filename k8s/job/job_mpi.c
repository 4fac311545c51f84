/* job_mpi.c - see job_mpi.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "job/job_mpi.h"

#include <string.h>

#include "job/replicas.h"

/* Whose fields differ. */
enum version { V2BETA1, V1, V1ALPHA2 };

static enum version read_head(struct job *job, struct fields *root);
static void read_spec(struct job *job, enum version version, struct fields *spec);
static void read_new(struct job *job, struct fields *spec);
static const char *read_old(struct job *job, enum version version, struct fields *spec);
static void read_limits(struct job *job, struct fields *fields);
static void read_cleanup(struct job *job, struct fields *fields);
static void read_policy(struct job *job, struct fields *policy);
static void read_restart(struct job *job, enum version version, struct fields *launcher);

void job_mpi_read(struct job *job, struct fields *root)
{
    enum version  version = read_head(job, root);
    struct fields spec;

    fields_object(root, "spec", &spec);
    read_spec(job, version, &spec);
}

static enum version read_head(struct job *job, struct fields *root)
{
    static const char *const versions[] = { JOB_MPI_VERSION, JOB_MPI_GROUP "v1",
                                            JOB_MPI_GROUP "v1alpha2", NULL };
    const char              *text = fields_text(root, "apiVersion"), *kind;
    enum version             version;
    struct fields            metadata;

    if (text != NULL && strcmp(text, JOB_MPI_GROUP "v1alpha1") == 0)
        fields_wrong(root, "apiVersion", "v1alpha1 has one template for all Pods; write %s, the "
                     "template as mpiReplicaSpecs.Launcher and Worker, and the number of "
                     "workers as Worker.replicas", versions[2]);
    version = (enum version)fields_choice(root, "apiVersion", versions);
    kind = fields_text(root, "kind");
    if (kind == NULL || strcmp(kind, JOB_MPI_KIND) != 0)
        fields_wrong(root, "kind", "must be " JOB_MPI_KIND);
    fields_object(root, "metadata", &metadata);
    job_read_metadata(job, &metadata);
    replicas_warn_labels(job, &metadata);
    return version;
}

static void read_spec(struct job *job, enum version version, struct fields *spec)
{
    struct fields policy, replicas, inner;
    const char   *container = NULL;

    job->launcher = LAUNCHER_POD;
    job->cleanup = CLEANUP_NONE;
    job->ttl_s = -1;
    job->backoff_limit = -1;
    job->slots = fields_number(spec, "slotsPerWorker", 1, JOB_SLOTS_MAX, 1);
    if (version == V2BETA1)
        read_new(job, spec);
    else
        container = read_old(job, version, spec);
    fields_object(spec, "runPolicy", &policy);
    read_policy(job, &policy);
    fields_object(spec, "mpiReplicaSpecs", &replicas);
    fields_object(&replicas, "Worker", &inner);
    replicas_read_worker(job, &inner, container);
    fields_any(&inner, "restartPolicy"); /* the launcher's decides */
    fields_end(&inner);
    fields_object(&replicas, "Launcher", &inner);
    replicas_read_launcher(job, &inner, container);
    read_restart(job, version, &inner);
    fields_end(&inner);
    fields_end(&replicas);
    fields_end(spec);
    if (job->backoff_limit < 0)
        job->backoff_limit = job->restart == RESTART_NEVER ? 0 : REPLICAS_RETRIES;
}

static void read_new(struct job *job, struct fields *spec)
{
    static const char *const ignored[] = { "sshAuthMountPath", "launcherCreationPolicy" };
    static const char *const kinds[] = { "OpenMPI", "Intel", "MPICH", NULL };
    size_t                   i;

    if (fields_bool(spec, "runLauncherAsWorker", false))
        fields_wrong(spec, "runLauncherAsWorker",
                     "is not supported; write false, and one more Worker");
    fields_choice(spec, "mpiImplementation", kinds); /* muster-environment(7) tells about each */
    for (i = 0; i < sizeof ignored / sizeof ignored[0]; i++) {
        if (fields_has(spec, ignored[i]))
            strlist_addf(&job->warnings, "spec.%s is not needed", ignored[i]);
        fields_any(spec, ignored[i]);
    }
}

/* Returns the name of the container with the ranks; NULL: not given. */
static const char *read_old(struct job *job, enum version version, struct fields *spec)
{
    read_cleanup(job, spec);
    if (version == V1ALPHA2)
        read_limits(job, spec);
    return fields_text(spec, "mainContainer");
}

/* What is not given keeps its value. */
static void read_limits(struct job *job, struct fields *fields)
{
    job->deadline_s = fields_number(fields, "activeDeadlineSeconds", 1, INT32_MAX,
                                    job->deadline_s);
    job->backoff_limit = fields_number(fields, "backoffLimit", 0, JOB_BACKOFF_MAX,
                                       job->backoff_limit);
}

static void read_cleanup(struct job *job, struct fields *fields)
{
    static const char *const cleanups[] = { "None", "Running", "All", NULL };
    static const enum job_cleanup as[] = { CLEANUP_NONE, CLEANUP_UNFINISHED, CLEANUP_ALL };
    int                           choice = fields_choice(fields, "cleanPodPolicy", cleanups);

    if (fields_has(fields, "cleanPodPolicy"))
        job->cleanup = as[choice];
}

/* Wins over the same fields of spec, in the versions that have both. */
static void read_policy(struct job *job, struct fields *policy)
{
    read_cleanup(job, policy);
    read_limits(job, policy);
    job->ttl_s = fields_number(policy, "ttlSecondsAfterFinished", 0, INT32_MAX, -1);
    job->is_paused = fields_bool(policy, "suspend", false);
    if (fields_has(policy, "schedulingPolicy"))
        fields_wrong(policy, "schedulingPolicy", "is not supported yet; leave it out, or write "
                     "Worker.template.spec.schedulerName and priorityClassName");
    fields_any(policy, "schedulingPolicy");
    if (fields_has(policy, "managedBy"))
        fields_wrong(policy, "managedBy", "belongs to another controller; leave it out");
    fields_any(policy, "managedBy");
    fields_end(policy);
}

static void read_restart(struct job *job, enum version version, struct fields *launcher)
{
    static const char *const      all[] = { "Never", "OnFailure", "ExitCode", "Always", NULL };
    static const enum job_restart as[] = { RESTART_NEVER, RESTART_ON_FAILURE, RESTART_EXIT_CODE,
                                           RESTART_ON_FAILURE };
    bool has = fields_has(launcher, "restartPolicy");
    int  choice = fields_choice(launcher, "restartPolicy", all);

    if (has && version == V2BETA1 && choice > 1)
        fields_wrong(launcher, "restartPolicy", "must be OnFailure or Never");
    if (choice == 3 || (choice == 2 && version == V1ALPHA2))
        strlist_addf(&job->warnings, "%s: restartPolicy %s is read as OnFailure", launcher->path,
                     all[choice]);
    if (choice == 2 && version == V1ALPHA2)
        choice = 1;
    job->restart = has || version == V1 ? as[choice] : RESTART_ON_FAILURE;
}
