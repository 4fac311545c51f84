/* pod.c - see pod.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "objects/pod.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job/privileges.h"
#include "job/run_mode.h"
#include "job/template.h"
#include "job/views.h"
#include "objects/group.h"
#include "objects/monitor.h"
#include "objects/objects.h"
#include "strlist.h"
#include "xalloc.h"

#define LAUNCHER_CPU    "100m"
#define LAUNCHER_MEMORY "1Gi"
#define BACKSTOP_S      60 /* later than muster's own --timeout */

static json_t *make_pod(const struct job *job, const char *role, const char *name,
                        const struct object_for *what);
static void    add_launcher(const struct job *job, json_t *pod, json_t *container, bool has_sshd,
                            const struct object_for *what);
static void    add_sshd(const struct job *job, json_t *pod, json_t *container, size_t index);
static json_t *worker_command(const struct job *job);
static json_t *debug_command(const struct job *job, bool has_sshd);
static json_t *command_of(const struct job *job, bool has_sshd, json_t *container,
                          const struct object_for *what);
static void    add_report(json_t *container, json_t *command);
static void    add_elastic(const struct job *job, json_t *command);
static void    add_views(const struct job *job, json_t *command);
static void    add_words(json_t *command, const struct strlist *words);
static void    add_word(json_t *command, const char *word);
static void    add_mount(json_t *pod, json_t *container, const char *name, const char *path,
                         json_t *source);
static void    add_env(json_t *container, const char *name, const char *value);
static void    set_default(json_t *object, const char *name, json_t *value);

json_t *pod_worker(const struct job *job, size_t index, const struct object_for *what)
{
    bool    is_launcher = job->launcher == LAUNCHER_WORKER0 && index == 0;
    char   *name = xasprintf("%s-worker-%zu", job->name, index);
    json_t *pod = make_pod(job, "worker", name, what), *container = template_container(pod);
    json_t *labels;
    char    number[24];

    snprintf(number, sizeof number, "%zu", index);
    labels = pod_inner(pod_inner(pod, "metadata", json_object), "labels", json_object);
    json_object_set_new(labels, LABEL_INDEX, json_string(number));
    add_sshd(job, pod, container, index);
    if (is_launcher)
        add_launcher(job, pod, container, true, what);
    else
        json_object_set_new(container, "command", worker_command(job));
    if (privileges_has_host_network(pod)) /* else the worker could not resolve the others */
        set_default(json_object_get(pod, "spec"), "dnsPolicy",
                    json_string("ClusterFirstWithHostNet"));
    free(name);
    return pod;
}

/* The launcher has the workers' image and data, but not their GPUs. */
json_t *pod_launcher(const struct job *job, const struct object_for *what)
{
    char   *name = xasprintf("%s-launcher", job->name);
    json_t *pod = make_pod(job, "launcher", name, what), *container = template_container(pod);

    privileges_drop_host(pod);
    json_object_set_new(container, "resources",
                        json_pack("{s{ssss}s{ssss}}", "requests", "cpu", LAUNCHER_CPU, "memory",
                                  LAUNCHER_MEMORY, "limits", "cpu", "1", "memory",
                                  LAUNCHER_MEMORY));
    add_env(container, "NVIDIA_VISIBLE_DEVICES", "void");
    add_launcher(job, pod, container, false, what);
    free(name);
    return pod;
}

void pod_add_security(const struct job *job, json_t *spec, json_t *container)
{
    if (job->as_root) {
        set_default(spec, "securityContext", json_pack("{sisi}", "runAsUser", 0, "runAsGroup", 0));
        return;
    }
    set_default(spec, "securityContext",
                json_pack("{sbsisisisss{ss}}", "runAsNonRoot", 1, "runAsUser", POD_UID,
                          "runAsGroup", POD_UID, "fsGroup", POD_UID, "fsGroupChangePolicy",
                          "OnRootMismatch", "seccompProfile", "type", "RuntimeDefault"));
    set_default(container, "securityContext",
                json_pack("{sbsbs{s[s]}}", "allowPrivilegeEscalation", 0,
                          "readOnlyRootFilesystem", 1, "capabilities", "drop", "ALL"));
}

json_t *pod_inner(json_t *object, const char *name, json_t *(*make)(void))
{
    if (json_object_get(object, name) == NULL)
        json_object_set_new(object, name, make());
    return json_object_get(object, name);
}

/* Makes what worker and launcher Pods have in common. */
static json_t *make_pod(const struct job *job, const char *role, const char *name,
                        const struct object_for *what)
{
    json_t *pod = json_deep_copy(job->template), *container = template_container(pod);
    json_t *metadata = pod_inner(pod, "metadata", json_object);
    json_t *spec = json_object_get(pod, "spec");

    if (run_mode_skips_init(job, what->is_resumed))
        json_object_del(spec, "initContainers");
    json_object_set_new(pod_inner(metadata, "labels", json_object), LABEL_ROLE, json_string(role));
    group_mark(job, metadata);
    set_default(pod_inner(metadata, "annotations", json_object), "sidecar.istio.io/inject",
                json_string("false")); /* Istio's proxy would intercept the ranks' traffic */
    json_object_set_new(spec, "hostname", json_string(name));
    json_object_set_new(spec, "subdomain", json_string(job->name));
    json_object_set_new(spec, "restartPolicy", json_string("Never"));
    set_default(spec, "automountServiceAccountToken", json_false());
    set_default(spec, "enableServiceLinks", json_false());
    set_default(spec, "terminationGracePeriodSeconds", json_integer(JOB_GRACE_S));
    set_default(container, "terminationMessagePolicy", json_string("FallbackToLogsOnError"));
    add_mount(pod, container, "muster-run", POD_RUN,
              json_pack("{s{ssss}}", "emptyDir", "medium", "Memory", "sizeLimit", "16Mi"));
    pod_add_security(job, spec, container);
    if (job->as_root)
        return pod;
    /* The root directory is read-only. */
    if (!template_mounts(pod, "/tmp"))
        add_mount(pod, container, "muster-tmp", "/tmp", json_pack("{s{}}", "emptyDir"));
    if (!template_mounts(pod, POD_HOME))
        add_mount(pod, container, "muster-home", POD_HOME, json_pack("{s{}}", "emptyDir"));
    add_env(container, "HOME", POD_HOME);
    return pod;
}

static void add_launcher(const struct job *job, json_t *pod, json_t *container, bool has_sshd,
                         const struct object_for *what)
{
    json_t *spec = json_object_get(pod, "spec");
    /* OpenSSH refuses a group-readable key of its own user, but accepts one of root's. */
    int     mode = job->as_root ? 0400 : 0440;
    char   *name = xasprintf("%s-launcher-key", job->name), *place = views_place(job);

    add_mount(pod, container, "muster-key", POD_KEY,
              json_pack("{s{sssi}}", "secret", "secretName", name, "defaultMode", mode));
    free(name);
    name = xasprintf("%s-hosts", job->name);
    add_mount(pod, container, "muster-hosts", POD_HOSTS,
              json_pack("{s{ss}}", "configMap", "name", name));
    free(name);
    if (job->is_debug) { /* so that muster needs no options in a shell of this Pod */
        add_env(container, "MUSTER_HOSTFILE", POD_HOSTS "/hostfile");
        add_env(container, "MUSTER_SSH_CONFIG", POD_HOSTS "/ssh_config");
        if (place != NULL)
            add_env(container, "MUSTER_METRICS_LISTEN", place);
    }
    free(place);
    monitor_mark(job, pod_inner(pod, "metadata", json_object));
    json_object_set_new(container, "command",
                        job->is_debug ? debug_command(job, has_sshd)
                                      : command_of(job, has_sshd, container, what));
    if (job->deadline_s > 0)
        set_default(spec, "activeDeadlineSeconds",
                    json_integer(job->deadline_s + job_max_wait_s(job) + BACKSTOP_S));
}

static void add_sshd(const struct job *job, json_t *pod, json_t *container, size_t index)
{
    char   *name = xasprintf("%s-worker-keys", job->name), *key = xasprintf("host-%zu", index);

    add_mount(pod, container, "muster-host", POD_HOST,
              json_pack("{s{sssis[{ssss}{ssss}]}}", "secret", "secretName", name, "defaultMode",
                        0440, "items", "key", key, "path", "host_key", "key", "authorized_keys",
                        "path", "authorized_keys"));
    json_array_append_new(pod_inner(container, "ports", json_array),
                          json_pack("{sssi}", "name", "ssh", "containerPort", SSH_PORT));
    set_default(container, "readinessProbe",
                json_pack("{s{si}sisi}", "tcpSocket", "port", SSH_PORT, "periodSeconds", 2,
                          "failureThreshold", 3));
    free(name);
    free(key);
}

static json_t *worker_command(const struct job *job)
{
    json_t *command = json_pack("[ss]", "muster-init", "--sshd");

    if (job->is_debug && job->debug.command.count > 0) {
        add_word(command, "--");
        add_words(command, &job->debug.command);
    }
    return command;
}

/* Replaces the launcher's command. The Pod runs until the user deletes or pauses the job. */
static json_t *debug_command(const struct job *job, bool has_sshd)
{
    json_t *command;

    if (has_sshd && job->debug.command.count > 0)
        return worker_command(job);
    command = json_pack("[ss]", "muster-init", "--idle");
    if (has_sshd)
        add_word(command, "--sshd");
    return command;
}

static json_t *command_of(const struct job *job, bool has_sshd, json_t *container,
                          const struct object_for *what)
{
    json_t        *command = json_pack("[ss]", "muster-init", "--wait=" POD_HOSTS "/hostfile");
    struct strlist words = { 0 };
    bool           is_muster = run_mode_command(job, what->is_resumed, &words);
    char           text[64];

    if (has_sshd)
        add_word(command, "--sshd");
    snprintf(text, sizeof text, "--wait-time=%" PRId64, job_max_wait_s(job));
    add_word(command, text);
    if (job->cleanup != CLEANUP_NONE)
        add_word(command, what->is_last ? "--release" : "--release=success");
    add_report(container, command);
    add_word(command, "--");
    if (is_muster) {
        add_word(command, "muster");
        add_word(command, "--hostfile=" POD_HOSTS "/hostfile");
        add_word(command, "--ssh-config=" POD_HOSTS "/ssh_config");
        /* If an earlier attempt's launcher was killed, the workers may still run its ranks. */
        snprintf(text, sizeof text, "--env=MUSTER_ATTEMPT=%" PRId64, what->attempt);
        add_word(command, text);
        add_elastic(job, command);
        add_views(job, command);
        add_word(command, "--name=job");
        add_word(command, "--replace");
        if (job->deadline_s > 0) {
            snprintf(text, sizeof text, "--timeout=%" PRId64, job->deadline_s);
            add_word(command, text);
        }
    }
    add_words(command, &words);
    strlist_clear(&words);
    return command;
}

/* muster-init writes its report where Kubernetes reads a container's termination message. */
static void add_report(json_t *container, json_t *command)
{
    const char *path = json_string_value(json_object_get(container, "terminationMessagePath"));
    char       *word = xasprintf("--report=%s", path != NULL ? path : "/dev/termination-log");

    add_word(command, word);
    free(word);
}

/* With these options the run needs only the hostfile, not this controller. */
static void add_elastic(const struct job *job, json_t *command)
{
    char text[64];

    if (!job_is_elastic(job))
        return;
    snprintf(text, sizeof text, "--nnodes=%" PRId64 ":%" PRId64, job->least, job->most);
    add_word(command, text);
    if (job->recovery == RECOVERY_FULL)
        add_word(command, "--recovery=full");
    snprintf(text, sizeof text, "--max-wait=%" PRId64, job_max_wait_s(job));
    add_word(command, text);
}

/* views_check() has refused another --metrics-listen in the command. */
static void add_views(const struct job *job, json_t *command)
{
    char *place = views_place(job), *word;

    if (place == NULL)
        return;
    word = xasprintf("--metrics-listen=%s", place);
    add_word(command, word);
    free(word);
    free(place);
}

static void add_words(json_t *command, const struct strlist *words)
{
    size_t i;

    for (i = 0; i < words->count; i++)
        add_word(command, words->item[i]);
}

/* Doubles each $: Kubernetes would expand $(NAME), and replace $$ by $. */
static void add_word(json_t *command, const char *word)
{
    char *doubled = xmalloc(2 * strlen(word) + 1), *to = doubled;

    for (; *word != '\0'; word++) {
        *to++ = *word;
        if (*word == '$')
            *to++ = '$';
    }
    *to = '\0';
    json_array_append_new(command, json_string(doubled));
    free(doubled);
}

/* Takes the source of the volume. */
static void add_mount(json_t *pod, json_t *container, const char *name, const char *path,
                      json_t *source)
{
    json_object_set_new(source, "name", json_string(name));
    json_array_append_new(pod_inner(json_object_get(pod, "spec"), "volumes", json_array), source);
    json_array_append_new(pod_inner(container, "volumeMounts", json_array),
                          json_pack("{ssss}", "name", name, "mountPath", path));
}

/* Sets the variable unless the template does. */
static void add_env(json_t *container, const char *name, const char *value)
{
    json_t     *list = pod_inner(container, "env", json_array);
    const char *there;
    size_t      i;

    for (i = 0; i < json_array_size(list); i++) {
        there = json_string_value(json_object_get(json_array_get(list, i), "name"));
        if (there != NULL && strcmp(there, name) == 0)
            return;
    }
    json_array_append_new(list, json_pack("{ssss}", "name", name, "value", value));
}

/* Takes the value. */
static void set_default(json_t *object, const char *name, json_t *value)
{
    if (json_object_get(object, name) == NULL)
        json_object_set(object, name, value);
    json_decref(value);
}
