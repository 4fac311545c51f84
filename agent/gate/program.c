/* program.c - does the program of --health-check find the node healthy?
 *
 * It is another one's program: it may hang, flood, or print anything. It gets no arguments and
 * an empty standard input.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "gate/gate_check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exit_code.h"
#include "frame.h"
#include "gate/gate.h"
#include "strlist.h"
#include "task/command.h"

#define ROUND_S 2.0   /* to end the program, and to report */
#define FIRST_MAX 200 /* bytes of its first line */

static void add_first_line(json_t *line, const struct command_result *result);

/* What the program may want to know, from the environment of the node's first rank. */
static json_t *request(const struct node_plan *plan, const struct gate_memory *memory)
{
    static const char *const facts[] = { "MUSTER_RUN_ID", "MUSTER_GENERATION", "MUSTER_HOST",
                                         "MUSTER_ROLE" };
    json_t                  *env;
    const char              *value;
    size_t                   i;

    (void)memory;
    if (plan->health_check == NULL)
        return NULL;
    env = json_pack("{s:o}", "MUSTER_NODE_RANK", json_sprintf("%d", plan->node_rank));
    for (i = 0; i < sizeof facts / sizeof *facts; i++) {
        value = env_get(&plan->rank[0].env, facts[i]);
        if (value != NULL)
            json_object_set_new(env, facts[i], json_text(value, strlen(value)));
    }
    return json_pack("{s:o, s:o}", "program",
                     json_text(plan->health_check, strlen(plan->health_check)), "env", env);
}

/* In the child. */
static int run(const json_t *request, struct task_output *out)
{
    const char           *program = json_string_value(json_object_get(request, "program"));
    const char *const     argv[] = { program, NULL };
    const char           *name;
    const json_t         *value;
    struct command_result result;
    json_t               *line;

    json_object_foreach(json_object_get(request, "env"), name, value)
        setenv(name, json_string_value(value), 1);
    command_run(argv, NULL, gate_limit_s(GATE_PROGRAM_S), &result);
    line = json_pack("{s:i, s:i, s:i, s:b}", "status", result.status, "signal", result.signal,
                     "error", result.error, "late", (int)result.timed_out);
    add_first_line(line, &result);
    task_output_line(out, line);
    command_clear(&result);
    return 0;
}

/* Adds that of its output, or if it has none, that of its errors. */
static void add_first_line(json_t *line, const struct command_result *result)
{
    const char *text = result->out + strspn(result->out, " \t\r\n");
    size_t      size;

    if (*text == '\0')
        text = result->err + strspn(result->err, " \t\r\n");
    size = strcspn(text, "\r\n");
    if (size > 0)
        json_object_set_new(line, "first",
                            json_text(text, size < FIRST_MAX ? size : FIRST_MAX));
}

static enum gate_verdict judge(const json_t *request, const json_t *found,
                               struct gate_memory *memory, struct failure *failure)
{
    const char *program = json_string_value(json_object_get(request, "program"));
    const char *first = json_string_value(json_object_get(found, "first"));
    int         status = (int)json_integer_value(json_object_get(found, "status"));
    int         number = (int)json_integer_value(json_object_get(found, "signal"));
    int         error = (int)json_integer_value(json_object_get(found, "error"));
    char        why[64];

    (void)memory;
    if (error != 0) {
        failure_set(failure, error == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_EXECUTE,
                    "the program of --health-check must be on every node",
                    "health check %s: %s", program, strerror(error));
        return GATE_BAD;
    }
    if (json_is_true(json_object_get(found, "late")))
        snprintf(why, sizeof why, "not finished after %g s", gate_limit_s(GATE_PROGRAM_S));
    else if (number != 0)
        snprintf(why, sizeof why, "killed by %s", signal_name(number).text);
    else if (!json_is_integer(json_object_get(found, "status")))
        snprintf(why, sizeof why, "it could not be run");
    else if (status != 0)
        snprintf(why, sizeof why, "exit status %d", status);
    else
        return GATE_WELL;
    failure_set(failure, EXIT_CREATE, "", "health check %s: %s%s%s", program, why,
                first != NULL ? ": " : "", first != NULL ? first : "");
    return GATE_BAD;
}

/* The program, or its file, hangs in the kernel. */
static void late(const json_t *found, double seconds, struct failure *failure)
{
    (void)found;
    failure_set(
        failure, EXIT_CREATE, "",
        "the program of --health-check has not ended after %g s, and hangs in the kernel",
        seconds);
}

const struct gate_check program_check = {
    { "program", run }, GATE_PROGRAM_S, ROUND_S, request, judge, late
};
