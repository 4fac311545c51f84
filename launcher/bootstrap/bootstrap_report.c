/* bootstrap_report.c - reports the result of muster bootstrap; nodes with the same line share
 * it
 *
 *     te[1-4]  hosts: /etc/hosts: change it (every node needs the same address for each name)
 *     te2      data: failed: no disk here has the label 'data'
 *              attach the disk, or correct [data] in bootstrap.conf
 *     te[1,3-4]: 9 changes; muster bootstrap --apply makes them
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bootstrap/bootstrap_job.h"
#include "bootstrap/new_hostfile.h"

#include <stdlib.h>
#include <string.h>

#include "exit_code.h"
#include "outcome/group.h"
#include "run/run.h"
#include "sanitize.h"
#include "xalloc.h"

/* The rows to print, and the result of each node. */
struct told {
    struct groups rows, failures, ends;
    bool          has_failed;
};

static void tell_here(const struct bootstrap *bootstrap, bool is_json, FILE *out, FILE *err);
static void tell_node(const struct run *run, size_t node, struct told *told);
static void tell_line(const json_t *line, int node, struct told *told, int *changes, int *later,
                      bool *has_failed);
static void tell_end(const struct bootstrap *bootstrap, int node, struct told *told, int changes,
                     int later, bool has_failed);
static const char *ended_badly(const struct node_task_end *end, bool has_said_why);
static void add(struct groups *groups, int node, char *text);
static void print(const struct groups *groups, const struct run *run, const char *between,
                  FILE *out);
static const char *text_of(const json_t *line, const char *key);

int bootstrap_report(const struct run *run, int status, FILE *out, FILE *err)
{
    struct told  told = { .has_failed = false };
    struct error why;
    const char  *json = run->options->json;
    bool         is_json = json != NULL && strcmp(json, "-") == 0;
    size_t       n;

    tell_here(run->job_data, is_json, out, err);
    if (((struct bootstrap *)run->job_data)->own_key.state == OWN_KEY_FAILED)
        return status != 0 ? status : EXIT_CREATE;
    for (n = 0; n < run->plan->nodes; n++)
        if (run->outcome.node[n] == NULL)
            tell_node(run, n, &told);
    if (!is_json) {
        print(&told.rows, run, "  ", out);
        fflush(out);
        print(&told.failures, run, "  ", err);
        print(&told.ends, run, ": ", out);
    }
    if (status == 0 && !told.has_failed && run->options->names != NULL && run->options->apply &&
        new_hostfile_write(run, json == NULL ? out : err, &why) < 0) {
        fprintf(err, "muster: %s\n", why.text);
        status = EXIT_CREATE;
    }
    groups_clear(&told.rows);
    groups_clear(&told.failures);
    groups_clear(&told.ends);
    return status != 0 ? status : told.has_failed ? BOOTSTRAP_EXIT_STEP : 0;
}

/* What was done on this machine. */
static void tell_here(const struct bootstrap *bootstrap, bool is_json, FILE *out, FILE *err)
{
    json_t      *line = own_key_line(&bootstrap->own_key);
    struct told  told = { .has_failed = false };
    int          changes = 0, later = 0;

    if (line != NULL && !is_json) {
        tell_line(line, 0, &told, &changes, &later, &told.has_failed);
        print(&told.rows, NULL, "  ", out);
        fflush(out);
        print(&told.failures, NULL, "  ", err);
    }
    groups_clear(&told.rows);
    groups_clear(&told.failures);
    json_decref(line);
}

static void tell_node(const struct run *run, size_t node, struct told *told)
{
    const struct bootstrap     *bootstrap = run->job_data;
    const struct node_task_end *end;
    const json_t               *line;
    const char                 *why;
    size_t                      i;
    int                         changes = 0, later = 0, round;
    bool                        has_failed = false;

    for (round = 0; round < BOOTSTRAP_ROUNDS; round++) {
        end = node_task_ended(bootstrap->task, node, round);
        json_array_foreach(node_task_lines(bootstrap->task, node, round), i, line)
            tell_line(line, (int)node, told, &changes, &later, &has_failed);
        why = end->has_ended ? ended_badly(end, has_failed) : NULL;
        if (why != NULL) {
            has_failed = true;
            add(&told->failures, (int)node, xstrdup(why));
        }
    }
    tell_end(bootstrap, (int)node, told, changes, later, has_failed);
    told->has_failed = told->has_failed || has_failed;
}

static void tell_line(const json_t *line, int node, struct told *told, int *changes, int *later,
                      bool *has_failed)
{
    const char   *step = text_of(line, "step"), *fix = text_of(line, "fix");
    const json_t *change, *note;
    size_t        i;

    if (text_of(line, "progress")[0] != '\0')
        return;
    json_array_foreach(json_object_get(line, "changes"), i, change) {
        add(&told->rows, node, xasprintf("%s: %s (%s)", step, text_of(change, "what"),
                                         text_of(change, "why")));
        (*changes)++;
    }
    json_array_foreach(json_object_get(line, "notes"), i, note)
        add(&told->rows, node, xasprintf("%s: note: %s", step, json_string_value(note) != NULL
                                                                  ? json_string_value(note) : ""));
    if (strcmp(text_of(line, "state"), "later") == 0)
        (*later)++;
    if (text_of(line, "error")[0] == '\0')
        return;
    *has_failed = true;
    add(&told->failures, node,
        xasprintf("%s%sfailed: %s%s%s", step, step[0] != '\0' ? ": " : "", text_of(line, "error"),
                  fix[0] != '\0' ? "\n      " : "", fix));
}

static void tell_end(const struct bootstrap *bootstrap, int node, struct told *told, int changes,
                     int later, bool has_failed)
{
    const char *op = bootstrap->op;
    char        also[96] = "";

    if (strcmp(op, "record") == 0)
        return;
    if (later > 0)
        snprintf(also, sizeof also, "; %d step%s can only be checked afterwards", later,
                 later == 1 ? "" : "s");
    if (strcmp(op, "undo") == 0)
        add(&told->ends, node,
            changes == 0
                ? xstrdup("there is nothing to undo")
                : xasprintf("%d change%s undone", changes, changes == 1 ? " was" : "s were"));
    else if (changes == 0)
        add(&told->ends, node,
            xstrdup(has_failed ? "nothing else needs to be changed"
                               : "nothing needs to be changed"));
    else if (strcmp(op, "plan") == 0)
        add(&told->ends, node, xasprintf("changes: %d; muster bootstrap --apply makes them%s",
                                         changes, also));
    else
        add(&told->ends, node,
            xasprintf("changes: %d; muster bootstrap --undo reverts them", changes));
}

/* Returns how the task failed. NULL: it did not fail, or has reported the reason. */
static const char *ended_badly(const struct node_task_end *end, bool has_said_why)
{
    if (end->timed_out)
        return "failed: it took too long and was killed; run it again";
    if (end->status < 0)
        return "failed: it was killed; run it again";
    if (end->status > 0 && !has_said_why)
        return "failed: it exited early without a reason; run it again";
    return end->dropped > 0 ? "failed: it printed more than muster can forward" : NULL;
}

/* Adds text and frees it. Makes text from nodes safe to print, but keeps our own line break. */
static void add(struct groups *groups, int node, char *text)
{
    char *fix = strstr(text, "\n      "), *safe, *safe_fix = NULL, *whole;

    if (fix != NULL) {
        safe_fix = sanitize_text(fix + 1, strlen(fix + 1));
        *fix = '\0';
    }
    safe = sanitize_text(text, strlen(text));
    whole = xasprintf("%s%s%s", safe, safe_fix != NULL ? "\n" : "",
                      safe_fix != NULL ? safe_fix : "");
    groups_add(groups, whole, node);
    free(whole);
    free(safe);
    free(safe_fix);
    free(text);
}

/* run NULL: it is about this machine. */
static void print(const struct groups *groups, const struct run *run, const char *between,
                  FILE *out)
{
    size_t i;
    char  *names;

    for (i = 0; i < groups->count; i++) {
        names = run != NULL ? group_hosts(&groups->group[i], run->plan) : xstrdup("this machine");
        fprintf(out, "%s%s%s\n", names, between, groups->group[i].key);
        free(names);
    }
}

static const char *text_of(const json_t *line, const char *key)
{
    const char *text = json_string_value(json_object_get(line, key));

    return text != NULL ? text : "";
}

json_t *bootstrap_json(const struct run *run, int status)
{
    const struct bootstrap *bootstrap = run->job_data;
    json_t                 *nodes = json_array(), *steps, *key = own_key_line(&bootstrap->own_key);
    const json_t           *line;
    size_t                  n, i;
    int                     round;

    for (n = 0; n < run->plan->nodes; n++) {
        const struct conn_failure *why = run->outcome.node[n];

        steps = json_array();
        for (round = 0; round < BOOTSTRAP_ROUNDS; round++)
            json_array_foreach(node_task_lines(bootstrap->task, n, round), i, line)
                if (json_object_get(line, "progress") == NULL &&
                    (json_object_get(line, "step") != NULL ||
                     json_object_get(line, "error") != NULL))
                    json_array_append(steps, (json_t *)line);
        json_array_append_new(nodes, json_pack("{s:s, s:o, s:o}", "node",
                                               run->plan->node[n].host, "error",
                                               why != NULL ? json_text(why->text,
                                                                       strlen(why->text))
                                                           : json_null(),
                                               "steps", steps));
    }
    return json_pack("{s:i, s:s, s:o, s:o}", "exit_status", status, "op", bootstrap->op, "here",
                     key != NULL ? json_pack("[o]", key) : json_array(), "nodes", nodes);
}
