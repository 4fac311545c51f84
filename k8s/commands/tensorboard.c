/* tensorboard.c - muster k8s tensorboard: the job's TensorBoard at a port of this machine
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "commands/kubectl.h"
#include "commands/subcommands.h"
#include "objects/board.h"

static int add_words(const struct query *query, const struct job *job, struct observed *observed,
                     struct strlist *words, struct error *err);

int command_tensorboard(const struct subcommand *self, char *const *argv)
{
    struct query query;
    int          status = query_begin(&query, self, argv, QUERY_PORT, 1, 1);

    return status != 0 ? status : kubectl_become(&query, add_words);
}

static int add_words(const struct query *query, const struct job *job, struct observed *observed,
                     struct strlist *words, struct error *err)
{
    (void)observed;
    if (!job_has_board(job))
        return err_set(err, "the job %s has no TensorBoard: it was submitted without --tensorboard",
                       job->name);
    strlist_add(words, "port-forward");
    strlist_addf(words, "service/%s", object_name(job, OBJECT_BOARD_SERVICE).text);
    strlist_addf(words, "%" PRId64 ":%d", query->port, BOARD_PORT);
    printf("TensorBoard of job %s: http://localhost:%" PRId64 "/ until Ctrl-C\n", job->name,
           query->port);
    return 0;
}
