/* job_mpi.c - see job_mpi.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "job/job_mpi.h"

#include <string.h>

#include "job/fields.h"
#include "job/template.h"
#include "xalloc.h"

static void read_head(struct job *job, struct fields *root);
static void read_spec(struct job *job, struct fields *spec);
static void read_policy(struct job *job, struct fields *policy);
static void read_worker(struct job *job, struct fields *worker);
static void read_launcher(struct job *job, struct fields *launcher);
static void read_command(struct job *job, struct fields *launcher, const json_t *box);
static void compare_images(struct job *job, const json_t *box);

int job_from_mpi(struct job *job, const json_t *document, struct error *err)
{
    struct fields root, spec;

    err->text[0] = '\0';
    fields_begin(&root, document, err);
    read_head(job, &root);
    fields_object(&root, "spec", &spec);
    read_spec(job, &spec);
    fields_any(&root, "status");
    fields_end(&root);
    if (err->text[0] == '\0')
        return 0;
    job_clear(job);
    return -1;
}

static void read_head(struct job *job, struct fields *root)
{
    const char   *kind, *text;
    struct fields metadata;

    fields_any(root, "apiVersion"); /* the caller has checked it */
    kind = fields_text(root, "kind");
    if (kind == NULL || strcmp(kind, JOB_MPI_KIND) != 0)
        fields_wrong(root, "kind", "must be " JOB_MPI_KIND);
    fields_object(root, "metadata", &metadata);
    if ((text = fields_text(&metadata, "name")) != NULL)
        job->name = xstrdup(text);
    if ((text = fields_text(&metadata, "namespace")) != NULL)
        job->space = xstrdup(text);
}

static void read_spec(struct job *job, struct fields *spec)
{
    static const char *const ignored[] = { "sshAuthMountPath", "launcherCreationPolicy" };
    static const char *const kinds[] = { "OpenMPI", "Intel", "MPICH", NULL };
    struct fields            policy, replicas, inner;
    size_t                   i;

    job->launcher = LAUNCHER_POD;
    job->slots = fields_number(spec, "slotsPerWorker", 1, JOB_SLOTS_MAX, 1);
    if (fields_bool(spec, "runLauncherAsWorker", false))
        fields_wrong(spec, "runLauncherAsWorker",
                     "is not supported; write false, and one more Worker");
    if (fields_choice(spec, "mpiImplementation", kinds) == 0)
        strlist_addf(&job->warnings, "muster starts the ranks, not mpirun: programs built with "
                                     "Open MPI are refused; those of MPICH and PyTorch run");
    for (i = 0; i < sizeof ignored / sizeof ignored[0]; i++) {
        if (fields_has(spec, ignored[i]))
            strlist_addf(&job->warnings, "spec.%s is not needed", ignored[i]);
        fields_any(spec, ignored[i]);
    }
    fields_object(spec, "runPolicy", &policy);
    read_policy(job, &policy);
    fields_object(spec, "mpiReplicaSpecs", &replicas);
    fields_object(&replicas, "Worker", &inner);
    read_worker(job, &inner);
    fields_object(&replicas, "Launcher", &inner);
    read_launcher(job, &inner);
    fields_end(&replicas);
    fields_end(spec);
}

static void read_policy(struct job *job, struct fields *policy)
{
    static const char *const cleanups[] = { "None", "Running", "All", NULL };
    static const enum job_cleanup as[] = { CLEANUP_NONE, CLEANUP_UNFINISHED, CLEANUP_ALL };

    job->cleanup = as[fields_choice(policy, "cleanPodPolicy", cleanups)];
    job->ttl_s = fields_number(policy, "ttlSecondsAfterFinished", 0, INT32_MAX, -1);
    job->deadline_s = fields_number(policy, "activeDeadlineSeconds", 1, INT32_MAX, 0);
    job->backoff_limit = fields_number(policy, "backoffLimit", 0, JOB_BACKOFF_MAX, 0);
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

static void read_worker(struct job *job, struct fields *worker)
{
    json_t *container;

    job->workers = fields_number(worker, "replicas", 1, JOB_WORKERS_MAX, 1);
    job->template = json_deep_copy(fields_any(worker, "template"));
    template_drop_nulls(job->template);
    fields_any(worker, "restartPolicy"); /* the launcher's decides */
    fields_end(worker);
    if (job->template == NULL)
        fields_wrong(worker, "template", "is missing; it is the template of the workers' Pods");
    container = template_container(job->template);
    if (json_object_get(container, "command") != NULL || json_object_get(container, "args") != NULL)
        strlist_add(&job->warnings, "spec.mpiReplicaSpecs.Worker: its command is ignored: a "
                                    "worker runs muster-init, which starts sshd");
    json_object_del(container, "command");
    json_object_del(container, "args");
}

static void read_launcher(struct job *job, struct fields *launcher)
{
    static const char *const policies[] = { "OnFailure", "Never", NULL };
    const json_t            *template;
    const json_t            *box;

    if (launcher->object == NULL)
        fields_wrong(launcher, "template", "is missing; it has the command");
    fields_number(launcher, "replicas", 1, 1, 1);
    job->restart = fields_choice(launcher, "restartPolicy", policies) == 0 ? RESTART_ON_FAILURE
                                                                           : RESTART_NEVER;
    template = fields_any(launcher, "template");
    fields_end(launcher);
    box = template_container(template);
    if (box == NULL) {
        fields_wrong(launcher, "template", "must have spec.containers, with the command");
        return;
    }
    read_command(job, launcher, box);
    compare_images(job, box);
}

/* Reads "mpirun OPTIONS PROGRAM ARGUMENTS"; muster takes the same arguments. */
static void read_command(struct job *job, struct fields *launcher, const json_t *box)
{
    static const char *const parts[] = { "command", "args" };
    struct strlist           words = { 0 };
    const json_t            *list;
    const char              *program;
    size_t                   i, k;

    for (i = 0; i < 2; i++) {
        list = json_object_get(box, parts[i]);
        for (k = 0; k < json_array_size(list); k++)
            if (json_is_string(json_array_get(list, k)))
                strlist_add(&words, json_string_value(json_array_get(list, k)));
            else
                fields_wrong(launcher, "template", "command and args must be lists of strings");
    }
    program = words.count > 0 ? strrchr(words.item[0], '/') : NULL;
    program = program != NULL ? program + 1 : words.count > 0 ? words.item[0] : "";
    if (strcmp(program, "mpirun") != 0 && strcmp(program, "mpiexec") != 0 &&
        strcmp(program, "horovodrun") != 0)
        fields_wrong(launcher, "template",
                     "the command must begin with mpirun, mpiexec or horovodrun, not '%.60s': "
                     "muster takes its place",
                     program);
    strlist_add(&job->command, "--no_local_rank");
    strlist_add(&job->command, "--no_python");
    for (i = 1; i < words.count; i++)
        strlist_add(&job->command, words.item[i]);
    if (words.count < 2)
        fields_wrong(launcher, "template", "the command has no program after %.60s", program);
    strlist_clear(&words);
}

/* Warns about the Launcher's image and env: muster's launcher uses the workers' template. */
static void compare_images(struct job *job, const json_t *box)
{
    const char *worker = json_string_value(
        json_object_get(template_container(job->template), "image"));
    const char *launcher = json_string_value(json_object_get(box, "image"));

    if (worker != NULL && launcher != NULL && strcmp(worker, launcher) != 0)
        strlist_addf(&job->warnings,
                     "spec.mpiReplicaSpecs.Launcher: image %.100s is ignored: the launcher "
                     "runs in the workers' image",
                     launcher);
    if (json_object_get(box, "env") != NULL || json_object_get(box, "envFrom") != NULL)
        strlist_addf(
            &job->warnings,
            "spec.mpiReplicaSpecs.Launcher: its env is ignored: ranks have the workers' env");
}
