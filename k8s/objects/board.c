/* board.c - see board.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "objects/board.h"

#include <stdio.h>
#include <string.h>

#include "job/template.h"
#include "objects/objects.h"
#include "objects/pod.h"

#define BOARD_CPU    "100m"
#define BOARD_MEMORY "1Gi"
#define BOARD_GRACE_S 5 /* it has nothing to save */

static json_t *make_pod(const struct job *job);
static json_t *make_container(const struct job *job);
static void    share_volumes(const struct job *job, json_t *spec, json_t *container);
static void    add_tmp(json_t *spec, json_t *container);
static bool    is_tmp(const json_t *mount);
static void    copy_field(json_t *to, const json_t *from, const char *name);

json_t *board_deployment(const struct job *job)
{
    return json_pack("{s{sis{s{ssss}}so}}", "spec", "replicas", 1, "selector", "matchLabels",
                     LABEL_JOB, job->name, LABEL_ROLE, BOARD_ROLE, "template", make_pod(job));
}

json_t *board_service(const struct job *job)
{
    return json_pack("{s{s{ssss}s[{sssisi}]}}", "spec", "selector", LABEL_JOB, job->name,
                     LABEL_ROLE, BOARD_ROLE, "ports", "name", "http", "port", BOARD_PORT,
                     "targetPort", BOARD_PORT);
}

static json_t *make_pod(const struct job *job)
{
    static const char *const shared[] = { "nodeSelector", "tolerations", "imagePullSecrets",
                                          "securityContext" };
    const json_t            *from = json_object_get(job->template, "spec");
    json_t                  *container = make_container(job);
    json_t                  *spec = json_pack("{sosbsbsi}", "containers", json_array(),
                                              "automountServiceAccountToken", 0,
                                              "enableServiceLinks", 0,
                                              "terminationGracePeriodSeconds", BOARD_GRACE_S);
    size_t                   i;

    for (i = 0; i < sizeof shared / sizeof shared[0]; i++)
        copy_field(spec, from, shared[i]);
    pod_add_security(job, spec, container);
    share_volumes(job, spec, container);
    add_tmp(spec, container);
    json_array_append_new(json_object_get(spec, "containers"), container);
    return json_pack("{s{s{ssssss}s{ss}}so}", "metadata", "labels", LABEL_JOB, job->name,
                     LABEL_ROLE, BOARD_ROLE, "app.kubernetes.io/managed-by", "muster",
                     "annotations", "sidecar.istio.io/inject", "false", "spec", spec);
}

/* Uses the workers' image unless job->board_image is set, and no GPUs. */
static json_t *make_container(const struct job *job)
{
    const json_t *worker = template_container(job->template);
    char          port[12];
    json_t       *container;

    snprintf(port, sizeof port, "%d", BOARD_PORT);
    container = json_pack(
        "{sss[sssssss]s[{sssi}]s[{ssss}{ssss}]s{s{ssss}s{ssss}}s{s{sssi}si}}", "name", BOARD_ROLE,
        "command", "tensorboard", "--logdir", job->logdir, "--host", "0.0.0.0", "--port", port,
        "ports", "name", "http", "containerPort", BOARD_PORT, "env", "name", "HOME", "value",
        "/tmp", "name", "NVIDIA_VISIBLE_DEVICES", "value", "void", "resources", "requests", "cpu",
        BOARD_CPU, "memory", BOARD_MEMORY, "limits", "cpu", "1", "memory", BOARD_MEMORY,
        "readinessProbe", "httpGet", "path", "/", "port", BOARD_PORT, "periodSeconds", 5);
    if (job->board_image != NULL)
        json_object_set_new(container, "image", json_string(job->board_image));
    else
        copy_field(container, worker, "image");
    copy_field(container, worker, "imagePullPolicy");
    return container;
}

/* Skips each emptyDir, because Pods cannot share it. */
static void share_volumes(const struct job *job, json_t *spec, json_t *container)
{
    const json_t *volumes = json_object_get(json_object_get(job->template, "spec"), "volumes");
    const json_t *mounts = json_object_get(template_container(job->template), "volumeMounts");
    json_t       *volume, *mount, *copy;
    size_t        i, k;

    for (i = 0; i < json_array_size(volumes); i++) {
        volume = json_array_get(volumes, i);
        if (json_object_get(volume, "emptyDir") != NULL)
            continue;
        for (k = 0; k < json_array_size(mounts); k++) {
            mount = json_array_get(mounts, k);
            if (!json_equal(json_object_get(mount, "name"), json_object_get(volume, "name")))
                continue;
            copy = json_deep_copy(mount);
            if (!is_tmp(copy))
                json_object_set_new(copy, "readOnly", json_true());
            json_array_append_new(pod_inner(container, "volumeMounts", json_array), copy);
        }
        json_array_append_new(pod_inner(spec, "volumes", json_array), json_deep_copy(volume));
    }
}

/* The root directory is read-only. If the template mounts a volume on /tmp, that stays:
 * Kubernetes refuses two mounts at one path. */
static void add_tmp(json_t *spec, json_t *container)
{
    const json_t *mounts = json_object_get(container, "volumeMounts");
    size_t        i;

    for (i = 0; i < json_array_size(mounts); i++)
        if (is_tmp(json_array_get(mounts, i)))
            return;
    json_array_append_new(pod_inner(spec, "volumes", json_array),
                          json_pack("{sss{}}", "name", "muster-tmp", "emptyDir"));
    json_array_append_new(pod_inner(container, "volumeMounts", json_array),
                          json_pack("{ssss}", "name", "muster-tmp", "mountPath", "/tmp"));
}

static bool is_tmp(const json_t *mount)
{
    const char *path = json_string_value(json_object_get(mount, "mountPath"));

    return path != NULL && (strcmp(path, "/tmp") == 0 || strcmp(path, "/tmp/") == 0);
}

static void copy_field(json_t *to, const json_t *from, const char *name)
{
    json_t *value = json_object_get(from, name);

    if (value != NULL)
        json_object_set_new(to, name, json_deep_copy(value));
}
