/* orphans.h - processes on this node that belong, or belonged, to a run of this user
 *
 * A process belongs to a run if our user owns it and its environment has MUSTER_RUN_ID or
 * it is in the run's control group. Processes of a login shell that never started its
 * agent count, too; their run is unknown. The run is running as long as the agent lives
 * that the process descends from.
 *
 * An agent is sick if it is stopped, or if it has lost its parent and has no reconnect socket
 * open for the launcher: a healthy agent without a parent exits soon. An agent that has lost
 * its parent and is stopped looks after nothing. Names of processes prove nothing, and other
 * users' processes are never listed.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_ORPHANS_H
#define MUSTER_AGENT_ORPHANS_H

#include <stdbool.h>

#include <jansson.h>

#include "node/process.h"

#define ORPHANS_MAX       512 /* more must wait for orphans_forget_gone() */
#define ORPHAN_RUN_ID_MAX 64

enum orphan_what {
    ORPHAN_NONE,
    ORPHAN_RANK,
    ORPHAN_AGENT, /* or a guard, which looks the same but has an agent above it */
};

struct orphan {
    struct process   process;
    enum orphan_what what;
    char             run[ORPHAN_RUN_ID_MAX]; /* "": unknown */
    bool             has_agent;    /* it is an agent or below one, even a sick one */
    bool             is_running;   /* its run is running */
    bool             is_draining;  /* its agent or guard has lost its parent and is ending it */
    bool             is_given_up;  /* it or an agent above it is given_up, and stopped */
    bool             is_spared;    /* we descend from it, or must not touch it */
    bool             is_signalled; /* we sent it a signal */
    bool             is_gone;
    json_t          *about;
};

struct orphans {
    struct orphan *item;
    size_t         count;
    /* Set before the first look. */
    bool           with_shells; /* look for hanging login shells, too: takes a while */
    struct process given_up;    /* an agent, by pid and start. pid 0: none */
    uint64_t       started_by;  /* ticks since boot: skip processes that started later, which
                                   saves most of the time. 0: skip none */
    bool           own_network; /* skip processes in another network namespace, as in a
                                   container */
};

/* Adds processes that were not there the last time. Leaves out this process, its ancestors and
 * its descendants; agents among them are listed as spared. */
void orphans_look(struct orphans *orphans);
void orphans_clear(struct orphans *orphans);
bool orphans_are_full(const struct orphans *orphans);
/* Does this process look like an agent or a guard? False once it has begun to exit. */
bool orphans_is_agent(pid_t pid);
/* Drops processes that are gone, to make room. */
void orphans_forget_gone(struct orphans *orphans);

/* Is this a rank of our network namespace, as far as we may know, that no agent can end any
 * more? Processes in a container are not our concern. */
bool orphan_is_left(const struct orphan *orphan);

/* Is this process of a run, also of another user's? Writes its id into run, "" if that is
 * unknown, and whether the run is running. */
bool orphans_run_of(const struct orphans *orphans, const struct process *process,
                    char run[ORPHAN_RUN_ID_MAX], bool *is_running);

/* Updates the listed processes; adds no new ones. */
void orphans_refresh(struct orphans *orphans);

/* Signals exactly this process: pid and start time must match, and it must still be the same
 * kind of process, since it may have executed another program. */
void orphan_signal(struct orphan *orphan, int signal);

#endif
