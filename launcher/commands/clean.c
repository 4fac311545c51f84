/* clean.c - `muster clean`: lists, or removes, what earlier runs have left on all nodes
 *
 *     NODE STATE    WHAT     PID   USER AGE  RUN                  COMMAND
 *     te1  left     process  4711  me   3 h  20261120-073000-a1b2  python3 train.py
 *     te1  removed  file     -     me   -    -                     /dev/shm/nccl-x (64 MiB)
 *     te1  removed  group    -     -    -    -                     /sys/fs/cgroup/muster-712
 *     te2  running  run      815   me   9 s  20261120-103000-c3d4  5 processes
 *     te2  in use   gpu 0    99    ann  2 h  -                     python3 x.py
 *
 * Below it are the commands that end what was left alone (clean_gpus.h).
 *
 * Nodes do not wait for each other. If one cannot be reached, the others are cleaned
 * nevertheless.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "commands/commands.h"

#include <stdlib.h>
#include <string.h>

#include "commands/clean_gpus.h"
#include "commands/table.h"
#include "frame.h"
#include "hostrange.h"
#include "node/node_job.h"
#include "run/run.h"
#include "xalloc.h"

#define EXIT_LEFT  1    /* something of a run was found, and is still there */
#define LOOK_S     60.0 /* the time for a node to look through its processes */
#define STUCK_S    10.0 /* how long an agent waits for processes that survive SIGKILL */
#define ITEMS_MAX  1024 /* per kind; an agent sends half as many */
#define GPUS_MAX   16   /* GPUs named per process */
#define MIB        (1024.0 * 1024.0)
#define COLUMNS    8

/* The arrays of CLEANED. The processes in the last one are left alone without --kill-gpu. */
static const char *const kinds[] = { "processes", "shm", "stale_files", "gpu_holders" };
#define KINDS      (sizeof kinds / sizeof *kinds)
#define KINDS_OURS (KINDS - 1)

static int           clean_prepare(const struct run *run, void **data);
static void          clean_free(const struct run *run, void *data);
static const json_t *found_on(const struct run *run, size_t node);
static void          clean_ask(struct run *run, struct node *node);
static bool          clean_take(struct run *run, struct node *node, const struct frame *frame,
                                const json_t *body);
static int           clean_report(const struct run *run, int status, FILE *out, FILE *err);
static void          print_more(const struct run *run, FILE *out);
static void          print_clean(const struct run *run, FILE *out);
static bool          any_left(const struct run *run);
static json_t       *clean_json(const struct run *run, int status);
static void          list_node(const struct run *run, size_t node, struct table *table);
static bool          is_left(const struct run *run, const json_t *item);
static void          list_running(const char *host, const json_t *processes, size_t first,
                                  struct table *table);
static bool          is_active(const json_t *item);
static bool          is_true(const json_t *item, const char *key);
static void          add_row(struct table *table, const char *host, char *state, char *what,
                             const json_t *item, char *text);
static char         *safe_of(const json_t *item, const char *key);
static char         *age_of(const json_t *item);
static bool          is_listed(const json_t *processes, const json_t *pid);
static char         *gpus_of(const json_t *holder);

const struct node_job clean_job = {
    .prepare = clean_prepare,
    .begin = clean_ask,
    .frame = clean_take,
    .report = clean_report,
    .json = clean_json,
    .free = clean_free,
};

/* The job's data: CLEANED, by node; NULL: it has not come. */
static int clean_prepare(const struct run *run, void **data)
{
    int status = clean_gpus_check(run);

    *data = status == 0 ? xcalloc(run->plan->nodes, sizeof(json_t *)) : NULL;
    return status;
}

static void clean_free(const struct run *run, void *data)
{
    json_t **found = data;
    size_t   i;

    for (i = 0; found != NULL && i < run->plan->nodes; i++)
        json_decref(found[i]);
    free(found);
}

static const json_t *found_on(const struct run *run, size_t node)
{
    json_t *const *found = run->job_data;

    return found[node];
}

static void clean_ask(struct run *run, struct node *node)
{
    json_t *body = json_pack("{s:b, s:f}", "kill", run->options->kill, "grace_s",
                             run->options->grace_s);
    bool    ends_any = run->options->kill || run->options->kill_gpu != NULL;

    if (run->options->run != NULL)
        json_object_set_new(body, "run", json_string(run->options->run));
    clean_gpus_ask(run, body);
    node_enter(node, NODE_PROBING, LOOK_S + (ends_any ? run->options->grace_s + STUCK_S : 0));
    node_send(node, FRAME_CLEAN, body);
}

static bool clean_take(struct run *run, struct node *node, const struct frame *frame,
                       const json_t *body)
{
    json_t **found = run->job_data;
    size_t   i;

    if (frame->type != FRAME_CLEANED || node->state != NODE_PROBING)
        return false;
    for (i = 0; i < KINDS; i++) {
        if (json_array_size(json_object_get(body, kinds[i])) <= ITEMS_MAX)
            continue;
        node_fail(node, "protocol", EXIT_PROTOCOL, NULL, "CLEANED frame: more than %d items",
                  ITEMS_MAX);
        return true;
    }
    found[node->index] = json_incref((json_t *)body);
    node_enter(node, NODE_PROBED, 0);
    return true;
}

/* --- results -------------------------------------------------------- */

static int clean_report(const struct run *run, int status, FILE *out, FILE *err)
{
    static const char *const heads[COLUMNS] = { "NODE", "STATE", "WHAT", "PID",
                                                "USER", "AGE",   "RUN",  "COMMAND" };
    struct table table = { .columns = COLUMNS };
    const char  *json = run->options->json;
    size_t       n;

    table_head(&table, heads);
    for (n = 0; n < run->plan->nodes; n++)
        list_node(run, n, &table);
    if (json == NULL || strcmp(json, "-") != 0) {
        if (table.rows > 1)
            table_print(&table, out);
        print_more(run, out);
        print_clean(run, out);
        clean_gpus_print(run, run->job_data, out);
    }
    (void)err;
    table_clear(&table);
    return status != 0 ? status : any_left(run) ? EXIT_LEFT : 0;
}

/* Prints the nodes with more items than CLEANED can hold. */
static void print_more(const struct run *run, FILE *out)
{
    size_t n;

    for (n = 0; n < run->plan->nodes; n++)
        if (is_true(found_on(run, n), "more"))
            fprintf(out, "%s: there is more than one answer can hold: run muster clean again\n",
                    run->plan->node[n].host);
}

/* Prints the nodes where nothing is left. */
static void print_clean(const struct run *run, FILE *out)
{
    struct strlist hosts = { 0 };
    char          *names;
    size_t         n, kind, items;

    for (n = 0; n < run->plan->nodes; n++) {
        for (items = 0, kind = 0; kind < KINDS; kind++)
            items += json_array_size(json_object_get(found_on(run, n), kinds[kind]));
        if (found_on(run, n) != NULL && items == 0 && !is_true(found_on(run, n), "more") &&
            !clean_gpus_are_left(run, found_on(run, n)))
            strlist_add(&hosts, plan_label(&run->plan->node[n]));
    }
    if (hosts.count > 0) {
        names = hostrange_fold(&hosts);
        fprintf(out, "%s: nothing is left\n", names);
        free(names);
    }
    strlist_clear(&hosts);
}

static bool any_left(const struct run *run)
{
    const json_t *item;
    size_t        n, i, kind;

    for (n = 0; n < run->plan->nodes; n++) {
        if (is_true(found_on(run, n), "more") || clean_gpus_are_left(run, found_on(run, n)))
            return true;
        for (kind = 0; kind < KINDS_OURS; kind++)
            json_array_foreach(json_object_get(found_on(run, n), kinds[kind]), i, item)
                if (is_left(run, item))
                    return true;
    }
    return false;
}

static json_t *clean_json(const struct run *run, int status)
{
    json_t *nodes = json_array();
    size_t  n;

    for (n = 0; n < run->plan->nodes; n++) {
        const struct conn_failure *why = run->outcome.node[n];
        const json_t              *found = found_on(run, n);
        json_t *node = found != NULL ? json_copy((json_t *)found) : json_object();

        json_object_set_new(node, "node", json_string(run->plan->node[n].host));
        json_object_set_new(node, "error",
                            why != NULL ? json_text(why->text, strlen(why->text)) : json_null());
        json_array_append_new(nodes, node);
    }
    return json_pack("{s:i, s:o}", "exit_status", status, "nodes", nodes);
}

/* --- rows ------------------------------------------------------------------- */

static void list_node(const struct run *run, size_t node, struct table *table)
{
    const json_t *left = found_on(run, node), *processes = json_object_get(left, "processes"),
                 *item;
    const char   *host = plan_label(&run->plan->node[node]);
    char         *name;
    size_t        i;

    json_array_foreach(processes, i, item) {
        if (is_active(item) && !is_left(run, item))
            list_running(host, processes, i, table);
        else
            add_row(table, host, xstrdup(is_true(item, "gone") ? "ended" : "left"),
                    xstrdup(is_true(item, "agent") ? "agent" : "process"), item,
                    safe_of(item, "command"));
    }
    json_array_foreach(json_object_get(left, "shm"), i, item) {
        name = safe_of(item, "name");
        add_row(table, host, xstrdup(is_true(item, "gone") ? "removed" : "left"),
                xstrdup("file"), item,
                xasprintf("/dev/shm/%s (%.0f MiB)", name,
                          (double)json_integer_value(json_object_get(item, "size")) / MIB));
        free(name);
    }
    json_array_foreach(json_object_get(left, "stale_files"), i, item)
        add_row(table, host, xstrdup(is_true(item, "gone") ? "removed" : "left"),
                safe_of(item, "what"), item, safe_of(item, "path"));
    json_array_foreach(json_object_get(left, "gpu_holders"), i, item)
        if (!is_listed(processes, json_object_get(item, "pid")))
            add_row(table, host, xstrdup(clean_gpus_state(item)), gpus_of(item), item,
                    safe_of(item, "command"));
}

/* An active run does not count as left, unless the user wants to kill it. */
static bool is_left(const struct run *run, const json_t *item)
{
    return !is_true(item, "gone") &&
           (!is_true(item, "running") || (run->options->run != NULL && run->options->kill));
}

/* Adds one row for each active run: its first process, and the number of its processes. */
static void list_running(const char *host, const json_t *processes, size_t first,
                         struct table *table)
{
    const json_t *item = json_array_get(processes, first), *other;
    size_t        i, count = 0;

    json_array_foreach(processes, i, other) {
        if (!is_active(other) ||
            !json_equal(json_object_get(other, "run"), json_object_get(item, "run")))
            continue;
        if (i < first)
            return;
        count++;
    }
    add_row(table, host, xstrdup("running"), xstrdup("run"), item,
            xasprintf("%zu processes", count));
}

static bool is_active(const json_t *item)
{
    return is_true(item, "running") && !is_true(item, "gone");
}

static bool is_true(const json_t *item, const char *key)
{
    return json_is_true(json_object_get(item, key));
}

/* The table frees state, what and text. */
static void add_row(struct table *table, const char *host, char *state, char *what,
                    const json_t *item, char *text)
{
    const json_t *pid = json_object_get(item, "pid");
    char        **row = table_add(table);

    row[0] = table_text(host);
    row[1] = state;
    row[2] = what;
    row[3] = json_is_integer(pid) ? xasprintf("%lld", (long long)json_integer_value(pid))
                                  : xstrdup("-");
    row[4] = safe_of(item, "user");
    row[5] = age_of(item);
    row[6] = safe_of(item, "run");
    row[7] = text;
}

static char *safe_of(const json_t *item, const char *key)
{
    const char *text = json_string_value(json_object_get(item, key));

    return table_text(text != NULL && text[0] != '\0' ? text : "-");
}

static char *age_of(const json_t *item)
{
    const json_t *age = json_object_get(item, "age_s");

    return json_is_integer(age) ? table_age(json_integer_value(age)) : xstrdup("-");
}

static bool is_listed(const json_t *processes, const json_t *pid)
{
    const json_t *item;
    size_t        i;

    json_array_foreach(processes, i, item)
        if (json_equal(json_object_get(item, "pid"), pid))
            return true;
    return false;
}

static char *gpus_of(const json_t *holder)
{
    const json_t *gpu;
    char         *text = xstrdup("gpu"), *longer;
    size_t        i;

    json_array_foreach(json_object_get(holder, "gpus"), i, gpu) {
        if (i == GPUS_MAX)
            break;
        longer = xasprintf("%s%c%lld", text, i > 0 ? ',' : ' ', (long long)json_integer_value(gpu));
        free(text);
        text = longer;
    }
    return text;
}
