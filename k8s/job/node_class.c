/* node_class.c - see node_class.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "job/node_class.h"

#include <stddef.h>
#include <string.h>

#define SPOT      "spot"
#define ON_DEMAND "on-demand"

/* The labels of Karpenter, EKS, GKE and AKS. */
static const struct {
    const char *label, *value, *class;
} known[] = {
    { "karpenter.sh/capacity-type", "spot", SPOT },
    { "karpenter.sh/capacity-type", "on-demand", ON_DEMAND },
    { "eks.amazonaws.com/capacityType", "SPOT", SPOT },
    { "eks.amazonaws.com/capacityType", "ON_DEMAND", ON_DEMAND },
    { "cloud.google.com/gke-provisioning", "spot", SPOT },
    { "cloud.google.com/gke-provisioning", "preemptible", SPOT },
    { "cloud.google.com/gke-provisioning", "standard", ON_DEMAND },
    { "cloud.google.com/gke-spot", "true", SPOT },
    { "cloud.google.com/gke-preemptible", "true", SPOT },
    { "kubernetes.azure.com/scalesetpriority", "spot", SPOT },
    { "kubernetes.azure.com/scalesetpriority", "regular", ON_DEMAND },
};

static const char *class_of(const char *label, const char *value);
static const char *class_of_term(const json_t *term);
static const char *class_of_values(const char *label, const json_t *values);

/* A node must match both the selector and the affinity, so the selector alone decides if it
 * names a class. A node must match any one term of the affinity, so all terms must agree. */
const char *node_class(const json_t *template)
{
    json_t       *spec = json_object_get(template, "spec"), *value;
    json_t       *selector = json_object_get(spec, "nodeSelector");
    const json_t *affinity = json_object_get(json_object_get(spec, "affinity"), "nodeAffinity");
    const json_t *required =
        json_object_get(affinity, "requiredDuringSchedulingIgnoredDuringExecution");
    const json_t *terms = json_object_get(required, "nodeSelectorTerms");
    const char   *label, *class = NULL, *one;
    size_t        i;

    json_object_foreach(selector, label, value)
        if ((one = class_of(label, json_string_value(value))) != NULL)
            return one;
    for (i = 0; i < json_array_size(terms); i++) {
        one = class_of_term(json_array_get(terms, i));
        if (one == NULL || (class != NULL && strcmp(class, one) != 0))
            return NULL;
        class = one;
    }
    return class;
}

const char *node_class_of_labels(const json_t *labels)
{
    const char *class = NULL;
    size_t      i;

    for (i = 0; class == NULL && i < sizeof known / sizeof known[0]; i++)
        class = class_of(known[i].label,
                         json_string_value(json_object_get(labels, known[i].label)));
    return class;
}

static const char *class_of(const char *label, const char *value)
{
    size_t i;

    for (i = 0; label != NULL && value != NULL && i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i].label, label) == 0 && strcmp(known[i].value, value) == 0)
            return known[i].class;
    return NULL;
}

/* All expressions of a term must hold, so one that names a class is enough. */
static const char *class_of_term(const json_t *term)
{
    const json_t *list = json_object_get(term, "matchExpressions"), *one;
    const char   *operator, *class = NULL;
    size_t        i;

    for (i = 0; i < json_array_size(list) && class == NULL; i++) {
        one = json_array_get(list, i);
        operator= json_string_value(json_object_get(one, "operator"));
        if (operator!= NULL && strcmp(operator, "In") == 0)
            class = class_of_values(json_string_value(json_object_get(one, "key")),
                                    json_object_get(one, "values"));
    }
    return class;
}

/* A node must have any one of the values, so all must agree. */
static const char *class_of_values(const char *label, const json_t *values)
{
    const char *class = NULL, *one;
    size_t      i;

    for (i = 0; i < json_array_size(values); i++) {
        one = class_of(label, json_string_value(json_array_get(values, i)));
        if (one == NULL || (class != NULL && strcmp(class, one) != 0))
            return NULL;
        class = one;
    }
    return class;
}
