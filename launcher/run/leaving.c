/* leaving.c - see leaving.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/leaving.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "number.h"
#include "plan/hostfile.h"
#include "run/generation.h"
#include "run/generation_words.h"
#include "run/notice.h"
#include "run/pool.h"
#include "run/run.h"
#include "xalloc.h"
#include "xevent.h"

#define NODES_MAX 65536
#define WITHIN_MAX_S 86400.0
#define SAVE_WITHIN_S 300.0 /* for a checkpoint, as by default with muster drain */
#define UNLISTED     "its host is no longer on the list"

/* A node that will leave at a certain time. */
struct leaving {
    struct run   *run;
    char         *host;
    char         *reason;
    struct event *due;
};

struct leavings {
    struct leaving **item; /* at most one per host */
    size_t           count;
};

static void         leave_cb(evutil_socket_t fd, short what, void *arg);
static struct node *place_of(const struct run *run, size_t which);

double leaving_save_s(const struct run *run)
{
    return run->plan->ckpt_marker != NULL ? SAVE_WITHIN_S : run->options->grace_s;
}

struct leavings *leaving_new(void)
{
    return xcalloc(1, sizeof(struct leavings));
}

void leaving_free(struct leavings *all)
{
    size_t i;

    for (i = 0; all != NULL && i < all->count; i++) {
        event_free(all->item[i]->due);
        free(all->item[i]->host);
        free(all->item[i]->reason);
        free(all->item[i]);
    }
    if (all != NULL)
        free(all->item);
    free(all);
}

void leaving_add(struct run *run, const char *host, int64_t deadline_ns, const char *reason)
{
    struct leavings *all = run->leavings;
    double           left_s = (double)(deadline_ns - clock_now_ns()) / NS_PER_S;
    struct timeval   left = clock_interval(left_s > 0 ? left_s : 0);
    struct leaving  *leaving;
    size_t           i = 0;

    if (all == NULL)
        return; /* the run is over, though not all nodes are */
    while (i < all->count && strcmp(all->item[i]->host, host) != 0)
        i++;
    if (i == all->count) {
        leaving = xcalloc(1, sizeof *leaving);
        *leaving = (struct leaving){ run, xstrdup(host), NULL, NULL };
        leaving->due = xevent_new(run->base, -1, leave_cb, leaving);
        all->item = xreallocarray(all->item, i + 1, sizeof(struct leaving *));
        all->item[all->count++] = leaving;
    }
    leaving = all->item[i];
    free(leaving->reason);
    leaving->reason = xstrdup(reason);
    xevent_add(leaving->due, &left);
}

static void leave_cb(evutil_socket_t fd, short what, void *arg)
{
    struct leaving *leaving = arg;
    struct run     *run = leaving->run;
    size_t          which = pool_find(run, leaving->host);
    char            text[GENERATION_WORDS_SIZE];

    (void)fd, (void)what;
    snprintf(text, sizeof text, "node %s leaves (%s)", leaving->host, leaving->reason);
    if (which != MEMBERS_NONE)
        members_leave(pool_members(run), which);
    if (which != MEMBERS_NONE && place_of(run, which) == NULL)
        pool_leave(run, which);
    else if (run->phase.now == PHASE_RUNNING || run->phase.now == PHASE_PREPARING ||
             run->phase.now == PHASE_CONNECTING)
        generation_end_for_change(run, text);
    else
        generation_changed(run);
}

/* NULL: it has no place. */
static struct node *place_of(const struct run *run, size_t which)
{
    const struct members *members = pool_members(run);
    size_t                i;

    for (i = 0; i < members->places; i++)
        if (members->place[i] == which && members->item[which].state == MEMBER_IN)
            return run->node[i];
    return NULL;
}

/* Ranks may save first; where there are none, the node leaves at once. */
void leaving_offer(struct run *run, const struct selection *hosts)
{
    struct node *node;
    const char  *name;
    size_t       i;

    if (!generation_goes_on(run))
        return; /* its nodes do not change */
    pool_offer(run, hosts);
    for (i = 0; i < pool_count(run); i++) {
        name = pool_name(run, i);
        node = place_of(run, i);
        if (pool_members(run)->item[i].is_offered)
            continue;
        if (node != NULL && run->phase.now == PHASE_RUNNING) {
            notice_give(run, node, leaving_save_s(run), 0, UNLISTED);
        } else {
            leaving_forget(run, name);
            if (node != NULL)
                leaving_add(run, name, clock_now_ns(), UNLISTED);
            else
                pool_leave(run, i);
        }
    }
    generation_changed(run);
}

void leaving_back(struct run *run, const char *host)
{
    size_t i;

    for (i = 0; run->leavings != NULL && i < run->leavings->count; i++)
        if (strcmp(run->leavings->item[i]->host, host) == 0 &&
            (strcmp(run->leavings->item[i]->reason, UNLISTED) == 0 ||
             !event_pending(run->leavings->item[i]->due, EV_TIMEOUT, NULL))) {
            notice_keep(run, host);
            return;
        }
}

int leaving_scale(const struct strlist *words, char *answer, size_t size, void *arg,
                  struct error *err)
{
    struct run           *run = arg;
    const struct members *members = pool_members(run);
    const size_t          now = members->places;
    int64_t               nodes;
    double                within_s;

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

void leaving_forget(struct run *run, const char *host)
{
    size_t i;

    for (i = 0; run->leavings != NULL && i < run->leavings->count; i++)
        if (strcmp(run->leavings->item[i]->host, host) == 0)
            event_del(run->leavings->item[i]->due);
    notice_forget(run->notice, host);
}
