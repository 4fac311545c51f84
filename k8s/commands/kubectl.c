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

static int become(struct query *query, const struct strlist *words);

int kubectl_become(struct query *query, kubectl_words *add_words)
{
    struct job      job = { 0 };
    struct observed observed = { 0 };
    struct strlist  words = { 0 };
    struct error    err;
    int             status = EXIT_UNREACHABLE, rc = query_find(query, &job, &observed, &err);

    if (rc == 0)
        rc = add_words(query, &job, &observed, &words, &err);
    observed_clear(&observed);
    job_clear(&job);
    if (rc == 0)
        status = become(query, &words);
    else {
        log_error("%s", err.text);
        query_end(query);
    }
    strlist_clear(&words);
    return status;
}

static int become(struct query *query, const struct strlist *words)
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
