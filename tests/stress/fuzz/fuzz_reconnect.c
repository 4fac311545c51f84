/* fuzz_reconnect.c - what a node may do while its connection is lost and made again
 *
 * A node in the middle of a run, its connections fakes. The input is a list of events, one
 * letter each: see play(). Small letters happen to the older of two connections, when a silent
 * node was dialled beside the one there is.
 *
 * Whatever happens, the launcher's stream goes on with the byte at which the agent said it
 * stands, and with the same bytes as the first time.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/node.h"
#include "xalloc.h"

#define FAKES_MAX 64 /* connections, and so events, of one input */

struct fake {
    struct conn      conn; /* first, so that the two convert */
    bool             is_there, is_open, is_dialled, has_attached, is_in_stream;
    uint64_t         position; /* in the launcher's stream */
    struct evbuffer *in;
};

struct input {
    const uint8_t *at, *end;
};

static struct event_base *base;
static struct node        node;
static struct fake        fakes[FAKES_MAX];
static size_t             fakes_made;
static struct evbuffer   *stream; /* all that the launcher has ever said to the agent */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void happen(struct fake *fake, int event, struct input *input);

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "fuzz_reconnect: %s\n", what);
    abort();
}

/* ---- connections ---- */

static void fake_start(struct conn *conn)
{
    (void)conn;
}

/* What has been said before must be the same. */
static void check_stream(struct fake *fake, struct evbuffer *from)
{
    size_t               size = evbuffer_get_length(from), said = evbuffer_get_length(stream);
    size_t               known;
    unsigned char       *old = evbuffer_pullup(stream, -1);
    const unsigned char *bytes = evbuffer_pullup(from, -1);

    must(fake->position <= said, "bytes of the stream were left out");
    known = said - fake->position < size ? said - fake->position : size;
    must(known == 0 || memcmp(old + fake->position, bytes, known) == 0,
         "another byte than the first time");
    evbuffer_add(stream, bytes + known, size - known);
    fake->position += size;
}

static void fake_write(struct conn *conn, struct evbuffer *from)
{
    struct fake *fake = (struct fake *)conn;

    must(fake->is_there, "written to after its end");
    if (fake->is_dialled && !fake->has_attached) {
        fake->has_attached = true; /* RECONNECT is not counted */
    } else if (evbuffer_get_length(from) > 0) {
        if (!fake->is_in_stream)
            fake->position = node.resend.begin;
        fake->is_in_stream = true;
        check_stream(fake, from);
    }
    evbuffer_drain(from, evbuffer_get_length(from));
}

static size_t fake_unwritten(const struct conn *conn)
{
    (void)conn;
    return 0;
}

static void fake_free(struct conn *conn)
{
    struct fake *fake = (struct fake *)conn;

    must(fake->is_there, "freed twice");
    fake->is_there = false;
    evbuffer_free(fake->in);
}

static const struct conn_kind fake_kind = {
    .start = fake_start, .write = fake_write, .unwritten = fake_unwritten, .free = fake_free,
};

static struct conn *fake_make(const struct conn_ops *ops, void *arg, bool is_dialled)
{
    struct fake *fake = &fakes[fakes_made++];

    must(fakes_made <= FAKES_MAX, "more connections than events");
    *fake = (struct fake){ .conn = { &fake_kind, ops, arg }, .is_there = true,
                           .is_dialled = is_dialled, .in = evbuffer_new() };
    return &fake->conn;
}

/* The newest that is there, or the one before. */
static struct fake *fake_choose(bool older)
{
    size_t i;

    for (i = fakes_made; i > 0; i--) {
        if (fakes[i - 1].is_there && !older)
            return &fakes[i - 1];
        older = older && !fakes[i - 1].is_there;
    }
    return NULL;
}

/* ---- the node ---- */

static void ignore_node(struct node *n, void *arg)
{
    (void)n, (void)arg;
}

static void ignore_frame(struct node *n, const struct frame *frame, const json_t *body, void *arg)
{
    (void)n, (void)frame, (void)body, (void)arg;
}

static struct conn *dial(struct node *n, const struct conn_ops *ops, void *ops_arg, void *arg)
{
    (void)n, (void)arg;
    return fake_make(ops, ops_arg, true);
}

static void node_begin(void)
{
    static const struct node_ops  ops = { ignore_node, ignore_node, ignore_frame, ignore_node,
                                          dial };
    static const struct plan_node planned = { .host = (char *)"node1", .ranks = 1 };

    node_init(&node, 0, &planned, base, &ops, NULL);
    reconnect_make_key(node.reconnect, "run", 0);
    node.conn = fake_make(&node_conn_ops, &node, false);
    fakes[0].is_open = fakes[0].is_in_stream = true;
    node.state = NODE_RUNNING;
    node.resend.keeps = true;
    node_send_u32(&node, FRAME_CREDIT, 1000);
}

/* ---- events ---- */

static unsigned take_byte(struct input *input)
{
    return input->at < input->end ? *input->at++ : 0;
}

/* Frames come with a header, which hardly any mutation would leave whole. */
static void say(struct fake *fake, unsigned type, uint32_t generation, const void *body,
                size_t size)
{
    struct frame frame = { .type = type % FRAME_TYPE_COUNT, .generation = generation,
                           .body = body, .size = size };

    if (frame.type == 0)
        return;
    frame_put(fake->in, &frame);
    fake->conn.ops->input(fake->in, fake->conn.arg);
}

static void say_json(struct fake *fake, unsigned type, json_t *body)
{
    char *text = json_dumps(body, JSON_COMPACT);

    say(fake, type, node.generation, text, strlen(text));
    free(text);
    json_decref(body);
}

static void say_bytes(struct fake *fake, struct input *input)
{
    unsigned type = take_byte(input), generation = take_byte(input), size = take_byte(input);

    size = size < input->end - input->at ? size : (unsigned)(input->end - input->at);
    input->at += size;
    say(fake, type, generation, input->at - size, size);
}

static void say_resumed(struct fake *fake, struct input *input)
{
    json_int_t more = (json_int_t)take_byte(input), again = (json_int_t)take_byte(input) - 1;

    say_json(fake, FRAME_RESUMED, json_pack("{s:I, s:I}", "received",
                                            (json_int_t)node.resend.begin + more - 1, "again",
                                            again));
}

static void say_ack(struct fake *fake, struct input *input)
{
    unsigned char body[8];

    put_u64(body, node.resend.begin + take_byte(input) - 1);
    say(fake, FRAME_ACK, node.generation, body, sizeof body);
}

static void leave(struct fake *fake, bool is_cut)
{
    const struct conn_failure why = { .stage = "running", .is_cut = is_cut, .text = "gone" };

    fake->conn.ops->closed(&why, fake->conn.arg);
}

static void play(struct input *input)
{
    unsigned     letter = take_byte(input);
    struct fake *fake = fake_choose(islower((int)letter));

    switch (toupper((int)letter)) {
    case 'S': /* muster has something to say */
        if (node_takes_frames(&node))
            node_send_u32(&node, FRAME_CREDIT, take_byte(input));
        return;
    case 'P': /* and its heart beats */
        if (node_takes_frames(&node))
            node_ping(&node);
        return;
    case 'Q': /* the node is silent for long */
        reconnect_beside(node.reconnect);
        return;
    }
    if (fake != NULL)
        happen(fake, toupper((int)letter), input);
}

static void happen(struct fake *fake, int event, struct input *input)
{
    if ((event == 'O') == fake->is_open && event != 'C' && event != 'E')
        return;
    switch (event) {
    case 'O':
        fake->is_open = true;
        fake->conn.ops->open(fake->conn.arg);
        break;
    case 'H':
        say_json(fake, FRAME_HELLO, json_pack("{s:i, s:i}", "protocol", FRAME_PROTOCOL, "now_ns",
                                              1));
        break;
    case 'R':
        say_resumed(fake, input);
        break;
    case 'A':
        say_ack(fake, input);
        break;
    case 'F': /* any frame */
        say_bytes(fake, input);
        break;
    case 'C':
        leave(fake, true);
        break;
    case 'E':
        leave(fake, false);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = { data, data + size };
    int          events = 1; /* the first connection is one */

    base = event_base_new();
    stream = evbuffer_new();
    fakes_made = 0;
    node_begin();
    while (events++ < FAKES_MAX && input.at < input.end && !node_is_over(&node)) {
        play(&input);
        event_base_loop(base, EVLOOP_NONBLOCK); /* the first attempt comes at once */
        must(node_is_over(&node) || (node.conn == NULL) == reconnect_is_cut(node.reconnect),
             "cut and not cut");
    }
    must(node.state != NODE_FAILED || node.failure != NULL, "failed without a reason");
    node_clear(&node);
    must(fake_choose(false) == NULL, "a connection is left");
    evbuffer_free(stream);
    event_base_free(base);
    return 0;
}
