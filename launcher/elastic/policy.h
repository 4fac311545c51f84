/* policy.h - a generation of ranks is over: what follows?
 *
 * A pure function: the state and an event give the next state and what to do. It knows no clock
 * and does no I/O, so a table tests it, and a simulator can run it with a clock of its own.
 *
 *     state     event        action
 *     RUNNING   OVER         WAIT for delay_s; PARK: nodes are missing; or END
 *     RUNNING   TIME         STOP this generation: the next one is larger, or is to be smaller
 *     any       SCALE        another size is wanted (members.target): see at the next TIME
 *     RUNNING   KEPT         it was not stopped: the next one would have been the same
 *     WAITING   TIME         START the next generation, or PARK
 *     WAITING   NODE_LOST    END, if nothing may take its place
 *     PARKED    TIME         START as soon as there are nodes enough; END after max_wait_s
 *     any       OVER         (but RUNNING) END: the user does not want to wait
 *
 * TIME may come at any time, and must come after policy_due_s() and when the members have changed
 * (members.h). Whoever carries out START asks members_next() for the next world.
 *
 * Everything that ended the generation is gone when OVER comes: nothing of it can meet the next.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_POLICY_H
#define MUSTER_POLICY_H

#include <stdbool.h>

#include "elastic/exit_class.h"
#include "elastic/members.h"

/* A generation that lived longer was worth its start: counting and waiting begin anew. */
#define POLICY_LONG_S 600.0
/* A program that fails sooner, and twice in the same way, will fail again. */
#define POLICY_YOUNG_S 10.0
/* A rank that has run for longer has bound MASTER_PORT, and fails for another reason. */
#define POLICY_PORT_S 60.0
/* Starts that a stolen MASTER_PORT may cost; they do not count otherwise. */
#define POLICY_PORTS_MAX 2
/* The longest pause between two starts. */
#define POLICY_DELAY_MAX_S 60.0

enum policy_phase { POLICY_RUNNING, POLICY_WAITING, POLICY_PARKED, POLICY_OVER };

/* What the user wants. */
struct policy_rules {
    int               max_restarts;
    double            delay_s; /* between two starts; negative: 0, 1, 2, 4 ... 60 s */
    bool              may_move_port; /* MASTER_PORT is muster's choice */
    struct restart_on on;
    struct member_rules members;
    double            max_wait_s; /* PARKED, since the generation ended */
    double            grow_s;     /* between two changes of the world, if it could grow */
};

/* Starts as { 0 }. Only policy_next() writes it. */
struct policy {
    enum policy_phase phase;
    int               restarts; /* that count against max_restarts, since a long generation */
    int               ports;    /* restarts because of MASTER_PORT */
    int               young_code; /* of the last generation's first failure, if it came soon after
                                     the start; else 0 */
    double            start_s;    /* WAITING, PARKED: no sooner */
    double            park_s;     /* PARKED: no longer */
    double            changed_s;  /* when a world of another size last began */
    bool              is_asked;   /* RUNNING: to stop, and it was not over since */
    bool              is_scaled;  /* the target is new: no waiting once there are nodes enough */
};

/* What ended the generation first. */
enum policy_end {
    POLICY_END_WELL,   /* nothing: every rank exited with 0 */
    POLICY_END_RANK,   /* a rank failed */
    POLICY_END_HANG,   /* no rank did anything */
    POLICY_END_NODE,   /* a node failed or was lost */
    POLICY_END_CHANGE, /* a node was to leave, or the world was to grow */
    POLICY_END_WANTED, /* the user, a time limit, or a reader who has gone */
};

enum policy_event_kind {
    POLICY_EVENT_OVER,
    POLICY_EVENT_TIME,
    POLICY_EVENT_NODE_LOST,
    POLICY_EVENT_SCALE,
    POLICY_EVENT_KEPT,
};

struct policy_event {
    enum policy_event_kind kind;
    double                 now_s; /* of the clock of members.h */
    /* The rest is of OVER. */
    enum policy_end end;
    bool   is_world_whole; /* every node waits for the next generation */
    bool   is_first_start; /* no rank was ever started: the user must see what is wrong */
    bool   is_left;        /* of this generation something lives that cannot be killed */
    double dead_in_s;      /* when the lease of nodes that nobody could look at is over */
    double lived_s;        /* the generation, from GO until it ended */
    double ended_s;        /* so long ago */
    /* Of END_RANK: */
    int    code;           /* as a shell counts it */
    bool   out_of_memory;
    bool   not_started;    /* the program could not be executed */
    double rank_lived_s;   /* the rank that failed */
    bool   port_taken;     /* somebody else has MASTER_PORT on node 0 */
    bool   any_ended_well; /* a rank has come to its end already */
    bool   are_alike;      /* all ranks failed so, within POLICY_YOUNG_S of their start; or one has
                              aborted them all */
};

enum policy_do {
    POLICY_DO_NOTHING,
    POLICY_DO_WAIT,
    POLICY_DO_PARK,
    POLICY_DO_START,
    POLICY_DO_STOP,
    POLICY_DO_END,
};

/* Why. */
enum policy_why {
    POLICY_WHY_NONE,
    POLICY_WHY_RESTART,     /* WAIT: it counts */
    POLICY_WHY_PORT,        /* WAIT: it does not */
    POLICY_WHY_CHANGE,      /* WAIT, PARK, STOP: the world changes; it does not count either */
    POLICY_WHY_OFF,         /* END: no restarts are wanted */
    POLICY_WHY_WANTED,      /* END: by the user's will */
    POLICY_WHY_NODE,        /* END: a node is missing */
    POLICY_WHY_CLASS,       /* END: not for this exit code */
    POLICY_WHY_NOT_STARTED, /* END: the program cannot be executed */
    POLICY_WHY_YOUNG,       /* END: twice the same, soon after the start, now of all ranks */
    POLICY_WHY_USED_UP,     /* END: max_restarts */
    POLICY_WHY_LEFT,        /* END: something of the last generation is still there */
    POLICY_WHY_MAX_WAIT,    /* END: max_wait_s */
};

struct policy_action {
    enum policy_do  what;
    enum policy_why why;
    double          delay_s; /* WAIT */
};

/* Could there ever be another generation? Else agents need not stay. */
bool policy_may_restart(const struct policy_rules *rules);

/* members: NULL if the world is fixed (rules->members.goes_on is false). */
struct policy_action policy_next(struct policy *policy, const struct policy_rules *rules,
                                 struct members *members, const struct policy_event *event);

/* A rank has failed, the others are not stopped yet: wait so many seconds for their ends, since
 * there is to be no other generation if they are alike; 0: that makes no difference. */
double policy_others_s(const struct policy *policy, const struct policy_rules *rules,
                       const struct policy_event *event);

/* Seconds until TIME must come; negative: it need not. */
double policy_due_s(const struct policy *policy, const struct policy_rules *rules,
                    const struct members *members, double now_s);

#endif
