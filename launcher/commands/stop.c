/* stop.c - muster stop: does what Ctrl-C would do
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "commands/commands.h"

#include <signal.h>
#include <string.h>

#include "exit_code.h"
#include "history/history.h"
#include "history/run_dir.h"
#include "log.h"
#include "node/node.h"
#include "runid.h"

#define SURE_S 10.0 /* added to the time that the launcher may take */

static int    stop_one(const struct past_run *run);
static int    not_over(const struct past_run *run);
static double end_s(const struct past_run *run);

int command_stop(const struct options *options)
{
    struct history   list;
    struct past_run *run;
    struct error     err;
    int              status = EXIT_CREATE;

    if (history_read(&list, &err) < 0)
        goto failed;
    status = EXIT_USAGE;
    run = stop_choose(&list, options, &err);
    if (run == NULL)
        goto failed;
    status = EXIT_INTERNAL;
    if (past_run_signal(run, SIGTERM, &err) < 0)
        goto failed;
    status = past_run_await(run, end_s(run)) ? 0 : not_over(run);
    if (status == 0)
        printf("%s has ended\n", run->id);
    history_clear(&list);
    return status;
failed:
    log_error("%s", err.text);
    if (options->run == NULL && list.count > 0)
        status_print_runs(&list, stderr);
    history_clear(&list);
    return status;
}

/* Without a word there must be only one active run, so that muster does not stop the wrong
 * one. */
struct past_run *stop_choose(const struct history *list, const struct options *options,
                             struct error *err)
{
    struct past_run *run = NULL;
    size_t           i, active = 0;

    if (options->run != NULL) {
        run = history_find(list, options->run, err);
        if (run == NULL || run->state != PAST_RUN_ELSEWHERE)
            return run;
        err_set(err, "%s was launched on %s: run muster %s there", run->id, past_run_host(run),
                command_name(options->command));
        return NULL;
    }
    for (i = 0; i < list->count; i++) {
        if (list->run[i].state != PAST_RUN_ACTIVE)
            continue;
        run = &list->run[i];
        active++;
    }
    if (active == 1)
        return run;
    err_set(err, "%s; %s in %s%s",
            active == 0 ? "no active run" : "more than one active run, name one",
            list->count > 0 ? "these runs are" : "there are none", list->dir,
            list->count > 0 ? ":" : "");
    return NULL;
}

int stop_namesakes(const char *name)
{
    struct history list;
    struct error   err;
    size_t         i;
    int            status = 0;

    if (history_read(&list, &err) < 0)
        log_warn("--replace: %s", err.text); /* the agents will find the run */
    for (i = 0; i < list.count && status == 0; i++)
        if (list.run[i].state == PAST_RUN_ACTIVE && list.run[i].id[RUNID_BARE] != '\0' &&
            strcmp(list.run[i].id + RUNID_BARE + 1, name) == 0)
            status = stop_one(&list.run[i]);
    history_clear(&list);
    return status;
}

static int stop_one(const struct past_run *run)
{
    struct error err;

    log_warn("--replace: stopping %s, launched by pid %d", run->id, (int)run->launcher);
    if (past_run_signal(run, SIGTERM, &err) < 0)
        log_warn("--replace: %s", err.text); /* the agents will find it */
    else if (!past_run_await(run, end_s(run)))
        return not_over(run);
    return 0;
}

static int not_over(const struct past_run *run)
{
    log_error("%s is still running; to kill it: muster stop %s", run->id, run->id);
    return EXIT_WAITED;
}

/* Returns how long the run's launcher may take to stop. */
static double end_s(const struct past_run *run)
{
    double grace_s = json_number_value(past_run_launcher(run, "grace_s"));

    return grace_s + NODE_STOP_S + SURE_S;
}
