/* agent.h - the state of an agent: its parts, its states and its verbs
 *
 * Each part of struct agent has one owner, the file that is named beside it. Only the owner
 * writes the part (suite/writers.t); all files may read it. If several files must change a part,
 * they call the verbs below. next_generation.c lists the parts that are reset for each generation.
 *
 *     state      means                                 who enters it, and when
 *     WAITING    for PLAN (or TREE, GIVE, CLEAN,       the start
 *                RECONNECT, TASK)
 *     STAYING    for the PLAN of another generation,   next_generation.c: DONE was sent,
 *                or for STOP: leave                    and PLAN had "stay"
 *     PREPARING  guard, venv script, files, checks;    startup.c, on PLAN
 *                ranks are forked and wait for GO
 *     READY      READY was sent; waits for GO          startup.c, when all is prepared
 *     RUNNING    ranks execute, run, end               launcher_frames.c, on GO
 *     ENDING     ranks have ended or must end; the     ending.c: the last rank has ended,
 *                guard ends the remaining processes    or agent_stop
 *     DONE       no process is left; DONE is queued    ending.c: empty, all was sent;
 *                                                      agent_leave
 *
 * States only go down the list, except from DONE to STAYING. ENDING may
 * follow any state above it.
 *
 *     verb                  called by             does
 *     agent_fail            any file: this node   sends ERROR, then agent_stop
 *                           cannot continue
 *     agent_stop            STOP, agent_fail,     enters ENDING, sends STOP with the grace
 *                           the link is lost      to the guard, cancels waiting ranks; if
 *                                                 repeated, the earlier KILL counts
 *     startup_has_name      namesake.c            no other run is in the way: checks this node
 *     startup_is_fit        health.c              this node is fit: checks the rest
 *     startup_continue      venv, logs, the guard forks more ranks; sends READY once all are
 *                                                 set up
 *     startup_rank_fell     the guard             a rank could not be set up: agent_fail
 *     ranks_cancel          agent_stop            TERM to ranks that were not forked; after
 *                                                 a takeover KILL to all that run
 *     ranks_abandon         ending_empty, if      reports the rest as ended by KILL and
 *                           KILL did not help     drops its output
 *     ranks_give_up         2 s after the last    stops waiting for open pipes
 *                           process
 *     ranks_discard         the link is lost      drops the output
 *     reconnect_cut         the link              true: the launcher may reconnect within
 *                                                 window_s; false: the link is lost
 *     reconnect_refuse      the link is lost      the launcher cannot reconnect any more
 *     link_lose             lease or window over  the link is lost for good: agent_stop
 *     takeover_begin        the guard has died    agent_fail; the agent ends the processes
 *     ending_rank_ended     a rank has ended      after the last: ENDING, STOP to the guard
 *     ending_empty          the guard, takeover,  no process is left (or `left` survive);
 *                           stop without guard    waits 2 s for pipes, longer for log files
 *     ending_maybe_done     output, log files     sends DONE once all else was sent; leaves the
 *                                                 event loop once the link is flushed
 *     next_generation_await ending_maybe_done     instead: DONE, forgets the ranks, STAYING
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
#include "gate/gate.h"
#include "guard/guard.h"
#include "guard/stop.h"
#include "link/link.h"
#include "link/reconnect_socket.h"
#include "link/sudo.h"
#include "node/probe.h"
#include "node/scratch.h"
#include "plan/blob.h"
#include "plan/node_plan.h"
#include "plan/prepare.h"
#include "plan/venv.h"
#include "rank/ranks.h"
#include "ras/ras.h"
#include "samples/sample_watch.h"
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

/* State from PLAN to READY. */
struct startup {
    struct strlist environment; /* the environment of this process, then the venv's */
    struct venv   *venv;
    json_t        *report; /* the body of READY; made before our own ranks exist, which it
                              would otherwise report */
    char          *pid_file; /* the one that we made; a later PLAN may name another. NULL: none */
    bool           is_again; /* not the first generation: the guard exists, the run's name is
                                ours, the environment is complete */
};

/* Another run with the name of our run. */
struct namesake_watch {
    struct name_lock *lock;  /* NULL: our run has no name */
    struct event     *again; /* next check while we wait for it to end; else NULL */
    struct namesake   other; /* the run that we have asked to end; run "": none */
    int64_t           until_ns;
};

struct heartbeat {
    struct event *event, *lease;
    double        every_s, lease_s;
    int64_t       ping_ns;  /* when we last sent a PING; both by clock_boot_ns() */
    int64_t       since_ns; /* when the lease began */
    bool          is_over;  /* the lease has ended */
    struct launcher_clock clock;
};

/* Lets a launcher reconnect that has lost its connection. */
struct reconnect {
    struct reconnect_socket *socket; /* NULL: it cannot come back */
    struct event            *window; /* pending while the launcher may reconnect */
    double                   window_s;
    int                      relay_fd; /* to the first agent; -1: we are not a second one */
};

/* Sends the ranks' output over the link. */
struct output_pump {
    uint64_t credit; /* bytes that the launcher still accepts */
    int      turn;   /* the stream that sends next */
};

/* Requests of the launcher that are independent of the run. */
struct requests {
    struct probe  *probe;
    struct lookup *lookup;  /* of the name in probing; NULL: none */
    json_t        *probing; /* the body of a PROBE that waits for it; else NULL */
    struct clean  *clean;   /* NULL: `muster clean` has not asked */
    struct stacks *stacks;  /* NULL: the launcher has not asked */
    struct horovod_server *horovod; /* for the ranks of this generation; NULL: none */
    struct ras    *ras;
};

/* A notice of the launcher to the ranks of this generation: a node will leave. */
struct notice {
    bool         is_there; /* the notice file exists */
    int          file_fd;  /* holds a lock on the file, so that muster clean keeps it */
    struct task *watch;    /* looks for a checkpoint; NULL: no task looks */
    bool         is_watched; /* the watch has ended */
    bool         is_last;    /* the watch looks only once, since the ranks have ended */
    int64_t      told_ns;    /* when the notice arrived, by the clock of files */
    int64_t      before_ns;  /* time of the newest earlier file; 0: none; -1: unknown */
    struct notice_signal *signal; /* notice_signal.c; NULL: there was none in this generation */
};

/* What this node knows about its own end. */
struct going {
    bool    is_known;
    bool    is_session; /* reported by the end of the session, not by the cloud */
    int64_t at_ns; /* by clock_boot_ns() */
    char    reason[100];
};

struct guard_events {
    struct event *readable, *watch; /* NULL before PLAN */
    bool          has_looked;       /* looked for signals since the guard wrote */
};

/* The agent takes the place of a guard that died. */
struct takeover {
    bool          is_on;
    struct stop   stop;
    struct event *again;
};

struct ending {
    int64_t       kill_ns;      /* when the guard sends KILL to the rest; 0: unknown */
    bool          is_empty;     /* no process is left, or none that can be killed */
    int           left, killed; /* once is_empty */
    struct event *linger;
    struct event *log_limit; /* NULL: there are none, or more is pending */
    bool          logs_given_up;
};

struct master_port {
    int  number;      /* the port that we held until GO; 0: none */
    char holder[128]; /* the process that wrongly has it now; "": none */
};

struct bcast;
struct give;
struct kernel_watch;
struct checkpoint_watch;
struct flight_recorder;

struct agent {
    enum agent_state      state;           /* agent.c: agent_enter() */
    bool                  has_failed;      /* agent.c: ERROR was sent */
    bool                  has_stuck_thread; /* next_generation.c: a log file's thread hangs */
    struct event_base    *base;            /* agent.c */
    struct event         *on_term, *on_hup; /* agent.c */
    struct event         *session_late;    /* agent.c: when the time to save is over */
    int                   session_signal;  /* agent.c: the signal that announced the end of
                                              the session; 0: none */
    uint32_t              generation;      /* launcher_frames.c, next_generation.c */
    struct blobs          blobs;           /* plan/blob.c */
    struct node_plan      plan;            /* plan/node_plan.c: as in PLAN, never changed */
    struct startup        startup;         /* startup.c */
    struct namesake_watch namesake;        /* namesake.c */
    struct sudo_request   sudo;            /* launcher_frames.c; nonce "": none */
    struct link           link;            /* link/link.c; resend.keeps: reconnect.c */
    struct heartbeat      heartbeat;       /* heartbeat.c */
    struct reconnect      reconnect;       /* reconnect.c */
    struct guard          guard;           /* guard/guard.c; fd -1: none yet */
    struct guard_events   guard_events;    /* guard_events.c */
    struct takeover       takeover;        /* takeover.c */
    struct gate          *gate;            /* health.c; NULL: no PLAN of ranks yet */
    struct sample_watch  *samples;         /* health.c; NULL: no ranks run, or nothing to sample */
    struct ranks          ranks;           /* rank/ranks.c */
    struct output_pump    pump;            /* output_pump.c */
    bool                  has_told_input;  /* input_frames.c: no rank takes input any more */
    struct idle           idle;            /* idle.c */
    struct kernel_watch  *kernel_watch;    /* kernel_watch.c; NULL: no rank was started */
    struct checkpoint_watch *checkpoint_watch; /* checkpoint_watch.c; NULL: none */
    struct flight_recorder *flight_recorder; /* flight_recorder.c; NULL: not wanted */
    struct scratch       *stack_files;     /* stacks.c; NULL: PLAN has no signal for stacks */
    struct master_port    master_port;     /* master_port.c */
    struct ending         ending;          /* ending.c */
    struct event         *staying;         /* next_generation.c: before STAYING; else NULL */
    struct requests       requests;        /* requests.c */
    struct notice         notice;          /* notice.c */
    struct going          going;           /* notice.c */
    struct spot          *spot;            /* notice.c; NULL: no cloud to ask */
    struct bcast         *bcast;           /* bcast_frames.c; NULL: none */
    struct give          *give;            /* give_frames.c; NULL: the launcher wants no
                                              files from here */
    struct task          *task;            /* task_frames.c; NULL: no task was requested */
};

/* Handles a frame; body is NULL for raw frames. -1: the frame breaks the protocol. */
typedef int frame_f(struct agent *agent, const struct frame *frame, const json_t *body,
                    struct error *err);

/* agent.c. Runs until everything is over. Returns the exit status of the process. */
int  agent_run(const char *nonce);
void agent_send(struct agent *agent, enum frame_type type, uint32_t rank, json_t *body);
void agent_enter(struct agent *agent, enum agent_state state);
void agent_fail(struct agent *agent, const char *stage, const struct failure *failure);
void agent_leave(struct agent *agent);
/* A rank has failed: reports the end of the session if that was announced. */
void agent_rank_failed(struct agent *agent);

/* launcher_frames.c: handles a frame from the link; arg is the agent. */
int launcher_frames_take(const struct frame *frame, void *arg, struct error *err);

/* startup.c */
void    startup_open(struct agent *agent);
void    startup_close(struct agent *agent);
void    startup_again(struct agent *agent);
void    startup_has_name(struct agent *agent); /* no other run here has its name */
void    startup_is_fit(struct agent *agent);   /* this node is fit for the ranks */
void    startup_continue(struct agent *agent);
void    startup_rank_fell(struct agent *agent, const struct rank *rank);
frame_f startup_take_plan;

/* namesake.c: refuses a second run of the same name, or lets the first one end (--replace).
 * Then calls startup_has_name() or agent_fail(). */
void namesake_check(struct agent *agent);
void namesake_close(struct agent *agent);

/* health.c. begin: checks whether this node is fit for the ranks of the plan; then calls
 * startup_is_fit() or agent_fail(), maybe at once. report: adds to the body of READY how long that
 * took. stop: ends the checks. */
void health_begin(struct agent *agent);
void health_report(struct agent *agent, json_t *ready);
void health_stop(struct agent *agent);
void health_close(struct agent *agent);
/* Samples the GPUs and ports of this node. watch_begin: the ranks of a generation start. look_last:
 * takes the last sample if they have not ended well; false: ending_maybe_done() is called later.
 * watch_end: the generation is over. */
void health_watch_begin(struct agent *agent);
bool health_look_last(struct agent *agent);
void health_watch_end(struct agent *agent);

/* requests.c */
void    requests_open(struct agent *agent);
void    requests_close(struct agent *agent);
void    requests_again(struct agent *agent); /* the ranks of the next generation may be asked
                                                for their stacks, and meet at another port */
void    requests_end_probe(struct agent *agent);
void    requests_end_stacks(struct agent *agent); /* the flight recorder has told what it knows */
frame_f requests_take_probe, requests_take_clean, requests_take_stacks, requests_take_ras;

/* notice.c. begin, on PLAN: asks the cloud, or repeats what it has said; -1 with failure.
 * session_ends: this machine seems to be going down. look_last: looks for a checkpoint after
 * the ranks have ended; false: ending_maybe_done() is called later. clear: the generation is
 * over. close: the run is over. */
int     notice_begin(struct agent *agent, struct failure *failure);
void    notice_session_ends(struct agent *agent, double left_s);
bool    notice_look_last(struct agent *agent);
/* notice_signal.c. Sends each rank the signal of a notice as soon as it can take it, if that is
 * within left_s; calls tell with how many got it, at once and later. */
void    notice_signal_begin(struct agent *agent, int signal, double left_s,
                            void (*tell)(struct agent *agent, int count));
void    notice_signal_end(struct agent *agent);
void    notice_clear(struct agent *agent);
void    notice_close(struct agent *agent);
frame_f notice_take;

/* heartbeat.c: begin before PLAN, then use PLAN's values, stop when no launcher listens. */
void   heartbeat_open(struct agent *agent);
void   heartbeat_set(struct agent *agent, double every_s, double lease_s);
void   heartbeat_send(struct agent *agent);
/* Sends the steps that ranks have reported since the last time. Also called before an EXIT, so that
 * the launcher knows the last step of a rank that has failed. */
void   heartbeat_tell_steps(struct agent *agent);
/* The launcher's clock shows theirs_ns. Its frame answers the PING that we sent at
 * sent_ns, by clock_boot_ns(). */
void   heartbeat_answered(struct agent *agent, int64_t sent_ns, int64_t theirs_ns);
/* The launcher sent a PING of its own: it last heard us silent_ns before. */
void   heartbeat_heard(struct agent *agent, int64_t theirs_ns, int64_t silent_ns);
void   heartbeat_renew(struct agent *agent); /* the lease begins now */
double heartbeat_left_s(const struct agent *agent); /* seconds of the lease; after them all
                                                       ranks here must be dead */
void   heartbeat_stop(struct agent *agent);
void   heartbeat_close(struct agent *agent);

/* reconnect.c. reconnect_cut is an operation of the link, arg is the agent; only a second
 * agent uses reconnect_take. */
void    reconnect_open(struct agent *agent);
bool    reconnect_cut(void *arg);
void    reconnect_extend(struct agent *agent, double seconds); /* the window is at least this */
void    reconnect_refuse(struct agent *agent);
void    reconnect_close(struct agent *agent);
frame_f reconnect_take;

/* guard_events.c: handles the messages of the guard that was just started. */
void guard_events_open(struct agent *agent);
void guard_events_stop_reading(struct agent *agent); /* but keep watching the guard */
void guard_events_stop(struct agent *agent);
void guard_events_close(struct agent *agent);

/* takeover.c */
void takeover_begin(struct agent *agent);
void takeover_stop(struct agent *agent); /* sends KILL, once a takeover has begun */
void takeover_close(struct agent *agent);

/* kernel_watch.c. Follows the kernel's log while ranks run, and sends the launcher what it says of
 * hardware. begin: the ranks of a generation start. look: reads the log before an EXIT, unless
 * that was done after the rank had ended, at ended_ns. look_last: waits for what the journal has
 * not got yet; false: ending_maybe_done() is called later. end: reads it before DONE, and no
 * more. */
void kernel_watch_begin(struct agent *agent);
void kernel_watch_look(struct agent *agent, int64_t ended_ns);
bool kernel_watch_look_last(struct agent *agent);
void kernel_watch_end(struct agent *agent);
void kernel_watch_close(struct agent *agent);

/* checkpoint_watch.c. Looks for checkpoints while ranks run, if PLAN wants it. begin: the ranks of
 * a generation start. look_last: looks once more after they have ended; false: ending_maybe_done()
 * is called later. tell: sends a line of marker_line(). clear: the generation is over. */
void checkpoint_watch_begin(struct agent *agent);
bool checkpoint_watch_look_last(struct agent *agent);
void checkpoint_watch_tell(struct agent *agent, const json_t *line, bool is_noticed);
void checkpoint_watch_clear(struct agent *agent);

/* flight_recorder.c. PyTorch's flight recorder, if PLAN wants it. begin: sets variables of the
 * ranks, which are not forked yet; -1 with failure. ask: reads the records, with STACKS; calls
 * requests_end_stacks() if that ends after the stacks. look_last: reads them after the ranks have
 * ended; false: ending_maybe_done() is called later. clear: the generation is over. */
int  flight_recorder_begin(struct agent *agent, struct failure *failure);
void flight_recorder_ask(struct agent *agent);
bool flight_recorder_is_asked(const struct agent *agent);
bool flight_recorder_look_last(struct agent *agent);
void flight_recorder_clear(struct agent *agent);

/* master_port.c. After we release the port (GO) and before rank 0 binds it, another process may
 * take it: then rank 0 fails, or the other ranks connect to that process. So look when rank 0
 * fails and when a stop begins, while the holder still exists. */
void master_port_release(struct agent *agent);
void master_port_again(struct agent *agent);
void master_port_look(struct agent *agent);

/* ending.c */
void agent_stop(struct agent *agent, double grace_s);
void ending_rank_ended(struct agent *agent);
void ending_empty(struct agent *agent, int left, int killed);
void ending_maybe_done(struct agent *agent);
void ending_tell_done(struct agent *agent);
void ending_close(struct agent *agent); /* also resets it for another generation */

/* next_generation.c. No process is left here: stays, if PLAN wants that and nothing has failed.
 * Acts in the next turn of the event loop. False: leave. */
bool next_generation_await(struct agent *agent);
void next_generation_close(struct agent *agent);

/* bcast_frames.c */
void    bcast_frames_close(struct agent *agent);
frame_f bcast_frames_take_tree, bcast_frames_take_entries, bcast_frames_take_file,
    bcast_frames_take_data, bcast_frames_take_sums, bcast_frames_take_finish,
    bcast_frames_take_listen, bcast_frames_take_link;

/* give_frames.c. give_frames_read(): like bcast_receive_read(), for files that GIVE named. */
void    give_frames_close(struct agent *agent);
int     give_frames_read(const struct agent *agent, struct chunk chunk, void *bytes, size_t *size);
frame_f give_frames_take_give, give_frames_take_list, give_frames_take_hash,
    give_frames_take_need;

/* task_frames.c: runs one task at a time */
void    task_frames_end(struct agent *agent); /* kills the running task */
frame_f task_frames_take;

/* input_frames.c. tell: the ranks have taken input, or take no more. */
void    input_frames_tell(struct agent *agent);
void    input_frames_again(struct agent *agent);
frame_f input_frames_take, input_frames_take_window;

/* output_pump.c */
void output_pump_again(struct agent *agent);
void output_pump_credit(struct agent *agent, uint64_t bytes);
void output_pump_run(struct agent *agent);

#endif
