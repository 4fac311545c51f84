/* lookup.c - see lookup.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "task/lookup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "task/command.h"
#include "task/task.h"
#include "xalloc.h"

#define GETENT_S    3.0
#define DEADLINE_S  (GETENT_S + 1.0)
#define NOT_FOUND   2 /* getent's exit status */

struct lookup {
    struct task *task;
    json_t      *answer; /* {"addresses":[...], "why":"..."}; NULL: none has come */
    lookup_done *done;
    void        *arg;
};

static int     run_getent(const json_t *request, struct task_output *out);
static json_t *addresses_in(char *text);
static bool    has(const json_t *list, const char *text);
static void    line_cb(json_t *body, void *arg);
static void    end_cb(json_t *body, void *arg);

struct lookup *lookup_begin(struct event_base *base, const char *name, lookup_done *done, void *arg,
                            struct error *err)
{
    static const struct task_row row = { "lookup", run_getent };
    static const struct task_ops ops = { line_cb, end_cb };
    struct task_request          request = { .row = &row, .deadline_s = DEADLINE_S };
    struct lookup               *lookup = xcalloc(1, sizeof *lookup);
    json_t                      *body = json_pack("{s:s}", "name", name);

    *lookup = (struct lookup){ .done = done, .arg = arg };
    lookup->task = task_begin(base, &request, body, &ops, lookup, err);
    json_decref(body);
    if (lookup->task != NULL)
        return lookup;
    free(lookup);
    return NULL;
}

void lookup_free(struct lookup *lookup)
{
    if (lookup == NULL)
        return;
    task_free(lookup->task);
    json_decref(lookup->answer);
    free(lookup);
}

/* Runs in the child of the task. */
static int run_getent(const json_t *request, struct task_output *out)
{
    const char           *name = json_string_value(json_object_get(request, "name"));
    const char *const     argv[] = { "getent", "--", "ahosts", name, NULL };
    struct command_result result;
    const char           *why = "";
    json_t               *addresses;

    command_run(argv, NULL, GETENT_S, &result);
    addresses = addresses_in(result.out);
    if (result.timed_out)
        why = "no name server answers there within 3 s";
    else if (result.status == NOT_FOUND)
        why = "the name is not known there";
    task_output_line(out, json_pack("{s:o, s:s}", "addresses", addresses, "why", why));
    command_clear(&result);
    return 0;
}

/* Reads lines "10.0.0.1        STREAM te1"; the same address comes with DGRAM and RAW, too. Leaves
 * out link-local addresses, which getent prints without their zone. */
static json_t *addresses_in(char *text)
{
    json_t *list = json_array();
    char   *rest = NULL, *line = strtok_r(text, "\n", &rest);

    for (; line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        line[strcspn(line, " \t")] = '\0';
        if (line[0] != '\0' && strncmp(line, "fe80:", 5) != 0 &&
            json_array_size(list) < LOOKUP_ADDRESSES_MAX && !has(list, line))
            json_array_append_new(list, json_string(line));
    }
    return list;
}

static bool has(const json_t *list, const char *text)
{
    const json_t *one;
    size_t        i;

    json_array_foreach(list, i, one)
        if (strcmp(json_string_value(one), text) == 0)
            return true;
    return false;
}

static void line_cb(json_t *body, void *arg)
{
    struct lookup *lookup = arg;

    json_decref(lookup->answer);
    lookup->answer = json_incref(json_object_get(body, "line"));
    json_decref(body);
}

/* Without an answer the child was killed at its deadline. */
static void end_cb(json_t *body, void *arg)
{
    struct lookup *lookup = arg;
    const char    *why = json_string_value(json_object_get(lookup->answer, "why"));

    json_decref(body);
    lookup->done(json_object_get(lookup->answer, "addresses"), why != NULL ? why : "",
                 lookup->arg);
}
