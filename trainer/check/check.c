/* check.c - see check.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "check/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/bench.h"
#include "check/check_options.h"
#include "check/collective.h"
#include "check/report.h"
#include "check/roster.h"
#include "clock.h"
#include "comm/comm.h"

struct check {
    int64_t              start_ns;
    struct check_options options;
    struct pmi           pmi;
    struct roster        roster;
    struct report        report;
    const char          *backend; /* "nccl" or "gloo" */
    struct comm         *comm;
    struct bench         bench;
};

static int  meet(struct check *check, struct error *err);
static int  agree(struct check *check, struct error *err);
static int  judge_roster(struct check *check, struct error *err);
static int  open_comm(struct check *check, struct error *err);
static int  run_all(struct check *check, struct error *err);
static int  count_wrong(struct check *check, double *wrong, struct error *err);
static int  leave(struct check *check, double wrong, struct error *err);
static int  failed(const struct check *check);
static void say(const struct check *check, const char *text);
static void check_clear(struct check *check);

int check_main(int argc, char **argv)
{
    struct check check = { .backend = "", .start_ns = clock_now_ns() };
    struct error err;
    double       wrong = 0;
    int          status;

    status = check_options_parse(&check.options, argc, argv, &err);
    if (status == CHECK_OPTIONS_HELP) {
        check_options_help(stdout);
        return CHECK_OK;
    }
    if (status < 0) {
        fprintf(stderr, "muster-train check: %s\n", err.text);
        return CHECK_USAGE;
    }

    status = meet(&check, &err);
    if (status == CHECK_OK)
        status = agree(&check, &err);
    if (status == CHECK_OK)
        status = open_comm(&check, &err);
    if (status == CHECK_OK)
        status = run_all(&check, &err);
    if (status == CHECK_OK)
        status = count_wrong(&check, &wrong, &err);
    if (status == CHECK_OK)
        status = leave(&check, wrong, &err);
    if (status != CHECK_OK)
        say(&check, err.text);
    check_clear(&check);
    return status == CHECK_OK && wrong > 0 ? CHECK_WRONG : status;
}

static int meet(struct check *check, struct error *err)
{
    if (pmi_init(&check->pmi, check->options.timeout_s, err) < 0)
        return failed(check);
    if (check->pmi.rank == 0 && report_open(&check->report, &check->options, err) < 0)
        return CHECK_USAGE;
    if (roster_exchange(&check->roster, &check->pmi, err) < 0)
        return failed(check);
    return CHECK_OK;
}

/* What the roster tells, it tells all ranks alike: rank 0 speaks for them. The
 * others wait until it has, since the first to leave ends the run. */
static int agree(struct check *check, struct error *err)
{
    struct error why;
    int          status = judge_roster(check, &why);

    if (status == CHECK_OK)
        return CHECK_OK;
    if (check->pmi.rank == 0)
        fprintf(stderr, "muster-train check: %s\n", why.text);
    if (pmi_barrier(&check->pmi, err) < 0 || pmi_finalize(&check->pmi, err) < 0)
        return failed(check);
    err->text[0] = '\0';
    return status;
}

static int judge_roster(struct check *check, struct error *err)
{
    const char  *wanted = check->options.backend;
    struct error why = { "" };
    bool         has_gpus;

    if (roster_verify(&check->roster, err) < 0)
        return CHECK_NOT_ALL;
    has_gpus = roster_gpus(&check->roster, &why) == 0;
    if (strcmp(wanted, "nccl") == 0 && !has_gpus) {
        err_set(err, "nccl: %s", why.text);
        return CHECK_BACKEND;
    }
    check->backend = wanted;
    if (strcmp(wanted, "auto") == 0)
        check->backend = has_gpus ? "nccl" : "gloo";
    report_head(&check->report, &check->options, &check->roster, check->backend,
                strcmp(wanted, "auto") == 0 ? why.text : "");
    return CHECK_OK;
}

static int open_comm(struct check *check, struct error *err)
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
    if (check->comm != NULL)
        return CHECK_OK;
    return timed_out ? CHECK_TIMEOUT : CHECK_BACKEND;
}

static int run_all(struct check *check, struct error *err)
{
    int i;

    if (bench_init(&check->bench, &check->options, &check->roster, check->comm, err) < 0)
        return failed(check);
    for (i = 0; collectives[i].name != NULL; i++) {
        if (!check->options.run[i])
            continue;
        if (check->comm->size < collectives[i].ranks_min)
            report_skipped(&check->report, &collectives[i]);
        else if (bench_run(&check->bench, &collectives[i], &check->report, err) < 0)
            return failed(check);
    }
    return CHECK_OK;
}

/* The verdict does not travel by what was checked, but by PMI. */
static int count_wrong(struct check *check, double *wrong, struct error *err)
{
    struct pmi *pmi = &check->pmi;
    char        key[32], value[32];
    int         rank;

    snprintf(key, sizeof key, "wrong-%d", pmi->rank);
    snprintf(value, sizeof value, "%.0f", check->bench.wrong);
    if (pmi_put(pmi, key, value, err) < 0 || pmi_barrier(pmi, err) < 0)
        return failed(check);
    *wrong = check->bench.wrong;
    for (rank = 0; rank < pmi->size; rank++) {
        if (rank == pmi->rank)
            continue;
        snprintf(key, sizeof key, "wrong-%d", rank);
        if (pmi_get(pmi, key, value, sizeof value, err) < 0)
            return failed(check);
        *wrong += strtod(value, NULL);
    }
    return CHECK_OK;
}

/* Rank 0 tells the end before anybody leaves: with a status other than 0 the first
 * to do so ends the run. */
static int leave(struct check *check, double wrong, struct error *err)
{
    const double seconds = (double)(clock_now_ns() - check->start_ns) / NS_PER_S;
    struct comm *comm = check->comm;

    check->comm = NULL;
    if (comm->ops->close(comm, err) < 0)
        return CHECK_BACKEND;
    if (report_close(&check->report, &check->roster, check->backend, wrong, seconds, err) < 0)
        return CHECK_USAGE;
    if (pmi_barrier(&check->pmi, err) < 0 || pmi_finalize(&check->pmi, err) < 0)
        return failed(check);
    return CHECK_OK;
}

/* The exit status for the failure that just happened. */
static int failed(const struct check *check)
{
    if (check->pmi.timed_out || (check->comm != NULL && check->comm->timed_out))
        return CHECK_TIMEOUT;
    return CHECK_BACKEND;
}

static void say(const struct check *check, const char *text)
{
    if (*text == '\0')
        return; /* rank 0 has said it for all */
    if (check->roster.nodes > 0)
        fprintf(stderr, "muster-train check: %s: %s\n", check->roster.label[check->pmi.rank],
                text);
    else
        fprintf(stderr, "muster-train check: %s\n", text);
}

static void check_clear(struct check *check)
{
    if (check->comm != NULL)
        check->comm->ops->abort(check->comm);
    bench_clear(&check->bench);
    roster_clear(&check->roster);
}
