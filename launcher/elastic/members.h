/* members.h - the hosts of a run that goes on: who has a place in the world, who may get one
 *
 * Pure functions, like policy.h: they know no clock and do no I/O. Times are seconds of a clock
 * that only goes forward. A place is a node rank. A node keeps its place as long as it is there; a
 * spare takes the place of a lost node. In an elastic world the places close up instead, in order.
 *
 *     state     becomes
 *     AWAY      JOINING when its cool-down is over and it is needed (members_dial): it leaves
 *               no more
 *     JOINING   SPARE when it was checked, AWAY when it failed
 *     SPARE     IN with a place (members_take), GOING when it has to leave, AWAY when it was lost
 *     GOING     AWAY when nothing of its agent is there any more
 *     IN        AWAY when it was lost, SPARE when the next world does without it
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_MEMBERS_H
#define MUSTER_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>

#include "elastic/batch.h"
#include "err.h"

/* A node that failed is tried again after 30 s, 60 s ... */
#define MEMBERS_COOL_S     30.0
#define MEMBERS_COOL_MAX_S 1800.0
/* A node that ended so many generations is probably what is wrong. */
#define MEMBERS_SUSPECT 3
#define MEMBERS_WORLDS  64 /* sizes of --worlds */
#define MEMBERS_NONE    ((size_t)-1)

enum member_state { MEMBER_AWAY, MEMBER_JOINING, MEMBER_SPARE, MEMBER_IN, MEMBER_GOING };

struct member {
    int               slots;
    enum member_state state;
    bool              is_offered; /* it is on the list of hosts */
    bool              is_leaving; /* it gets no place, until it is offered anew, or ... */
    double            back_s;     /* AWAY: another machine may have its name by then; 0: no */
    bool              is_told;    /* the user knows that it failed the check */
    bool              is_silent;  /* SPARE: nothing was heard of it lately: no place now */
    int               failures;   /* since it last stayed for long */
    int               taken_down; /* generations that ended because of it */
    int               failed_first; /* those that ended because one of its ranks failed */
    double            free_s;     /* AWAY: it is tried no sooner */
};

struct members {
    struct member *item;
    size_t         count;
    size_t        *place;  /* by node rank: which of them is there */
    int           *ranks;  /* and how many ranks the place has */
    size_t         places;
};

struct member_rules {
    bool   goes_on;    /* the loss of a node does not end the run */
    bool   is_elastic; /* the world may have another size */
    size_t min_nodes, max_nodes;   /* elastic; 0: no limit */
    size_t target; /* elastic: so many nodes are wanted; 0: as many as there are */
    int    min_ranks, max_ranks;   /* the same in ranks */
    int    worlds[MEMBERS_WORLDS]; /* the only sizes, in ranks; none: any */
    size_t worlds_count;
    const struct batch_rules *batch; /* only worlds that suit it; NULL: any */
    size_t spares; /* so many wait connected */
};

/* Takes no place; its state is AWAY, and it may be dialled at once. Returns its index. */
size_t members_add(struct members *members, int slots);
void   members_clear(struct members *members);

/* The next world into world, which has room for all members: by place, which member. Returns how
 * many places it has; 0: there can be none now. */
size_t members_choose(const struct members *members, const struct member_rules *rules,
                      size_t *world);
/* The same in a new array, which the caller frees; its places into *places. */
size_t *members_next(const struct members *members, const struct member_rules *rules,
                     size_t *places);
/* That is the world now. Whoever had a place and has none is a spare. */
void members_take(struct members *members, const struct member_rules *rules, const size_t *world,
                  size_t places);
/* How many nodes and ranks it would have; with 0 nodes it does not exist. */
size_t members_next_size(const struct members *members, const struct member_rules *rules);
/* It would have the same members in the same places. */
bool   members_next_is_same(const struct members *members, const struct member_rules *rules);
int    members_ranks(const struct members *members, const struct member_rules *rules, size_t place,
                     size_t member);

/* It is connected and was checked: a spare. */
void members_stay(struct members *members, size_t which);
/* It gets no place, until it is offered anew or dialled again. */
void members_leave(struct members *members, size_t which);
/* Another machine may have its name from then on; 0: no. */
void members_expect_back(struct members *members, size_t which, double at_s);
/* It was lost, or failed the check: it cools down. ended: a generation ended because of it. */
void members_failed(struct members *members, size_t which, double now_s, bool ended);
/* A generation ended because that rank failed first: its node may be why. -1, or a rank of no
 * place: nobody is blamed. */
void members_blame(struct members *members, int rank);
/* A generation lived for long: its nodes have proved themselves. Before members_failed() for those
 * that ended it. */
void members_proved(struct members *members);
/* The next one to connect, now JOINING; MEMBERS_NONE: nobody. */
size_t members_dial(struct members *members, const struct member_rules *rules, double now_s);
/* Seconds until members_dial() may have one; negative: nobody is waited for. */
double members_due_s(const struct members *members, const struct member_rules *rules,
                     double now_s);

/* A spare that nobody needs, now GOING; MEMBERS_NONE: there is none. */
size_t members_surplus(struct members *members, const struct member_rules *rules);

/* May the world have so many nodes, of the hosts that are known? -1 with err: why not, and what may
 * be. 0: then the target may be that. */
int members_may_be(const struct members *members, const struct member_rules *rules, size_t nodes,
                   struct error *err);

/* "16,12,8" into rules. -1: it is malformed. */
int members_parse_worlds(const char *text, struct member_rules *rules);

#endif
