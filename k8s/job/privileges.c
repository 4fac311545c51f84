/* privileges.c - see privileges.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "job/privileges.h"

#include <string.h>

#include "job/template.h"

static bool can_lock(const struct job *job);

/* Apart from IPC_LOCK this is the securityContext that objects/pod.c sets by default. */
void privileges_add_rdma(struct job *job)
{
    json_t *container = template_container(job->template);

    json_object_set_new(
        container, "securityContext",
        job->as_root
            ? json_pack("{s{s[s]}}", "capabilities", "add", "IPC_LOCK")
            : json_pack("{sbsbs{s[s]s[s]}}", "allowPrivilegeEscalation", 0,
                        "readOnlyRootFilesystem", 1, "capabilities", "add", "IPC_LOCK", "drop",
                        "ALL"));
}

void privileges_drop_host(json_t *template)
{
    static const char *const names[] = { "hostNetwork", "hostIPC", "hostPID" };
    json_t                  *spec = json_object_get(template, "spec");
    size_t                   i;

    for (i = 0; i < sizeof names / sizeof names[0]; i++)
        json_object_del(spec, names[i]);
}

bool privileges_has_host_network(const json_t *template)
{
    return json_is_true(json_object_get(json_object_get(template, "spec"), "hostNetwork"));
}

void privileges_warn(struct job *job)
{
    const json_t *spec = json_object_get(job->template, "spec");

    if (job->as_root)
        strlist_addf(&job->warnings, "the Pods run as root: a rank that breaks out of its "
                                     "container is root on the node");
    if (privileges_has_host_network(job->template))
        strlist_addf(&job->warnings,
                     "hostNetwork: the workers use the network of their nodes, where no "
                     "NetworkPolicy protects their ports; a node can run only one of them, "
                     "because their sshd uses a fixed port");
    if (json_is_true(json_object_get(spec, "hostIPC")))
        strlist_addf(&job->warnings, "hostIPC: the workers share memory and semaphores with all "
                                     "processes of their nodes");
    if (can_lock(job) && !job->as_root)
        strlist_addf(&job->warnings, "IPC_LOCK does not help an ordinary user: the node's "
                                     "limit for locked memory applies; or write --run-as-root");
}

static bool can_lock(const struct job *job)
{
    const json_t *safe = json_object_get(template_container(job->template), "securityContext");
    const json_t *add = json_object_get(json_object_get(safe, "capabilities"), "add");
    const char   *one;
    size_t        i;

    for (i = 0; i < json_array_size(add); i++) {
        one = json_string_value(json_array_get(add, i));
        if (one != NULL && strcmp(one, "IPC_LOCK") == 0)
            return true;
    }
    return false;
}
