/* nodes.c - see nodes.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "life/nodes.h"

#include <stdlib.h>
#include <string.h>

#include "job/node_class.h"
#include "objects/objects.h"
#include "xalloc.h"

static bool is_node(const json_t *text, const char *node);

bool nodes_are_due(const struct job *job, const struct observed *observed)
{
    const struct observed_object *hosts = &observed->object[OBJECT_HOSTS], *pod;
    int64_t                       count = nodes_workers(job, observed), i;
    bool                          is_new = false;

    if (!observed->sees_nodes || !hosts->exists || !hosts->is_ours || job->is_paused ||
        node_class(job->template) != NULL)
        return false;
    for (i = 0; i < count; i++) {
        pod = &observed->object[OBJECT_WORKERS + (size_t)i];
        if (!pod->exists || pod->node[0] == '\0')
            return false; /* write once for all workers, not once for each */
        is_new |= !is_node(json_array_get(observed->nodes, (size_t)i), pod->node);
    }
    return is_new;
}

static bool is_node(const json_t *text, const char *node)
{
    const char *known = json_string_value(text);
    size_t      length = strlen(node);

    return known != NULL && strncmp(known, node, length) == 0 &&
           (known[length] == '\0' || known[length] == ' ');
}

json_t *nodes_list(const struct job *job, const struct observed *observed, const json_t *classes)
{
    json_t     *list = json_array();
    int64_t     count = nodes_workers(job, observed), i;
    const char *node, *class;
    char       *text;

    for (i = 0; i < count; i++) {
        node = observed->object[OBJECT_WORKERS + (size_t)i].node;
        class = json_string_value(json_object_get(classes, node));
        if (class == NULL)
            class = "";
        text = xasprintf("%s%s%s", node, class[0] != '\0' ? " " : "", class);
        json_array_append_new(list, json_string(text));
        free(text);
    }
    return list;
}

int64_t nodes_workers(const struct job *job, const struct observed *observed)
{
    int64_t hosts = observed->object[OBJECT_HOSTS].hosts;

    return job_is_elastic(job) && hosts > 0 && hosts < job->workers ? hosts : job->workers;
}
