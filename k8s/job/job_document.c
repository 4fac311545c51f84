/* job_document.c - see job_document.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "job/job_document.h"

#include <stdlib.h>
#include <string.h>

#include "job/fields.h"
#include "job/job_mpi.h"
#include "job/job_training.h"
#include "job/run_mode.h"
#include "job/scheduling.h"
#include "job/template.h"
#include "job/views.h"
#include "xalloc.h"

static const char t9k_version[] = "batch.tensorstack.dev/v1beta1";

static void read_own(struct job *job, struct fields *root);
static void read_head(struct job *job, struct fields *root);
static void read_spec(struct job *job, struct fields *spec);
static void read_worker(struct job *job, struct fields *worker);
static void read_config(struct job *job, struct fields *config);
static void read_run(struct job *job, struct fields *config);
static void read_other_args(struct job *job, struct fields *config);
static void read_custom(struct job *job, struct fields *config);
static void read_policy(struct job *job, struct fields *policy);
static void read_elastic(struct job *job, struct fields *spec);
static void add_words(struct strlist *list, const json_t *words);

int job_from_document(struct job *job, const json_t *document, struct error *err)
{
    const char   *version = json_string_value(json_object_get(document, "apiVersion"));
    struct fields root;

    err->text[0] = '\0';
    fields_begin(&root, document, err);
    if (version != NULL && strncmp(version, JOB_MPI_GROUP, strlen(JOB_MPI_GROUP)) == 0)
        job_mpi_read(job, &root);
    else if (version != NULL && strcmp(version, JOB_TRAINING_VERSION) == 0)
        job_training_read(job, &root);
    else
        read_own(job, &root);
    fields_any(&root, "status"); /* in documents read from a cluster */
    fields_end(&root);
    if (err->text[0] == '\0')
        return 0;
    job_clear(job);
    return -1;
}

json_t *job_document(const struct job *job)
{
    json_t *run = json_array(), *spec, *config, *policy, *metadata, *scheduler;
    size_t  i;

    for (i = 0; i < job->command.count; i++)
        json_array_append_new(run, json_string(job->command.item[i]));
    config = job->is_custom            ? json_pack("{so}", "customCommand", run)
             : job->command.count > 0 ? json_pack("{s{so}}", "run", "muster", run)
                                      : json_object();
    if (job->command.count == 0)
        json_decref(run);
    if (job->slots > 0)
        json_object_set_new(config, "slotsPerWorker", json_integer(job->slots));
    policy = json_pack("{ss}", "cleanUpPolicy", job_cleanups[job->cleanup]);
    if (job->deadline_s > 0)
        json_object_set_new(policy, "activeDeadlineSeconds", json_integer(job->deadline_s));
    if (job->max_wait_s > 0)
        json_object_set_new(policy, "maxWaitTimeSeconds", json_integer(job->max_wait_s));
    if (job->backoff_limit > 0)
        json_object_set_new(policy, "backoffLimit", json_integer(job->backoff_limit));
    if (job->ttl_s >= 0)
        json_object_set_new(policy, "ttlSecondsAfterFinished", json_integer(job->ttl_s));
    spec = json_pack("{s{sIsssO}sosossso*so*}", "worker", "replicas", (json_int_t)job->workers,
                     "restartPolicy", job_restarts[job->restart], "template", job->template,
                     "config", config, "runPolicy", policy, "launcher",
                     job_launchers[job->launcher], "runAsRoot", job->as_root ? json_true() : NULL,
                     "runMode", run_mode_document(job));
    if (job_is_elastic(job))
        json_object_set_new(spec, "elastic",
                            json_pack("{sbsIsIsIss}", "enabled", 1, "minReplicas",
                                      (json_int_t)job->least, "maxReplicas", (json_int_t)job->most,
                                      "expectedReplicas", (json_int_t)job->workers, "recovery",
                                      job_recoveries[job->recovery]));
    if ((scheduler = scheduling_document(job)) != NULL)
        json_object_set_new(spec, "scheduler", scheduler);
    views_add(job, spec);
    metadata = json_pack("{ss}", "name", job->name);
    if (job->space != NULL)
        json_object_set_new(metadata, "namespace", json_string(job->space));
    return json_pack("{sssssoso}", "apiVersion", JOB_API_VERSION, "kind", JOB_KIND, "metadata",
                     metadata, "spec", spec);
}

static void read_own(struct job *job, struct fields *root)
{
    struct fields spec;

    read_head(job, root);
    if (!fields_has(root, "spec"))
        fields_wrong(root, "spec", "is missing");
    fields_object(root, "spec", &spec);
    read_spec(job, &spec);
}

static void read_head(struct job *job, struct fields *root)
{
    const char   *version = fields_text(root, "apiVersion"), *kind = fields_text(root, "kind");
    struct fields metadata;

    if (version == NULL ||
        (strcmp(version, JOB_API_VERSION) != 0 && strcmp(version, t9k_version) != 0))
        fields_wrong(root, "apiVersion", "must be %s, %s, %s or %s%s%.60s%s", JOB_API_VERSION,
                     t9k_version, JOB_MPI_VERSION, JOB_TRAINING_VERSION,
                     version != NULL ? ", not '" : "", version != NULL ? version : "",
                     version != NULL ? "'" : "");
    if (kind != NULL && strcmp(kind, "DeepspeedJob") == 0)
        strlist_addf(&job->warnings, "kind: DeepspeedJob is read as " JOB_KIND);
    else if (kind == NULL || strcmp(kind, JOB_KIND) != 0)
        fields_wrong(root, "kind", "must be %s%s%.60s%s", JOB_KIND, kind != NULL ? ", not '" : "",
                     kind != NULL ? kind : "", kind != NULL ? "'" : "");
    fields_object(root, "metadata", &metadata);
    job_read_metadata(job, &metadata);
    /* No fields_end(): ignore the metadata that the cluster adds. */
}

static void read_spec(struct job *job, struct fields *spec)
{
    struct fields inner;

    fields_object(spec, "worker", &inner);
    read_worker(job, &inner);
    fields_object(spec, "config", &inner);
    read_config(job, &inner);
    fields_object(spec, "runPolicy", &inner);
    read_policy(job, &inner);
    /* Like T9k's, a document without this field makes worker 0 the launcher. */
    job->launcher = fields_has(spec, "launcher")
                        ? (enum job_launcher)fields_choice(spec, "launcher", job_launchers)
                        : LAUNCHER_WORKER0;
    fields_any(spec, "launcher");
    job->as_root = fields_bool(spec, "runAsRoot", false);
    fields_bool(spec, "disableCustomEnv", false); /* ranks have the Pod's environment */
    read_elastic(job, spec);
    views_read(job, spec);
    scheduling_read(job, spec);
    run_mode_read(job, spec);
    fields_end(spec);
    /* After fields_end(), so that a misspelled field is reported first. */
    if (job->template == NULL)
        fields_wrong(spec, "worker.template",
                     "is missing; it is the template of the workers' Pods");
    if (job->command.count == 0 && !job->is_debug)
        fields_wrong(spec, "config.run", "is missing; it must have python, module or exec");
}

static void read_worker(struct job *job, struct fields *worker)
{
    static const char *const policies[] = { "OnFailure", "Never", "ExitCode", "Always", NULL };
    static const enum job_restart restarts[] = { RESTART_ON_FAILURE, RESTART_NEVER,
                                                 RESTART_EXIT_CODE, RESTART_ON_FAILURE };
    int                           policy;

    job->workers = fields_number(worker, "replicas", 1, JOB_WORKERS_MAX, 1);
    job->template = json_deep_copy(fields_any(worker, "template"));
    template_drop_nulls(job->template);
    policy = fields_choice(worker, "restartPolicy", policies);
    job->restart = restarts[policy];
    if (policy == 3)
        strlist_addf(&job->warnings, "worker.restartPolicy: Always is read as OnFailure: a job "
                                     "that has succeeded does not run again");
    fields_end(worker);
}

static void read_config(struct job *job, struct fields *config)
{
    static const char *const tunings[] = { "none", "run", "tune", NULL };
    bool                     old = fields_has(config, "slotPerWorker");
    const char              *slots = old ? "slotPerWorker" : "slotsPerWorker";

    if (old)
        strlist_addf(&job->warnings, "config.slotPerWorker is read as slotsPerWorker");
    job->slots = fields_number(config, slots, 1, JOB_SLOTS_MAX, 0);
    if (!fields_bool(config, "localRank", true))
        strlist_add(&job->command, "--no_local_rank");
    if (fields_choice(config, "autotune", tunings) != 0)
        fields_wrong(config, "autotune",
                     "is not supported: muster does not start deepspeed's tuner; "
                     "write none");
    read_other_args(job, config);
    read_run(job, config);
    read_custom(job, config);
    fields_end(config);
}

static void read_run(struct job *job, struct fields *config)
{
    static const struct {
        const char *name, *option;
    } ways[] = { { "python", NULL }, { "module", "--module" }, { "exec", "--no_python" },
                 { "muster", NULL } };
    struct fields run;
    const json_t *list;
    const char   *first;
    size_t        i, count = 0;

    fields_object(config, "run", &run);
    for (i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        if (!fields_has(&run, ways[i].name)) {
            fields_any(&run, ways[i].name);
            continue;
        }
        count++;
        if (ways[i].option != NULL)
            strlist_add(&job->command, ways[i].option);
        /* The first example of T9k's manual has a single word. */
        if (json_is_string(json_object_get(run.object, ways[i].name))) {
            first = fields_text(&run, ways[i].name);
            if (strpbrk(first, " \t\n'\"\\$") != NULL)
                fields_wrong(&run, ways[i].name,
                             "must be a list of strings; write one per argument");
            strlist_add(&job->command, first);
        } else {
            list = fields_list(&run, ways[i].name);
            add_words(&job->command, list);
            first = json_string_value(json_array_get(list, 0));
        }
        if (first == NULL || first[0] == '\0' || (first[0] == '-' && i != 3))
            fields_wrong(&run, ways[i].name, "must begin with the program to run");
    }
    fields_end(&run);
    if (run.object != NULL && count != 1 && !(count == 0 && fields_has(config, "customCommand")))
        fields_wrong(config, "run", "must have exactly one of python, module and exec, not %zu",
                     count);
}

static void read_other_args(struct job *job, struct fields *config)
{
    static const struct {
        const char *arg, *owner;
    } conflicts[] = {
        { "--no_local_rank", "config.localRank" },
        { "--autotuning", "config.autotune" },
        { "--module", "config.run.module" },
        { "--no_python", "config.run.exec" },
        { "--hostfile", "worker.replicas" },
        { "-H", "worker.replicas" },
        { "--ssh_config", "muster, which makes that file" },
    };
    const json_t *list = fields_list(config, "otherArgs");
    const char   *arg, *value;
    size_t        i, k;

    for (i = 0; i < json_array_size(list); i++) {
        arg = json_string_value(json_array_get(list, i));
        for (k = 0; k < sizeof conflicts / sizeof conflicts[0]; k++)
            if (strncmp(arg, conflicts[k].arg, strlen(conflicts[k].arg)) == 0 &&
                strchr("=", arg[strlen(conflicts[k].arg)]) != NULL)
                fields_wrong(config, "otherArgs", "%s belongs to %s", conflicts[k].arg,
                             conflicts[k].owner);
        if (strncmp(arg, "--launcher", 10) != 0 || strchr("=", arg[10]) == NULL) {
            strlist_add(&job->command, arg);
            continue;
        }
        value = arg[10] == '=' ? arg + 11 : json_string_value(json_array_get(list, ++i));
        if (value == NULL || (strcmp(value, "pdsh") != 0 && strcmp(value, "muster") != 0))
            fields_wrong(config, "otherArgs",
                         "--launcher: write pdsh, which muster replaces, or leave "
                         "it out");
    }
}

static void read_custom(struct job *job, struct fields *config)
{
    const json_t *value = fields_any(config, "customCommand");

    if (value == NULL || json_is_null(value))
        return;
    strlist_clear(&job->command);
    job->is_custom = true;
    if (json_is_string(value)) { /* run it in a shell */
        strlist_add(&job->command, "/bin/sh");
        strlist_add(&job->command, "-c");
        strlist_add(&job->command, json_string_value(value));
    } else
        add_words(&job->command, fields_list(config, "customCommand"));
    if (job->command.count == 0)
        fields_wrong(config, "customCommand", "must be a string or a list of strings");
}

static void read_policy(struct job *job, struct fields *policy)
{
    job->cleanup = (enum job_cleanup)fields_choice(policy, "cleanUpPolicy", job_cleanups);
    job->deadline_s = fields_number(policy, "activeDeadlineSeconds", 1, INT32_MAX, 0);
    job->max_wait_s = fields_number(policy, "maxWaitTimeSeconds", 1, INT32_MAX, 0);
    job->backoff_limit = fields_number(policy, "backoffLimit", 0, JOB_BACKOFF_MAX, 0);
    job->ttl_s = fields_number(policy, "ttlSecondsAfterFinished", 0, INT32_MAX, -1);
    fields_end(policy);
}

static void read_elastic(struct job *job, struct fields *spec)
{
    struct fields elastic;
    int64_t       least, most, expected;
    bool          is_enabled;

    fields_object(spec, "elastic", &elastic);
    is_enabled = fields_bool(&elastic, "enabled", false);
    least = fields_number(&elastic, "minReplicas", 1, JOB_WORKERS_MAX, 1);
    most = fields_number(&elastic, "maxReplicas", 1, JOB_WORKERS_MAX, 0);
    expected = fields_number(&elastic, "expectedReplicas", 1, JOB_WORKERS_MAX, 0);
    job->recovery = (enum job_recovery)fields_choice(&elastic, "recovery", job_recoveries);
    if (is_enabled && most == 0)
        fields_wrong(&elastic, "maxReplicas", "is missing; it is the largest number of workers");
    fields_end(&elastic);
    if (!is_enabled)
        return;
    job->least = least;
    job->most = most;
    job->workers = expected > 0 ? expected : job->workers;
}

static void add_words(struct strlist *list, const json_t *words)
{
    size_t i;

    for (i = 0; i < json_array_size(words); i++)
        strlist_add(list, json_string_value(json_array_get(words, i)));
}
