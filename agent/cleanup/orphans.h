/* orphans.h - processes on this node that are, or were, of a run of this user
 *
 * A process is of a run if it belongs to our user and its environment has MUSTER_RUN_ID or
 * it is in the run's control group. What is left of a login shell that never came to its agent
 * counts, too; its run is not known. The run is running as long as the agent lives that the
 * process descends from.
 *
 * An agent is sick if it is stopped, or if it has lost its parent and has no reconnect
 * socket open for a launcher to come back to: a healthy agent without a parent ends soon.
 * An agent that has lost its parent and is stopped takes care of nothing. Names of
 * processes prove nothing, and other users' processes are never listed.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_ORPHANS_H
#define MUSTER_AGENT_ORPHANS_H

#include <stdbool.h>

#include <jansson.h>

#include "node/process.h"

#define ORPHANS_MAX       512 /* more have to wait for orphans_forget_gone() */
#define ORPHAN_RUN_ID_MAX 64

enum orphan_what {
    ORPHAN_NONE,
    ORPHAN_RANK,
    ORPHAN_AGENT, /* or a guard, which looks the same but has an agent above it */
};

struct orphan {
    struct process   process;
    enum orphan_what what;
    char             run[ORPHAN_RUN_ID_MAX]; /* "": not known */
    bool             has_agent;    /* it is an agent or below one, though perhaps a sick one */
    bool             is_running;   /* its run is running */
    bool             is_draining;  /* its agent or guard has lost its parent and is ending it */
    bool             is_given_up;  /* its agent, or it, was given up, and that agent is stopped */
    bool             is_spared;    /* we descend from it, or must not touch it */
    bool             is_signalled; /* we sent it a signal */
    bool             is_gone;
    json_t          *about;
};

struct orphans {
    struct orphan *item;
    size_t         count;
    /* Set these before the first look. */
    bool           with_shells; /* also of hanging login shells: takes a while */
    struct process given_up;    /* an agent, by pid and start. pid 0: none */
    uint64_t       started_by;  /* ticks since boot: what started later is not looked at, which
                                   saves most of the time. 0: everything is */
    bool           own_network; /* what runs in another network namespace, as in a container, is
                                   not looked at */
};

/* Add processes that were not there the last time. We ourselves, our ancestors and our
 * descendants are left out; agents among them are listed as spared. */
void orphans_look(struct orphans *orphans);
void orphans_clear(struct orphans *orphans);
bool orphans_are_full(const struct orphans *orphans);
/* Does this process look like an agent or a guard? Not any more once it has begun to end. */
bool orphans_is_agent(pid_t pid);
/* Drop those that are gone, to make room. */
void orphans_forget_gone(struct orphans *orphans);

/* A rank of our network namespace, as far as we may know, that no agent can end any more: what
 * runs in a container is none of our business. */
bool orphan_is_left(const struct orphan *orphan);

/* Update the listed processes; new ones are not added. */
void orphans_refresh(struct orphans *orphans);

/* Send a signal to exactly this process: pid and start time must match, and it must still be
 * what it was, since it may have executed another program. */
void orphan_signal(struct orphan *orphan, int signal);

#endif
