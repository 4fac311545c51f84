/* rank_input.c - see rank_input.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/rank_input.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buffer.h"
#include "input/stdin_reader.h"
#include "input/terminal.h"
#include "log.h"
#include "run/run.h"
#include "xalloc.h"
#include "xevent.h"

/* All nodes together may have this much that their ranks have not taken. */
#define WINDOW_TOTAL ((size_t)32 << 20)
#define WINDOW_LEAST ((size_t)16 << 10)
/* Half of it is read at a time, while the other half is on its way. */
#define PARTS        2

struct receiver {
    enum { RECEIVER_NONE, RECEIVER_AWAITED, RECEIVER_READY } state; /* NONE: needs nothing */
    size_t in_flight; /* bytes that the node has not given to its ranks */
};

struct rank_input {
    struct stdin_reader *reader; /* NULL: nothing was needed yet */
    struct receiver     *node;   /* as in run->node */
    size_t               nodes;
    size_t               awaited, ready;
    size_t               full;   /* of those that are ready: have no room for another part */
    size_t               window; /* of each node */
    struct buffer        held;   /* was read, but the ranks that wanted it have ended */
    bool                 has_ended;
    bool                 has_keys;  /* the rank has all keys of the terminal */
    int                  escape;    /* terminal_find_escape() */
    struct event        *resized;   /* NULL: no rank has a terminal */
};

static void find_receivers(struct run *run);
static void is_ready(struct run *run, const struct node *node);
static void needs_no_more(struct run *run, size_t index);
static void read_more(struct run *run);
static void send_all(struct run *run, const void *bytes, size_t size);
static void send_end(struct run *run);
static bool is_full(const struct rank_input *input, const struct receiver *receiver);
static void bytes_cb(const void *bytes, size_t size, void *arg);
static void end_cb(int error, void *arg);
static bool take_credit(struct run *run, const struct node *node, const struct frame *frame);
static void take_keys(struct run *run);
static void resized_cb(evutil_socket_t signal, short what, void *arg);

void rank_input_open(struct run *run)
{
    if (run->job != NULL || run->plan->input_to == INPUT_TO_NONE)
        return;
    run->input = xcalloc(1, sizeof *run->input);
    if (run->plan->has_terminal) {
        run->input->resized = evsignal_new(run->base, SIGWINCH, resized_cb, run);
        xevent_add(run->input->resized, NULL);
    }
    find_receivers(run);
}

void rank_input_close(struct run *run)
{
    if (run->input == NULL)
        return;
    stdin_reader_free(run->input->reader);
    terminal_give_back();
    if (run->input->resized != NULL)
        event_free(run->input->resized);
    buffer_clear(&run->input->held);
    free(run->input->node);
    free(run->input);
    run->input = NULL;
}

void rank_input_again(struct run *run)
{
    if (run->input != NULL)
        find_receivers(run);
}

static void find_receivers(struct run *run)
{
    struct rank_input *input = run->input;
    int                to = run->plan->input_to;
    size_t             i;

    free(input->node);
    input->nodes = run->plan->nodes;
    input->node = xcalloc(input->nodes, sizeof *input->node);
    input->awaited = input->ready = input->full = 0;
    input->window = WINDOW_TOTAL / input->nodes;
    input->window = input->window < WINDOW_LEAST ? WINDOW_LEAST : input->window;
    input->window = input->window > FRAME_INPUT_MAX ? FRAME_INPUT_MAX : input->window;
    for (i = 0; i < input->nodes; i++)
        if (to == INPUT_TO_ALL ||
            (to < run->plan->world_size && (size_t)run->outcome.node_of[to] == i)) {
            input->node[i].state = RECEIVER_AWAITED;
            input->awaited++;
        }
    if (input->awaited == 0)
        log_warn("standard input: there is no rank %d now, with a world size of %d; it waits for "
                 "one", to, run->plan->world_size);
}

void rank_input_look(struct run *run, const struct node *node)
{
    if (run->input == NULL || node->index >= run->input->nodes)
        return;
    if (node->state == NODE_RUNNING)
        is_ready(run, node);
    else if (node->state == NODE_STAYING || node->state == NODE_DONE || node_is_over(node))
        needs_no_more(run, node->index);
}

static void is_ready(struct run *run, const struct node *node)
{
    struct rank_input *input = run->input;
    struct receiver   *receiver = &input->node[node->index];

    if (receiver->state != RECEIVER_AWAITED)
        return;
    receiver->state = RECEIVER_READY;
    input->awaited--;
    input->ready++;
    if (run->plan->has_terminal)
        take_keys(run);
    read_more(run);
}

static void needs_no_more(struct run *run, size_t index)
{
    struct rank_input *input = run->input;
    struct receiver   *receiver = &input->node[index];

    if (receiver->state == RECEIVER_NONE)
        return;
    if (receiver->state == RECEIVER_AWAITED) {
        input->awaited--;
    } else {
        input->ready--;
        input->full -= is_full(input, receiver);
    }
    receiver->state = RECEIVER_NONE;
    if (run->plan->has_terminal)
        terminal_give_back();
    read_more(run);
}

static void read_more(struct run *run)
{
    static const struct stdin_reader_ops ops = { bytes_cb, end_cb };
    struct rank_input                   *input = run->input;

    if (input->awaited > 0 || input->ready == 0 || input->full > 0)
        return;
    if (input->held.size > 0)
        send_all(run, input->held.bytes, input->held.size);
    buffer_clear(&input->held);
    if (input->has_ended) {
        send_end(run);
        return;
    }
    if (input->reader == NULL)
        input->reader = stdin_reader_new(run->base, STDIN_FILENO, &ops, run);
    stdin_reader_want(input->reader, input->window / PARTS);
}

static void send_all(struct run *run, const void *bytes, size_t size)
{
    struct rank_input *input = run->input;
    size_t             i;

    for (i = 0; i < input->nodes; i++) {
        if (input->node[i].state != RECEIVER_READY)
            continue;
        node_send_raw(run->node[i], FRAME_INPUT, bytes, size);
        input->node[i].in_flight += size;
        input->full += is_full(input, &input->node[i]);
    }
}

static void send_end(struct run *run)
{
    struct rank_input *input = run->input;
    size_t             i;

    for (i = 0; i < input->nodes; i++)
        if (input->node[i].state == RECEIVER_READY) {
            node_send_raw(run->node[i], FRAME_INPUT, "", 0);
            input->node[i].state = RECEIVER_NONE;
        }
    input->ready = input->full = 0;
}

static bool is_full(const struct rank_input *input, const struct receiver *receiver)
{
    return receiver->in_flight > input->window - input->window / PARTS;
}

static void bytes_cb(const void *bytes, size_t size, void *arg)
{
    struct run        *run = arg;
    struct rank_input *input = run->input;

    if (input->has_keys && terminal_find_escape(&input->escape, bytes, size)) {
        terminal_give_back(); /* for Ctrl-C, if the command does not end */
        raise(SIGINT);
        return;
    }
    if (input->ready == 0 || input->awaited > 0)
        buffer_add(&input->held, bytes, size);
    else
        send_all(run, bytes, size);
    read_more(run);
}

static void end_cb(int error, void *arg)
{
    struct run *run = arg;

    if (error != 0)
        log_warn("standard input: %s; the ranks get its end", strerror(error));
    run->input->has_ended = true;
    read_more(run);
}

bool rank_input_take(struct run *run, struct node *node, const struct frame *frame)
{
    if (run->input == NULL || node->index >= run->input->nodes)
        return false;
    if (frame->type == FRAME_CREDIT)
        return take_credit(run, node, frame);
    if (frame->type != FRAME_INPUT || frame->size > 0)
        return false;
    needs_no_more(run, node->index);
    return true;
}

static bool take_credit(struct run *run, const struct node *node, const struct frame *frame)
{
    struct rank_input *input = run->input;
    struct receiver   *receiver = &input->node[node->index];
    uint32_t           bytes = frame->size == 4 ? get_u32(frame->body) : 0;

    if (bytes == 0 || bytes > receiver->in_flight)
        return false;
    if (receiver->state == RECEIVER_READY)
        input->full -= is_full(input, receiver);
    receiver->in_flight -= bytes;
    if (receiver->state == RECEIVER_READY)
        input->full += is_full(input, receiver);
    read_more(run);
    return true;
}

/* ---- a rank with a terminal ---- */

static void take_keys(struct run *run)
{
    int rows, columns;

    run->input->has_keys = terminal_size(STDIN_FILENO, &rows, &columns);
    run->input->escape = 0;
    if (run->input->has_keys)
        terminal_take_keys(STDIN_FILENO);
}

static void resized_cb(evutil_socket_t signal, short what, void *arg)
{
    struct run        *run = arg;
    struct rank_input *input = run->input;
    unsigned char      body[8];
    int                rows, columns;
    size_t             i;

    (void)signal, (void)what;
    terminal_size(STDIN_FILENO, &rows, &columns);
    put_u32(body, (uint32_t)rows);
    put_u32(body + 4, (uint32_t)columns);
    for (i = 0; i < input->nodes; i++)
        if (input->node[i].state == RECEIVER_READY)
            node_send_raw(run->node[i], FRAME_WINDOW, body, sizeof body);
}
