/* gpu_slots.c - see gpu_slots.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "commands/gpu_slots.h"

#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "course/launch.h"
#include "exit_code.h"
#include "log.h"
#include "node/node_job.h"
#include "outcome/group.h"
#include "run/run.h"
#include "xalloc.h"

static bool is_wanted(const struct options *options, const struct hostlist *hosts);
static int  choose(struct hostlist *hosts, const struct select_rules *rules,
                   struct selection *chosen, struct error *err);
static int  ask(const struct options *options, struct hostlist *hosts,
                const struct selection *chosen, char *const *here, struct error *err);
static int  prepare(const struct run *run, void **data);
static void begin(struct run *run, struct node *node);
static bool take(struct run *run, struct node *node, const struct frame *frame,
                 const json_t *body);
static int  report(const struct run *run, int status, FILE *out, FILE *err);
static void tell(const struct run *run, const int *gpus);
static void forget(const struct run *run, void *data);

struct count {
    struct node_job  job;   /* must be first: run->job points to it */
    struct hostlist *hosts; /* report() stores the slots here */
};

int gpu_slots_find(const struct options *options, struct hostlist *hosts,
                   const struct select_rules *rules, char *const *here, struct error *err)
{
    struct selection chosen;
    int              status = 0;

    if (!is_wanted(options, hosts))
        return 0;
    if (choose(hosts, rules, &chosen, err) < 0)
        return -1;
    if (chosen.count > 0)
        status = ask(options, hosts, &chosen, here, err);
    selection_clear(&chosen);
    return status;
}

/* Not if the user gave the number, with --num_gpus or by listing hosts more than once. */
static bool is_wanted(const struct options *options, const struct hostlist *hosts)
{
    return options->command == COMMAND_RUN && !options->dry_run && !options->no_ssh &&
           options->num_gpus < 0 && hostlist_is_uncounted(hosts);
}

/* Chooses the hosts without slots=N among those that rules choose. rules may name any of their
 * slots. */
static int choose(struct hostlist *hosts, const struct select_rules *rules,
                  struct selection *chosen, struct error *err)
{
    struct select_rules by_host = *rules;
    struct selected     counted;
    size_t              i, count = 0;
    int                 rc;

    by_host.num_gpus = -1;
    by_host.num_ranks = 0;
    by_host.per_node = false;
    for (i = 0; i < hosts->count; i++)
        if (!hosts->host[i].is_counted)
            hosts->host[i].slots = HOST_SLOTS_MAX;
    rc = select_slots(hosts, &by_host, chosen, err);
    for (i = 0; i < hosts->count; i++)
        if (!hosts->host[i].is_counted)
            hosts->host[i].slots = 1;
    if (rc < 0)
        return -1;
    for (i = 0; i < chosen->count; i++) {
        if (chosen->node[i].host->is_counted)
            continue;
        counted = chosen->node[count];
        chosen->node[count] = chosen->node[i];
        chosen->node[i] = counted;
        chosen->node[count].slot[0] = 0;
        chosen->node[count++].slots = 1;
    }
    for (i = count; i < chosen->count; i++)
        free(chosen->node[i].slot);
    chosen->count = count;
    return 0;
}

/* Returns an exit status, or -1 with err. */
static int ask(const struct options *options, struct hostlist *hosts,
               const struct selection *chosen, char *const *here, struct error *err)
{
    const struct count count = { { .prepare = prepare, .begin = begin, .frame = take,
                                   .report = report, .free = forget }, hosts };
    struct options asking = *options; /* borrows the texts of options */
    struct program none = { 0 };
    struct plan    plan;
    int            status;

    asking.command = COMMAND_CLEAN; /* a job without ranks */
    asking.json = asking.show_ranks = asking.log_dir = asking.each_rank_log = NULL;
    asking.name = NULL;
    asking.save_pid = false;
    if (plan_make(&plan, &asking, chosen, &none, here, err) < 0)
        return -1;
    status = launch_run(&asking, &plan, &count.job, NULL);
    plan_clear(&plan);
    return status;
}

/* --- the job ---------------------------------------------------------------- */

static int prepare(const struct run *run, void **data)
{
    *data = xcalloc(run->plan->nodes, sizeof(int));
    return 0;
}

/* HELLO contains the number of GPUs. */
static void begin(struct run *run, struct node *node)
{
    json_int_t gpus = json_integer_value(json_object_get(node->hello, "gpus"));
    int       *found = run->job_data;

    found[node->index] = gpus < 0 ? 0 : gpus > FRAME_RANKS_MAX ? FRAME_RANKS_MAX : (int)gpus;
    node_enter(node, NODE_PROBED, 0);
}

static bool take(struct run *run, struct node *node, const struct frame *frame,
                 const json_t *body)
{
    (void)run, (void)node, (void)frame, (void)body;
    return false;
}

static int report(const struct run *run, int status, FILE *out, FILE *err)
{
    struct host *host = ((const struct count *)(const void *)run->job)->hosts->host;
    const int   *gpus = run->job_data;
    size_t       i, n = 0;

    (void)out, (void)err;
    for (i = 0; i < run->plan->nodes && status == 0; i++) {
        while (strcmp(host[n].name, run->plan->node[i].host) != 0) /* both are in the same
                                                                      order */
            n++;
        host[n].slots = gpus[i] > 0 ? gpus[i] : 1;
        host[n].is_counted = true;
    }
    if (status == 0)
        tell(run, gpus);
    return status;
}

/* Logs "slots are the GPUs found: te[1-3] 8, te4 4, te9 none (1 slot)". */
static void tell(const struct run *run, const int *gpus)
{
    struct groups groups = { 0 };
    struct buffer text = { 0 };
    char          words[32], *names;
    size_t        i;

    for (i = 0; i < run->plan->nodes; i++) {
        snprintf(words, sizeof words, "%d", gpus[i]);
        groups_add(&groups, gpus[i] > 0 ? words : "none (1 slot)", (int)i);
    }
    for (i = 0; i < groups.count; i++) {
        names = group_hosts(&groups.group[i], run->plan);
        buffer_add_text(&text, i > 0 ? ", " : "");
        buffer_add_text(&text, names);
        buffer_add_text(&text, " ");
        buffer_add_text(&text, groups.group[i].key);
        free(names);
    }
    buffer_add(&text, "", 1);
    log_warn("hosts without slots=N: using the GPUs found as slots: %s", text.bytes);
    buffer_clear(&text);
    groups_clear(&groups);
}

static void forget(const struct run *run, void *data)
{
    (void)run;
    free(data);
}
