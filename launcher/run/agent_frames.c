/* agent_frames.c - what the nodes send, and what it means for the run
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/run.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "log.h"
#include "xalloc.h"
#include "xevent.h"

/* For the agent's exit after DONE: a matter of milliseconds, but on a bad line its last words
 * come late. The lease, or this. */
#define LEAVE_LEAST_S 5.0
#define LEAVE_HUNG_S  1.0 /* the same when a file system does not let it go: for our last ACK */
#define STUCK_MAX     16 /* processes named that survive SIGKILL; a node may send any number */
#define UNSURE_MAX    16 /* files, likewise */
#define TEXT_MAX      4096 /* bytes kept of what a node says of a rank */

static bool        is_about_rank(enum frame_type type);
static void        take_probed(struct run *run, struct node *node, const json_t *body);
static void        take_ready(struct run *run, struct node *node, const json_t *body);
static void        take_started(struct run *run, struct node *node,
                                const struct frame *frame, const json_t *body);
static bool        all_have_started(const struct outcome *outcome);
static void        take_exit(struct run *run, struct node *node,
                             const struct frame *frame, const json_t *body);
static void        take_kvs(struct run *run, struct node *node, const struct frame *frame,
                            const json_t *body);
static void        answer_barrier(struct run *run);
static void        take_abort(struct run *run, struct node *node,
                              const struct frame *frame, const json_t *body);
static void        take_error(struct run *run, struct node *node,
                              const struct frame *frame, const json_t *body);
static void        take_dumping(struct run *run, struct node *node, const json_t *body);
static void        take_done(struct run *run, struct node *node,
                             const struct frame *frame, const json_t *body);
static void        take_losses(struct run *run, const struct node *node,
                               const json_t *body);
static void        tell_stuck(const struct node *node, const json_t *list);
static bool        tell_unsure(const struct node *node, const json_t *list);
static void        take_stacked(struct run *run, struct node *node,
                                const struct frame *frame, const json_t *body);
static void        take_output(struct run *run, struct node *node,
                               const struct frame *frame);
static void        output_consumed_cb(size_t index, size_t bytes, void *arg);
static void        output_failed_cb(bool is_stderr, int error, void *arg);
static void        bad_frame(struct node *node, const struct frame *frame,
                             const char *why);
static bool        rank_is_of(const struct node *node, uint32_t rank);
static int         small_int_of(const json_t *body, const char *key, int otherwise,
                                int most);
static int64_t     int_of(const json_t *body, const char *key, int64_t otherwise);
static const char *text_of(const json_t *body, const char *key);
static char       *optional_text(const json_t *body, const char *key);

const struct output_ops agent_frames_output_ops = { output_consumed_cb, output_failed_cb };

void agent_frames_take(struct node *node, const struct frame *frame, const json_t *body, void *arg)
{
    struct run *run = arg;

    if (is_about_rank(frame->type) &&
        (!rank_is_of(node, frame->rank) || node->state < NODE_RUNNING)) {
        bad_frame(node, frame, "not for this rank or not now");
        return;
    }
    switch (frame->type) {
    case FRAME_PROBED:
        take_probed(run, node, body);
        break;
    case FRAME_IDLE:
        hang_take_idle(node, body);
        break;
    case FRAME_STACKED:
        take_stacked(run, node, frame, body);
        break;
    case FRAME_READY:
        take_ready(run, node, body);
        break;
    case FRAME_STARTED:
        take_started(run, node, frame, body);
        break;
    case FRAME_OUTPUT:
        take_output(run, node, frame);
        break;
    case FRAME_EXIT:
        take_exit(run, node, frame, body);
        break;
    case FRAME_KVS:
        take_kvs(run, node, frame, body);
        break;
    case FRAME_ABORT:
        take_abort(run, node, frame, body);
        break;
    case FRAME_ERROR:
        take_error(run, node, frame, body);
        break;
    case FRAME_DUMPING:
        take_dumping(run, node, body);
        break;
    case FRAME_DONE:
        take_done(run, node, frame, body);
        break;
    default:
        if (run->job == NULL || !run->job->frame(run, node, frame, body))
            bad_frame(node, frame, "nobody has asked for it");
        break;
    }
}

static bool is_about_rank(enum frame_type type)
{
    return type == FRAME_OUTPUT || type == FRAME_STARTED || type == FRAME_EXIT ||
           type == FRAME_ABORT;
}

static void take_probed(struct run *run, struct node *node, const json_t *body)
{
    struct error err;
    const char  *why = text_of(body, "error"), *holder = text_of(body, "holder");
    int          port = small_int_of(body, "port", 0, UINT16_MAX);

    if (node->state != NODE_PROBING) {
        hang_take_probed(run, node, body);
        return;
    }
    if (node->stop_ns != 0)
        return; /* it crossed with our STOP */
    if (why[0] != '\0') {
        node_fail(node, run->phase == PHASE_HOLDING ? "master port" : "probe", EXIT_CREATE,
                  run->phase == PHASE_HOLDING ? "without --master_port muster takes a free one" : "",
                  "%s%s%s", why, holder[0] != '\0' ? ", held by " : "", holder);
        return;
    }
    if (port < 1 && run->phase != PHASE_REACHING) {
        node_fail(node, "protocol", EXIT_PROTOCOL, NULL, "PROBED frame without a port");
        return;
    }
    if (run->phase == PHASE_LISTENING) {
        run->probe_port = port;
    } else if (run->phase == PHASE_HOLDING) {
        run->plan->master_port = port;
    } else if (master_answer(&run->master, node->index, body, &err) < 0) {
        node_fail(node, "protocol", EXIT_PROTOCOL, NULL, "%s", err.text);
        return;
    }
    node_enter(node, NODE_PROBED, 0);
}

static void take_ready(struct run *run, struct node *node, const json_t *body)
{
    if (node->state != NODE_PREPARING || node->failure != NULL)
        return; /* it crossed with our STOP */
    node->containment = optional_text(body, "containment");
    log_info("%s: containment %s", node->plan->host, text_of(body, "containment"));
    if (run_check_ready(run, node, body))
        node_enter(node, NODE_READY, 0);
}

static void take_started(struct run *run, struct node *node, const struct frame *frame,
                         const json_t *body)
{
    outcome_rank_started(&run->outcome, (int)frame->rank, (int)int_of(body, "pid", 0),
                         node_local_ns(node, int_of(body, "at_ns", 0)));
    run_status_rank_started(run, frame->rank);
    if (run->watcher != NULL && all_have_started(&run->outcome)) {
        run_status_beat(run); /* from here on muster status may be asked */
        run->watcher->started(run->watcher->arg);
    }
}

/* With --no_ssh others start some of them. */
static bool all_have_started(const struct outcome *outcome)
{
    int rank;

    for (rank = 0; rank < outcome->plan->world_size; rank++)
        if (outcome->node_of[rank] != OUTCOME_NOT_OURS && !outcome->rank[rank].started)
            return false;
    return true;
}

static void take_exit(struct run *run, struct node *node, const struct frame *frame,
                      const json_t *body)
{
    struct rank_end *known = &run->outcome.rank[frame->rank];
    struct rank_end  end = { .started = known->started, .ended = true, .pid = known->pid,
                             .start_ns = known->start_ns };
    bool             failed;

    if (known->ended) {
        bad_frame(node, frame, "a second one for this rank");
        return;
    }
    end.code = small_int_of(body, "code", 0, 255);
    end.signal = small_int_of(body, "signal", 0, NSIG - 1);
    if (end.code < 0 || end.signal < 0) {
        bad_frame(node, frame, "no such exit code or signal");
        return;
    }
    end.core = json_is_true(json_object_get(body, "core"));
    end.end_ns = node_local_ns(node, int_of(body, "at_ns", 0));
    end.maxrss_kb = int_of(body, "maxrss_kb", 0);
    end.error = optional_text(body, "error");
    end.oom = optional_text(body, "oom");
    end.after_stop = json_is_true(json_object_get(body, "stopped"));
    failed = end.code != 0 || end.signal != 0;
    outcome_rank_ended(&run->outcome, (int)frame->rank, &end);
    free(end.error);
    free(end.oom);
    node->ranks_left--;
    if (failed && !run_is_exec(run))
        run_end(run);
}

static void take_kvs(struct run *run, struct node *node, const struct frame *frame,
                     const json_t *body)
{
    struct error err;
    int          rc;

    if (run_is_exec(run)) {
        bad_frame(node, frame, "PMI is not offered here");
        return;
    }
    rc = kvs_node_in(run->kvs, node->index, body, &err);
    if (rc < 0)
        node_fail(node, "protocol", EXIT_PROTOCOL, NULL, "%s", err.text);
    else if (rc > 0)
        answer_barrier(run);
}

/* The last node has come to the barrier: everybody gets everything. */
static void answer_barrier(struct run *run)
{
    json_t *part;
    size_t  i;

    while ((part = kvs_take(run->kvs)) != NULL) {
        for (i = 0; i < run->plan->nodes; i++)
            if (node_is_live(&run->node[i]))
                node_send(&run->node[i], FRAME_KVS, json_incref(part));
        json_decref(part);
    }
}

static void take_abort(struct run *run, struct node *node, const struct frame *frame,
                       const json_t *body)
{
    int code = (int)int_of(body, "code", 1) & 0xff;

    outcome_cause(&run->outcome, code != 0 ? code : 1,
                  "rank %u on %s aborted the run (PMI abort, code %d)",
                  frame->rank, node->plan->host, code);
    run_end(run);
}

/* The agent has given up on its own, and says why; when it is gone nothing is left
 * there. Its code becomes ours, so it must not look like success. */
static void take_error(struct run *run, struct node *node, const struct frame *frame,
                       const json_t *body)
{
    const char *stage = text_of(body, "stage");
    int         code = small_int_of(body, "code", EXIT_INTERNAL, 255);
    struct conn_failure why = { .stage = strcmp(stage, "plan") == 0    ? "prepare"
                                         : strcmp(stage, "bcast") == 0 ? "bcast"
                                                                       : "running",
                                .exit_code = code > 0 ? code : EXIT_INTERNAL };
    bool ends_run = run->phase >= PHASE_RUNNING && !run_is_exec(run);

    if (node->failure != NULL || node->state == NODE_DONE) {
        bad_frame(node, frame, "not now");
        return;
    }
    snprintf(why.text, sizeof why.text, "%s", text_of(body, "text"));
    snprintf(why.hint, sizeof why.hint, "%s", text_of(body, "hint"));
    /* Where that ends the run, the limit is that of all nodes. */
    node_give_up(node, &why, ends_run ? 0 : run->options->grace_s + STOP_SURE_S);
    outcome_node_failed(&run->outcome, node->index, &why, clock_now_ns());
    if (ends_run)
        run_end(run);
}

/* DONE is late. A node that says so for ever is given up in the end, and the limit comes
 * no sooner than it would have. */
static void take_dumping(struct run *run, struct node *node, const json_t *body)
{
    const struct timeval more = clock_interval(STOP_SURE_S);
    double               stopping_s = (double)(clock_now_ns() - node->stop_ns) / NS_PER_S;
    struct timeval       limit, later;

    if (!node->is_dumping)
        log_warn("%s: waiting for the core files of %" PRId64 " processes", node->plan->host,
                 int_of(body, "processes", 0));
    node->is_dumping = true;
    evutil_gettimeofday(&later, NULL);
    evutil_timeradd(&later, &more, &later);
    if (node->stop_ns != 0 && stopping_s < run->options->grace_s + STOP_CORE_S &&
        evtimer_pending(run->stop_limit, &limit) && limit.tv_sec < later.tv_sec)
        xevent_add(run->stop_limit, &more);
}

/* It comes when all ranks have ended, or when we have asked for it, and once: a
 * node that were done without either would be waited for in vain. */
static void take_done(struct run *run, struct node *node, const struct frame *frame,
                      const json_t *body)
{
    int64_t left = int_of(body, "left", 0);
    double  leave_s = run->options->dead_after_s > LEAVE_LEAST_S ? run->options->dead_after_s
                                                                 : LEAVE_LEAST_S;

    if (node->state == NODE_DONE ||
        (node->state < NODE_RUNNING && node->stop_ns == 0 && node->failure == NULL)) {
        bad_frame(node, frame, "not now");
        return;
    }
    tell_stuck(node, json_object_get(body, "stuck"));
    if (left > 0 && json_array_size(json_object_get(body, "stuck")) == 0)
        log_error("%s: the agent does not confirm that nothing is left, but cannot see what it is:"
                  " is something mounted over /proc?", node->plan->host);
    if (left > 0)
        outcome_cause(&run->outcome, EXIT_LOST, "%" PRId64 " processes on %s cannot be killed",
                      left, node->plan->host);
    take_losses(run, node, body);
    if (tell_unsure(node, json_object_get(body, "log_unsure"))) {
        outcome_output_failed(&run->outcome, "log files on %s: not known to be written",
                              node->plan->host);
        leave_s = LEAVE_HUNG_S;
    }
    generation_port_taken(run, node, text_of(body, "port_taken"));
    if (node->ranks_left > 0 && node->state == NODE_RUNNING && node->failure == NULL) {
        node_fail(node, "protocol", EXIT_PROTOCOL, NULL, "DONE before the end of %d ranks",
                  node->ranks_left);
        return;
    }
    node_enter(node, NODE_DONE, leave_s);
}

static void take_losses(struct run *run, const struct node *node, const json_t *body)
{
    int64_t     skipped = int_of(body, "lost_bytes", 0), lost = int_of(body, "log_lost_bytes", 0);
    int64_t     unread = int_of(body, "unread_bytes", 0);
    const char *why = text_of(body, "log_error");

    if (skipped > 0)
        log_warn("%s: %" PRId64 " bytes were not shown here, but are in the log files there",
                 node->plan->host, skipped);
    if (lost > 0)
        log_error("%s: %" PRId64 " bytes could not be written to the log files there%s%s",
                  node->plan->host, lost, why[0] != '\0' ? ": " : "", why);
    else if (why[0] != '\0')
        log_error("%s: the log files there may not be whole: %s", node->plan->host, why);
    if (unread > 0)
        log_error("%s: %" PRId64 " bytes could not be read from the ranks there",
                  node->plan->host, unread);
    run->outcome.lost_bytes += lost > 0 ? (uint64_t)lost : 0;
    run->outcome.lost_bytes += unread > 0 ? (uint64_t)unread : 0;
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
                      node->plan->host, int_of(stuck, "pid", 0), text_of(stuck, "name"),
                      text_of(stuck, "wchan"));
}

/* True when there are any. */
static bool tell_unsure(const struct node *node, const json_t *list)
{
    const json_t *path;
    size_t        i;

    json_array_foreach(list, i, path)
        if (i < UNSURE_MAX && json_is_string(path))
            log_error("%s: %s: its last bytes are not known to be written (does its file system"
                      " stand still?)", node->plan->host, json_string_value(path));
    return json_array_size(list) > 0;
}

static void take_stacked(struct run *run, struct node *node, const struct frame *frame,
                         const json_t *body)
{
    if (json_object_get(body, "text") != NULL && !rank_is_of(node, frame->rank))
        bad_frame(node, frame, "not for this rank");
    else
        hang_take_stack(run, node, frame->rank, body);
}

/* ---- output ---- */

static void take_output(struct run *run, struct node *node, const struct frame *frame)
{
    int64_t *left = &run->credit_left[node->index];

    if (frame->stream == STREAM_NONE) {
        bad_frame(node, frame, "no stream");
        return;
    }
    if (frame->size == 0) {
        output_end(run->output, (int)frame->rank, frame->stream);
        return;
    }
    *left -= (int64_t)frame->size;
    if (*left < 0) {
        bad_frame(node, frame, "more than the credit allows");
        return;
    }
    run->output_ns = clock_now_ns();
    output_bytes(run->output, (int)frame->rank, frame->stream, frame->body, frame->size);
    run_status_rank_said(run, frame->rank);
}

/* Bytes have left our memory: the agent may send as many again. In lots, so
 * that credit frames stay rare. */
static void output_consumed_cb(size_t index, size_t bytes, void *arg)
{
    struct run  *run = arg;
    struct node *node = &run->node[index];

    node->credit_due += bytes;
    if (node->credit_due < run->credit / 4 || !node_is_live(node))
        return;
    node_send_u32(node, FRAME_CREDIT, (uint32_t)node->credit_due);
    run->credit_left[index] += (int64_t)node->credit_due;
    node->credit_due = 0;
}

/* Nobody reads any more. A closed pipe ends the run as it would end any filter;
 * a full disk does not stop a training, only the exit status will tell. */
static void output_failed_cb(bool is_stderr, int error, void *arg)
{
    struct run *run = arg;
    const char *name = is_stderr ? "stderr" : "stdout";

    outcome_output_failed(&run->outcome, "%s: %s", name, output_error_words(error));
    log_error("%s: %s; further output is dropped", name, output_error_words(error));
    if (error == EPIPE && run->options->log_dir == NULL) {
        outcome_cause(&run->outcome, EXIT_OUTPUT, "nobody reads %s any more", name);
        run_end(run);
    }
}

/* ---- reading ---- */

static void bad_frame(struct node *node, const struct frame *frame, const char *why)
{
    node_fail(node, "protocol", EXIT_PROTOCOL, NULL, "%s frame: %s", frame_name(frame->type), why);
}

static bool rank_is_of(const struct node *node, uint32_t rank)
{
    int i;

    for (i = 0; i < node->plan->ranks; i++)
        if ((uint32_t)node->plan->rank[i].rank == rank)
            return true;
    return false;
}

/* A number of which only some values make sense; -1 for any other. */
static int small_int_of(const json_t *body, const char *key, int otherwise, int most)
{
    int64_t value = int_of(body, key, otherwise);

    return value >= 0 && value <= most ? (int)value : -1;
}

static int64_t int_of(const json_t *body, const char *key, int64_t otherwise)
{
    const json_t *value = json_object_get(body, key);

    return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

/* Text from a node, borrowed, or "". */
static const char *text_of(const json_t *body, const char *key)
{
    const char *text = json_string_value(json_object_get(body, key));

    return text != NULL ? text : "";
}

static char *optional_text(const json_t *body, const char *key)
{
    const char *text = json_string_value(json_object_get(body, key));

    return text != NULL ? xstrndup(text, strnlen(text, TEXT_MAX)) : NULL;
}
