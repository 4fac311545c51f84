/* check.c - see check.h; runs the layers in order
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "check/check.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check/layers.h"
#include "check/vote.h"
#include "clock.h"
#include "comm/wheels.h"
#include "xalloc.h"

static int  meet(struct check *check, struct error *err);
static int  run_layers(struct check *check, struct error *err);
static int  run_layer(struct check *check, enum layer layer, struct error *err);
static int  agree(struct check *check, enum layer layer, int own, const char *text,
                  struct error *err);
static int  leave(struct check *check, int status, struct error *err);
static int  stop_here(struct check *check, enum layer layer, int status, const char *text,
                      const char *key);
static void add_fault(struct check *check, const char *text);
static int  conclude(struct check *check, int status, struct error *err);
static void say(const struct check *check, const char *text);
static void check_clear(struct check *check);

int check_main(int argc, char **argv)
{
    struct check check = { .backend = "", .backend_why = { "" }, .start_ns = clock_now_ns(),
                           .reach = { .listener = -1 } };
    struct error err;
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
    wheels_set_python(check.options.python);
    status = meet(&check, &err);
    if (status == CHECK_OK)
        status = run_layers(&check, &err);
    else
        say(&check, err.text);
    check_clear(&check);
    return status;
}

static int meet(struct check *check, struct error *err)
{
    if (pmi_init(&check->pmi, check->options.timeout_s, err) < 0)
        return check_failed(check);
    if (check->pmi.rank == 0 && report_open(&check->report, &check->options, err) < 0)
        return CHECK_USAGE;
    check->report.roster = &check->roster;
    return CHECK_OK;
}

/* All ranks stop after the same layer. Only rank 0 exits with its status; the others exit with
 * 0. */
static int run_layers(struct check *check, struct error *err)
{
    int layer, status = CHECK_OK;

    for (layer = 0; layer < LAYERS && status == CHECK_OK; layer++) {
        status = run_layer(check, (enum layer)layer, err);
        if (check->is_over)
            return status;
    }
    for (layer = 0; layer < LAYERS; layer++)
        if (status == CHECK_OK && check->slow[layer])
            status = CHECK_SLOW;
    return leave(check, status, err);
}

static int run_layer(struct check *check, enum layer layer, struct error *err)
{
    const int64_t start_ns = clock_now_ns();
    struct error  why = { "" };
    char          key[32];
    int           own, status;

    check->is_ours = true;
    check->summary[0] = '\0';
    snprintf(key, sizeof key, "in%d-%d", layer, check->pmi.rank);
    own = pmi_put(&check->pmi, key, "1", &why) < 0 ? check_failed(check)
                                                   : layers[layer].run(check, &why);
    if (own == LAYER_SKIP)
        return CHECK_OK;
    snprintf(key, sizeof key, "in%d", layer);
    if (own != CHECK_OK && (check->pmi.timed_out || check->roster.nodes == 0))
        return stop_here(check, layer, own, why.text, key);
    status = own; /* no vote: all ranks know it, and other versions may vote otherwise */
    if (own == CHECK_NOT_ALL)
        add_fault(check, why.text);
    else
        status = agree(check, layer, own, why.text, err);
    if (check->is_over)
        return status;
    if (layer > LAYER_REACH && (status == CHECK_TIMEOUT || status == CHECK_BACKEND))
        check_reach_again(check);
    if (status == CHECK_OK && layers[layer].tell != NULL && check->pmi.rank == 0)
        layers[layer].tell(check);
    if (status == CHECK_UNREACHED && check->pmi.rank == 0 &&
        reach_judge(&check->reach, &check->pmi, &check->report.faults, err) < 0)
        add_fault(check, err->text);
    report_layer(&check->report, layer,
                 status != CHECK_OK ? LAYER_FAILED : check->slow[layer] ? LAYER_SLOW : LAYER_OK,
                 (double)(clock_now_ns() - start_ns) / NS_PER_S, "%s",
                 status == CHECK_OK ? check->summary : "");
    return status;
}

/* Returns the status that all ranks agree on. */
static int agree(struct check *check, enum layer layer, int own, const char *text,
                 struct error *err)
{
    struct vote *votes = xcalloc((size_t)check->pmi.size, sizeof *votes);
    char         name[16];
    int          status;

    snprintf(name, sizeof name, "vote%d", layer);
    votes[check->pmi.rank] = (struct vote){ .status = own, .is_ours = check->is_ours,
                                            .text = xstrdup(own != CHECK_OK ? text : "") };
    if (votes_exchange(votes, &check->pmi, name, err) == 0) {
        status = votes_status(votes, check->pmi.size);
        if (check->pmi.rank == 0)
            votes_tell(votes, &check->roster, &check->report.faults);
    } else if (own != CHECK_OK) {
        status = stop_here(check, layer, own, *text != '\0' ? text : err->text, name);
    } else {
        status = stop_here(check, layer, check_failed(check), err->text, name);
    }
    votes_clear(votes, check->pmi.size);
    return status;
}

/* A rank does not come, or PMI has failed, so stop without the others. key: the key that the
 * ranks of this node put when they arrive. The run ends when the first rank exits, so each rank
 * first gives the others time to print their messages, and rank 0 gets the most time. */
static int stop_here(struct check *check, enum layer layer, int status, const char *text,
                     const char *key)
{
    const struct timespec moment = { .tv_sec = check->pmi.rank != 0, .tv_nsec = 300000000 };
    const bool            timed_out = check->pmi.timed_out;
    char                  missing[200] = "";
    struct error          whole, err;

    check->is_over = true;
    if (timed_out)
        votes_missing(&check->pmi, key, missing, sizeof missing);
    err_set(&whole, "%s%s%s%s", text, *missing ? ": " : "", missing,
            *missing ? " on this node did not" : "");
    report_layer(&check->report, layer, LAYER_FAILED, 0, "%s", "");
    if (check->pmi.rank == 0) {
        add_fault(check, whole.text);
        if (conclude(check, status, &err) < 0)
            say(check, err.text);
    } else {
        say(check, whole.text);
    }
    if (check->pmi.size > 1)
        nanosleep(&moment, NULL);
    return status;
}

static void add_fault(struct check *check, const char *text)
{
    if (check->pmi.rank == 0)
        strlist_add(&check->report.faults, text);
}

/* Rank 0 reports before any rank exits. */
static int leave(struct check *check, int status, struct error *err)
{
    struct comm *comm = check->comm;

    if (status == CHECK_OK || status == CHECK_SLOW) {
        check->comm = NULL;
        if (comm->ops->close(comm, err) < 0)
            status = CHECK_BACKEND;
    }
    if (conclude(check, status, err) < 0) {
        say(check, err->text);
        return CHECK_USAGE;
    }
    if (pmi_barrier(&check->pmi, err) < 0 || pmi_finalize(&check->pmi, err) < 0)
        return status != CHECK_OK ? status : check_failed(check);
    return check->pmi.rank == 0 ? status : CHECK_OK;
}

static int conclude(struct check *check, int status, struct error *err)
{
    check->report.status = status;
    check->report.seconds = (double)(clock_now_ns() - check->start_ns) / NS_PER_S;
    check->report.backend = check->backend;
    check->report.backend_why = check->backend_why.text;
    return report_close(&check->report, err);
}

int check_failed(const struct check *check)
{
    if (check->pmi.timed_out || (check->comm != NULL && check->comm->timed_out))
        return CHECK_TIMEOUT;
    return CHECK_BACKEND;
}

static void say(const struct check *check, const char *text)
{
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
    reach_close(&check->reach);
    bench_clear(&check->bench);
    matrix_clear(&check->matrix);
    free(check->work_s);
    report_clear(&check->report);
    roster_clear(&check->roster);
}
