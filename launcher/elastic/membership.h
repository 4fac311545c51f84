/* membership.h - the hosts of a run that can lose nodes: one record per host, and its only
 * writer
 *
 * Pure functions, like policy.h: they read no clock and do no I/O. Times are seconds of a clock
 * that only goes forward. A place is a node rank. A node keeps its place while it is there; a
 * spare takes the place of a lost node.
 *
 *     state     becomes
 *     AWAY      JOINING when its cool-down is over and it is needed (membership_dial)
 *     JOINING   SPARE when it has passed the check, LEAVING when it failed
 *     SPARE     IN with a place (membership_take), LEAVING when it must leave or was lost
 *     IN        AWAY when it was lost, SPARE when the next world does without it
 *     LEAVING   AWAY when nothing of its agent is left
 *
 * A host may have several reasons to leave: its cloud takes it away, the user drains it, it is
 * no longer listed, or it has spoilt a generation. Each has its own deadline, the time at which it
 * is due. From then on the host gets no place. The reason ends when the host is listed again after
 * it was not; a cloud's reason also ends some time after the machine was taken away, since another
 * machine may have its name.
 *
 * Events change the record. Then membership_next() returns what must be done, one action after
 * the other, and marks each as done.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_MEMBERSHIP_H
#define MUSTER_MEMBERSHIP_H

#include <stdbool.h>
#include <stddef.h>

#include "elastic/batch.h"

/* A node that failed is tried again after 30 s, 60 s ..., and one that its cloud has taken away
 * 30 s after that. */
#define MEMBERSHIP_COOL_S 30.0
#define MEMBERSHIP_COOL_MAX_S 1800.0
/* A node that ended this many generations is probably the cause. */
#define MEMBERSHIP_SUSPECT 3
/* A node that is there, but cannot start its ranks, is tried that often. */
#define MEMBERSHIP_REFUSALS 2
#define MEMBERSHIP_WORLDS 64 /* sizes of --worlds */
#define MEMBERSHIP_NONE ((size_t)-1)
#define MEMBERSHIP_REASON_SIZE 120
#define MEMBERSHIP_UNLISTED "its host is no longer on the list"

enum member_state { MEMBER_AWAY, MEMBER_JOINING, MEMBER_SPARE, MEMBER_IN, MEMBER_LEAVING };

/* Why a host leaves. */
enum departure_kind { DEPARTURE_UNLISTED, DEPARTURE_CLOUD, DEPARTURE_DRAIN,
                      DEPARTURE_SUSPECT, DEPARTURES };

struct departure {
    bool   is_set;
    bool   is_due; /* the host gets no place */
    double gone_s; /* when the machine is gone; the notice to the ranks has this time */
    double due_s;  /* when its ranks must have exited */
    char   reason[MEMBERSHIP_REASON_SIZE];
};

struct member {
    const char       *name; /* borrowed */
    int               slots;
    enum member_state state;
    bool              is_listed;
    struct departure  departure[DEPARTURES];
    bool              is_announced; /* the ranks of this generation know that it leaves ... */
    double            announced_s;  /* ... at this time */
    bool              is_silent;    /* SPARE: not heard lately, so it gets no place now */
    int               failures;     /* since it was last in a generation that lived long */
    int               taken_down;   /* generations that ended because of it */
    int               refusals;     /* how often it could not start ranks, since it last could */
    int               failed_first; /* generations that ended because its rank failed first */
    double            free_s;       /* AWAY: when it may be tried again */
};

/* Only membership.c writes it. */
struct membership {
    struct member *item;
    size_t         count;
    size_t        *place; /* by node rank: which member has it */
    int           *ranks; /* by node rank: how many ranks the place has */
    size_t         places;
    bool           is_withdrawn; /* the ranks have a notice of a reason that has ended since */
};

struct member_rules {
    bool   goes_on;              /* the loss of a node does not end the run */
    bool   is_elastic;           /* the world may have another size */
    size_t min_nodes, max_nodes; /* elastic; 0: no limit */
    size_t target; /* elastic: how many nodes are wanted; 0: as many as there are */
    int    min_ranks, max_ranks;      /* like min_nodes and max_nodes, in ranks */
    int    worlds[MEMBERSHIP_WORLDS]; /* the only allowed sizes, in ranks; none: any */
    size_t worlds_count;
    const struct batch_rules *batch;  /* only worlds that suit it; NULL: any */
    size_t                    spares; /* how many wait, connected */
};

/* Adds a listed member without a place, in state AWAY; it may be dialled at once. Returns its
 * index. */
size_t membership_add(struct membership *members, const char *name, int slots);
void   membership_clear(struct membership *members);

/* Returns the member of that name; MEMBERSHIP_NONE: there is none. */
size_t membership_find(const struct membership *members, const char *name);
/* Returns the place of the member in this world; MEMBERSHIP_NONE: it has none. */
size_t membership_place(const struct membership *members, size_t which);
/* May the member have a place in the next world? */
bool membership_is_usable(const struct membership *members, size_t which);
/* Must the member leave now? */
bool membership_is_due(const struct membership *members, size_t which);
/* Returns how many members might have a place in the next world: they are there, or may be
 * connected now. */
size_t membership_candidates(const struct membership *members, double now_s);
/* Returns how many ranks that place would have if the member had it. */
int membership_ranks(const struct membership *members, const struct member_rules *rules,
                     size_t place, size_t which);
/* Returns the largest number of nodes that the world may have; 0: no limit. */
size_t membership_most_nodes(const struct member_rules *rules);

/* --- events ----------------------------------------------------------------- */

/* Makes world the current world: by place, which member. A member that loses its place becomes
 * a spare. */
void membership_take(struct membership *members, const struct member_rules *rules,
                     const size_t *world, size_t places);
/* The place had that many ranks when the run was interrupted. */
void membership_restore_ranks(struct membership *members, size_t place, int ranks);

/* The host is on the list, maybe again. */
void membership_listed(struct membership *members, size_t which);
/* The host is not on the list. If it was, it leaves; its ranks, if it has any, have save_s to
 * save. False: it was not. */
bool membership_unlisted(struct membership *members, size_t which, double now_s, double save_s);
/* The member's machine is gone in left_s seconds; its ranks must have exited margin_s before.
 * kind: DEPARTURE_CLOUD or DEPARTURE_DRAIN. If this comes again, the earlier time counts.
 * False: the member had to leave as early anyway. */
bool membership_depart(struct membership *members, size_t which, enum departure_kind kind,
                       const char *reason, double now_s, double left_s, double margin_s);
/* The member has spoilt a generation, which is over: the next one does without it. */
void membership_leave_out(struct membership *members, size_t which, const char *reason,
                          double now_s);
/* Takes that back. */
void membership_trust(struct membership *members, size_t which);
/* Was it left out? */
bool membership_is_left_out(const struct membership *members, size_t which);
/* The ranks have saved: nodes of which they have a notice may leave now. */
void membership_saved(struct membership *members, double now_s);
/* No rank of the generation is left. If its ranks had a notice, of whatever kind, all nodes
 * that have a reason leave with it, whatever ended it: the next generation would get a notice
 * at once. */
void membership_over(struct membership *members, bool had_notice);

/* The member is connected and was checked: it is a spare. */
void membership_joined(struct membership *members, size_t which);
/* The spare is heard, or not. True: that has changed. */
bool membership_heard(struct membership *members, size_t which, bool is_heard);
/* The member was lost, or failed the check: it cools down. ended: a generation ended because of
 * it. One without a place is LEAVING, until membership_gone(). */
void membership_lost(struct membership *members, size_t which, double now_s, bool ended);
/* It was lost only in that it cannot start ranks: a directory is missing there, say. */
void membership_refused(struct membership *members, size_t which);
/* The member without a place is on its way out; nothing of its agent is left. */
void membership_leaving(struct membership *members, size_t which);
void membership_gone(struct membership *members, size_t which);
/* A generation ended because that rank failed first: blames its node. -1, or a rank without a
 * place: blames no node. */
void membership_blame(struct membership *members, int rank);
/* A generation lived long: clears the failures of its nodes. Call it before membership_lost()
 * for the nodes that ended it. */
void membership_proved(struct membership *members);

/* --- what follows ----------------------------------------------------------- */

enum membership_stage {
    MEMBERSHIP_STARTING, /* a generation is about to have ranks */
    MEMBERSHIP_RUNNING,  /* it has ranks */
    MEMBERSHIP_STOPPED,  /* its ranks are being stopped, or are gone */
};

enum membership_do {
    MEMBERSHIP_DO_NOTHING,
    MEMBERSHIP_DO_TELL,      /* the ranks, that this member leaves */
    MEMBERSHIP_DO_TAKE_BACK, /* the notice: no node leaves after all */
    MEMBERSHIP_DO_END,       /* this generation: this member is due. Enter MEMBERSHIP_STOPPED */
    MEMBERSHIP_DO_SEND_AWAY, /* this member: it has no place, and is LEAVING now */
};

struct membership_action {
    enum membership_do      what;
    size_t                  which;
    const struct departure *departure; /* TELL, END, SEND_AWAY: why; borrowed */
};

/* Call it after each event, and when membership_due_s() has passed, until it returns
 * DO_NOTHING. */
struct membership_action membership_next(struct membership    *members,
                                         enum membership_stage stage, double now_s);
/* Do the ranks of this generation have a notice that a node leaves, which still holds? */
bool membership_is_announced(const struct membership *members);
/* Returns the seconds until a reason is due; negative: none will be. */
double membership_due_s(const struct membership *members, double now_s);

/* Returns the next member to connect, now JOINING; MEMBERSHIP_NONE: none. */
size_t membership_dial(struct membership *members, const struct member_rules *rules,
                       double now_s);
/* Is there no use in waiting: has each listed member without a place refused often enough, and at
 * least one? */
bool membership_is_hopeless(const struct membership *members);
/* Returns the seconds until membership_dial() may have one; negative: it waits for none. */
double membership_dial_s(const struct membership *members, const struct member_rules *rules,
                         double now_s);
/* Returns a spare that is not needed, now LEAVING; MEMBERSHIP_NONE: there is none. */
size_t membership_surplus(struct membership *members, const struct member_rules *rules);

#endif
