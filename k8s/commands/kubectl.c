/* kubectl.c - see kubectl.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "commands/kubectl.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "exit_code.h"
#include "log.h"

int kubectl_become(struct query *query, const struct strlist *words)
{
    struct strlist argv = { 0 };

    strlist_add(&argv, "kubectl");
    if (query->place.context != NULL)
        strlist_addf(&argv, "--context=%s", query->place.context);
    strlist_addf(&argv, "--namespace=%s", query->place.space);
    strlist_append(&argv, words);
    query_end(query);
    fflush(stdout);
    signal(SIGPIPE, SIG_DFL);
    execvp("kubectl", argv.item);
    log_error("kubectl: %s", strerror(errno));
    strlist_clear(&argv);
    return EXIT_UNREACHABLE;
}
