/* layers.c - see layers.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "check/layers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/nodes/arrival.h"
#include "check/nodes/culprit.h"
#include "check/nodes/facts.h"
#include "check/pairs.h"
#include "check/nodes/post.h"
#include "xalloc.h"

#define REACH_S 4.0 /* if TCP's second attempt, after 1 s, fails, later ones fail, too */

static int  choose_backend(struct check *check, struct error *err);
static int  post_facts(struct check *check, struct error *err);
static void split_facts(struct strlist *facts, char *text);
static double reach_limit(const struct check *check);
static void tell_slow_nodes(struct check *check, const struct culprits *culprits);
static void tell_slow_links(struct check *check, const struct culprits *culprits);
static bool has_chosen(const struct check *check);

/* ---- preflight ---- */

static int run_preflight(struct check *check, struct error *err)
{
    int status;

    if (roster_exchange(&check->roster, &check->pmi, err) < 0)
        return check_failed(check);
    check->report.roster = &check->roster;
    if (roster_verify(&check->roster, err) < 0)
        return CHECK_NOT_ALL;
    status = choose_backend(check, err);
    if (status != CHECK_OK)
        return status;
    /* A single rank needs no network. */
    if (iface_choose(check->backend, &check->iface, err) < 0 && check->pmi.size > 1)
        return CHECK_BACKEND;
    return post_facts(check, err) < 0 ? check_failed(check) : CHECK_OK;
}

static int choose_backend(struct check *check, struct error *err)
{
    const char *wanted = check->options.backend;
    bool        has_gpus = roster_gpus(&check->roster, &check->backend_why) == 0;

    if (strcmp(wanted, "nccl") == 0 && !has_gpus) {
        err_set(err, "nccl: %s", check->backend_why.text);
        return CHECK_BACKEND;
    }
    check->backend = wanted;
    if (strcmp(wanted, "auto") == 0)
        check->backend = has_gpus ? "nccl" : "gloo";
    else
        check->backend_why.text[0] = '\0';
    check->report.backend = check->backend;
    check->report.backend_why = check->backend_why.text;
    return CHECK_OK;
}

static int post_facts(struct check *check, struct error *err)
{
    struct strlist facts = { 0 };
    char           text[POST_MAX] = "";
    size_t         i, used = 0;
    int            rc;

    facts_gather(&facts, &check->roster.rank[check->pmi.rank].device, &check->iface);
    for (i = 0; i < facts.count && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s\n", facts.item[i]);
    rc = post_put(&check->pmi, "facts", text, err);
    strlist_clear(&facts);
    return rc;
}

static void tell_preflight(struct check *check)
{
    const struct roster *roster = &check->roster;
    struct strlist      *facts = xcalloc((size_t)roster->size, sizeof *facts);
    int                 *node = xcalloc((size_t)roster->size, sizeof *node);
    const char         **host = xcalloc((size_t)roster->size, sizeof *host);
    struct error         err;
    char                *text, differ[40];
    int                  rank;

    for (rank = 0; rank < roster->size && roster->size > 1; rank++) {
        text = post_get(&check->pmi, "facts", rank, &err);
        if (text != NULL)
            split_facts(&facts[rank], text);
        free(text);
        node[rank] = roster->rank[rank].node;
        host[rank] = roster->name[node[rank]];
    }
    facts_compare(&check->report.differences, facts, node, host, roster->size);
    if (check->report.differences.count == 0)
        snprintf(differ, sizeof differ, "%s",
                 roster->nodes > 1 ? "the nodes have the same setup; " : "");
    else
        snprintf(differ, sizeof differ, "%zu difference%s; ", check->report.differences.count,
                 check->report.differences.count == 1 ? "" : "s");
    snprintf(check->summary, sizeof check->summary, "%s%s%s%.150s", differ, check->backend,
             *check->backend_why.text ? ", since " : "", check->backend_why.text);
    for (rank = 0; rank < roster->size; rank++)
        strlist_clear(&facts[rank]);
    free(facts);
    free(node);
    free(host);
}

static void split_facts(struct strlist *facts, char *text)
{
    char *line;

    while ((line = strsep(&text, "\n")) != NULL)
        if (strchr(line, '\t') != NULL)
            strlist_add(facts, line);
}

/* ---- reach ---- */

static int run_reach(struct check *check, struct error *err)
{
    struct error why;
    int          opened, failed = 0;

    if (check->roster.nodes < 2)
        return LAYER_SKIP;
    opened = reach_open(&check->reach, &check->roster, &check->pmi, &check->iface, 0, err);
    if (pmi_barrier(&check->pmi, &why) < 0) {
        err_set(err, "%s", why.text);
        return check_failed(check);
    }
    if (opened < 0)
        return CHECK_BACKEND;
    if (reach_try(&check->reach, &check->pmi, reach_limit(check), &failed, err) < 0) {
        check->is_ours = false; /* another rank does not listen, and reports why */
        return check_failed(check);
    }
    err->text[0] = '\0'; /* rank 0 reports all pairs */
    return failed > 0 ? CHECK_UNREACHED : CHECK_OK;
}

/* Returns how long to wait for connections, while the other ranks wait for this one. */
static double reach_limit(const struct check *check)
{
    const double part_s = check->options.timeout_s / 4;

    return part_s < REACH_S ? part_s : REACH_S;
}

void check_reach_again(struct check *check)
{
    struct strlist old = check->report.faults;
    struct error   err;
    int            failed;

    reach_close(&check->reach);
    if (check->roster.nodes < 2)
        return;
    /* Ignore failures, because the check has failed already; rank 0 reports what it can. */
    (void)reach_open(&check->reach, &check->roster, &check->pmi, &check->iface, 1, &err);
    if (pmi_barrier(&check->pmi, &err) < 0)
        return;
    (void)reach_try(&check->reach, &check->pmi, reach_limit(check), &failed, &err);
    if (pmi_barrier(&check->pmi, &err) < 0 || check->pmi.rank != 0)
        return;
    check->report.faults = (struct strlist){ 0 };
    if (reach_judge(&check->reach, &check->pmi, &check->report.faults, &err) == 0 &&
        check->report.faults.count == 0)
        strlist_add(&check->report.faults, "all nodes still reach each other over TCP");
    strlist_append(&check->report.faults, &old);
    strlist_clear(&old);
}

static void tell_reach(struct check *check)
{
    const int nodes = check->roster.nodes;

    snprintf(check->summary, sizeof check->summary,
             "TCP both ways, %d pair%s of nodes (%s %s on %s)", nodes * (nodes - 1) / 2,
             nodes > 2 ? "s" : "", check->iface.name, check->iface.address,
             check->roster.name[0]);
}

/* ---- connect ---- */

static int run_connect(struct check *check, struct error *err)
{
    const struct roster_rank *self = &check->roster.rank[check->pmi.rank];
    struct comm_world         world = {
        .pmi = &check->pmi,
        .rank = check->pmi.rank,
        .size = check->pmi.size,
        .local_rank = self->local_rank >= 0 ? self->local_rank : 0,
        .label = (const char *const *)check->roster.label,
        .timeout_s = check->options.timeout_s,
    };
    bool timed_out = false;

    check->comm = comm_open(check->backend, &world, &self->device, &timed_out, err);
    if (check->comm == NULL)
        return timed_out ? CHECK_TIMEOUT : CHECK_BACKEND;
    if (bench_init(&check->bench, &check->options, &check->roster, check->comm, err) < 0)
        return check_failed(check);
    return CHECK_OK;
}

static void tell_connect(struct check *check)
{
    snprintf(check->summary, sizeof check->summary, "%d rank%s, %s", check->comm->size,
             check->comm->size == 1 ? "" : "s", check->backend);
}

/* ---- values ---- */

static int run_values(struct check *check, struct error *err)
{
    static const char *const names[] = { "barrier", "broadcast", "sendrecv", "all_reduce" };
    const struct collective *what;
    size_t                   i;

    if (has_chosen(check))
        return LAYER_SKIP;
    for (i = 0; i < sizeof names / sizeof names[0]; i++) {
        for (what = collectives; strcmp(what->name, names[i]) != 0; what++)
            ;
        if (check->comm->size >= what->ranks_min && bench_check(&check->bench, what, err) < 0)
            return check_failed(check);
    }
    if (check->bench.wrong == 0)
        return CHECK_OK;
    err_set(err, "%s", check->bench.first_wrong);
    check->report.wrong += check->bench.wrong;
    return CHECK_WRONG;
}

static void tell_values(struct check *check)
{
    snprintf(check->summary, sizeof check->summary,
             "barrier, broadcast, %sall_reduce: all elements correct",
             check->comm->size > 1 ? "send and recv, " : "");
}

/* Were collectives chosen? Then the check is a benchmark and runs only those. */
static bool has_chosen(const struct check *check)
{
    return check->options.nccl_tests || check->options.has_chosen;
}

/* ---- pairs ---- */

static int run_pairs(struct check *check, struct error *err)
{
    const bool          quick = check->options.quick, full = check->options.full;
    struct pairs_limits limits = { .bytes_max = (size_t)(quick ? 4 : full ? 64 : 16) << 20,
                                   .seconds = quick ? 0.01 : full ? 0.2 : 0.03 };
    int                 i;

    if (has_chosen(check) || check->roster.nodes < 2)
        return LAYER_SKIP;
    if (pairs_measure(&check->matrix, check->comm, &check->roster, &limits, &check->is_ours,
                      err) < 0)
        return check_failed(check);
    for (i = 0; i < check->matrix.nodes * check->matrix.nodes; i++)
        check->slow[LAYER_PAIRS] |= check->matrix.slow[i];
    return CHECK_OK;
}

static void tell_pairs(struct check *check)
{
    const struct matrix *matrix = &check->matrix;
    struct culprits      culprits;
    int                  i, busy = 0;

    check->report.matrix = matrix;
    for (i = 0; i < matrix->nodes * matrix->nodes; i++)
        busy += matrix->alone[i] > 0 && !matrix->slow[i];
    snprintf(check->summary, sizeof check->summary,
             "%.3f GB/s expected, %.3f to %.3f measured, %.1f us%s", matrix->reference / 1e9,
             matrix->lowest / 1e9, matrix->highest / 1e9, matrix->latency_median_s * 1e6,
             busy > 0 && matrix->nodes > 3 ? "; some pairs are slow only while others are busy"
                                           : "");
    culprits_find(&culprits, matrix->slow, matrix->nodes);
    tell_slow_nodes(check, &culprits);
    tell_slow_links(check, &culprits);
    culprits_clear(&culprits);
}

static void tell_slow_nodes(struct check *check, const struct culprits *culprits)
{
    const struct matrix *matrix = &check->matrix;
    const int            nodes = matrix->nodes;
    double               sent, got;
    int                  node, peer;

    for (node = 0; node < nodes; node++) {
        if (!culprits->node[node])
            continue;
        for (peer = 0, sent = got = 0; peer < nodes; peer++) {
            if (peer == node)
                continue;
            if (matrix->bandwidth[node * nodes + peer] > sent)
                sent = matrix->bandwidth[node * nodes + peer];
            if (matrix->bandwidth[peer * nodes + node] > got)
                got = matrix->bandwidth[peer * nodes + node];
        }
        strlist_addf(&check->report.faults, "node %s is slow: it sends at most %.3f and receives "
                                            "at most %.3f GB/s, %.3f expected",
                     check->roster.name[node], sent / 1e9, got / 1e9, matrix->reference / 1e9);
    }
}

static void tell_slow_links(struct check *check, const struct culprits *culprits)
{
    const struct matrix *matrix = &check->matrix;
    const int            nodes = matrix->nodes;
    int                  from, to;

    for (from = 0; from < nodes; from++)
        for (to = 0; to < nodes; to++)
            if (culprits->link[from * nodes + to])
                strlist_addf(&check->report.faults, "the link from %s to %s is slow: %.3f GB/s "
                                                    "while nothing else runs, %.3f expected",
                             check->roster.name[from], check->roster.name[to],
                             matrix->alone[from * nodes + to] / 1e9, matrix->reference / 1e9);
}

/* ---- collectives ---- */

static int run_collectives(struct check *check, struct error *err)
{
    int i;

    check->bench.wrong = 0;
    for (i = 0; collectives[i].name != NULL; i++)
        if (check->options.run[i] && check->comm->size >= collectives[i].ranks_min &&
            bench_run(&check->bench, &collectives[i], &check->report, err) < 0)
            return check_failed(check);
    if (check->bench.wrong == 0)
        return CHECK_OK;
    err_set(err, "%s", check->bench.first_wrong);
    return CHECK_WRONG;
}

static void tell_collectives(struct check *check)
{
    snprintf(check->summary, sizeof check->summary, "%d results%s", check->report.rows,
             check->comm->size == 1 ? "; with one rank no data is sent, so busbw may be 0"
                                    : "");
}

/* ---- arrival ---- */

static int run_arrival(struct check *check, struct error *err)
{
    const struct roster *roster = &check->roster;
    double               median;
    int                  rank;

    if (has_chosen(check))
        return LAYER_SKIP;
    check->work_s = xcalloc((size_t)roster->size, sizeof *check->work_s);
    if (arrival_measure(check->work_s, check->comm, check->options.quick ? 3 : 8, err) < 0)
        return check_failed(check);
    median = arrival_median(check->work_s, roster->size);
    for (rank = 0; rank < roster->size; rank++)
        check->slow[LAYER_ARRIVAL] |= check->work_s[rank] > ARRIVAL_SLOW * median;
    /* Nodes on the same machine share its CPUs, so their times mean nothing. */
    check->slow[LAYER_ARRIVAL] &= roster->machines == roster->nodes;
    return CHECK_OK;
}

static void tell_arrival(struct check *check)
{
    const struct roster *roster = &check->roster;
    const double         median = arrival_median(check->work_s, roster->size);
    int                  rank, last = 0;

    check->report.work_s = check->work_s;
    for (rank = 0; rank < roster->size; rank++) {
        if (check->work_s[rank] > check->work_s[last])
            last = rank;
        if (check->slow[LAYER_ARRIVAL] && check->work_s[rank] > ARRIVAL_SLOW * median)
            strlist_addf(&check->report.faults,
                         "%s computes slowly: %.1f ms for work that takes %.1f ms on other "
                         "ranks, so all ranks wait for it",
                         roster->label[rank], check->work_s[rank] * 1e3, median * 1e3);
    }
    snprintf(check->summary, sizeof check->summary,
             "the same work takes %.2f ms, on the slowest rank (%s) %.2f ms%s", median * 1e3,
             roster->label[last], check->work_s[last] * 1e3,
             roster->machines < roster->nodes ? "; not judged: some nodes share a machine"
                                              : "");
}

const struct layer_row layers[LAYERS] = {
    [LAYER_PREFLIGHT] = { run_preflight, tell_preflight },
    [LAYER_REACH] = { run_reach, tell_reach },
    [LAYER_CONNECT] = { run_connect, tell_connect },
    [LAYER_VALUES] = { run_values, tell_values },
    [LAYER_PAIRS] = { run_pairs, tell_pairs },
    [LAYER_COLLECTIVES] = { run_collectives, tell_collectives },
    [LAYER_ARRIVAL] = { run_arrival, tell_arrival },
};
