/* status.c - muster status: shows all runs of the history, or each rank of one
 *
 *     RUN                   SINCE             STATE    NODES  RANKS  COMMAND
 *     20261120-103000-c3d4  2026-11-20 10:30  running  2      16     python3 train.py
 *     20261120-073000-a1b2  2026-11-20 07:30  ended 1  2      16     python3 train.py
 *
 *     RANK  NODE  PID   STATE    SILENT  STEP
 *     0     te1   4711  running  2 s     120, 5 s ago
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "commands/commands.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "buffer.h"
#include "clock.h"
#include "commands/suspect_hosts.h"
#include "commands/status_page.h"
#include "commands/status_text.h"
#include "commands/table.h"
#include "elastic/cost.h"
#include "exit_code.h"
#include "history/history.h"
#include "history/resume_line.h"
#include "history/run_dir.h"
#include "log.h"
#include "output/json_file.h"
#include "sanitize.h"
#include "xalloc.h"

static int     status_of_all(const struct history *list, const char *json);
static int     status_of_one(const struct past_run *run, const char *json);
static int     cost_of_one(const struct past_run *run, const char *json);
static int     page_of_one(const struct past_run *run, const char *path);
static json_t *json_of_ranks(const struct past_run *run);
static void    add_generation(const struct past_run *run, json_t *about);
static void    add_resume(const struct past_run *run, json_t *about);
static json_t *json_of_checkpoints(const json_t *now);
static json_t *silent_s_of(const json_t *rank, bool is_active);
static json_t *age_s_of(const json_t *at_ns);
static char   *short_command(const json_t *run);
static json_t *json_of_run(const struct past_run *run);
static json_t *present_number(const struct past_run *run, const json_t *now, const char *key);
static char   *state_words(const struct past_run *run);
static json_t *command_of(const struct past_run *run);

int command_status(const struct options *options)
{
    struct history         list;
    const struct past_run *run;
    struct error           err;
    int                    status;

    if (history_read(&list, &err) < 0) {
        log_error("%s", err.text);
        history_clear(&list);
        return EXIT_CREATE;
    }
    if (options->run == NULL && options->html != NULL) {
        log_error("--html: which run? muster status shows them");
        status = EXIT_USAGE;
    } else if (options->run == NULL) {
        status = status_of_all(&list, options->json);
    } else if ((run = history_find(&list, options->run, &err)) != NULL) {
        status = options->html != NULL ? page_of_one(run, options->html)
                 : options->cost       ? cost_of_one(run, options->json)
                                       : status_of_one(run, options->json);
    } else {
        log_error("%s", err.text);
        status = EXIT_USAGE;
    }
    history_clear(&list);
    return status;
}

static int status_of_all(const struct history *list, const char *json)
{
    json_t *runs;
    size_t  i;

    if (json == NULL || strcmp(json, "-") != 0)
        status_print_runs(list, stdout);
    if (json == NULL || strcmp(json, "-") != 0)
        suspect_hosts_print(stdout);
    if (json == NULL)
        return 0;
    runs = json_array();
    for (i = 0; i < list->count; i++)
        json_array_append_new(runs, json_of_run(&list->run[i]));
    return json_file_write(json, json_pack("{s:o}", "runs", runs)) < 0 ? EXIT_CREATE : 0;
}

static int status_of_one(const struct past_run *run, const char *json)
{
    json_t *about;

    if (run->state == PAST_RUN_ACTIVE)
        past_run_refresh(run);
    about = json_of_run(run);
    json_object_set_new(about, "ranks", json_of_ranks(run));
    add_generation(run, about);
    add_resume(run, about);
    if (json == NULL || strcmp(json, "-") != 0)
        status_print_run(about, stdout);
    if (json != NULL)
        return json_file_write(json, about) < 0 ? EXIT_CREATE : 0;
    json_decref(about);
    return 0;
}

static int page_of_one(const struct past_run *run, const char *path)
{
    struct error err;

    if (run->state == PAST_RUN_ACTIVE)
        past_run_refresh(run);
    if (status_page_write(run, path, &err) == 0)
        return 0;
    log_error("%s: %s", run->id, err.text);
    return EXIT_CREATE;
}

/* Shows the cost until now, until muster died, or until the end of the run. */
static int cost_of_one(const struct past_run *run, const char *json)
{
    struct cost  cost;
    struct error err;
    char        *state = state_words(run);
    json_t      *now, *body;
    int          rc;

    if (run->state == PAST_RUN_ACTIVE)
        past_run_refresh(run);
    now = run->result == NULL ? run_dir_read(run->dir_fd, "status.json") : NULL;
    rc = cost_from_json(&cost, json_object_get(run->result != NULL ? run->result : now, "cost"),
                        run->state == PAST_RUN_DIED, &err);
    json_decref(now);
    if (rc < 0) {
        log_error("%s: %s", run->id, err.text);
    } else if (json != NULL) {
        body = json_pack("{s:s, s:s, s:o}", "run_id", run->id, "state", state, "cost",
                         cost_json(&cost));
        rc = json_file_write(json, body) < 0 ? EXIT_CREATE : 0;
    }
    if (rc == 0 && (json == NULL || strcmp(json, "-") != 0)) {
        printf("%s: %s\n", run->id, state);
        cost_print(&cost, stdout);
    }
    if (rc >= 0)
        cost_clear(&cost);
    free(state);
    return rc < 0 ? EXIT_DATA : rc;
}

/* Returns the ranks as they are now, as they were when muster died, or as they ended. */
static json_t *json_of_ranks(const struct past_run *run)
{
    json_t       *ranks = json_array();
    json_t       *now = run->result == NULL ? run_dir_read(run->dir_fd, "status.json") : NULL;
    bool          is_active = run->state == PAST_RUN_ACTIVE && run->result == NULL;
    const char   *state_key = run->result != NULL ? "text" : "state";
    const json_t *rank;
    size_t        i;

    json_array_foreach(run->result != NULL ? json_object_get(run->result, "results")
                                           : json_object_get(now, "ranks"),
                       i, rank)
        json_array_append_new(
            ranks,
            json_pack("{s:O*, s:O?, s:O?, s:O?, s:O?, s:o, s:O*, s:O*, s:o*}", "role",
                      json_object_get(rank, "role"), "rank", json_object_get(rank, "rank"),
                      "node", json_object_get(rank, "node"), "pid",
                      json_object_get(rank, "pid"), "state", json_object_get(rank, state_key),
                      "silent_s", silent_s_of(rank, is_active), "step",
                      json_object_get(rank, "step"), "step_form",
                      json_object_get(rank, "step_form"), "step_age_s",
                      is_active ? age_s_of(json_object_get(rank, "step_ns")) : NULL));
    json_decref(now);
    return ranks;
}

/* Adds the number of the present or last generation, and what is known now: of the steps, and where
 * metrics are. */
static void add_generation(const struct past_run *run, json_t *about)
{
    json_t       *now = run->result == NULL ? run_dir_read(run->dir_fd, "status.json") : NULL;
    const json_t *from = run->result != NULL ? run->result : now;
    json_t       *generation = json_object_get(from, "generation");
    json_t       *most = json_object_get(run->plan, "max_restarts");

    json_object_set_new(about, "generation",
                        generation != NULL ? json_incref(generation) : json_null());
    json_object_set_new(about, "max_restarts", most != NULL ? json_incref(most) : json_null());
    if (json_is_object(json_object_get(now, "steps")) && run->state == PAST_RUN_ACTIVE)
        json_object_set(about, "steps", json_object_get(now, "steps"));
    if (json_is_string(json_object_get(now, "metrics")) && run->state == PAST_RUN_ACTIVE)
        json_object_set(about, "metrics", json_object_get(now, "metrics"));
    if (json_is_array(json_object_get(from, "slow")))
        json_object_set(about, "slow", json_object_get(from, "slow"));
    if (run->state == PAST_RUN_ACTIVE && run->result == NULL) {
        json_object_set_new(about, "checkpoints", json_of_checkpoints(now));
        json_object_set(about, "collectives", json_object_get(now, "collectives"));
        json_object_set(about, "waits", json_object_get(now, "waits"));
    }
    json_decref(now);
}

/* Those of status.json, with their age in place of their time. */
static json_t *json_of_checkpoints(const json_t *now)
{
    json_t       *list = json_array(), *copy;
    const json_t *one;
    size_t        i;

    json_array_foreach(json_object_get(now, "checkpoints"), i, one) {
        copy = json_copy((json_t *)one);
        json_object_set_new(copy, "age_s", age_s_of(json_object_get(one, "at_ns")));
        json_object_del(copy, "at_ns");
        json_array_append_new(list, copy);
    }
    return list;
}

/* Adds the line that starts the run again; null if muster resume would refuse it. */
static void add_resume(const struct past_run *run, json_t *about)
{
    const json_t  *variables = past_run_launcher(run, "variables"), *name;
    bool           is_over = run->state == PAST_RUN_DIED ||
                   (run->state == PAST_RUN_ENDED &&
                    json_integer_value(json_object_get(run->result, "exit_status")) != 0);
    struct strlist names = { 0 };
    char          *line;
    size_t         i;

    if (!is_over || !json_is_array(variables) || !json_is_array(past_run_launcher(run, "args")) ||
        !json_is_array(past_run_launcher(run, "options"))) {
        json_object_set_new(about, "resume", json_null());
        return;
    }
    json_array_foreach(variables, i, name)
        if (json_is_string(name))
            strlist_add(&names, json_string_value(name));
    line = resume_line(run->id, &names);
    json_object_set_new(about, "resume", json_text(line, strlen(line)));
    strlist_clear(&names);
    free(line);
}

/* Returns the seconds since the rank's last byte, or since its start, while it runs. */
static json_t *silent_s_of(const json_t *rank, bool is_active)
{
    json_int_t said_ns = json_integer_value(json_object_get(rank, "said_ns"));
    json_int_t started_ns = json_integer_value(json_object_get(rank, "started_ns"));
    int64_t    since_ns = said_ns > started_ns ? said_ns : started_ns;

    if (!is_active || since_ns <= 0)
        return json_null();
    return json_real((double)(clock_now_ns() - since_ns) / NS_PER_S);
}

/* Returns the seconds since that time of clock_now_ns(); NULL: there is none. */
static json_t *age_s_of(const json_t *at_ns)
{
    return at_ns != NULL
               ? json_real((double)(clock_now_ns() - json_integer_value(at_ns)) / NS_PER_S)
               : NULL;
}

/* --- for the user, made from the JSON ------------------------------------------- */

void status_print_runs(const struct history *list, FILE *out)
{
    static const char *const heads[] = { "RUN", "SINCE", "STATE", "NODES", "RANKS", "COMMAND" };
    struct table             table = { .columns = 6 };
    size_t                   i;

    if (list->count == 0) {
        fprintf(out, "there are no runs in %s\n", list->dir);
        return;
    }
    table_head(&table, heads);
    for (i = 0; i < list->count; i++) {
        json_t *run = json_of_run(&list->run[i]);
        char  **row = table_add(&table);

        row[0] = status_text_of(run, "run_id");
        row[1] = status_since(run);
        row[2] = status_text_of(run, "state");
        row[3] = status_text_of(run, "nodes");
        row[4] = status_text_of(run, "world_size");
        row[5] = short_command(run);
        json_decref(run);
    }
    table_print(&table, out);
    table_clear(&table);
}

/* Returns the part of the command that distinguishes runs, since the column is narrow: a Python
 * script without its Python, a program without its directory. */
static char *short_command(const json_t *run)
{
    const char *words = json_string_value(json_object_get(run, "command"));
    size_t      program = words != NULL && words[0] == '/' ? strcspn(words, " ") : 0;

    while (program > 0 && words[program - 1] != '/')
        program--;
    if (words != NULL && strncmp(words + program, "python", 6) == 0 &&
        strstr(words, " -u ") != NULL)
        program = (size_t)(strstr(words, " -u ") - words) + strlen(" -u ");
    return table_text(words != NULL ? words + program : "-");
}

static json_t *json_of_run(const struct past_run *run)
{
    const json_t *start = past_run_launcher(run, "start");
    char         *state = state_words(run);
    json_t       *now = run_dir_read(run->dir_fd, "status.json");
    bool          has_pid = run->state == PAST_RUN_ACTIVE && run->launcher > 0;
    json_t       *about = json_pack(
        "{s:s, s:s, s:o, s:O?, s:s, s:o, s:O?, s:o, s:o, s:o}", "run_id", run->id, "state", state,
        "exit_status", run->state == PAST_RUN_ENDED
                           ? json_incref(json_object_get(run->result, "exit_status"))
                                           : json_null(),
        "start", start, "host", past_run_host(run), "pid",
        has_pid ? json_integer(run->launcher) : json_null(), "detached",
        past_run_launcher(run, "detached"), "nodes", present_number(run, now, "node_count"),
        "world_size", present_number(run, now, "world_size"), "command", command_of(run));

    json_decref(now);
    free(state);
    if (about == NULL)
        xalloc_die();
    return about;
}

/* The plan in the directory is that of the first generation; a later one may have other nodes.
 * A launcher that has just begun has not written now. */
static json_t *present_number(const struct past_run *run, const json_t *now, const char *key)
{
    json_t *number = json_object_get(run->result != NULL ? run->result : now, key);

    if (number == NULL)
        number = json_object_get(run->plan, key);
    return number != NULL ? json_incref(number) : json_null();
}

/* Returns the state in words; "starting" before the first heartbeat. */
static char *state_words(const struct past_run *run)
{
    json_t     *now;
    const char *phase;
    char       *words;

    switch (run->state) {
    case PAST_RUN_ENDED:
        return xasprintf("ended %lld", (long long)json_integer_value(
                                           json_object_get(run->result, "exit_status")));
    case PAST_RUN_DIED:
        return xstrdup("died");
    case PAST_RUN_ELSEWHERE:
        return xasprintf("on %s", past_run_host(run));
    case PAST_RUN_ACTIVE:
        break;
    }
    now = run_dir_read(run->dir_fd, "status.json");
    phase = json_string_value(json_object_get(now, "state"));
    words = xstrdup(phase != NULL ? phase : "starting");
    json_decref(now);
    return words;
}

static json_t *command_of(const struct past_run *run)
{
    const json_t *words = json_object_get(run->plan, "roles") != NULL
                              ? past_run_launcher(run, "args") /* what each role runs */
                              : json_object_get(run->plan, "command");
    struct buffer text = { 0 };
    const json_t *word;
    json_t       *made;
    size_t        i;

    json_array_foreach(words, i, word) {
        if (i > 0)
            buffer_add_text(&text, " ");
        if (json_is_string(word))
            buffer_add_text(&text, json_string_value(word));
    }
    buffer_add(&text, "", 1);
    made = json_string(text.bytes);
    buffer_clear(&text);
    return made;
}
