/* guard.h - the agent's second process, parent of the ranks
 *
 * The agent forks the guard when PLAN arrives, before it does anything else with the plan,
 * while the agent has one thread. The guard starts and reaps the ranks and does not know the
 * launcher. When the agent dies, the guard kills everything at once; when the guard dies, the
 * kernel (pidns) or the agent does. A process that is stopped, or held by a debugger, is no
 * better than a dead one. So once a second each tells the other that it runs. If both are
 * stopped and the launcher is on another machine, lease_timer.h kills the process whose death
 * ends the ranks. They exchange messages of a fixed size over a SOCK_SEQPACKET pair, which
 * keeps each message whole.
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

/* Ids of children. The id of a rank is its index on this node. */
#define GUARD_HELPER (-1) /* the shell that reads --venv_script */
#define GUARD_ALL    (-2) /* to signal every rank */
#define GUARD_SERVER (-3) /* serves the ranks, and ends after them: muster-pmix */

enum guard_type {
    GUARD_SPAWN = 1, /* to the guard: fork id, with descriptors. A rank is set up and waits for
                        GO; others execute at once */
    GUARD_GO,        /* to the guard: execute all ranks, now and later */
    GUARD_SIGNAL,    /* to the guard: send the signal in `value` to the process group of id */
    GUARD_STOP,      /* to the guard: CONT and TERM now (stop.h), KILL after `seconds`; if
                        repeated: shorten */
    GUARD_ALIVE,     /* to the guard: the agent runs, and says so again within `seconds`;
                        `value`: by then the ranks must be dead, even if both are stopped.
                        From the guard: it runs, and `value` processes are writing core files */
    GUARD_PIDS,      /* to the guard: the next process gets the number `value` + 1
                        (pid_range.h) */
    GUARD_AGAIN,     /* to the guard, after EMPTY: start over, another generation of ranks
                        follows */
    GUARD_READY,     /* from the guard: containment is chosen */
    GUARD_STANDS,    /* from the guard: id has been set up and waits for GO */
    GUARD_STARTED,   /* from the guard: id was executed */
    GUARD_EXITED,    /* from the guard: id has ended, or (failure.step) could not be executed */
    GUARD_EMPTY,     /* from the guard, once after a stop: no process is left, or `left`
                        cannot be killed. Until AGAIN the guard only waits for the agent's
                        exit */
};

struct guard_message {
    int32_t              type, id;
    int32_t              value;  /* SIGNAL: its number; EXITED: status as from wait() */
    int32_t              pid;    /* as other processes of this node see it */
    int32_t              killed; /* EMPTY: processes that outlived the last rank */
    int32_t              left;
    int64_t              at_ns; /* STARTED, EXITED */
    int64_t              maxrss_kb;
    double               seconds;
    struct spawn_failure failure;
    struct containment   contain; /* READY */
};

#define GUARD_BEAT_S    1.0 /* between two GUARD_ALIVE */
#define GUARD_BUSY_S    30.0 /* to kill processes that keep forking, on a busy machine */
#define GUARD_SUSPECT_S 3.0 /* after this silence a process may be stopped: it gets SIGCONT */

/* What the agent knows about its guard. */
struct guard {
    int                fd;
    pid_t              pid;
    int64_t            heard_ns, watched_ns;
    char               silent_as; /* the guard's state in /proc when it was silent and was
                                     killed for that; 0: it was not */
    struct containment contain;
    struct go_env     *go_env; /* for the ranks; the agent sets them before guard_go() */
    bool               is_leased; /* startup.c: the launcher is elsewhere, so that the lease
                                     timer applies */
    struct lease_timer lease_timer;
};

/* Forks the guard and waits until it has started. use_pidns: false for commands that look after
 * the node (ps, pkill, sudo): they must see all of its processes. -1 with err and errno. */
int guard_start(struct guard *guard, const char *run_id, bool use_pidns, struct error *err);

/* Sends requests. The caller keeps the descriptors. -1 if the guard is gone;
 * guard_receive() reports that too. */
int guard_spawn(struct guard *guard, int id, const int fds[SPAWN_FDS]);
int guard_go(struct guard *guard);
int guard_signal(struct guard *guard, int id, int signal);
int guard_stop(struct guard *guard, double grace_s);
int guard_again(struct guard *guard);
/* In a PID namespace: numbers the next processes after `before`. */
void guard_number(struct guard *guard, int before);

/* Call it every GUARD_BEAT_S. Tells the guard that we run, and that it will hear from us again
 * within lease_s: otherwise it must end the ranks. A silent guard gets SIGCONT, and after
 * patience_s SIGKILL. But a guard that is running has much to do, and gets GUARD_BUSY_S. */
void guard_watch(struct guard *guard, double lease_s, double patience_s);

/* Call it when guard_watch() will not be called any more. */
void guard_unwatch(struct guard *guard);

/* The guard has nothing left to do: makes it exit, and waits for that. */
void guard_end(struct guard *guard);

/* 1: *message is filled; 0: nothing to read now; -1: the guard is gone. */
int guard_receive(struct guard *guard, struct guard_message *message);

/* The guard process (guard_loop.c). Does not return. */
void guard_loop(int fd, struct containment *contain, struct go_env *go_env, const char *run_id)
    __attribute__((noreturn));

#endif
