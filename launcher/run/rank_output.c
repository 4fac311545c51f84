/* rank_output.c - see rank_output.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/rank_output.h"

#include <errno.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"
#include "run/flow.h"
#include "run/interrupt.h"
#include "run/rank_labels.h"
#include "run/run.h"
#include "run/run_status.h"

/* How long the end of a run may be delayed by output that comes, or by a reader who takes some
 * of it. */
#define STOP_OUTPUT_S 600.0
/* How long a reader who takes nothing may delay it after the user has insisted. */
#define READER_HURRIED_S 1.0

static void   consumed_cb(size_t index, size_t bytes, void *arg);
static void   failed_cb(bool is_stderr, int error, void *arg);
static void   own_line(const char *line, size_t size, void *arg);
static double patience_s(const struct run *run);
static double seconds_since(int64_t ns);

struct output *rank_output_open(struct run *run, const bool *shown)
{
    static const struct output_ops ops = { consumed_cb, failed_cb };
    struct output_settings         settings = {
        .out_fd = STDOUT_FILENO,
        .err_fd = STDERR_FILENO,
        .timestamps = run->options->timestamps,
        .filter_out = isatty(STDOUT_FILENO),
        .filter_err = isatty(STDERR_FILENO),
        .fold = run->options->fold,
        .may_skip = run->options->log_dir != NULL,
    };
    struct output *output = output_new(run->base, &settings, &ops, run);

    rank_labels_add(output, run->plan, run->options, shown);
    log_sink(own_line, output);
    return output;
}

static void own_line(const char *line, size_t size, void *arg)
{
    output_own(arg, line, size);
}

void rank_output_finish(struct run *run)
{
    outcome_output_lost(&run->outcome, output_finish(run->output, patience_s(run)));
    log_sink(NULL, NULL);
}

void rank_output_take(struct run *run, struct node *node, const struct frame *frame)
{
    if (frame->stream == STREAM_NONE) {
        node_fail(node, "protocol", EXIT_PROTOCOL, NULL, "OUTPUT frame: no stream");
        return;
    }
    if (frame->size == 0) {
        output_end(run->output, (int)frame->rank, frame->stream);
        return;
    }
    if (flow_take(run->flow, node->index, frame->size, clock_now_ns()) < 0) {
        node_fail(node, "protocol", EXIT_PROTOCOL, NULL,
                  "OUTPUT frame: more than the credit allows");
        return;
    }
    output_bytes(run->output, (int)frame->rank, frame->stream, frame->body, frame->size);
    run_status_rank_said(run, frame->rank);
}

/* Bytes have left our memory: the agent may send as many again. */
static void consumed_cb(size_t index, size_t bytes, void *arg)
{
    struct run  *run = arg;
    struct node *node = &run->node[index];
    uint32_t     credit;

    flow_written(run->flow, index, bytes);
    if (node_takes_frames(node) && (credit = flow_grant(run->flow, index)) > 0)
        node_send_u32(node, FRAME_CREDIT, credit);
}

/* The reader is gone, or the disk is full. A closed pipe ends the run as it would end any filter.
 * A full disk does not stop a training: only the exit status will tell. */
static void failed_cb(bool is_stderr, int error, void *arg)
{
    struct run *run = arg;
    const char *name = is_stderr ? "stderr" : "stdout";

    outcome_output_failed(&run->outcome, "%s: %s", name, output_error_words(error));
    log_error("%s: %s; further output is dropped", name, output_error_words(error));
    if (error == EPIPE && run->options->log_dir == NULL) {
        outcome_cause(&run->outcome, EXIT_OUTPUT, "%s: the reader is gone", name);
        phase_stop(run);
    }
}

/* ---- at the end ---- */

void rank_output_check_reader(struct run *run)
{
    double stopping_s = seconds_since(run->phase.stop_ns);
    bool   is_late = stopping_s >= run->options->grace_s + STOP_OUTPUT_S;

    if (run->phase.now == PHASE_STOPPING && stopping_s >= patience_s(run))
        output_give_up(run->output, is_late ? 0 : patience_s(run));
}

static double patience_s(const struct run *run)
{
    return interrupt_is_urgent(run) ? READER_HURRIED_S : LAUNCH_READER_S;
}

/* The nodes have more to say than their credit or the line lets through at once. */
bool rank_output_is_moving(const struct run *run)
{
    return seconds_since(run->phase.stop_ns) <
               run->options->grace_s + STOP_OUTPUT_S + LAUNCH_STOP_S &&
           (seconds_since(flow_last_ns(run->flow)) < LAUNCH_STOP_S ||
            output_stuck_s(run->output) > 0);
}

static double seconds_since(int64_t ns)
{
    return (double)(clock_now_ns() - ns) / NS_PER_S;
}
