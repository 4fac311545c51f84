/* proxy_turn.c - see proxy_turn.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "transport/ssh/proxy_turn.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "xalloc.h"
#include "xevent.h"

#define TURNS_MAX 8   /* at a time: below OpenSSH's MaxStartups, with room for others */
#define TURN_S    2.0 /* then another connection may begin */

enum state { WAITING, GRANTED, COME, OVER };

struct proxy_turn {
    char              *proxy;
    enum state         state;
    void             (*come)(void *arg);
    void              *arg;
    struct event      *event; /* GRANTED: come() is due; COME: the turn ends */
    struct proxy_turn *next;
};

/* The turns at all proxies, in the order in which they were requested. */
static struct proxy_turn *turns;

static void grant(const char *proxy);
static void event_cb(evutil_socket_t fd, short what, void *arg);

struct proxy_turn *proxy_turn_new(struct event_base *base, const char *proxy,
                                  void (*come)(void *arg), void *arg)
{
    struct proxy_turn *turn = xcalloc(1, sizeof *turn), **last = &turns;

    turn->proxy = xstrdup(proxy);
    turn->come = come;
    turn->arg = arg;
    turn->event = xevent_new(base, -1, event_cb, turn);
    while (*last != NULL)
        last = &(*last)->next;
    *last = turn;
    grant(proxy);
    return turn;
}

bool proxy_turn_has_come(const struct proxy_turn *turn)
{
    return turn->state >= COME;
}

void proxy_turn_free(struct proxy_turn *turn)
{
    struct proxy_turn **at = &turns;

    if (turn == NULL)
        return;
    while (*at != turn)
        at = &(*at)->next;
    *at = turn->next;
    grant(turn->proxy);
    event_free(turn->event);
    free(turn->proxy);
    free(turn);
}

/* Grants turns as long as there is room. */
static void grant(const char *proxy)
{
    const struct timeval now = { 0 };
    struct proxy_turn   *turn;
    int                  room = TURNS_MAX;

    for (turn = turns; turn != NULL; turn = turn->next)
        if ((turn->state == GRANTED || turn->state == COME) && strcmp(turn->proxy, proxy) == 0)
            room--;
    for (turn = turns; turn != NULL && room > 0; turn = turn->next) {
        if (turn->state != WAITING || strcmp(turn->proxy, proxy) != 0)
            continue;
        turn->state = GRANTED;
        xevent_add(turn->event, &now);
        room--;
    }
}

static void event_cb(evutil_socket_t fd, short what, void *arg)
{
    const struct timeval limit = clock_interval(TURN_S);
    struct proxy_turn   *turn = arg;

    (void)fd, (void)what;
    if (turn->state == GRANTED) {
        turn->state = COME;
        xevent_add(turn->event, &limit);
        turn->come(turn->arg); /* last: it may free turn */
    } else {
        turn->state = OVER;
        grant(turn->proxy);
    }
}
