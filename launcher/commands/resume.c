/* resume.c - muster resume: continues a run whose launcher was killed
 *
 * It starts the next generation of the same run, under its id and in its directory, with the
 * options, the command and the working directory that are kept there. The environment is that
 * of muster resume itself: the directory does not keep it, since values may be secrets.
 *
 * It never resumes a run that still lives: a launcher holds a lock as long as it lives
 * (run_dir.h), and every node must report that nothing of the run is left, or must have had the
 * time to end it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "commands/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands/remains.h"
#include "exit_code.h"
#include "history/resume_line.h"
#include "history/run_dir.h"
#include "log.h"
#include "xalloc.h"

static int  check_state(const struct past_run *run, struct error *err);
static int  read_again(const struct past_run *run, struct options *again, int *status,
                       struct error *err);
static int  check_variables(const struct past_run *run, const struct options *again,
                            struct error *err);
static int  words_of(const json_t *list, struct strlist *words);
static int  next_generation(const struct past_run *run, const json_t *now);

int command_resume(const struct options *options, struct options *again)
{
    struct history   list;
    struct past_run *run = NULL;
    struct error     err;
    json_t          *now;
    int              status = EXIT_CREATE;

    if (history_read(&list, &err) < 0)
        goto failed;
    status = EXIT_USAGE;
    if (options->run == NULL)
        err_set(&err, "muster resume needs the id or name of a run; muster status lists them");
    else
        run = history_find_over(&list, options->run, &err);
    if (run == NULL || check_state(run, &err) < 0 || read_again(run, again, &status, &err) < 0)
        goto failed;
    if (check_variables(run, again, &err) < 0) {
        status = EXIT_USAGE;
        goto failed;
    }
    again->resumed = xstrdup(run->id);
    now = run_dir_read(run->dir_fd, "status.json");
    again->first_generation = next_generation(run, now);
    again->last_world = json_incref(json_object_get(run->result != NULL ? run->result : now,
                                                    "world"));
    status = remains_await(again, run->id, run->plan,
                           json_object_get(run->result != NULL ? run->result : now,
                                           run->result != NULL ? "results" : "ranks"));
    json_decref(now);
    if (status == 0) {
        log_note("restarting %s: generation %d", run->id, again->first_generation);
        status = -1;
    }
    history_clear(&list);
    return status;
failed:
    log_error("%s", err.text);
    history_clear(&list);
    return status;
}

static int check_state(const struct past_run *run, struct error *err)
{
    switch (run->state) {
    case PAST_RUN_ACTIVE:
        return err_set(err, "%s is running, launched by pid %d; muster attach shows it", run->id,
                       (int)run->launcher);
    case PAST_RUN_ELSEWHERE:
        return err_set(err,
                       "%s was launched on %s, and only that machine knows whether it still "
                       "runs: run muster resume there",
                       run->id, past_run_host(run));
    case PAST_RUN_ENDED:
        if (json_integer_value(json_object_get(run->result, "exit_status")) == 0)
            return err_set(err, "%s has ended with exit status 0: there is nothing to resume",
                           run->id);
        break;
    case PAST_RUN_DIED:
        break;
    }
    return 0;
}

/* Reads the run's options from its directory. */
static int read_again(const struct past_run *run, struct options *again, int *status,
                      struct error *err)
{
    const char    *cwd = json_string_value(past_run_launcher(run, "cwd"));
    const char    *script = json_string_value(past_run_launcher(run, "script"));
    bool           has_roles = json_object_get(run->plan, "roles") != NULL;
    struct strlist words = { 0 };
    struct error   why;
    int            rc = 0;

    *status = EXIT_DATA;
    strlist_add(&words, "muster");
    strlist_add(&words, "run");
    if (cwd == NULL || (script == NULL && !has_roles) ||
        words_of(past_run_launcher(run, "options"), &words) < 0)
        rc = err_set(err,
                     "%s: its directory does not record how it was started; start a new run",
                     run->id);
    if (rc == 0 && !has_roles) {
        strlist_add(&words, "--");
        strlist_add(&words, script);
    }
    if (rc == 0 && words_of(past_run_launcher(run, "args"), &words) < 0)
        rc = err_set(err, "%s: its arguments are not UTF-8 and were not kept; start a new run",
                     run->id);
    if (rc == 0 && chdir(cwd) < 0)
        rc = err_set(err, "%s was started in %s: %s", run->id, cwd, strerror(errno));
    if (rc == 0 && options_parse(again, (int)words.count, words.item, status, &why) != OPTIONS_RUN)
        rc = err_set(err, "%s: %s", run->id, why.text);
    else if (rc == 0 && strcmp(again->hostfile, "-") == 0)
        rc = err_set(err, "%s: its hostfile was standard input, which is gone; start a new run",
                     run->id);
    strlist_clear(&words);
    return rc;
}

/* Are the values here that the ranks need, and the directory does not have? */
static int check_variables(const struct past_run *run, const struct options *again,
                           struct error *err)
{
    struct strlist names = { 0 };
    char          *lacks, *line;
    int            rc = 0;

    resume_line_variables(again, &names);
    lacks = resume_line_lacks(&names);
    line = resume_line(run->id, &names);
    if (lacks != NULL)
        rc = err_set(err,
                     "%s: muster has not recorded the values of --env, and this environment "
                     "lacks %.400s; type: %.800s",
                     run->id, lacks, line);
    strlist_clear(&names);
    free(line);
    free(lacks);
    return rc;
}

static int words_of(const json_t *list, struct strlist *words)
{
    const json_t *word;
    size_t        i;

    if (!json_is_array(list))
        return -1;
    json_array_foreach(list, i, word) {
        if (!json_is_string(word))
            return -1;
        strlist_add(words, json_string_value(word));
    }
    return 0;
}

/* Returns the number after the last known generation, whether or not that one started any
 * rank. */
static int next_generation(const struct past_run *run, const json_t *now)
{
    json_int_t last = json_integer_value(json_object_get(run->result, "generation"));
    json_int_t other = json_integer_value(json_object_get(now, "generation"));

    last = other > last ? other : last;
    return last < 0 || last >= RUN_DIR_GENERATIONS ? RUN_DIR_GENERATIONS : (int)last + 1;
}
