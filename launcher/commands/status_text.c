/* status_text.c - see status_text.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "commands/status_text.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "commands/table.h"
#include "plan/domain.h"
#include "sanitize.h"
#include "strlist.h"
#include "xalloc.h"

static void  print_generation(const json_t *run, FILE *out);
static void  print_steps(const json_t *steps, FILE *out);
static void  print_checkpoints(const json_t *list, FILE *out);
static void  print_slow(const json_t *list, FILE *out);
static void  print_waits(const json_t *lines, FILE *out);
static void  print_resume(const json_t *run, FILE *out);
static void  print_ranks(const json_t *ranks, FILE *out);
static char *silent_words(const json_t *rank);
static char *step_words(const json_t *rank);

void status_print_run(const json_t *run, FILE *out)
{
    char *id = status_text_of(run, "run_id"), *state = status_text_of(run, "state");
    char *since = status_since(run), *host = status_text_of(run, "host");
    char *pid = status_text_of(run, "pid"), *nodes = status_text_of(run, "nodes");
    char *ranks = status_text_of(run, "world_size"), *command = status_text_of(run, "command");
    char *metrics;

    fprintf(out, "%s: %s, since %s\n", id, state, since);
    fprintf(out, "nodes: %s, ranks: %s, launched on %s", nodes, ranks, host);
    if (json_is_integer(json_object_get(run, "pid")))
        fprintf(out, " by pid %s", pid);
    fprintf(out, "\ncommand: %s\n", command);
    print_generation(run, out);
    print_steps(json_object_get(run, "steps"), out);
    if (json_is_string(json_object_get(run, "metrics"))) {
        metrics = status_text_of(run, "metrics");
        fprintf(out, "metrics: %s\n", metrics);
        if (strncmp(metrics, "http://", 7) == 0)
            fprintf(out, "page: %.*s\n", (int)(strrchr(metrics, '/') + 1 - metrics), metrics);
        free(metrics);
    }
    print_checkpoints(json_object_get(run, "checkpoints"), out);
    print_slow(json_object_get(run, "slow"), out);
    print_waits(json_object_get(run, "waits"), out);
    print_resume(run, out);
    fputc('\n', out);
    print_ranks(json_object_get(run, "ranks"), out);
    free(id);
    free(state);
    free(since);
    free(host);
    free(pid);
    free(nodes);
    free(ranks);
    free(command);
}

/* Prints the generation, but only after a restart. */
static void print_generation(const json_t *run, FILE *out)
{
    json_int_t generation = json_integer_value(json_object_get(run, "generation"));
    json_int_t most = json_integer_value(json_object_get(run, "max_restarts"));

    if (generation > 0)
        fprintf(out, "generation: %lld (at most %lld restarts)\n", (long long)generation,
                (long long)most);
}

/* Prints how often steps come, and for how long none may. */
static void print_steps(const json_t *steps, FILE *out)
{
    const json_t *report_s = json_object_get(steps, "report_s");
    const json_t *hang_s = json_object_get(steps, "hang_s");

    if (json_is_real(report_s))
        fprintf(out, "steps: one is reported about every %.1f s", json_real_value(report_s));
    else if (json_is_real(hang_s))
        fputs("steps: there are some", out);
    if (json_is_real(hang_s))
        fprintf(out, "; without one for %.0f s the run hangs", json_real_value(hang_s));
    if (json_is_real(report_s) || json_is_real(hang_s))
        fputc('\n', out);
}

/* The ranks that wait for each other in NCCL. */
static void print_waits(const json_t *lines, FILE *out)
{
    const json_t *line;
    char         *safe;
    size_t        i;

    json_array_foreach(lines, i, line) {
        safe = sanitize_text(json_string_value(line), json_string_length(line));
        fprintf(out, "%s\n", safe);
        free(safe);
    }
}

/* "checkpoint 3, 12 s ago: save/latest (step300); 2.0 s after a step; ..." */
static void print_checkpoints(const json_t *list, FILE *out)
{
    const json_t *one, *save_s, *every_s;
    const char   *role;
    size_t        i;

    json_array_foreach(list, i, one) {
        char *path = status_text_of(one, "path"), *says = status_text_of(one, "says");

        role = json_string_value(json_object_get(one, "role"));
        save_s = json_object_get(one, "save_s");
        every_s = json_object_get(one, "every_s");
        fprintf(out, "checkpoint %lld%s%s, %.0f s ago: %s",
                (long long)json_integer_value(json_object_get(one, "number")),
                role != NULL ? " of " : "", role != NULL ? role : "",
                json_number_value(json_object_get(one, "age_s")), path);
        if (says[0] != '\0' && strcmp(says, "-") != 0)
            fprintf(out, " (%s)", says);
        if (json_is_number(save_s))
            fprintf(out, "; %.1f s after a step", json_number_value(save_s));
        if (json_is_number(every_s))
            fprintf(out, "; usually every %.0f s", json_number_value(every_s));
        fputc('\n', out);
        free(path);
        free(says);
    }
}

/* Prints the nodes that are slow; of a run that has ended also those that were. */
static void print_slow(const json_t *list, FILE *out)
{
    const json_t *one;
    size_t        i;

    json_array_foreach(list, i, one) {
        char *node = status_text_of(one, "node"), *reason = status_text_of(one, "reason");

        fprintf(out, "slow: %s: %s\n", node, reason);
        free(node);
        free(reason);
    }
}

static void print_resume(const json_t *run, FILE *out)
{
    const json_t *line = json_object_get(run, "resume");
    char         *text;

    if (!json_is_string(line))
        return;
    text = sanitize_text(json_string_value(line), json_string_length(line));
    fprintf(out, "to start it again: %s\n", text);
    free(text);
}

char *status_since(const json_t *run)
{
    time_t    start = (time_t)json_integer_value(json_object_get(run, "start"));
    struct tm local;
    char      text[32];

    if (start == 0 || localtime_r(&start, &local) == NULL ||
        strftime(text, sizeof text, "%F %H:%M", &local) == 0)
        return xstrdup("-");
    return xstrdup(text);
}

static void print_ranks(const json_t *ranks, FILE *out)
{
    static const char *const heads[] = { "RANK", "NODE", "PID", "STATE", "SILENT", "STEP" };
    struct table             table = { .columns = 5 };
    struct strlist           names = { 0 };
    const json_t            *rank;
    const char              *name, *role;
    size_t                   i, domain;

    json_array_foreach(ranks, i, rank) {
        if ((name = json_string_value(json_object_get(rank, "node"))) != NULL)
            strlist_add(&names, name);
        if (json_object_get(rank, "step") != NULL)
            table.columns = 6;
    }
    domain = domain_shared(&names);
    strlist_clear(&names);
    table_head(&table, heads);
    json_array_foreach(ranks, i, rank) {
        char **row = table_add(&table);

        role = json_string_value(json_object_get(rank, "role"));
        row[0] = xasprintf("%s%s%lld", role != NULL ? role : "", role != NULL ? " " : "",
                           (long long)json_integer_value(json_object_get(rank, "rank")));
        row[1] = status_text_of(rank, "node");
        if (strlen(row[1]) > domain)
            row[1][strlen(row[1]) - domain] = '\0';
        row[2] = status_text_of(rank, "pid");
        row[3] = status_text_of(rank, "state");
        row[4] = silent_words(rank);
        if (table.columns > 5)
            row[5] = step_words(rank);
    }
    table_print(&table, out);
    table_clear(&table);
}

char *status_text_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    if (json_is_integer(value) && json_integer_value(value) > 0)
        return xasprintf("%lld", (long long)json_integer_value(value));
    return table_text(json_is_string(value) ? json_string_value(value) : "-");
}

static char *silent_words(const json_t *rank)
{
    const json_t *silent = json_object_get(rank, "silent_s");

    return json_is_number(silent) ? xasprintf("%.0f s", json_number_value(silent)) : xstrdup("-");
}

/* "120, 5 s ago" */
static char *step_words(const json_t *rank)
{
    const json_t *step = json_object_get(rank, "step");
    const json_t *age_s = json_object_get(rank, "step_age_s");
    char          ago[32] = "", number[24] = "";

    if (step == NULL)
        return xstrdup("-");
    if (json_is_number(age_s))
        snprintf(ago, sizeof ago, "%.0f s ago", json_number_value(age_s));
    if (json_is_integer(step))
        snprintf(number, sizeof number, "%lld", (long long)json_integer_value(step));
    return xasprintf("%s%s%s", number, number[0] != '\0' && ago[0] != '\0' ? ", " : "", ago);
}
