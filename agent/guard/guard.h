/* guard.h - the agent's second process, parent of the ranks
 *
 * The agent forks it when PLAN has come, before anything else is done with the plan, while
 * the agent has one thread. The guard starts and reaps the ranks and does not know the
 * launcher. When the agent dies, the guard ends everything at once; when the guard dies,
 * the kernel (pidns) or the agent does. A process that is stopped, or held by a debugger,
 * is no better than a dead one: so each tells the other once a second that it runs. If both are
 * stopped and the launcher is on another machine, the one whose death ends the ranks dies of its
 * lease_timer.h. They exchange messages of a fixed size over a SOCK_SEQPACKET pair, which keeps
 * each message whole.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_GUARD_H
#define MUSTER_AGENT_GUARD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"
#include "guard/containment.h"
#include "guard/lease_timer.h"
#include "guard/spawn.h"

/* Ids of processes. The id of a rank is its index on this node. */
#define GUARD_HELPER (-1) /* the shell that reads --venv_script */
#define GUARD_ALL    (-2) /* signal: every rank */

enum guard_type {
    GUARD_SPAWN = 1, /* to the guard: fork id, with descriptors. A helper is executed at once,
                        a rank is set up and waits for GO */
    GUARD_GO,        /* execute all ranks, now and later */
    GUARD_SIGNAL,    /* signal number in value, to the process group of id */
    GUARD_STOP,      /* CONT and TERM now, KILL after `seconds`; again: shorten */
    GUARD_ALIVE,     /* the agent runs, and says so again within `seconds`; `value`: then the
                        ranks have to be dead, even if both are stopped. From the guard:
                        it runs, and `value` processes are writing core files */
    GUARD_PIDS,      /* to it: the next process has the number `value` + 1 (pid_range.h) */
    GUARD_AGAIN,     /* to it, after EMPTY: be as new, another generation of ranks follows */
    GUARD_READY,     /* from it: containment is chosen */
    GUARD_STANDS,    /* id has been set up and waits for GO */
    GUARD_STARTED,   /* id was executed */
    GUARD_EXITED,    /* id has ended, or (failure.step) could not be executed */
    GUARD_EMPTY,     /* after a stop, once: nothing is left, or `left` cannot be killed. Until
                        AGAIN it only waits for the agent's end */
};

struct guard_message {
    int32_t              type, id;
    int32_t              value;  /* SIGNAL: its number; EXITED: status as of wait() */
    int32_t              pid;    /* as this node's other processes see it */
    int32_t              killed; /* EMPTY: processes that outlived the last rank */
    int32_t              left;
    int64_t              at_ns; /* STARTED, EXITED */
    int64_t              maxrss_kb;
    double               seconds;
    struct spawn_failure failure;
    struct containment   contain; /* READY */
};

#define GUARD_BEAT_S    1.0 /* between two GUARD_ALIVE */
#define GUARD_BUSY_S    30.0 /* to find and to end what keeps forking, on a busy machine */
#define GUARD_LEAST_S   5.0 /* the shortest silence that counts between the two: there is no network
                               between them, but the machine may be loaded */
#define GUARD_SUSPECT_S 3.0 /* who is silent for that long may be stopped: it gets SIGCONT */

/* What the agent knows of its guard. */
struct guard {
    int                fd;
    pid_t              pid;
    int64_t            heard_ns, watched_ns;
    char               silent_as; /* the state in /proc in which it was silent, and so was killed;
                                     0: it was not */
    struct containment contain;
    struct go_env     *go_env; /* of the ranks; the agent sets it before guard_go() */
    bool               is_leased; /* nobody may be able to continue both; the agent sets it */
    struct lease_timer lease_timer;
};

/* Fork it and wait until it has started. use_pidns: not for commands that look after the
 * node itself (ps, pkill, sudo): they need to see all of it. -1 with err and errno. */
int guard_start(struct guard *guard, const char *run_id, bool use_pidns, struct error *err);

/* Requests. The descriptors stay the caller's. -1 if the guard is gone; guard_receive()
 * reports that too. */
int guard_spawn(struct guard *guard, int id, const int fds[SPAWN_FDS]);
int guard_go(struct guard *guard);
int guard_signal(struct guard *guard, int id, int signal);
int guard_stop(struct guard *guard, double grace_s);
int guard_again(struct guard *guard);
/* In a PID namespace: number the processes from there on. */
void guard_number(struct guard *guard, int before);

/* Call it every GUARD_BEAT_S: tells the guard that we run, and that it hears from us again
 * within lease_s, or that is the end of the ranks. A guard that is silent gets SIGCONT, and after
 * patience_s SIGKILL; but if it runs, it has much to do and gets GUARD_BUSY_S. */
void guard_watch(struct guard *guard, double lease_s, double patience_s);

/* It is not called any more. */
void guard_unwatch(struct guard *guard);

/* Nothing is left for it to do: end it, and wait for that. */
void guard_end(struct guard *guard);

/* 1: *message is filled; 0: nothing to read now; -1: the guard is gone. */
int guard_receive(struct guard *guard, struct guard_message *message);

/* The guard itself (guard_loop.c). Does not return. */
void guard_loop(int fd, struct containment *contain, struct go_env *go_env, const char *run_id)
    __attribute__((noreturn));

#endif
