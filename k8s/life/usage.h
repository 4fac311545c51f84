/* usage.h - the resources that a Pod uses, measured by metrics-server
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_USAGE_H
#define MUSTER_USAGE_H

#include <stdbool.h>

#include <jansson.h>

struct usage {
    double cores, bytes; /* of all containers of the Pod */
};

/* Reads a Pod's usage from a PodMetricsList. False: no such Pod, or no figures for it. */
bool usage_of_pod(struct usage *usage, const json_t *list, const char *pod);

#endif
