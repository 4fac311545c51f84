/* template.h - the PodTemplateSpec of the workers
 *
 * Most of it is passed through to the cluster, which checks it. Here is what muster adds to, and so
 * has to know.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_TEMPLATE_H
#define MUSTER_TEMPLATE_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "err.h"

/* Take out all fields that are null: for Kubernetes they are not there. */
void template_drop_nulls(json_t *template);

int template_check(const json_t *template, struct error *err);

/* The container named "worker", else the first; borrowed. NULL if there is none. */
json_t *template_container(const json_t *template);

int64_t template_gpus(const json_t *template); /* at most JOB_SLOTS_MAX + 1 */

/* Does the training container mount something there? */
bool template_mounts(const json_t *template, const char *path);

/* Does it mount, there or above, a volume that other Pods can mount, too? */
bool template_shares(const json_t *template, const char *path);

#endif
