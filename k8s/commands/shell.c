/* shell.c - muster k8s shell: a shell, or another command, in a Pod of a job
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <unistd.h>

#include "commands/kubectl.h"
#include "commands/subcommands.h"
#include "job/template.h"

static int find_running(const struct query *query, const struct job *job,
                        struct observed *observed, size_t *number, struct error *err);
static int add_words(const struct query *query, const struct job *job, struct observed *observed,
                     struct strlist *words, struct error *err);

int command_shell(const struct subcommand *self, char *const *argv)
{
    struct query query;
    int          status = query_begin(&query, self, argv, QUERY_INSTANCE, 1, SIZE_MAX);

    return status != 0 ? status : kubectl_become(&query, add_words);
}

/* Checks that the Pod runs, because kubectl's message for a Pod that does not run says nothing
 * about the job. */
static int find_running(const struct query *query, const struct job *job,
                        struct observed *observed, size_t *number, struct error *err)
{
    const struct observed_object *pod;

    if (query_pod(query, job, number, err) < 0 ||
        place_observe_pods(&query->place, job, observed, err) < 0)
        return -1;
    pod = &observed->object[*number];
    if (pod->exists && pod->phase == POD_RUNNING)
        return 0;
    return err_set(err,
                   "Pod %s is not running (%s); `muster k8s get %s` shows which Pods are; name "
                   "one with --instance",
                   object_name(job, *number).text,
                   pod->exists ? pod_phases[pod->phase] : "it does not exist", job->name);
}

static int add_words(const struct query *query, const struct job *job, struct observed *observed,
                     struct strlist *words, struct error *err)
{
    const json_t *container = template_container(job->template);
    size_t        number, i;

    if (find_running(query, job, observed, &number, err) < 0)
        return -1;
    strlist_add(words, "exec");
    strlist_add(words, "--stdin");
    if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
        strlist_add(words, "--tty");
    strlist_add(words, object_name(job, number).text);
    strlist_addf(words, "--container=%s", json_string_value(json_object_get(container, "name")));
    strlist_add(words, "--");
    if (query->names.count == 1)
        strlist_add(words, "/bin/sh");
    for (i = 1; i < query->names.count; i++)
        strlist_add(words, query->names.item[i]);
    return 0;
}
