/* attach.c - muster attach: shows the output of a detached run, as if it had a terminal
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "commands/commands.h"

#include <unistd.h>

#include "exit_code.h"
#include "history/follow.h"
#include "history/history.h"
#include "log.h"

static struct past_run *choose(const struct history *list, const char *word,
                           struct error *err);
static bool         is_detached(const struct past_run *run);
static int          show(const struct past_run *run, int tail);

int command_attach(const struct options *options)
{
    struct history   list;
    struct past_run *run;
    struct error     err;
    int              status = EXIT_USAGE;

    if (history_read(&list, &err) < 0) {
        log_error("%s", err.text);
        history_clear(&list);
        return EXIT_CREATE;
    }
    run = choose(&list, options->run, &err);
    if (run != NULL)
        status = show(run, options->tail);
    else
        log_error("%s", err.text);
    if (run == NULL && options->run == NULL && list.count > 0)
        status_print_runs(&list, stderr);
    history_clear(&list);
    return status;
}

static struct past_run *choose(const struct history *list, const char *word, struct error *err)
{
    struct past_run *run;
    size_t           i;

    if (word == NULL) {
        for (i = 0; i < list->count; i++)
            if (list->run[i].state == PAST_RUN_ACTIVE && is_detached(&list->run[i]))
                return &list->run[i];
        err_set(err, "no active run was started with --detach; %s in %s%s",
                list->count > 0 ? "these runs are" : "there are none", list->dir,
                list->count > 0 ? ":" : "");
        return NULL;
    }
    run = history_find(list, word, err);
    if (run == NULL)
        return NULL;
    if (!is_detached(run))
        err_set(err, "%s was not started with --detach: its output went to its terminal", run->id);
    else if (run->state == PAST_RUN_ELSEWHERE)
        err_set(err, "%s was launched on %s: run muster attach there", run->id, past_run_host(run));
    else
        return run;
    return NULL;
}

static bool is_detached(const struct past_run *run)
{
    return json_is_true(past_run_launcher(run, "detached"));
}

static int show(const struct past_run *run, int tail)
{
    struct follow_terms terms = { .dir_fd = run->dir_fd, .tail = tail, .out_fd = STDOUT_FILENO,
                                 .started_fd = -1 };
    json_t             *result;
    int                 status = EXIT_LOST;

    switch (follow_run(&terms)) {
    case FOLLOW_INTERRUPTED:
        fprintf(stderr, "muster: %s is still running: muster attach or stop %s\n", run->id,
                run->id);
        return EXIT_INTERRUPTED;
    case FOLLOW_UNREAD:
        return EXIT_OUTPUT;
    default:
        break;
    }
    result = past_run_result(run->dir_fd);
    if (result != NULL)
        status = (int)json_integer_value(json_object_get(result, "exit_status"));
    else
        log_error("%s: muster itself died before it could report how the run ended; "
                  "its nodes clean up on their own",
                  run->id);
    json_decref(result);
    return status;
}
