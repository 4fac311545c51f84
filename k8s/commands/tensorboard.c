/* tensorboard.c - muster k8s tensorboard: the job's TensorBoard at a port of this machine
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "commands/kubectl.h"
#include "commands/subcommands.h"
#include "exit_code.h"
#include "log.h"
#include "objects/board.h"

int command_tensorboard(char *const *argv)
{
    struct query    query;
    struct job      job = { 0 };
    struct observed observed = { 0 };
    struct strlist  words = { 0 };
    struct error    err;
    int             status = query_begin(&query, argv, QUERY_PORT, 1, 1), rc;

    if (status != 0)
        return status;
    rc = query_find(&query, &job, &observed, &err);
    if (rc == 0 && !job_has_board(&job))
        rc = err_set(&err, "the job %s has no TensorBoard: it was submitted without --tensorboard",
                     job.name);
    if (rc == 0) {
        strlist_add(&words, "port-forward");
        strlist_addf(&words, "service/%s", object_name(&job, OBJECT_BOARD_SERVICE).text);
        strlist_addf(&words, "%" PRId64 ":%d", query.port, BOARD_PORT);
        printf("TensorBoard of job %s: http://localhost:%" PRId64 "/ until Ctrl-C\n", job.name,
               query.port);
    }
    observed_clear(&observed);
    job_clear(&job);
    if (rc == 0)
        status = kubectl_become(&query, &words);
    else {
        log_error("%s", err.text);
        status = EXIT_UNREACHABLE;
        query_end(&query);
    }
    strlist_clear(&words);
    return status;
}
