/* rank_output.c - see rank_output.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/rank_output.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"
#include "node/flow.h"
#include "output/rank_labels.h"
#include "run/interrupt.h"
#include "run/run.h"
#include "run/run_status.h"

/* How long output may delay the end of a run if no reader holds it up. */
#define STOP_OUTPUT_S 600.0
/* If a reader has taken nothing for this long, muster warns a user who ends the run. */
#define READER_TOLD_S 2.0

static void   give_credit(struct run *run, struct node *node);
static void   consumed_cb(size_t index, size_t bytes, void *arg);
static void   failed_cb(bool is_stderr, int error, void *arg);
static char  *many_label(const int *rank, size_t count, void *arg);
static int    world_of(int rank, void *arg);
static void   own_line(const char *line, size_t size, void *arg);
static double seconds_since(int64_t ns);

void rank_output_open(struct run *run)
{
    static const struct output_ops ops = { consumed_cb, failed_cb, many_label, world_of };
    struct output_settings         settings = {
        .out_fd = STDOUT_FILENO,
        .err_fd = STDERR_FILENO,
        .timestamps = run->options->timestamps,
        .filter_out = isatty(STDOUT_FILENO),
        .filter_err = isatty(STDERR_FILENO),
        .fold = run->options->fold && run->plan->command == COMMAND_EXEC,
        .fold_lines = run->options->fold && run->plan->command == COMMAND_RUN,
        .may_skip = run->options->log_dir != NULL,
    };

    run->output = output_new(run->base, &settings, &ops, run);
    rank_labels_add(run->output, run->plan, run->options, run->shown, run->shown_count);
    log_sink(own_line, run->output);
}

static void own_line(const char *line, size_t size, void *arg)
{
    output_own(arg, line, size);
}

void rank_output_again(struct run *run, const struct plan *world)
{
    run->is_reader_told = false;
    rank_labels_again(run->output, run->plan, world, run->options);
}

void rank_output_finish(struct run *run)
{
    if (!reader_await(&run->reader, run->output))
        interrupt_has_left(run);
    outcome_output_lost(&run->outcome, output_finish(run->output, 0));
}

void rank_output_close(struct run *run)
{
    log_sink(NULL, NULL);
    output_free(run->output);
    run->output = NULL;
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
    run->output_bytes += frame->size;
    give_credit(run, node);
    output_bytes(run->output, (int)frame->rank, frame->stream, frame->body, frame->size);
    run_status_rank_said(run, frame->rank);
}

/* Bytes have left our memory: the agent may send as many again. */
static void consumed_cb(size_t index, size_t bytes, void *arg)
{
    struct run  *run = arg;
    struct node *node = index < run->plan->nodes ? run->node[index] : NULL;

    flow_written(run->flow, index, bytes);
    if (node != NULL)
        give_credit(run, node);
}

static void give_credit(struct run *run, struct node *node)
{
    uint32_t credit;

    if (node_takes_frames(node) && node->state != NODE_STAYING &&
        (credit = flow_grant(run->flow, node->index)) > 0)
        node_send_u32(node, FRAME_CREDIT, credit);
}

static char *many_label(const int *rank, size_t count, void *arg)
{
    const struct run *run = arg;

    return rank_labels_of_many(run->plan, run->options, rank, count);
}

static int world_of(int rank, void *arg)
{
    const struct run *run = arg;

    return run->plan->roles > 0 ? (int)(plan_world_of_rank(run->plan, rank) - run->plan->role) : 0;
}

/* The reader is gone, or the disk is full. A closed pipe ends the run as it would end any
 * filter, and as quietly: the report is one line. A full disk does not stop the ranks; the
 * exit status shows it. */
static void failed_cb(bool is_stderr, int error, void *arg)
{
    struct run *run = arg;
    const char *name = is_stderr ? "stderr" : "stdout";

    outcome_output_failed(&run->outcome, "%s: %s", name, output_error_words(error));
    run->is_stdout_lost = run->is_stdout_lost || !is_stderr;
    if (error == EPIPE)
        outcome_reader_gone(&run->outcome, name, run->options->log_dir == NULL);
    if (error == EPIPE && run->options->log_dir == NULL) {
        phase_stop(run);
    } else if (!run->reader.is_begun || error != ETIMEDOUT) { /* else the report has it */
        log_error("%s: %s; further output is dropped", name, output_error_words(error));
    }
}

/* ---- at the end ---- */

void rank_output_check_reader(struct run *run)
{
    double stuck_s = output_stuck_s(run->output);

    if (run->phase.now != PHASE_STOPPING || run->reader.is_begun)
        return;
    if (interrupt_is_urgent(run))
        output_give_up(run->output, READER_HURRIED_S);
    else if (interrupt_has_come(run) && stuck_s >= READER_TOLD_S && !run->is_reader_told)
        log_error("waiting for the reader: it has read nothing for %.0f s, and %" PRIu64
                  " bytes of output wait here, perhaps more on the nodes (repeat to drop them)",
                  stuck_s, output_unread(run->output));
    run->is_reader_told = run->is_reader_told || stuck_s >= READER_TOLD_S;
}

void rank_output_note_reader(struct run *run)
{
    size_t i;

    for (i = 0; i < run->plan->nodes; i++)
        if (run->node[i]->state < NODE_STAYING && flow_is_used_up(run->flow, i))
            run->reader_held_ns = clock_now_ns();
}

/* The node may have more output than its credit or the network lets through at once. */
bool rank_output_is_awaited(const struct run *run, const struct node *node)
{
    if (flow_is_used_up(run->flow, node->index))
        return true;
    return seconds_since(flow_last_ns(run->flow)) < NODE_STOP_S &&
           (seconds_since(node->stop_ns) < run->options->grace_s + STOP_OUTPUT_S ||
            seconds_since(run->reader_held_ns) < STOP_OUTPUT_S);
}

static double seconds_since(int64_t ns)
{
    return (double)(clock_now_ns() - ns) / NS_PER_S;
}
