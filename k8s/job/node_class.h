/* node_class.h - do Pods ask for spot or for on-demand nodes?
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_NODE_CLASS_H
#define MUSTER_NODE_CLASS_H

#include <jansson.h>

/* Returns "spot" or "on-demand", as in class= of a hostfile, if the template's nodeSelector or
 * required nodeAffinity has one of the clouds' labels for it; NULL: unknown, or both. */
const char *node_class(const json_t *template);

/* Returns the same from the labels of a node; NULL: unknown. */
const char *node_class_of_labels(const json_t *labels);

#endif
