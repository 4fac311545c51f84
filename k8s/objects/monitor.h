/* monitor.h - a job's metrics for Prometheus: how it finds them, and who may read them
 *
 * muster in the launcher serves them. Prometheus finds the launcher's Pod by its annotations, or
 * by a ServiceMonitor of the Prometheus operator, which needs a Service. A NetworkPolicy admits
 * Prometheus to that port of that Pod.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_MONITOR_H
#define MUSTER_MONITOR_H

#include <jansson.h>

#include "job/job.h"

#define MONITOR_ROLE "metrics" /* role label of the Service, by which the ServiceMonitor finds it */

/* Each returns a new reference, without apiVersion, kind and name. */
json_t *monitor_policy(const struct job *job);
json_t *monitor_service(const struct job *job);
json_t *monitor_make(const struct job *job);

/* Adds the annotations to the metadata of the launcher's Pod, if the job has them; an annotation
 * of the user's stays as it is. */
void monitor_mark(const struct job *job, json_t *metadata);

#endif
