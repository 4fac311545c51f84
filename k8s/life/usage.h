/* usage.h - what metrics-server says of a Pod
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_USAGE_H
#define MUSTER_USAGE_H

#include <stdbool.h>

#include <jansson.h>

struct usage {
    double cores, bytes; /* of all its containers */
};

/* From a PodMetricsList. False: it does not have that Pod, or no figures of it. */
bool usage_of_pod(struct usage *usage, const json_t *list, const char *pod);

#endif
