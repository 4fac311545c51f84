/* job_argv.c - see job_argv.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "job/job_argv.h"

#include <stdlib.h>
#include <string.h>

#include "job/privileges.h"
#include "job/quantity.h"
#include "job/scheduling.h"
#include "job/template.h"
#include "job/toleration.h"
#include "job/views.h"
#include "number.h"
#include "xalloc.h"

#define DEFAULT_SHM "2Gi"
static json_t *inner(json_t *object, const char *name, json_t *(*make)(void));
static int     set_resource(struct job_argv *argv, const char *name, const char *value,
                            struct error *err);
static int     set_text(struct job_argv *argv, char **text, const char *value);
static int     set_flag(struct job_argv *argv, bool *flag);
static int     set_true(struct job_argv *argv, const char *name);
static int     set_seconds(struct job_argv *argv, const char *value, int64_t least,
                           int64_t *seconds, struct error *err);
static int     set_pair(json_t *object, const char *pair, struct error *err);
static int     add_volume(struct job_argv *argv, json_t *volume, const char *path,
                          bool is_read_only);
static int     set_choice(struct job_argv *argv, json_t *to, const char *name, const char *value);

void job_argv_begin(struct job_argv *argv, struct job *job)
{
    argv->container = json_pack("{ss}", "name", "worker");
    argv->spec = json_pack("{s[o]}", "containers", argv->container);
    job->template = json_pack("{so}", "spec", argv->spec);
    job->workers = 1;
    job->launcher = LAUNCHER_POD;
    job->restart = RESTART_ON_FAILURE;
    job->ttl_s = -1;
    argv->job = job;
    argv->has_board = argv->has_gang = argv->has_rdma = false;
    argv->has_fields = false;
}

void job_argv_end(struct job_argv *argv, const struct strlist *words)
{
    json_t *env;

    strlist_append(&argv->job->command, words);
    if (argv->job->least > 0 && argv->job->most == 0)
        argv->job->most = argv->job->workers;
    if (argv->job->most > 0 && argv->job->least == 0)
        argv->job->least = 1;
    if (json_object_get(argv->container, "image") != NULL &&
        !template_mounts(argv->job->template, "/dev/shm"))
        add_volume(
            argv,
            json_pack("{s{ssss}}", "emptyDir", "medium", "Memory", "sizeLimit", DEFAULT_SHM),
            "/dev/shm", false);
    views_end(argv);
    if (argv->has_rdma)
        privileges_add_rdma(argv->job);
    scheduling_end(argv->job, argv->has_gang);
    if (job_gpus(argv->job) == 0) { /* else an NVIDIA image sees the GPUs of other Pods */
        env = inner(argv->container, "env", json_array);
        json_array_append_new(
            env, json_pack("{ssss}", "name", "NVIDIA_VISIBLE_DEVICES", "value", "void"));
    }
}

/* The options, in the order of the table */

static int set_name(void *to, const char *value, struct error *err)
{
    (void)err;
    return set_text(to, &((struct job_argv *)to)->job->name, value);
}

static int set_namespace(void *to, const char *value, struct error *err)
{
    struct job_argv *argv = to;

    (void)err;
    free(argv->job->space);
    argv->job->space = xstrdup(value);
    return 0;
}

static int set_workers(void *to, const char *value, struct error *err)
{
    struct job_argv *argv = to;

    argv->has_fields = true;
    return parse_number(value, 1, JOB_WORKERS_MAX, &argv->job->workers, err);
}

static int set_least(void *to, const char *value, struct error *err)
{
    struct job_argv *argv = to;

    argv->has_fields = true;
    return parse_number(value, 1, JOB_WORKERS_MAX, &argv->job->least, err);
}

static int set_most(void *to, const char *value, struct error *err)
{
    struct job_argv *argv = to;

    argv->has_fields = true;
    return parse_number(value, 1, JOB_WORKERS_MAX, &argv->job->most, err);
}

static int set_slots(void *to, const char *value, struct error *err)
{
    struct job_argv *argv = to;

    argv->has_fields = true;
    return parse_number(value, 1, JOB_SLOTS_MAX, &argv->job->slots, err);
}

static int set_gpus(void *to, const char *value, struct error *err)
{
    int64_t number;

    if (parse_number(value, 0, JOB_SLOTS_MAX, &number, err) < 0)
        return -1;
    return number == 0 ? 0 : set_resource(to, "nvidia.com/gpu", value, err);
}

static int set_cpu(void *to, const char *value, struct error *err)
{
    return set_resource(to, "cpu", value, err);
}

static int set_memory(void *to, const char *value, struct error *err)
{
    return set_resource(to, "memory", value, err);
}

static int set_device(void *to, const char *value, struct error *err)
{
    const char *equal = strchr(value, '=');
    char       *name;
    int         rc;

    if (equal == NULL || equal == value)
        return err_set(err, "'%.80s' is not NAME=COUNT, such as amd.com/gpu=8", value);
    name = xstrndup(value, (size_t)(equal - value));
    rc = set_resource(to, name, equal + 1, err);
    free(name);
    return rc;
}

static int set_image(void *to, const char *value, struct error *err)
{
    struct job_argv *argv = to;

    (void)err;
    return set_choice(argv, argv->container, "image", value);
}

static int set_pull_policy(void *to, const char *value, struct error *err)
{
    struct job_argv *argv = to;

    if (strcmp(value, "Always") != 0 && strcmp(value, "IfNotPresent") != 0 &&
        strcmp(value, "Never") != 0)
        return err_set(err, "must be Always, IfNotPresent or Never, not '%.60s'", value);
    return set_choice(argv, argv->container, "imagePullPolicy", value);
}

static int set_pull_secret(void *to, const char *value, struct error *err)
{
    struct job_argv *argv = to;

    (void)err;
    argv->has_fields = true;
    json_array_append_new(inner(argv->spec, "imagePullSecrets", json_array),
                          json_pack("{ss}", "name", value));
    return 0;
}

static int set_data(void *to, const char *value, struct error *err)
{
    const char *colon = strchr(value, ':'), *end;
    char       *claim, *path;
    bool        is_read_only;
    int         rc;

    if (colon == NULL || colon == value || colon[1] != '/')
        return err_set(err, "'%.80s' is not CLAIM:/PATH or CLAIM:/PATH:ro", value);
    end = strchr(colon + 1, ':');
    is_read_only = end != NULL && strcmp(end, ":ro") == 0;
    if (end != NULL && !is_read_only)
        return err_set(err, "'%.80s' may have only :ro after the path", value);
    claim = xstrndup(value, (size_t)(colon - value));
    path = end != NULL ? xstrndup(colon + 1, (size_t)(end - colon - 1)) : xstrdup(colon + 1);
    rc = add_volume(to, json_pack("{s{ss}}", "persistentVolumeClaim", "claimName", claim), path,
                    is_read_only);
    free(claim);
    free(path);
    return rc;
}

static int set_env(void *to, const char *value, struct error *err)
{
    struct job_argv *argv = to;
    const char      *equal = strchr(value, '=');

    if (equal == NULL || equal == value)
        return err_set(err, "'%.80s' is not NAME=VALUE", value);
    argv->has_fields = true;
    json_array_append_new(inner(argv->container, "env", json_array),
                          json_pack("{ss%ss}", "name", value, (size_t)(equal - value), "value",
                                    equal + 1));
    return 0;
}

static int set_env_secret(void *to, const char *value, struct error *err)
{
    struct job_argv *argv = to;
    const char      *equal = strchr(value, '='), *slash = strchr(value, '/');

    if (equal == NULL || equal == value || slash == NULL || slash < equal + 2 || slash[1] == '\0')
        return err_set(err, "'%.80s' is not NAME=SECRET/KEY", value);
    argv->has_fields = true;
    json_array_append_new(inner(argv->container, "env", json_array),
                          json_pack("{ss%s{s{ss%ss}}}", "name", value, (size_t)(equal - value),
                                    "valueFrom", "secretKeyRef", "name", equal + 1,
                                    (size_t)(slash - equal - 1), "key", slash + 1));
    return 0;
}

static int set_shm(void *to, const char *value, struct error *err)
{
    double bytes;

    if (quantity_parse(value, &bytes, err) < 0)
        return -1;
    return add_volume(
        to, json_pack("{s{ssss}}", "emptyDir", "medium", "Memory", "sizeLimit", value),
        "/dev/shm", false);
}

static int set_selector(void *to, const char *value, struct error *err)
{
    struct job_argv *argv = to;

    argv->has_fields = true;
    return set_pair(inner(argv->spec, "nodeSelector", json_object), value, err);
}

static int set_toleration(void *to, const char *value, struct error *err)
{
    struct job_argv *argv = to;
    json_t          *one = toleration_parse(value, err);

    argv->has_fields = true;
    if (one == NULL)
        return -1;
    return json_array_append_new(inner(argv->spec, "tolerations", json_array), one);
}

static int set_label(void *to, const char *value, struct error *err)
{
    struct job_argv *argv = to;

    argv->has_fields = true;
    return set_pair(
        inner(inner(argv->job->template, "metadata", json_object), "labels", json_object),
        value, err);
}

static int set_annotation(void *to, const char *value, struct error *err)
{
    struct job_argv *argv = to;

    argv->has_fields = true;
    return set_pair(
        inner(inner(argv->job->template, "metadata", json_object), "annotations", json_object),
        value, err);
}

static int set_priority(void *to, const char *value, struct error *err)
{
    struct job_argv *argv = to;

    (void)err;
    return set_choice(argv, argv->spec, "priorityClassName", value);
}

static int set_scheduler(void *to, const char *value, struct error *err)
{
    struct job_argv *argv = to;

    (void)err;
    return set_choice(argv, argv->spec, "schedulerName", value);
}

static int set_working_dir(void *to, const char *value, struct error *err)
{
    struct job_argv *argv = to;

    if (value[0] != '/')
        return err_set(err, "'%.80s' must begin with /", value);
    return set_choice(argv, argv->container, "workingDir", value);
}

static int set_launcher(void *to, const char *value, struct error *err)
{
    struct job_argv *argv = to;

    argv->has_fields = true;
    if (strcmp(value, "pod") != 0 && strcmp(value, "worker0") != 0)
        return err_set(err, "must be pod or worker0, not '%.60s'", value);
    argv->job->launcher = value[0] == 'p' ? LAUNCHER_POD : LAUNCHER_WORKER0;
    return 0;
}

static int set_deadline(void *to, const char *value, struct error *err)
{
    struct job_argv *argv = to;

    return set_seconds(argv, value, 1, &argv->job->deadline_s, err);
}

static int set_max_wait(void *to, const char *value, struct error *err)
{
    struct job_argv *argv = to;

    return set_seconds(argv, value, 1, &argv->job->max_wait_s, err);
}

static int set_backoff(void *to, const char *value, struct error *err)
{
    struct job_argv *argv = to;

    argv->has_fields = true;
    return parse_number(value, 0, JOB_BACKOFF_MAX, &argv->job->backoff_limit, err);
}

/* Returns the value's index in names; -1: not found. */
static int choose(struct job_argv *argv, const char *const *names, const char *value)
{
    int i;

    argv->has_fields = true;
    for (i = 0; names[i] != NULL; i++)
        if (strcasecmp(names[i], value) == 0)
            return i;
    return -1;
}

static int set_restart(void *to, const char *value, struct error *err)
{
    struct job_argv *argv = to;
    int              i = choose(argv, job_restarts, value);

    if (i < 0)
        return err_set(err, "must be Never, OnFailure or ExitCode, not '%.60s'", value);
    argv->job->restart = (enum job_restart)i;
    return 0;
}

static int set_ttl(void *to, const char *value, struct error *err)
{
    struct job_argv *argv = to;

    return set_seconds(argv, value, 0, &argv->job->ttl_s, err);
}

static int set_cleanup(void *to, const char *value, struct error *err)
{
    struct job_argv *argv = to;
    int              i = choose(argv, job_cleanups, value);

    if (i < 0)
        return err_set(err, "must be Unfinished, None or All, not '%.60s'", value);
    argv->job->cleanup = (enum job_cleanup)i;
    return 0;
}

static int set_root(void *to, const char *value, struct error *err)
{
    (void)value, (void)err;
    return set_flag(to, &((struct job_argv *)to)->job->as_root);
}

static int set_gang(void *to, const char *value, struct error *err)
{
    (void)value, (void)err;
    return set_flag(to, &((struct job_argv *)to)->has_gang);
}

static int set_queue(void *to, const char *value, struct error *err)
{
    if (value[0] == '\0')
        return err_set(err, "must be the name of a queue");
    return set_text(to, &((struct job_argv *)to)->job->queue, value);
}

static int set_debug(void *to, const char *value, struct error *err)
{
    (void)value, (void)err;
    return set_flag(to, &((struct job_argv *)to)->job->is_debug);
}

static int set_rdma(void *to, const char *value, struct error *err)
{
    (void)value;
    ((struct job_argv *)to)->has_rdma = true;
    return set_resource(to, "rdma/hca", "1", err);
}

static int set_host_network(void *to, const char *value, struct error *err)
{
    (void)value, (void)err;
    return set_true(to, "hostNetwork");
}

static int set_host_ipc(void *to, const char *value, struct error *err)
{
    (void)value, (void)err;
    return set_true(to, "hostIPC");
}

const struct arg_row job_argv_rows[] = {
    { "name", 0, "NAME", "name of the job", set_name },
    { "namespace", 'n', "NAME", "namespace (default: the context's)", set_namespace },
    { "workers", 0, "N", "number of workers (default 1)", set_workers },
    { "min-workers", 0, "N", "elastic: minimum number of workers", set_least },
    { "max-workers", 0, "N", "elastic: maximum number of workers", set_most },
    { "slots", 0, "N", "ranks per worker (default: its GPUs, or 1)", set_slots },
    { "gpus", 0, "N", "GPUs per worker", set_gpus },
    { "cpu", 0, "QUANTITY", "CPUs per worker: 8, 500m", set_cpu },
    { "memory", 0, "QUANTITY", "memory per worker: 64Gi", set_memory },
    { "device", 0, "VALUE", NULL, set_device },
    { "image", 0, "IMAGE", "image with muster and sshd (contrib/kubernetes)", set_image },
    { "image-pull-policy", 0, "VALUE", NULL, set_pull_policy },
    { "image-pull-secret", 0, "VALUE", NULL, set_pull_secret },
    { "data", 'd', "pvc:PATH", "mount a PersistentVolumeClaim at PATH", set_data },
    { "env", 'e', "NAME=VALUE", "set a variable for all ranks", set_env },
    { "env-from-secret", 0, "NAME", NULL, set_env_secret },
    { "shm", 0, "SIZE", "size of /dev/shm in each Pod", set_shm },
    { "selector", 0, "KEY=VALUE", "only nodes with this label", set_selector },
    { "toleration", 0, "TAINT", "allow nodes with this taint", set_toleration },
    { "label", 'l', "VALUE", NULL, set_label },
    { "annotation", 'a', "VALUE", NULL, set_annotation },
    { "priority", 'p', "NAME", "PriorityClass of the Pods", set_priority },
    { "scheduler", 0, "VALUE", NULL, set_scheduler },
    { "working-dir", 0, "VALUE", NULL, set_working_dir },
    { "launcher", 0, "worker0|pod", "where muster runs", set_launcher },
    { "deadline", 0, "TIME", "end the run after this time", set_deadline },
    { "max-wait-time", 0, "TIME", "give up if the Pods do not start in this time", set_max_wait },
    { "clean-up", 0, "VALUE", NULL, set_cleanup },
    { "job-backoff-limit", 0, "N", "retries of a failed run", set_backoff },
    { "job-restart-policy", 0, "VALUE", NULL, set_restart },
    { "ttl-after-finished", 0, "TIME", "delete the job this long after its end", set_ttl },
    { "run-as-root", 0, NULL, NULL, set_root },
    { "tensorboard", 0, NULL, "start a TensorBoard that shows --logdir", views_set_board },
    { "tensorboard-image", 0, "VALUE", NULL, views_set_board_image },
    { "logdir", 0, "PATH", "directory of the TensorBoard events", views_set_logdir },
    { "dashboard", 0, NULL, "serve a page of the run to muster k8s dashboard", views_set_page },
    { "metrics", 0, "VALUE", NULL, views_set_scrape },
    { "metrics-namespace", 0, "VALUE", NULL, views_set_scrape_space },
    { "metrics-port", 0, "VALUE", NULL, views_set_port },
    { "gang", 0, NULL, "place all Pods at once, or none", set_gang },
    { "queue", 0, "NAME", "queue of the scheduler", set_queue },
    { "debug", 0, NULL, "start the Pods without a run, to work in them", set_debug },
    { "rdma", 0, NULL, NULL, set_rdma },
    { "hostNetwork", 0, NULL, NULL, set_host_network },
    { "hostIPC", 0, NULL, NULL, set_host_ipc },
    { NULL, 0, NULL, NULL, NULL },
};
const size_t job_argv_row_count = sizeof job_argv_rows / sizeof job_argv_rows[0] - 1;

/* Returns the object or list in that field, borrowed. Makes it if it is missing. */
static json_t *inner(json_t *object, const char *name, json_t *(*make)(void))
{
    if (json_object_get(object, name) == NULL)
        json_object_set_new(object, name, make());
    return json_object_get(object, name);
}

/* As in Arena, the request equals the limit: a worker gets exactly what the user asks for. */
static int set_resource(struct job_argv *argv, const char *name, const char *value,
                        struct error *err)
{
    json_t *resources = inner(argv->container, "resources", json_object);
    double  amount;

    if (quantity_parse(value, &amount, err) < 0)
        return -1;
    argv->has_fields = true;
    json_object_set_new(inner(resources, "limits", json_object), name, json_string(value));
    json_object_set_new(inner(resources, "requests", json_object), name, json_string(value));
    return 0;
}

static int set_text(struct job_argv *argv, char **text, const char *value)
{
    free(*text);
    *text = xstrdup(value);
    argv->has_fields = true;
    return 0;
}

static int set_flag(struct job_argv *argv, bool *flag)
{
    argv->has_fields = *flag = true;
    return 0;
}

/* Sets a field of the Pods' spec to true. */
static int set_true(struct job_argv *argv, const char *name)
{
    argv->has_fields = true;
    return json_object_set_new(argv->spec, name, json_true());
}

static int set_seconds(struct job_argv *argv, const char *value, int64_t least, int64_t *seconds,
                       struct error *err)
{
    double number;

    argv->has_fields = true;
    if (parse_seconds(value, least, INT32_MAX, &number, err) < 0)
        return -1;
    *seconds = (int64_t)number;
    return 0;
}

static int set_pair(json_t *object, const char *pair, struct error *err)
{
    const char *equal = strchr(pair, '=');
    char       *name;

    if (equal == NULL || equal == pair)
        return err_set(err, "'%.80s' is not NAME=VALUE", pair);
    name = xstrndup(pair, (size_t)(equal - pair));
    json_object_set_new(object, name, json_string(equal + 1));
    free(name);
    return 0;
}

/* Takes the volume, which has no name yet. */
static int add_volume(struct job_argv *argv, json_t *volume, const char *path, bool is_read_only)
{
    json_t *volumes = inner(argv->spec, "volumes", json_array), *mount;
    char   *name = xasprintf("volume-%zu", json_array_size(volumes));

    argv->has_fields = true;
    json_object_set_new(volume, "name", json_string(name));
    json_array_append_new(volumes, volume);
    mount = json_pack("{ssss}", "name", name, "mountPath", path);
    if (is_read_only)
        json_object_set_new(mount, "readOnly", json_true());
    json_array_append_new(inner(argv->container, "volumeMounts", json_array), mount);
    free(name);
    return 0;
}

static int set_choice(struct job_argv *argv, json_t *to, const char *name, const char *value)
{
    argv->has_fields = true;
    return json_object_set_new(to, name, json_string(value));
}
