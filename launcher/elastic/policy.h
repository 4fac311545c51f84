/* policy.h - a generation of ranks is over: what follows?
 *
 * A pure function: the state and an event give the next state and what to do. It reads no clock
 * and does no I/O, so a table tests it, and a simulator can run it with its own clock.
 *
 *     state     event        action
 *     RUNNING   OVER         WAIT for delay_s; PARK: nodes are missing; or END
 *     RUNNING   TIME         STOP this generation: the next one is larger, or must be smaller
 *     any       SCALE        another size is wanted (members.target): acts at the next TIME
 *     RUNNING   KEPT         it was not stopped: the next one would have been the same
 *     WAITING   TIME         START the next generation, or PARK
 *     WAITING   NODE_LOST    END, if no other node may take its place
 *     PARKED    TIME         START as soon as there are enough nodes; END after max_wait_s, or
 *                            if no node that is there can start ranks
 *     any       OVER         (except RUNNING) END: the user does not want to wait
 *
 * TIME may come at any time, and must come after policy_due_s() and when the members have
 * changed (membership.h). At START the caller asks next_world_new() for the next world.
 *
 * When OVER comes, the processes of the generation are gone, except as is_left and dead_in_s
 * report: the next generation cannot meet them.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_POLICY_H
#define MUSTER_POLICY_H

#include <stdbool.h>

#include "elastic/exit_class.h"
#include "elastic/membership.h"

/* A generation that lived longer was worth its start: restarts and their delays begin
 * again. */
#define POLICY_LONG_S 600.0
/* A program that fails sooner, and twice in the same way, will fail again. */
#define POLICY_YOUNG_S 10.0
/* A rank that has run for longer has bound MASTER_PORT, and fails for another reason. */
#define POLICY_PORT_S 60.0
/* How many restarts a taken MASTER_PORT may cost; they do not count otherwise. */
#define POLICY_PORTS_MAX 2
/* The longest pause between two starts. */
#define POLICY_DELAY_MAX_S 60.0

enum policy_phase { POLICY_RUNNING, POLICY_WAITING, POLICY_PARKED, POLICY_OVER };

/* What the user wants. */
struct policy_rules {
    int               max_restarts;
    int               max_no_progress; /* generations in a row without progress; 0: no limit */
    double            delay_s; /* between two starts; negative: 0, 1, 2, 4 ... 60 s */
    bool              may_move_port; /* MASTER_PORT is muster's choice */
    struct restart_on on;
    struct member_rules members;
    double            max_wait_s; /* the longest PARKED, since the generation ended */
    double            grow_s;     /* between two changes of a world that could grow */
};

/* Starts as { 0 }, but for changed_s. After that only policy_next() writes it. */
struct policy {
    enum policy_phase phase;
    int               restarts; /* counted against max_restarts, since a long generation */
    int               ports;    /* restarts because of MASTER_PORT */
    int               no_starts; /* generations in a row that ended with END_NO_START */
    bool              is_unfit;  /* the last one ended with END_UNFIT */
    int               stalls;    /* generations in a row that failed without progress */
    int               young_code; /* of the last generation's first failure, if it came soon
                                     after the start; else 0 */
    double            start_s;    /* WAITING, PARKED: the earliest START */
    double            park_s;     /* PARKED: when the wait ends */
    double            changed_s;  /* when a world of another size last began */
    bool              is_asked;   /* RUNNING: STOP was returned, and it is not over yet */
    bool              is_scaled;  /* the target is new: no wait once there are enough nodes */
};

/* What ended the generation first. */
enum policy_end {
    POLICY_END_WELL,   /* nothing: every rank exited with 0 */
    POLICY_END_RANK,   /* a rank failed */
    POLICY_END_HANG,   /* no rank did anything */
    POLICY_END_NODE,   /* a node failed or was lost */
    POLICY_END_NO_START, /* a node is there, but cannot start its ranks */
    POLICY_END_UNFIT,    /* the same, and only because that node is broken */
    POLICY_END_CHANGE, /* a node must leave, or the world must change its size */
    POLICY_END_WANTED, /* the user, a time limit, or a reader that is gone */
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
    double                 now_s; /* by the clock of membership.h */
    /* The rest is only for OVER. */
    enum policy_end end;
    bool   is_world_whole; /* every node waits for the next generation */
    bool   is_first_start; /* no rank was ever started: the user must see what is wrong */
    bool   is_left;        /* a process of this generation lives and cannot be killed */
    double dead_in_s;      /* until the lease of nodes that could not be checked expires */
    double lived_s;        /* of the generation, from GO until it ended */
    double ended_s;        /* how long ago it ended */
    bool   is_progress_known; /* steps with numbers, or checkpoints, were seen in any generation */
    bool   is_cured;       /* a node that has spoilt it has no place in the next one */
    bool   has_progressed; /* beyond the steps of all earlier generations, or to a new checkpoint */
    /* Only for END_RANK: */
    int    code;           /* as in a shell */
    bool   out_of_memory;
    bool   not_started;    /* the program could not be executed */
    double rank_lived_s;   /* of the rank that failed */
    bool   port_taken;     /* another process has MASTER_PORT on node 0 */
    bool   any_ended_well; /* a rank has already exited with 0 */
    bool   are_alike;      /* all ranks failed in this way, within POLICY_YOUNG_S of their
                              start; or one has aborted them all */
};

enum policy_do {
    POLICY_DO_NOTHING,
    POLICY_DO_WAIT,
    POLICY_DO_PARK,
    POLICY_DO_START,
    POLICY_DO_STOP,
    POLICY_DO_END,
};

/* Why policy_next() returns an action. */
enum policy_why {
    POLICY_WHY_NONE,
    POLICY_WHY_RESTART,     /* WAIT: it counts */
    POLICY_WHY_PORT,        /* WAIT: it does not count */
    POLICY_WHY_CHANGE,      /* WAIT, PARK, STOP: the world changes; it does not count either */
    POLICY_WHY_OFF,         /* END: no restarts are wanted */
    POLICY_WHY_WANTED,      /* END: POLICY_END_WANTED, or OVER during a pause */
    POLICY_WHY_NODE,        /* END: a node is missing */
    POLICY_WHY_NO_START,    /* END: END_NO_START twice in a row, or no node could start ranks */
    POLICY_WHY_CLASS,       /* END: no restart for this exit code */
    POLICY_WHY_NOT_STARTED, /* END: the program cannot be executed */
    POLICY_WHY_YOUNG,       /* END: twice the same soon after the start, now of all ranks */
    POLICY_WHY_USED_UP,     /* END: max_restarts */
    POLICY_WHY_NO_PROGRESS, /* END: max_no_progress */
    POLICY_WHY_LEFT,        /* END: a process of the last generation is still there */
    POLICY_WHY_MAX_WAIT,    /* END: max_wait_s */
};

struct policy_action {
    enum policy_do  what;
    enum policy_why why;
    double          delay_s; /* WAIT */
};

/* Could there ever be another generation? If not, agents need not stay. */
bool policy_may_restart(const struct policy_rules *rules);

/* members: NULL if the world is fixed (rules->members.goes_on is false). */
struct policy_action policy_next(struct policy *policy, const struct policy_rules *rules,
                                 struct membership *members, const struct policy_event *event);

/* A rank has failed, and the others are not stopped yet: returns how many seconds to wait for
 * them to exit, since no other generation follows if all fail in the same way. 0: their exits
 * make no difference. */
double policy_others_s(const struct policy *policy, const struct policy_rules *rules,
                       const struct policy_event *event);

/* Returns the seconds until TIME must come; negative: it need not come. */
double policy_due_s(const struct policy *policy, const struct policy_rules *rules,
                    const struct membership *members, double now_s);

#endif
