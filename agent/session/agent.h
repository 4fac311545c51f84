/* agent.h - the state of an agent, shared by the files that make it up
 *
 *     agent.c    the life of it: start, heartbeat, loss of the link, end
 *     launcher_frames.c   what the launcher says, and what follows
 *     guard_events.c     what the guard says, and what follows
 *     ending.c   from "stop" to DONE, also when the guard is gone
 *     output_pump.c     output of all ranks onto the link
 *     reconnect.c the launcher is lost, and comes back
 *     bcast.c    files come
 *     rank.c     one rank
 *
 * States only go down the list. A stop may come in any of them.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_AGENT_H
#define MUSTER_AGENT_AGENT_H

#include <stdbool.h>
#include <stdint.h>

#include <event2/event.h>

#include "cleanup/clean.h"
#include "copy/bcast_receive.h"
#include "exit_code.h"
#include "guard/guard.h"
#include "guard/stop.h"
#include "link/link.h"
#include "link/reconnect_socket.h"
#include "node/probe.h"
#include "plan/bind.h"
#include "plan/blob.h"
#include "plan/node_plan.h"
#include "plan/prepare.h"
#include "plan/venv.h"
#include "rank/oom.h"
#include "rank/pmi.h"
#include "rank/rank.h"
#include "session/idle.h"
#include "session/stacks.h"
#include "strlist.h"

enum agent_state {
    AGENT_WAITING,   /* for PLAN */
    AGENT_PREPARING, /* the venv script is being read */
    AGENT_READY,     /* READY was sent */
    AGENT_RUNNING,   /* GO has come */
    AGENT_ENDING,    /* ranks have ended, or must: the guard clears up */
    AGENT_DONE,      /* nothing is left here; DONE is on its way */
};

struct agent {
    enum agent_state   state;
    struct event_base *base;
    struct link        link;
    struct guard       guard; /* once PLAN has come; fd -1: none yet */
    struct event      *guard_news, *guard_watch, *heartbeat, *on_term, *on_hup;
    int64_t            beat_ns; /* when the last heartbeat was, by clock_boot_ns() */
    struct probe      *probe;
    struct venv       *venv;
    struct blobs       blobs;
    struct node_plan    plan;
    struct strlist     environment; /* that of this process, then the venv's */
    struct binding     binding;
    struct memory      memory;
    struct pmi        *pmi;
    struct rank       *rank;
    int                ranks;      /* that exist here; 0 before PLAN */
    int                next_start; /* index of the next rank to start */
    int                starting;   /* how many are between SPAWN and STARTED */
    int                ended;
    uint32_t           generation;
    uint64_t           credit;
    int                turn;       /* whose output goes next */
    bool               has_begun;  /* GO has come */
    int64_t            stopped_ns; /* when a stop began, whoever began it; 0: not */
    int64_t            kill_ns;    /* when the guard is to KILL what is left; 0: not yet known */
    bool               pid_file_made;
    int                master_port;     /* that we have held until GO; 0: none */
    char               port_taken[128]; /* who has it now and should not; "": nobody */
    bool               guard_gone, is_empty;
    int                left, killed; /* once is_empty */
    struct idle        idle;
    struct stacks     *stacks;     /* being taken; NULL: not */
    struct clean      *clean;      /* `muster clean` has asked; NULL: not */
    struct bcast_receive    *receiver;    /* `muster bcast` brings files; NULL: not */
    struct stop        stop;       /* ours, when the guard is gone */
    struct event      *again, *linger;
    struct event      *log_limit; /* NULL: more than log files is left, or there are none */
    bool               logs_given_up;
    struct reconnect_socket       *socket; /* NULL: the launcher cannot come back */
    struct event      *window; /* how long it may take to */
    struct event      *name_lock; /* name_lock.h; NULL: none */
    int                relay_fd; /* we are a second agent, and this is the first; -1: no */
};

/* Does what a frame asks for; body is NULL for raw ones. -1: it breaks the protocol. */
typedef int frame_f(struct agent *agent, const struct frame *frame, const json_t *body,
                    struct error *err);

/* Run until everything is over. Exit status of the process. */
int  agent_run(const char *nonce);

/* agent.c */
void agent_send(struct agent *agent, enum frame_type type, uint32_t rank, json_t *body);
void agent_enter(struct agent *agent, enum agent_state state);
/* This node cannot go on: say so and stop. */
void agent_fail(struct agent *agent, const char *stage, const struct failure *failure);
void agent_set_heartbeat(struct agent *agent, double seconds);

/* launcher_frames.c: a frame of the link; arg is the agent. */
int  agent_frame(const struct frame *frame, void *arg, struct error *err);
/* Start ranks, a few at a time. */
void agent_start_ranks(struct agent *agent);
/* A rank's log file is there, or cannot be had, or is over. */
void agent_log_changed(struct agent *agent);
/* The answer of a probe. */
void agent_probed(json_t *body, void *arg);

/* guard_events.c: watch the guard that was just started; event callbacks, arg is the agent. */
void agent_watch_guard(struct agent *agent);

/* ending.c */
void agent_stop(struct agent *agent, double grace_s);
void agent_look_at_port(struct agent *agent);
void agent_rank_over(struct agent *agent); /* one more has ended */
void agent_empty(struct agent *agent, int left, int killed);
void agent_guard_lost(struct agent *agent);
void agent_maybe_done(struct agent *agent);

/* reconnect.c: let the launcher come back in when its connection is lost. agent_cut is an
 * operation of the link, arg is the agent; agent_take_reconnect is for the second agent. */
void    agent_open_reconnect(struct agent *agent);
bool    agent_cut(void *arg);
frame_f agent_take_reconnect;

/* bcast.c */
frame_f agent_take_tree, agent_take_entries, agent_take_file, agent_take_data;

/* output_pump.c */
void agent_pump(struct agent *agent);

#endif
