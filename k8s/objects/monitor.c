/* monitor.c - see monitor.h
 *
 * https://prometheus-operator.dev/docs/api-reference/api/: ServiceMonitor. The annotations are
 * those that the examples and charts of Prometheus look for.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "objects/monitor.h"

#include <inttypes.h>
#include <stdio.h>

#include "objects/objects.h"
#include "objects/pod.h"

#define PATH "/metrics"

static json_t *launcher_labels(const struct job *job);
static json_t *user_labels(const struct job *job);

json_t *monitor_policy(const struct job *job)
{
    json_t *rule = json_pack("{s[{sssI}]}", "ports", "protocol", "TCP", "port",
                             (json_int_t)job_page_port(job));

    if (job->scrape_space != NULL) /* else from everywhere */
        json_object_set_new(rule, "from",
                            json_pack("[{s{s{ss}}}]", "namespaceSelector", "matchLabels",
                                      "kubernetes.io/metadata.name", job->scrape_space));
    return json_pack("{s{s{so}s[s]s[o]}}", "spec", "podSelector", "matchLabels",
                     launcher_labels(job), "policyTypes", "Ingress", "ingress", rule);
}

json_t *monitor_service(const struct job *job)
{
    const json_int_t port = job_page_port(job);

    return json_pack("{s{s{ss}}s{ssso s[{sssIsI}]}}", "metadata", "labels", LABEL_ROLE,
                     MONITOR_ROLE, "spec", "clusterIP", "None", "selector", launcher_labels(job),
                     "ports", "name", MONITOR_ROLE, "port", port, "targetPort", port);
}

/* Many a Prometheus looks for ServiceMonitors with a certain label. So it has those that the user
 * gives the Pods. */
json_t *monitor_make(const struct job *job)
{
    return json_pack("{s{so}s{s{s{ssss}}s[{ssss}]s[s]}}", "metadata", "labels", user_labels(job),
                     "spec", "selector", "matchLabels", LABEL_JOB, job->name, LABEL_ROLE,
                     MONITOR_ROLE, "endpoints", "port", MONITOR_ROLE, "path", PATH,
                     "targetLabels", LABEL_JOB);
}

void monitor_mark(const struct job *job, json_t *metadata)
{
    json_t *notes;
    char    port[24];

    if (job->scrape != SCRAPE_ANNOTATION)
        return;
    snprintf(port, sizeof port, "%" PRId64, job_page_port(job));
    notes = json_pack("{ssssss}", "prometheus.io/scrape", "true", "prometheus.io/port", port,
                      "prometheus.io/path", PATH);
    json_object_update_missing(pod_inner(metadata, "annotations", json_object), notes);
    json_decref(notes);
}

static json_t *launcher_labels(const struct job *job)
{
    if (job->launcher == LAUNCHER_POD)
        return json_pack("{ssss}", LABEL_JOB, job->name, LABEL_ROLE, "launcher");
    return json_pack("{ssssss}", LABEL_JOB, job->name, LABEL_ROLE, "worker", LABEL_INDEX, "0");
}

static json_t *user_labels(const struct job *job)
{
    const json_t *labels = json_object_get(json_object_get(job->template, "metadata"), "labels");

    return labels != NULL ? json_deep_copy(labels) : json_object();
}
