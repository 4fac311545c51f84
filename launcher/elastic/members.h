/* members.h - the hosts of a run that can lose nodes: which have a place in the world, or may
 *
 * Pure functions, like policy.h: they read no clock and do no I/O. Times are seconds of a clock
 * that only goes forward. A place is a node rank. A node keeps its place while it is there; a
 * spare takes the place of a lost node. If an elastic world has no spare, the places close up
 * instead, in order.
 *
 *     state     becomes
 *     AWAY      JOINING when its cool-down is over and it is needed (members_dial): it is no
 *               longer leaving
 *     JOINING   SPARE when it has passed the check, AWAY when it failed
 *     SPARE     IN with a place (members_take), GOING when it must leave, AWAY when it was lost
 *     GOING     AWAY when nothing of its agent is left
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
/* A node that ended this many generations is probably the cause. */
#define MEMBERS_SUSPECT 3
#define MEMBERS_WORLDS  64 /* sizes of --worlds */
#define MEMBERS_NONE    ((size_t)-1)

enum member_state { MEMBER_AWAY, MEMBER_JOINING, MEMBER_SPARE, MEMBER_IN, MEMBER_GOING };

struct member {
    int               slots;
    enum member_state state;
    bool              is_offered; /* it is on the list of hosts */
    bool              is_leaving; /* it gets no place until it is listed again, or back_s */
    double            back_s;     /* AWAY: another machine may have its name by then; 0: no */
    bool              is_told;    /* the user knows that it failed the check */
    bool              is_silent;  /* SPARE: not heard lately, so it gets no place now */
    int               failures;   /* since it was last in a generation that lived long */
    int               taken_down; /* generations that ended because of it */
    int               failed_first; /* generations that ended because its rank failed first */
    double            free_s;     /* AWAY: when it may be tried again */
};

struct members {
    struct member *item;
    size_t         count;
    size_t        *place;  /* by node rank: which member has it */
    int           *ranks;  /* by node rank: how many ranks the place has */
    size_t         places;
};

struct member_rules {
    bool   goes_on;    /* the loss of a node does not end the run */
    bool   is_elastic; /* the world may have another size */
    size_t min_nodes, max_nodes;   /* elastic; 0: no limit */
    size_t target; /* elastic: how many nodes are wanted; 0: as many as there are */
    int    min_ranks, max_ranks;   /* like min_nodes and max_nodes, in ranks */
    int    worlds[MEMBERS_WORLDS]; /* the only allowed sizes, in ranks; none: any */
    size_t worlds_count;
    const struct batch_rules *batch; /* only worlds that suit it; NULL: any */
    size_t spares; /* how many wait, connected */
};

/* Adds a member without a place, in state AWAY; it may be dialled at once. Returns its
 * index. */
size_t members_add(struct members *members, int slots);
void   members_clear(struct members *members);

/* Writes the next world into world, which has room for all members: by place, which member.
 * Returns how many places it has; 0: there can be no world now. */
size_t members_choose(const struct members *members, const struct member_rules *rules,
                      size_t *world);
/* The same in a new array, which the caller frees; sets *places. */
size_t *members_next(const struct members *members, const struct member_rules *rules,
                     size_t *places);
/* Makes world the current world. A member that loses its place becomes a spare. */
void members_take(struct members *members, const struct member_rules *rules, const size_t *world,
                  size_t places);
/* Returns how many nodes the next world would have; 0: there can be none. */
size_t members_next_size(const struct members *members, const struct member_rules *rules);
/* Would the next world have the same members in the same places? */
bool   members_next_is_same(const struct members *members, const struct member_rules *rules);
int    members_ranks(const struct members *members, const struct member_rules *rules, size_t place,
                     size_t member);

/* The member is connected and was checked: makes it a spare. */
void members_stay(struct members *members, size_t which);
/* The member gets no place until it is listed or dialled again. */
void members_leave(struct members *members, size_t which);
/* Another machine may have the member's name from then on; 0: no. */
void members_expect_back(struct members *members, size_t which, double at_s);
/* The member was lost, or failed the check: it cools down. ended: a generation ended because
 * of it. */
void members_failed(struct members *members, size_t which, double now_s, bool ended);
/* A generation ended because that rank failed first: blames its node. -1, or a rank without a
 * place: blames no node. */
void members_blame(struct members *members, int rank);
/* A generation lived long: clears the failures of its nodes. Call it before members_failed()
 * for the nodes that ended it. */
void members_proved(struct members *members);
/* Returns the next member to connect, now JOINING; MEMBERS_NONE: none. */
size_t members_dial(struct members *members, const struct member_rules *rules, double now_s);
/* Returns the seconds until members_dial() may have one; negative: it waits for none. */
double members_due_s(const struct members *members, const struct member_rules *rules,
                     double now_s);

/* Returns a spare that is not needed, now GOING; MEMBERS_NONE: there is none. */
size_t members_surplus(struct members *members, const struct member_rules *rules);

/* May the world have this many nodes, of the known hosts? 0: yes, as a target; -1 with err:
 * why not, and which numbers are allowed. */
int members_may_be(const struct members *members, const struct member_rules *rules, size_t nodes,
                   struct error *err);

/* Parses "16,12,8" into rules. -1: it is malformed. */
int members_parse_worlds(const char *text, struct member_rules *rules);

#endif
