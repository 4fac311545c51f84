/* agent.h - the state of an agent: parts that one file each owns, states and verbs
 *
 * A part is written by the file that is named beside it; all files may read it. What several
 * files do to a part, they do by the verbs below. next_generation.c lists those that begin anew
 * with a generation.
 *
 *     state      means                                 who enters it, and when
 *     WAITING    for PLAN (or TREE, GIVE, CLEAN,       the start
 *                RECONNECT, TASK)
 *     STAYING    for the PLAN of another generation,   next_generation.c: DONE was sent,
 *                or STOP: leave                        and PLAN had "stay"
 *     PREPARING  guard, venv script, files, checks,    startup.c, on PLAN
 *                ranks are forked and wait for GO
 *     READY      READY was sent, for GO                startup.c, all is prepared
 *     RUNNING    ranks execute, run, end               launcher_frames.c, on GO
 *     ENDING     ranks have ended or must; the guard   ending.c: the last rank has ended,
 *                ends what is left                     or agent_stop
 *     DONE       nothing is left here; DONE is queued  ending.c: empty, everything was sent;
 *                                                      agent_leave
 *
 * States only go down the list, but for DONE to STAYING; ENDING may follow any before it.
 *
 *     verb                  asked by              does
 *     agent_fail            anyone: this node     sends ERROR, then agent_stop
 *                           cannot continue
 *     agent_stop            STOP, agent_fail,     ENDING; the guard gets a STOP with the
 *                           the link is lost      grace, waiting ranks are cancelled;
 *                                                 again: the earlier KILL counts
 *     startup_has_name      namesake.c            nothing of another run is in the way:
 *                                                 the rest is checked
 *     startup_continue      venv, logs, the guard forks some more ranks; READY, if all stand
 *     startup_rank_fell     the guard             a rank that was to stand does not: agent_fail
 *     ranks_cancel          agent_stop            ranks that were not forked end by TERM,
 *                                                 after takeover all that run by KILL
 *     ranks_abandon         ending_empty, if      the rest ends by KILL for the launcher,
 *                           KILL was no use       its output is given up
 *     ranks_give_up         2 s after the last    open pipes are not waited for
 *                           process
 *     ranks_discard         the link is lost      output is thrown away
 *     reconnect_cut         the link              true: the launcher has window_s to come
 *                                                 back; false: the link is lost
 *     reconnect_refuse      the link is lost      the launcher can come back no more
 *     link_lose             lease or window over  the link is lost, for good: agent_stop
 *     takeover_begin        the guard has died    agent_fail; the agent ends the processes
 *     ending_rank_ended     a rank has ended      the last one: ENDING, STOP to the guard
 *     ending_empty          the guard, takeover,  no process is left (or `left` survive);
 *                           stop without guard    2 s for pipes, some more for log files
 *     ending_maybe_done     output, log files     DONE, once everything was sent; leaves the
 *                                                 event loop, once the link is flushed
 *     next_generation_await ending_maybe_done     instead: DONE, forget the ranks, STAYING
 *     agent_leave           STOP while STAYING    leaves the event loop at once
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_AGENT_H
#define MUSTER_AGENT_AGENT_H

#include <stdbool.h>
#include <stdint.h>

#include <event2/event.h>
#include <jansson.h>

#include "copy/chunk.h"
#include "cleanup/clean.h"
#include "cleanup/name_lock.h"
#include "guard/guard.h"
#include "guard/stop.h"
#include "link/link.h"
#include "link/reconnect_socket.h"
#include "node/probe.h"
#include "plan/blob.h"
#include "plan/node_plan.h"
#include "plan/prepare.h"
#include "plan/venv.h"
#include "rank/ranks.h"
#include "session/idle.h"
#include "session/launcher_clock.h"
#include "session/spot.h"
#include "session/stacks.h"
#include "strlist.h"
#include "task/task.h"

enum agent_state {
    AGENT_WAITING,
    AGENT_STAYING,
    AGENT_PREPARING,
    AGENT_READY,
    AGENT_RUNNING,
    AGENT_ENDING,
    AGENT_DONE,
};

/* From PLAN to READY. */
struct startup {
    struct strlist environment; /* that of this process, then the venv's */
    struct venv   *venv;
    json_t        *report; /* the body of READY, made before ranks could be taken for others' */
    bool           pid_file_made;
    bool           is_again; /* not the first generation: the guard stands, the run's name is
                                ours, the environment is complete */
};

/* Another run with the name of ours. */
struct namesake_watch {
    struct name_lock *lock;  /* NULL: our run has no name */
    struct event     *again; /* while we wait for the other one to end; else NULL */
    struct namesake   other; /* which we have asked to end; run "": none */
    int64_t           until_ns;
};

struct heartbeat {
    struct event *event, *lease;
    double        every_s, lease_s;
    int64_t       beat_ns;  /* when the last one was; both by clock_boot_ns() */
    int64_t       since_ns; /* when the lease began */
    bool          is_over;  /* the lease has ended */
    struct launcher_clock clock;
};

/* The way back in for a launcher that has lost its connection. */
struct reconnect {
    struct reconnect_socket *socket; /* NULL: it cannot come back */
    struct event            *window; /* while it may */
    double                   window_s;
    int                      relay_fd; /* we are a second agent, and this is the first; -1: no */
};

/* Output of the ranks onto the link. */
struct output_pump {
    uint64_t credit; /* bytes that the launcher takes */
    int      turn;   /* whose output goes next */
};

/* What the launcher asks beside the run. */
struct requests {
    struct probe  *probe;
    struct clean  *clean;  /* NULL: `muster clean` has not asked */
    struct stacks *stacks; /* NULL: nobody has asked */
};

/* What was told to the ranks of this generation: a node is to go. */
struct notice {
    bool         is_there; /* the file */
    int          file_fd;  /* holds a lock on it, so that muster clean leaves it */
    struct task *watch;    /* for a checkpoint; NULL: nobody does */
    bool         is_watched; /* it has ended */
    bool         is_last;    /* it looks once, since the ranks have ended */
    int64_t      told_ns;    /* when that began, by the clock of files */
    int64_t      before_ns;  /* the newest file of before; 0: none; -1: not known */
};

/* What is known of this machine: it goes. */
struct going {
    bool    is_known;
    bool    is_session; /* not the cloud has said so, but who ends the agent's session */
    int64_t at_ns; /* by clock_boot_ns() */
    char    reason[100];
};

struct guard_events {
    struct event *readable, *watch; /* NULL before PLAN */
    bool          has_looked;       /* for signals to us, since the guard spoke */
};

/* The agent in the place of a guard that died. */
struct takeover {
    bool          is_on;
    struct stop   stop;
    struct event *again;
};

struct ending {
    int64_t       kill_ns;      /* when the guard is to KILL what is left; 0: not yet known */
    bool          is_empty;     /* no process is left, or none that can be killed */
    int           left, killed; /* once is_empty */
    struct event *linger;
    struct event *log_limit; /* NULL: more than log files is left, or there are none */
    bool          logs_given_up;
};

struct master_port {
    int  number;      /* that we have held until GO; 0: none */
    char holder[128]; /* who has it now and should not; "": nobody */
};

struct bcast;
struct give;

struct agent {
    enum agent_state      state;           /* agent.c: agent_enter() */
    bool                  has_failed;      /* agent.c: ERROR was sent */
    bool                  has_stuck_thread; /* next_generation.c: that of a log file */
    struct event_base    *base;            /* agent.c */
    struct event         *on_term, *on_hup; /* agent.c */
    struct event         *session_late;    /* agent.c: the end of the time to save */
    int                   session_signal;  /* agent.c: it told that the session ends; 0: none */
    uint32_t              generation;      /* launcher_frames.c, next_generation.c */
    struct blobs          blobs;           /* plan/blob.c */
    struct node_plan      plan;            /* plan/node_plan.c: as PLAN said, never changed */
    struct startup        startup;         /* startup.c */
    struct namesake_watch namesake;        /* namesake.c */
    struct link           link;            /* link/link.c; resend.keeps: reconnect.c */
    struct heartbeat      heartbeat;       /* heartbeat.c */
    struct reconnect      reconnect;       /* reconnect.c */
    struct guard          guard;           /* guard/guard.c; fd -1: none yet */
    struct guard_events   guard_events;    /* guard_events.c */
    struct takeover       takeover;        /* takeover.c */
    struct ranks          ranks;           /* rank/ranks.c */
    struct output_pump    pump;            /* output_pump.c */
    struct idle           idle;            /* idle.c */
    struct master_port    master_port;     /* master_port.c */
    struct ending         ending;          /* ending.c */
    struct event         *staying;         /* next_generation.c: about to stay; else NULL */
    struct requests       requests;        /* requests.c */
    struct notice         notice;          /* notice.c */
    struct going          going;           /* notice.c */
    struct spot          *spot;            /* notice.c; NULL: nobody is asked */
    struct bcast         *bcast;           /* bcast_frames.c; NULL: none */
    struct give          *give;            /* give_frames.c; NULL: nothing is wanted from here */
    struct task          *task;            /* task_frames.c; NULL: none was asked for */
};

/* Does what a frame asks for; body is NULL for raw ones. -1: it breaks the protocol. */
typedef int frame_f(struct agent *agent, const struct frame *frame, const json_t *body,
                    struct error *err);

/* agent.c. Run until everything is over. Exit status of the process. */
int  agent_run(const char *nonce);
void agent_send(struct agent *agent, enum frame_type type, uint32_t rank, json_t *body);
void agent_enter(struct agent *agent, enum agent_state state);
void agent_fail(struct agent *agent, const char *stage, const struct failure *failure);
void agent_leave(struct agent *agent);
/* A rank has failed: of the end of the session, if that has been announced. */
void agent_rank_failed(struct agent *agent);

/* launcher_frames.c: a frame of the link; arg is the agent. */
int launcher_frames_take(const struct frame *frame, void *arg, struct error *err);

/* startup.c */
void    startup_open(struct agent *agent);
void    startup_close(struct agent *agent);
void    startup_again(struct agent *agent);
void    startup_has_name(struct agent *agent); /* no other run here has its name */
void    startup_continue(struct agent *agent);
void    startup_rank_fell(struct agent *agent, const struct rank *rank);
frame_f startup_take_plan;

/* namesake.c: refuse a second run of a name, or let the first one end (--replace). Then
 * startup_has_name(), or agent_fail(). */
void namesake_check(struct agent *agent);
void namesake_close(struct agent *agent);

/* requests.c */
void    requests_open(struct agent *agent);
void    requests_close(struct agent *agent);
void    requests_again(struct agent *agent); /* the next ranks may be asked for their stacks */
void    requests_end_probe(struct agent *agent);
frame_f requests_take_probe, requests_take_clean, requests_take_stacks;

/* notice.c. begin: PLAN has come: ask the cloud, or tell again what it has said; -1 with failure.
 * session_ends: this machine goes down, or so it seems. look_last: for a checkpoint, after the
 * ranks have ended; false: ending_maybe_done() comes later. clear: the generation is over. close:
 * so is the run. */
int     notice_begin(struct agent *agent, struct failure *failure);
void    notice_session_ends(struct agent *agent, double left_s);
bool    notice_look_last(struct agent *agent);
void    notice_clear(struct agent *agent);
void    notice_close(struct agent *agent);
frame_f notice_take;

/* heartbeat.c: begin before PLAN, set what PLAN says, stop when nobody listens any more. */
void   heartbeat_open(struct agent *agent);
void   heartbeat_set(struct agent *agent, double every_s, double lease_s);
void   heartbeat_send(struct agent *agent);                       /* PING now */
/* The launcher's clock shows theirs_ns. It answers our PING of sent_ns, by clock_boot_ns(). */
void   heartbeat_answered(struct agent *agent, int64_t sent_ns, int64_t theirs_ns);
/* A PING of its own: it had heard us silent_ns before. */
void   heartbeat_heard(struct agent *agent, int64_t theirs_ns, int64_t silent_ns);
void   heartbeat_renew(struct agent *agent); /* the lease begins now */
double heartbeat_left_s(const struct agent *agent); /* of the lease: then all here must be dead */
void   heartbeat_stop(struct agent *agent);
void   heartbeat_close(struct agent *agent);

/* reconnect.c. reconnect_cut is an operation of the link, arg is the agent; reconnect_take
 * is for the second agent. */
void    reconnect_open(struct agent *agent);
bool    reconnect_cut(void *arg);
void    reconnect_extend(struct agent *agent, double seconds); /* a window of that at least */
void    reconnect_refuse(struct agent *agent);
void    reconnect_close(struct agent *agent);
frame_f reconnect_take;

/* guard_events.c: of the guard that was just started. */
void guard_events_open(struct agent *agent);
void guard_events_stop_reading(struct agent *agent); /* it is watched on */
void guard_events_stop(struct agent *agent);
void guard_events_close(struct agent *agent);

/* takeover.c */
void takeover_begin(struct agent *agent);
void takeover_stop(struct agent *agent); /* KILL, once it has begun */
void takeover_close(struct agent *agent);

/* master_port.c. Between our letting go of the port (GO) and rank 0's bind another process
 * may take it: then rank 0 fails, or the others connect to another program there. Look when
 * rank 0 fails and when a stop begins, while the holder can still be seen. */
void master_port_release(struct agent *agent);
void master_port_again(struct agent *agent);
void master_port_look(struct agent *agent);

/* ending.c */
void agent_stop(struct agent *agent, double grace_s);
void ending_rank_ended(struct agent *agent);
void ending_empty(struct agent *agent, int left, int killed);
void ending_maybe_done(struct agent *agent);
void ending_tell_done(struct agent *agent);
void ending_close(struct agent *agent); /* or begin again */

/* next_generation.c. Nothing is left here: stay, if PLAN wants it and all is well. False: leave.
 * From the next turn of the event loop. */
bool next_generation_await(struct agent *agent);
void next_generation_close(struct agent *agent);

/* bcast_frames.c */
void    bcast_frames_close(struct agent *agent);
frame_f bcast_frames_take_tree, bcast_frames_take_entries, bcast_frames_take_file,
    bcast_frames_take_data, bcast_frames_take_sums, bcast_frames_take_listen,
    bcast_frames_take_link;

/* give_frames.c. read: as bcast_receive_read(), of what GIVE named. */
void    give_frames_close(struct agent *agent);
int     give_frames_read(const struct agent *agent, struct chunk chunk, void *bytes, size_t *size);
frame_f give_frames_take_give, give_frames_take_list, give_frames_take_hash,
    give_frames_take_need;

/* task_frames.c: one at a time */
void    task_frames_end(struct agent *agent); /* kill what it does */
frame_f task_frames_take;

/* output_pump.c */
void output_pump_again(struct agent *agent);
void output_pump_credit(struct agent *agent, uint64_t bytes);
void output_pump_run(struct agent *agent);

#endif
