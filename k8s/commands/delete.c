/* delete.c - muster k8s delete: a job and all that it has in the cluster
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "commands/execute.h"
#include "commands/query.h"
#include "commands/subcommands.h"
#include "exit_code.h"
#include "log.h"
#include "objects/board.h"
#include "xalloc.h"

#define GONE_S (JOB_GRACE_S + 60) /* a Pod may use its grace period */
#define LOOK_S 0.5

static int delete_job(const struct query *query, const char *name);
static int wait_gone(const struct query *query, const struct job *job, struct observed *observed,
                     struct error *err);
static int count_board_pods(const struct query *query, const struct job *job, struct error *err);

int command_delete(const struct subcommand *self, char *const *argv)
{
    struct query query;
    size_t       i;
    int          status = query_begin(&query, self, argv, 0, 1, SIZE_MAX), one;

    if (status != 0)
        return status;
    for (i = 0; i < query.names.count; i++) {
        one = delete_job(&query, query.names.item[i]);
        status = status != 0 ? status : one;
    }
    query_end(&query);
    return status;
}

static int delete_job(const struct query *query, const char *name)
{
    struct job      job = { 0 };
    struct observed observed = { 0 };
    struct error    err;
    int             rc = place_find(&query->place, name, &job, &observed, &err);

    if (rc == 0)
        rc = err_set(&err, "there is no job %s in namespace %s; `muster k8s list` shows them", name,
                     query->place.space);
    if (rc > 0)
        rc = execute_delete(&query->place, &job, &observed, &err);
    if (rc == 0)
        rc = wait_gone(query, &job, &observed, &err);
    if (rc == 0)
        printf("deepspeedjob.muster.dev/%s deleted\n", name);
    else
        log_error("%s", err.text);
    observed_clear(&observed);
    job_clear(&job);
    return rc == 0 ? 0 : EXIT_UNREACHABLE;
}

/* Waits until the cluster has deleted what the anchor owns; Pods are the last. */
static int wait_gone(const struct query *query, const struct job *job, struct observed *observed,
                     struct error *err)
{
    int64_t until = clock_now_ns() + GONE_S * NS_PER_S;
    size_t  i, left, last = 0;
    int     rc;

    for (;;) {
        if (execute_observe(&query->place, job, observed, err) < 0)
            return -1;
        for (i = OBJECT_LAUNCHER_KEY, left = 0; i < observed->count; i++)
            if (observed->object[i].exists && observed->object[i].is_ours) {
                left++;
                last = i;
            }
        if (left == 0 && job_has_board(job)) {
            rc = count_board_pods(query, job, err);
            if (rc < 0)
                return -1;
            left = (size_t)rc;
            last = OBJECT_BOARD;
        }
        if (left == 0)
            return 0;
        if (clock_now_ns() > until)
            return err_set(err, "after %d s, %zu objects still exist: %s %s ...", GONE_S, left,
                           object_kinds[object_name(job, last).kind].name,
                           object_name(job, last).text);
        api_wait(query->place.api, LOOK_S, -1);
    }
}

/* Counts TensorBoard's Pods by their labels, because the Deployment chooses their names. */
static int count_board_pods(const struct query *query, const struct job *job, struct error *err)
{
    char   *all = place_path(&query->place, KIND_POD, NULL);
    char   *path = xasprintf("%s?labelSelector=" LABEL_JOB "%%3D%s," LABEL_ROLE "%%3D" BOARD_ROLE,
                             all, job->name);
    json_t *reply = NULL;
    int     status = api_request(query->place.api, "GET", path, NULL, &reply, err), count;

    count = (int)json_array_size(json_object_get(reply, "items"));
    json_decref(reply);
    free(all);
    free(path);
    return status < 0 ? -1 : count;
}
