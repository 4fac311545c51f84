/* template.h - the PodTemplateSpec of the workers
 *
 * muster passes most of the template to the cluster, which checks it. These functions read and
 * check the fields that muster itself needs or extends.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_TEMPLATE_H
#define MUSTER_TEMPLATE_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "err.h"

/* Removes all fields that are null, because Kubernetes treats them as missing. */
void template_drop_nulls(json_t *template);

int template_check(const json_t *template, struct error *err);

/* Returns the container named "worker", else the first; borrowed. NULL: no container. */
json_t *template_container(const json_t *template);

int64_t template_gpus(const json_t *template); /* at most JOB_SLOTS_MAX + 1 */

/* Does the training container mount a volume at path? */
bool template_mounts(const json_t *template, const char *path);

/* Does it mount a volume, at path or above, that other Pods can mount, too? */
bool template_shares(const json_t *template, const char *path);

#endif
