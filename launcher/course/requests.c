/* requests.c - see requests.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "course/requests.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "course/generation.h"
#include "log.h"
#include "number.h"
#include "plan/select.h"
#include "run/interrupt.h"
#include "run/notice.h"
#include "run/pool.h"
#include "run/run.h"
#include "run/stacks.h"

#define STACKS_VERB "stacks"
#define NODES_MAX 65536
#define WITHIN_MAX_S 86400.0

static int         drain(const struct strlist *words, char *answer, size_t size, void *arg,
                         struct error *err);
static const char *find_host(const struct run *run, const char *word);
static int         scale(const struct strlist *words, char *answer, size_t size, void *arg,
                         struct error *err);
static int         send_signal(const struct strlist *words, char *answer, size_t size, void *arg,
                               struct error *err);
static int         show_stacks(const struct strlist *words, char *answer, size_t size, void *arg,
                               struct error *err);
static void        stacks_known(struct run *run);

const struct control_verb requests_verbs[] = {
    { "drain", "drain SECONDS HOST...", 2, drain },
    { "scale", "scale NODES SECONDS", 2, scale },
    { "signal", "signal NUMBER", 1, send_signal },
    { STACKS_VERB, STACKS_VERB, 0, show_stacks },
    { .name = NULL },
};

static int drain(const struct strlist *words, char *answer, size_t size, void *arg,
                 struct error *err)
{
    struct run *run = arg;
    double      within_s;
    size_t      i;

    if (parse_seconds(words->item[0], 0, WITHIN_MAX_S, &within_s, err) < 0)
        return -1;
    if (generation_is_last(run))
        return err_set(err, "this run is ending");
    for (i = 1; i < words->count; i++)
        if (find_host(run, words->item[i]) == NULL)
            return err_set(err, "%.200s is not a node of this run", words->item[i]);
    for (i = 1; i < words->count; i++)
        notice_depart(run, find_host(run, words->item[i]), DEPARTURE_DRAIN, "muster drain",
                      within_s, 0);
    snprintf(answer, size, "%zu %s will leave within %g s", words->count - 1,
             words->count == 2 ? "node" : "nodes", within_s);
    return 0;
}

/* Finds a host by its name, or by that of its node in messages. */
static const char *find_host(const struct run *run, const char *word)
{
    size_t i;

    for (i = 0; i < run->plan->nodes; i++)
        if (strcmp(plan_label(&run->plan->node[i]), word) == 0)
            return run->plan->node[i].host;
    return membership_find(pool_members(run), word) != MEMBERSHIP_NONE ? word : NULL;
}

static int scale(const struct strlist *words, char *answer, size_t size, void *arg,
                 struct error *err)
{
    struct run  *run = arg;
    const size_t now = run->plan->nodes;
    int64_t      nodes;
    double       within_s;

    if (parse_number(words->item[0], 1, NODES_MAX, &nodes, err) < 0 ||
        parse_seconds(words->item[1], 0, WITHIN_MAX_S, &within_s, err) < 0)
        return -1;
    if (generation_is_last(run))
        return err_set(err, "it is ending");
    if (generation_scale(run, (size_t)nodes, within_s, err) < 0)
        return -1;
    if ((size_t)nodes == now)
        snprintf(answer, size, "it has %zu node%s, and keeps that number", now,
                 now == 1 ? "" : "s");
    else
        snprintf(answer, size, "from %zu to %lld nodes, after a checkpoint within %g s", now,
                 (long long)nodes, within_s);
    return 0;
}

void requests_hosts(const struct hostlist *hosts, const char *words, void *arg)
{
    struct run         *run = arg;
    struct select_rules rules = select_rules_of(run->options);
    struct selection    listed;
    struct error        err;

    (void)words;
    rules.num_nodes = -1;
    rules.num_ranks = 0;
    rules.is_partial = true;
    if (!run_goes_on(run))
        return; /* its nodes do not change */
    if (select_slots(hosts, &rules, &listed, &err) < 0) {
        log_warn("%s; keeping the old list of hosts", err.text);
        return;
    }
    pool_offer(run, &listed, run->phase.now == PHASE_RUNNING ? notice_save_s(run) : 0);
    selection_clear(&listed);
}

static int send_signal(const struct strlist *words, char *answer, size_t size, void *arg,
                       struct error *err)
{
    int64_t number;
    size_t  nodes;

    if (parse_number(words->item[0], 1, SIGRTMAX, &number, err) < 0)
        return -1;
    nodes = interrupt_pass_on(arg, (int)number);
    if (nodes == 0)
        return err_set(err, "no rank is running now");
    outcome_sent(&((struct run *)arg)->outcome, (int)number);
    snprintf(answer, size, "signal %d was sent to the ranks on %zu %s", (int)number, nodes,
             nodes == 1 ? "node" : "nodes");
    return 0;
}

/* The nodes answer later, or fall silent. */
static int show_stacks(const struct strlist *words, char *answer, size_t size, void *arg,
                       struct error *err)
{
    struct run *run = arg;
    size_t      i;

    (void)words, (void)answer, (void)size;
    for (i = 0; i < run->plan->nodes && !stacks_has_ranks(run, i); i++)
        ;
    if (i == run->plan->nodes)
        return err_set(err, "no rank is running now");
    stacks_ask(run, stacks_known);
    return CONTROL_LATER;
}

static void stacks_known(struct run *run)
{
    struct error err;
    int          rc = stacks_write(run, NULL, &err);

    control_answer(run->control, STACKS_VERB, rc, rc < 0 ? err.text : "stacks.txt");
}
