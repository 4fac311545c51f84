/* agent_frames.c - see agent_frames.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "course/agent_frames.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "course/checkpoints.h"
#include "course/collective_watch.h"
#include "course/ending.h"
#include "course/generation.h"
#include "course/generation_words.h"
#include "course/launch.h"
#include "course/page.h"
#include "course/role_restart.h"
#include "course/slow_nodes.h"
#include "elastic/policy.h"
#include "log.h"
#include "node/body.h"
#include "node/node_job.h"
#include "plan/copy_command.h"
#include "run/data_shards.h"
#include "run/deadline.h"
#include "run/events.h"
#include "run/hang.h"
#include "run/notice.h"
#include "run/rank_input.h"
#include "run/rank_keys.h"
#include "run/rank_output.h"
#include "run/rendezvous.h"
#include "run/run.h"
#include "run/run_status.h"
#include "run/stacks.h"
#include "run/steps.h"
#include "run/start_check.h"

/* How long the agent may take to exit after DONE is --dead-after, but at least this. It
 * usually takes milliseconds, but over a bad line its last frames come late. */
#define LEAVE_LEAST_S 5.0
/* The same if a file system hangs: long enough for our last ACK. */
#define LEAVE_HUNG_S  1.0
/* How many are reported; a node may send any number. */
#define STUCK_MAX     16 /* processes that survive SIGKILL */
#define UNSURE_MAX    16 /* files whose last bytes may be missing */

static bool        is_about_rank(enum frame_type type);
static bool        may_stay_and_say(const struct node *node, enum frame_type type);
static void        take_of_rank(struct run *run, struct node *node,
                                const struct frame *frame, const json_t *body);
static void        take_probed(struct run *run, struct node *node, const json_t *body);
static void        take_ready(struct run *run, struct node *node, const json_t *body);
static void        take_started(struct run *run, struct node *node,
                                const struct frame *frame, const json_t *body);
static void        take_exit(struct run *run, struct node *node,
                             const struct frame *frame, const json_t *body);
static bool        is_own_failure(const struct rank_end *end);
static void        take_kvs(struct run *run, struct node *node, const struct frame *frame,
                            const json_t *body);
static void        tell_closed(struct run *run, const struct node *node, const char *why);
static void        take_abort(struct run *run, const struct frame *frame, const json_t *body);
static void        add_copy_command(const struct run *run, const struct node *node,
                                    struct conn_failure *why, const char *missing);
static void        take_error(struct run *run, struct node *node,
                              const struct frame *frame, const json_t *body);
static void        take_done(struct run *run, struct node *node,
                             const struct frame *frame, const json_t *body);
static void        take_losses(struct run *run, const struct node *node,
                               const json_t *body);
static void        end_with(struct run *run, int rank, bool failed);
static void        tell_stuck(const struct node *node, const json_t *list);
static bool        tell_unsure(const struct node *node, const json_t *list);
static void        take_open_mpi(struct run *run, const struct node *node,
                                 const char *library);
static void        take_steps(struct run *run, struct node *node, const struct frame *frame,
                              const json_t *body);
static void        take_collectives(struct run *run, struct node *node,
                                    const struct frame *frame, const json_t *body);
static void        take_checkpoint(struct run *run, struct node *node, const struct frame *frame,
                                   const json_t *body);
static void        take_stacked(struct run *run, struct node *node,
                                const struct frame *frame, const json_t *body);
static void        take_evidence(struct run *run, struct node *node,
                                 const struct frame *frame, const json_t *body);
static void        take_samples(struct run *run, struct node *node,
                                const struct frame *frame, const json_t *body);
static bool        take_notice(struct run *run, struct node *node, const struct frame *frame,
                               const json_t *body);
static void        bad_frame(struct node *node, const struct frame *frame,
                             const char *why);
static bool        rank_is_of(const struct run *run, const struct node *node, uint32_t rank);

void agent_frames_take(struct node *node, const struct frame *frame, const json_t *body, void *arg)
{
    struct run *run = arg;

    if (node->state == NODE_STAYING && !may_stay_and_say(node, frame->type)) {
        bad_frame(node, frame, "not while the node waits for another generation");
        return;
    }
    if (is_about_rank(frame->type) &&
        (!rank_is_of(run, node, frame->rank) || node->state < NODE_RUNNING)) {
        bad_frame(node, frame, "not for this rank or not now");
        return;
    }
    if (is_about_rank(frame->type)) {
        take_of_rank(run, node, frame, body);
        return;
    }
    switch (frame->type) {
    case FRAME_PROBED:
        take_probed(run, node, body);
        break;
    case FRAME_IDLE:
        hang_take_idle(run, node, body);
        break;
    case FRAME_STEPS:
        take_steps(run, node, frame, body);
        break;
    case FRAME_COLLECTIVES:
        take_collectives(run, node, frame, body);
        break;
    case FRAME_STACKED:
        take_stacked(run, node, frame, body);
        break;
    case FRAME_READY:
        take_ready(run, node, body);
        break;
    case FRAME_KVS:
        take_kvs(run, node, frame, body);
        break;
    case FRAME_ERROR:
        take_error(run, node, frame, body);
        break;
    case FRAME_EVIDENCE:
        take_evidence(run, node, frame, body);
        break;
    case FRAME_SAMPLES:
        take_samples(run, node, frame, body);
        break;
    case FRAME_DUMPING:
        deadline_take_dumping(run, node, body);
        break;
    case FRAME_DONE:
        take_done(run, node, frame, body);
        break;
    default:
        if (!take_notice(run, node, frame, body) && !rank_input_take(run, node, frame) &&
            (run->job == NULL || !run->job->frame(run, node, frame, body)))
            bad_frame(node, frame, "muster did not ask for it");
        break;
    }
}

static void take_of_rank(struct run *run, struct node *node, const struct frame *frame,
                         const json_t *body)
{
    switch (frame->type) {
    case FRAME_STARTED:
        take_started(run, node, frame, body);
        break;
    case FRAME_OUTPUT:
        page_output(run, frame);
        rank_output_take(run, node, frame);
        break;
    case FRAME_EXIT:
        take_exit(run, node, frame, body);
        break;
    case FRAME_SHARD:
        data_shards_take(run, node, frame);
        break;
    case FRAME_FLIGHT:
        outcome_flight(&run->outcome, (int)frame->rank, body);
        break;
    case FRAME_ABORT:
        take_abort(run, frame, body);
        break;
    default:
        break;
    }
}

static bool is_about_rank(enum frame_type type)
{
    return type == FRAME_OUTPUT || type == FRAME_STARTED || type == FRAME_EXIT ||
           type == FRAME_ABORT || type == FRAME_SHARD || type == FRAME_FLIGHT;
}

/* No frame about a rank: there is none. */
static bool may_stay_and_say(const struct node *node, enum frame_type type)
{
    return type == FRAME_PROBED || type == FRAME_ERROR || type == FRAME_NOTICE ||
           (type == FRAME_DONE && node->failure != NULL);
}

static void take_probed(struct run *run, struct node *node, const json_t *body)
{
    if (node->state < NODE_RUNNING || node->state == NODE_STAYING)
        rendezvous_take(run, node, body);
    else
        hang_take_probed(run, node, body);
}

static void take_ready(struct run *run, struct node *node, const json_t *body)
{
    if (node->state != NODE_PREPARING || node->failure != NULL)
        return; /* it crossed with our STOP */
    log_info("%s: containment %s", node->plan->host, body_text(body, "containment"));
    if (start_check_ready(run, node, body) && rendezvous_take_ready(run, node))
        node_enter(node, NODE_READY, 0);
}

static void take_started(struct run *run, struct node *node, const struct frame *frame,
                         const json_t *body)
{
    outcome_rank_started(&run->outcome, (int)frame->rank, (int)body_int(body, "pid", 0),
                         node_local_ns(node, body_int(body, "at_ns", 0)));
    run_status_rank_started(run, frame->rank);
    events_rank_started(run);
    if (run->watcher != NULL && !run->is_start_told && outcome_all_started(&run->outcome)) {
        run->is_start_told = true;
        run_status_ask(run); /* once --detach returns, muster status must show it */
        run->watcher->started(run->watcher->arg);
    }
}

static void take_exit(struct run *run, struct node *node, const struct frame *frame,
                      const json_t *body)
{
    struct rank_end *known = &run->outcome.rank[frame->rank];
    struct rank_end  end = { .started = known->started, .ended = true, .pid = known->pid,
                             .start_ns = known->start_ns };
    bool             failed;

    if (known->ended) {
        bad_frame(node, frame, "this rank has already exited");
        return;
    }
    end.code = body_small_int(body, "code", 0, 255);
    end.signal = body_small_int(body, "signal", 0, NSIG - 1);
    if (end.code < 0 || end.signal < 0) {
        bad_frame(node, frame, "no such exit code or signal");
        return;
    }
    end.core = json_is_true(json_object_get(body, "core"));
    end.end_ns = node_local_ns(node, body_int(body, "at_ns", 0));
    end.maxrss_kb = body_int(body, "maxrss_kb", 0);
    end.error = body_optional_text(body, "error");
    end.oom = body_optional_text(body, "oom");
    end.after_stop = json_is_true(json_object_get(body, "stopped"));
    failed = end.code != 0 || end.signal != 0;
    data_shards_rank_gone(run, (int)frame->rank, failed && is_own_failure(&end));
    outcome_rank_ended(&run->outcome, (int)frame->rank, &end);
    free(end.error);
    free(end.oom);
    if (!run_is_exec(run))
        end_with(run, (int)frame->rank, failed);
}

/* A rank that fails ends the generation: at once, or when the others have had time to fail in the
 * same way. */
static void end_with(struct run *run, int rank, bool failed)
{
    bool   awaits = deadline_awaits_others(run->deadline);
    double others_s = 0;

    if (!failed && outcome_only_services_run(&run->outcome))
        phase_stop(run);
    if (role_restart_exit(run, rank, failed) || (!failed && !awaits))
        return;
    if (run->phase.now == PHASE_RUNNING)
        others_s = generation_others_s(run);
    if (others_s == 0)
        phase_stop(run);
    else if (!awaits)
        deadline_await_others(run, others_s);
}

/* Did the rank fail without a signal from outside? Then the shard that it read may be the
 * cause. */
static bool is_own_failure(const struct rank_end *end)
{
    return !end->after_stop &&
           (end->oom != NULL || (end->signal != SIGKILL && end->signal != SIGTERM));
}

static void take_kvs(struct run *run, struct node *node, const struct frame *frame,
                     const json_t *body)
{
    struct error err;

    if (run_is_exec(run))
        bad_frame(node, frame, "PMI is not available here");
    else if (json_object_get(body, "closed") != NULL)
        tell_closed(run, node, body_text(body, "closed"));
    else if (rank_keys_take(run, node, body, &err) < 0)
        node_fail(node, "protocol", EXIT_PROTOCOL, NULL, "%s", err.text);
}

/* The rank, or the ranks that wait for it, may hang from now on. */
static void tell_closed(struct run *run, const struct node *node, const char *why)
{
    outcome_caution(&run->outcome, node->plan->host,
                    "a rank does not keep to PMI, by which programs of MPI find each other, so "
                    "that muster hung up on it: %.200s", why);
    outcome_tell(&run->outcome);
}

static void take_abort(struct run *run, const struct frame *frame, const json_t *body)
{
    struct failed_rank failed = { .rank = (int)frame->rank, .is_abort = true,
                                  .code = (int)body_int(body, "code", 1) & 0xff };
    char               text[GENERATION_WORDS_SIZE];

    failed.code = failed.code != 0 ? failed.code : 1;
    if (role_restart_abort(run, failed.rank, failed.code))
        return;
    generation_rank_words(run, &failed, text);
    outcome_aborted(&run->outcome, failed.rank, failed.code, "%s", text);
    phase_stop(run);
}

/* The agent has given up and reports why; once it is gone, nothing is left on its node. Its
 * exit code becomes ours, so it must not be 0. */
static void take_error(struct run *run, struct node *node, const struct frame *frame,
                       const json_t *body)
{
    const char         *stage = body_text(body, "stage");
    int                 code = body_small_int(body, "code", EXIT_INTERNAL, 255);
    struct conn_failure why = { .stage = strcmp(stage, "plan") == 0     ? "prepare"
                                         : strcmp(stage, "health") == 0 ? CONN_HEALTH
                                         : strcmp(stage, "bcast") == 0  ? "bcast"
                                                                        : "running",
                                .exit_code = code > 0 ? code : EXIT_INTERNAL };
    bool                ends_run = run->phase.now >= PHASE_RUNNING && !run_is_exec(run) &&
                                   run->phase.now != PHASE_RESTARTING; /* generation_lost_node() */

    if (node->failure != NULL || node->state == NODE_DONE) {
        bad_frame(node, frame, "not now");
        return;
    }
    snprintf(why.text, sizeof why.text, "%s", body_text(body, "text"));
    snprintf(why.hint, sizeof why.hint, "%s", body_text(body, "hint"));
    add_copy_command(run, node, &why, body_text(body, "missing"));
    if (run_had_ended(run, node)) { /* that does not end the run */
        node_fail(node, why.stage, why.exit_code, why.hint, "%s", why.text);
        return;
    }
    /* If that ends the run, the deadline of all nodes applies. */
    node_give_up(node, &why, ends_run ? 0 : run->options->grace_s + NODE_STOP_S);
    outcome_node_failed(&run->outcome, node->index, &why, clock_now_ns());
    if (ends_run)
        phase_stop(run);
}

/* Names the command that copies what the node lacks, if this machine has it. */
static void add_copy_command(const struct run *run, const struct node *node,
                             struct conn_failure *why, const char *missing)
{
    char  *command = copy_command(run->options, node->plan->cwd, missing);
    size_t size = strlen(why->hint);

    if (command != NULL && size + strlen(command) + 16 < sizeof why->hint)
        snprintf(why->hint + size, sizeof why->hint - size, "%scopy it with: %s",
                 size > 0 ? "; " : "", command);
    free(command);
}

/* DONE comes once, when all ranks have exited or after our STOP. If it were accepted at any
 * other time, the run would wait for that node forever. */
static void take_done(struct run *run, struct node *node, const struct frame *frame,
                      const json_t *body)
{
    int64_t left = body_int(body, "left", 0);
    int     ranks_left = run->outcome.ranks_left[node->index];
    double  leave_s = run->options->dead_after_s > LEAVE_LEAST_S ? run->options->dead_after_s
                                                                 : LEAVE_LEAST_S;

    if (node->state == NODE_DONE ||
        (node->state < NODE_RUNNING && node->stop_ns == 0 && node->failure == NULL)) {
        bad_frame(node, frame, "not now");
        return;
    }
    tell_stuck(node, json_object_get(body, "stuck"));
    if (left > 0 && json_array_size(json_object_get(body, "stuck")) == 0)
        log_error("%s: the agent could not verify that all processes are gone (is something "
                  "mounted over /proc?)", node->plan->host);
    if (left > 0)
        outcome_unkilled(&run->outcome);
    if (left > 0)
        outcome_cause(&run->outcome, EXIT_LOST, "%" PRId64 " processes on %s cannot be killed",
                      left, node->plan->host);
    take_losses(run, node, body);
    if (tell_unsure(node, json_object_get(body, "log_unsure"))) {
        outcome_output_failed(&run->outcome, "log files on %s: their last bytes may be missing",
                              node->plan->host);
        leave_s = LEAVE_HUNG_S;
    }
    rendezvous_take_holder(run, node, body_text(body, "port_taken"));
    take_open_mpi(run, node, body_text(body, "open_mpi"));
    if (ranks_left > 0 && node->state == NODE_RUNNING && node->failure == NULL) {
        node_fail(node, "protocol", EXIT_PROTOCOL, NULL, "DONE while %d rank%s",
                  ranks_left, ranks_left == 1 ? " still runs" : "s still run");
        return;
    }
    if (!json_is_true(json_object_get(body, "stays")))
        node_enter(node, NODE_DONE, leave_s);
    else if (node->failure == NULL && left == 0)
        node_stay(node);
    else
        node_leave(node, leave_s); /* another node takes its place */
}

static void take_losses(struct run *run, const struct node *node, const json_t *body)
{
    int64_t     skipped = body_int(body, "lost_bytes", 0);
    int64_t     lost = body_int(body, "log_lost_bytes", 0);
    int64_t     unread = body_int(body, "unread_bytes", 0);
    const char *why = body_text(body, "log_error");

    if (skipped > 0 && !run->is_stdout_lost) /* else the user knows */
        log_warn("%s: %" PRId64 " bytes were not shown here, but are in the log files there",
                 node->plan->host, skipped);
    if (lost > 0)
        log_error("%s: %" PRId64 " bytes could not be written to the log files there%s%s",
                  node->plan->host, lost, why[0] != '\0' ? ": " : "", why);
    else if (why[0] != '\0')
        log_error("%s: the log files there may be incomplete: %s", node->plan->host, why);
    if (unread > 0)
        log_error("%s: %" PRId64 " bytes could not be read from the ranks there",
                  node->plan->host, unread);
    outcome_output_lost(&run->outcome, lost > 0 ? (uint64_t)lost : 0);
    outcome_output_lost(&run->outcome, unread > 0 ? (uint64_t)unread : 0);
    if (why[0] != '\0')
        outcome_output_failed(&run->outcome, "log files on %s: %s", node->plan->host, why);
}

static void tell_stuck(const struct node *node, const json_t *list)
{
    const json_t *stuck;
    size_t        i;

    json_array_foreach(list, i, stuck)
        if (i < STUCK_MAX)
            log_error("%s: pid %" PRId64 " (%s) survives SIGKILL, waiting in %s",
                      node->plan->host, body_int(stuck, "pid", 0), body_text(stuck, "name"),
                      body_text(stuck, "wchan"));
}

/* True: there are some. */
static bool tell_unsure(const struct node *node, const json_t *list)
{
    const json_t *path;
    size_t        i;

    json_array_foreach(list, i, path)
        if (i < UNSURE_MAX && json_is_string(path))
            log_error("%s: %s: its last bytes may be missing (does its file system hang?)",
                      node->plan->host, json_string_value(path));
    return json_array_size(list) > 0;
}

/* All nodes report the same library, so the first report is enough. */
static void take_open_mpi(struct run *run, const struct node *node, const char *library)
{
    if (library[0] != '\0' && node->index == 0 && node->failure == NULL)
        outcome_apart(&run->outcome,
                      "the ranks used Open MPI (%s) and did not find each other: each rank was "
                      "its own world; use --pmix; if this is intended, use --allow-open-mpi",
                      library);
}

/* False: the frame is not about a notice, or not expected. */
static bool take_notice(struct run *run, struct node *node, const struct frame *frame,
                        const json_t *body)
{
    if (run_is_exec(run) || node->state < NODE_PREPARING)
        return false;
    if (frame->type == FRAME_NOTICE)
        notice_take(run, node, body);
    else if (frame->type == FRAME_NOTICED)
        notice_take_noticed(run, node, body);
    else if (frame->type == FRAME_CHECKPOINT)
        take_checkpoint(run, node, frame, body);
    return frame->type == FRAME_NOTICE || frame->type == FRAME_NOTICED ||
           frame->type == FRAME_CHECKPOINT;
}

static void take_checkpoint(struct run *run, struct node *node, const struct frame *frame,
                            const json_t *body)
{
    struct error err;

    if (node->state < NODE_RUNNING)
        bad_frame(node, frame, "its ranks do not run yet");
    else if (checkpoints_take(run, node, body, &err) < 0)
        node_fail(node, "protocol", EXIT_PROTOCOL, NULL, "%s", err.text);
    else if (json_is_true(json_object_get(body, "noticed")))
        notice_take_checkpoint(run, node, body);
}

static void take_stacked(struct run *run, struct node *node, const struct frame *frame,
                         const json_t *body)
{
    if (json_object_get(body, "text") != NULL && !rank_is_of(run, node, frame->rank))
        bad_frame(node, frame, "not for this rank");
    else
        stacks_take(run, node, frame->rank, body);
}

/* Its ranks have started, and DONE has not come. */
static void take_evidence(struct run *run, struct node *node, const struct frame *frame,
                          const json_t *body)
{
    if (run_is_exec(run) || node->state != NODE_RUNNING)
        bad_frame(node, frame, "not now");
    else
        outcome_evidence(&run->outcome, node->index, body);
}

/* As for EVIDENCE. */
static void take_samples(struct run *run, struct node *node, const struct frame *frame,
                         const json_t *body)
{
    if (run_is_exec(run) || node->state != NODE_RUNNING)
        bad_frame(node, frame, "not now");
    else
        slow_nodes_take(run, node, body);
}

static void bad_frame(struct node *node, const struct frame *frame, const char *why)
{
    node_fail(node, "protocol", EXIT_PROTOCOL, NULL, "%s frame: %s", frame_name(frame->type), why);
}

static void take_steps(struct run *run, struct node *node, const struct frame *frame,
                       const json_t *body)
{
    struct error err;

    if (node->state < NODE_RUNNING)
        bad_frame(node, frame, "its ranks do not run yet");
    else if (steps_take(run, node, body, &err) < 0)
        node_fail(node, "protocol", EXIT_PROTOCOL, NULL, "%s", err.text);
    else
        slow_nodes_stepped(run, node);
}

static void take_collectives(struct run *run, struct node *node, const struct frame *frame,
                             const json_t *body)
{
    struct error err;

    if (node->state < NODE_RUNNING || run_is_exec(run))
        bad_frame(node, frame, "muster did not ask for it");
    else if (collective_watch_take(run, node, body, &err) < 0)
        node_fail(node, "protocol", EXIT_PROTOCOL, NULL, "%s", err.text);
}

static bool rank_is_of(const struct run *run, const struct node *node, uint32_t rank)
{
    return rank < (uint32_t)run->plan->world_size && run->outcome.node_of[rank] == node->index;
}
