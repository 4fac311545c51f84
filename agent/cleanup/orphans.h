/* orphans.h - processes on this node that are, or once were, of a run of this user
 *
 * A process is of a run when its environment carries MUSTER_RUN_ID, or it is in the run's
 * control group, and its user is ours; the run goes on as long as the agent lives that it
 * descends from. An agent is sick when it is stopped, or has lost its parent and keeps no
 * reconnect socket open for a launcher to come back: a healthy one ends by itself then. One that has lost
 * its parent and is stopped looks after nothing. Nothing is known by its name, and what another
 * user owns is never among them.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_ORPHANS_H
#define MUSTER_AGENT_ORPHANS_H

#include <stdbool.h>

#include <jansson.h>

#include "node/process.h"

#define ORPHANS_MAX       512 /* of more, only these are looked at, until some are forgotten */
#define ORPHAN_RUN_ID_MAX 64

enum orphan_what {
    ORPHAN_NONE,
    ORPHAN_RANK,
    ORPHAN_AGENT, /* or a guard, which looks the same and is below one */
};

struct orphan {
    struct process   process;
    enum orphan_what what;
    char             run[ORPHAN_RUN_ID_MAX]; /* "": not known */
    bool             has_agent;   /* it is one, or below one, though perhaps a sick one */
    bool             is_running;  /* of a run that goes on */
    bool             is_draining; /* its agent, or guard, has lost its parent and ends it */
    bool             is_given_up; /* the agent that was given up, or was below it, and that is
                                     stopped; if it is not, it is leaving */
    bool    is_spared;            /* we descend from it, or may not know: never to be touched */
    bool    is_signalled;         /* by us */
    bool    is_gone;
    json_t *about;
};

struct orphans {
    struct orphan *item;
    size_t         count;
    struct process given_up; /* an agent that its launcher cannot reach any more, by pid and
                                start: set it before the first look. pid 0: none */
};

/* Add what was not there the last time. We ourselves, what we descend from and our own
 * descendants are left out; agents among them are there as spared. */
void orphans_look(struct orphans *orphans);
void orphans_clear(struct orphans *orphans);
bool orphans_are_full(const struct orphans *orphans);
/* Those that are gone make room. */
void orphans_forget_gone(struct orphans *orphans);

/* Look whether they are still there, and whose they are by now; new ones are not seen. */
void orphans_refresh(struct orphans *orphans);

/* Number and start time make it the same process (process_signal holds it while it
 * looks); what it is to us is asked again, since it may have become another program. */
void orphan_signal(struct orphan *orphan, int signal);

#endif
