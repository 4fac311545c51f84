/* node_class.h - are the nodes that Pods ask for spot or on-demand ones?
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_NODE_CLASS_H
#define MUSTER_NODE_CLASS_H

#include <jansson.h>

/* "spot" or "on-demand", as class= of a hostfile has it, if the template's nodeSelector or its
 * required nodeAffinity has one of the labels by which clouds tell; NULL: they do not say, or leave
 * both open. */
const char *node_class(const json_t *template);

/* The same, by the labels of a node; NULL: they do not say. */
const char *node_class_of_labels(const json_t *labels);

#endif
