/* fuzz_node.c - what a hostile node may say to the launcher
 *
 * A whole launch_run() of two nodes. Both connections are fakes, linked in the
 * place of conn_exec.c and conn_ssh.c. One speaks for an honest agent, strict
 * as the real one about what it is sent. The other is honest too up to a point
 * of the run that the input names; from there on it sends the rest of the
 * input, some bytes a turn, and leaves.
 *
 * Whatever those bytes are, the run ends, the honest node is not made to fail,
 * and the exit status is 0 only if both nodes said DONE.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "course/launch.h"
#include "run/run.h"
#include "xalloc.h"

#define HEAD_BYTES    3 /* of the input: see input_read */
#define RUN_BYTES_MAX (64u << 20) /* of output held in the launcher */

enum turn_point { AT_OPEN, AT_HELLO, AT_PROBE, AT_PLAN, AT_GO, AT_STOP };

struct input {
    bool            is_exec, hostile_is_first, ends_badly, honest_waits;
    enum turn_point from; /* what the hostile node answers with its bytes */
    size_t          chunk;
    unsigned        times;
    const uint8_t  *bytes;
    size_t          size;
    const uint8_t  *later; /* for the agent that comes when the first one was lost */
    size_t          later_size;
};

/* A connection and the agent behind it. */
struct fake {
    struct conn      conn; /* first, so that the two convert */
    struct node     *node;
    struct event    *turn;
    struct evbuffer *to_agent, *to_launcher;
    bool             is_open, is_hostile, is_turned, says_done, is_done;
    bool             is_second; /* of a node that was lost: its agent shall cleanup */
    size_t           sent; /* of the hostile bytes */
};

static struct input   input;
static struct options options[2]; /* [is_exec] */
static bool           done[2];    /* by node: it said DONE and left in order */
static struct node   *nodes[2];

int    LLVMFuzzerInitialize(int *argc, char ***argv);
int    LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

static bool input_read(const uint8_t *data, size_t size);
static size_t frames_size(const uint8_t *bytes, size_t size, int count);
static void options_make(struct options *made, const char *command);
static void plan_of(struct plan *plan, const struct options *chosen);
static void turn_cb(evutil_socket_t fd, short what, void *arg);
static bool hostile_step(struct fake *fake);
static void honest_step(struct fake *fake);
static void answer(struct fake *fake, const struct frame *frame);

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "fuzz_node: %s\n", what);
    abort();
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    unsetenv("HOME"); /* of these runs nothing is to be kept */
    unsetenv("XDG_STATE_HOME");
    options_make(&options[0], "run");
    options_make(&options[1], "exec");
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct plan plan;
    int         status;

    if (!input_read(data, size))
        return 0;
    done[0] = done[1] = false;
    plan_of(&plan, &options[input.is_exec]);
    status = launch_run(&options[input.is_exec], &plan, NULL, NULL);
    must((status & 0xff) != 0 || (done[0] && done[1]), "status 0 without DONE of both nodes");
    plan_clear(&plan);
    return 0;
}

static bool input_read(const uint8_t *data, size_t size)
{
    if (size < HEAD_BYTES)
        return false;
    input = (struct input){
        .is_exec = data[0] & 8,
        .hostile_is_first = data[0] & 16,
        .ends_badly = data[0] & 32,
        .honest_waits = data[0] & 64,
        .from = (data[0] & 7) % (AT_STOP + 1),
        .chunk = (size_t)1 << data[1] % 16,
        .times = 1 + data[2] % 32,
        .bytes = data + HEAD_BYTES,
        .size = size - HEAD_BYTES,
    };
    if (data[2] >= 32) {
        input.size = frames_size(input.bytes, input.size, data[2] / 32);
        input.later = input.bytes + input.size;
        input.later_size = size - HEAD_BYTES - input.size;
    }
    /* muster exec asks no probes, and stops nobody because another has failed. */
    if (input.is_exec && input.from == AT_PROBE)
        input.from = AT_PLAN;
    if (input.is_exec && input.from == AT_STOP)
        input.from = AT_GO;
    return true;
}

/* Of the first so many frames, or of all there are. */
static size_t frames_size(const uint8_t *bytes, size_t size, int count)
{
    size_t at = 0;

    while (count-- > 0 && at + FRAME_HEADER_BYTES <= size)
        at += FRAME_HEADER_BYTES + get_u32(bytes + at);
    return at < size ? at : size;
}

/* Mutate within a frame and set its size again, else hardly any input would
 * get past the first header. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    size_t start[64], count = 0, at = HEAD_BYTES, body, rest, made;

    while (at + FRAME_HEADER_BYTES <= size && count < 64) {
        start[count++] = at;
        at += FRAME_HEADER_BYTES + get_u32(data + at);
    }
    if (seed % 4 == 0 || count == 0)
        return LLVMFuzzerMutate(data, size, most);
    at = start[seed / 4 % count];
    body = get_u32(data + at);
    at += FRAME_HEADER_BYTES;
    if (body > size - at)
        body = size - at;
    rest = size - at - body;
    {
        uint8_t *room = xmalloc(most);

        memcpy(room, data + at, body);
        made = LLVMFuzzerMutate(room, body, most - at - rest);
        memmove(data + at + made, data + at + body, rest);
        memcpy(data + at, room, made);
        free(room);
    }
    put_u32(data + at - FRAME_HEADER_BYTES, (uint32_t)made);
    return at + made + rest;
}

/* ---- the run ---- */

static void options_make(struct options *made, const char *command)
{
    static const char *const words[] = { "--transport", "exec", "--agent", "/bin/true", "--json",
                                         "/dev/null", "-H", "node1:2,node2:2" };
    char        *argv[16] = { (char *)"muster" };
    int          argc = 1, exit_code;
    struct error err;
    size_t       i;

    if (strcmp(command, "exec") == 0)
        argv[argc++] = (char *)"exec";
    for (i = 0; i < sizeof words / sizeof *words; i++)
        argv[argc++] = (char *)words[i];
    argv[argc++] = (char *)"--";
    argv[argc++] = (char *)"/bin/true";
    must(options_parse(made, argc, argv, &exit_code, &err) == OPTIONS_RUN, err.text);
}

static void plan_of(struct plan *plan, const struct options *chosen)
{
    struct select_rules rules = { .num_nodes = -1, .num_gpus = -1, .num_ranks = -1 };
    struct hostlist     hosts = { 0 };
    struct selection    selection;
    struct program      program;
    struct error        err;
    int                 exit_code;

    must(hostlist_from_argument(chosen->hosts, 1, &hosts, &err) == 0 &&
         select_slots(&hosts, &rules, &selection, &err) == 0 &&
         program_find(chosen, environ, "/", &program, &exit_code, &err) == 0 &&
         plan_make(plan, chosen, &selection, &program, environ, &err) == 0, err.text);
    program_clear(&program);
    selection_clear(&selection);
    hostlist_clear(&hosts);
}

/* ---- the connection ---- */

static void wake(struct fake *fake)
{
    event_active(fake->turn, EV_TIMEOUT, 1);
}

static void fake_start(struct conn *conn)
{
    wake((struct fake *)conn);
}

static void fake_write(struct conn *conn, struct evbuffer *from)
{
    struct fake *fake = (struct fake *)conn;

    evbuffer_add_buffer(fake->to_agent, from);
    wake(fake);
}

static size_t fake_unwritten(const struct conn *conn)
{
    return evbuffer_get_length(((const struct fake *)conn)->to_agent);
}

static void fake_free(struct conn *conn)
{
    struct fake *fake = (struct fake *)conn;

    must(fake->is_hostile || !fake->is_open || fake->is_done, "the honest node was dropped");
    if (!fake->is_second)
        done[fake->node->index] = fake->is_done;
    event_free(fake->turn);
    evbuffer_free(fake->to_agent);
    evbuffer_free(fake->to_launcher);
    free(fake);
}

struct conn *conn_exec_new(struct event_base *base, const struct conn_target *target,
                           const struct agent_file *agent, const struct conn_ops *ops, void *arg)
{
    static const struct conn_kind kind = { .start = fake_start, .write = fake_write,
                                           .unwritten = fake_unwritten, .free = fake_free };
    struct fake *fake = xcalloc(1, sizeof *fake);

    (void)agent;
    fake->conn = (struct conn){ .kind = &kind, .ops = ops, .arg = arg };
    fake->is_second = ops != &node_conn_ops;
    if (!fake->is_second)
        nodes[((struct node *)arg)->index] = arg;
    fake->node = nodes[strcmp(target->host, "node1") != 0];
    fake->is_hostile = (fake->node->index == 0) == input.hostile_is_first;
    fake->turn = event_new(base, -1, 0, turn_cb, fake);
    fake->to_agent = evbuffer_new();
    fake->to_launcher = evbuffer_new();
    return &fake->conn;
}

struct conn *conn_ssh_new(struct event_base *base, const struct conn_target *target,
                          const struct agent_file *agent, const struct conn_ops *ops, void *arg)
{
    return conn_exec_new(base, target, agent, ops, arg);
}

/* ---- the agents ---- */

static void say(struct fake *fake, enum frame_type type, int local, json_t *body)
{
    uint32_t rank = local >= 0 ? (uint32_t)fake->node->plan->rank[local].rank : 0;

    frame_put_json(fake->to_launcher, type, fake->node->generation, rank, body);
}

static void say_hello(struct fake *fake)
{
    char address[32];

    snprintf(address, sizeof address, "10.0.0.%zu", fake->node->index + 1);
    say(fake, FRAME_HELLO, -1,
        json_pack("{s:i, s:I, s:[{s:s, s:s, s:b}]}", "protocol", FRAME_PROTOCOL, "now_ns",
                  (json_int_t)clock_now_ns(), "addresses", "if", "eth0", "addr", address,
                  "loopback", 0));
}

/* One event a turn, and the call into the launcher last: it may free us. */
static void turn_cb(evutil_socket_t fd, short what, void *arg)
{
    struct fake     *fake = arg;
    const struct run *run = fake->node->arg;

    (void)fd, (void)what;
    must(output_waiting(run->output) <= RUN_BYTES_MAX, "more output held than promised");
    if (!fake->is_open) {
        fake->is_open = true;
        fake->is_turned = fake->is_hostile && !fake->is_second && input.from == AT_OPEN;
        if (!fake->is_turned)
            say_hello(fake);
        fake->is_turned = fake->is_turned || fake->is_second ||
                          (fake->is_hostile && input.from == AT_HELLO);
        wake(fake);
        fake->conn.ops->open(fake->conn.arg);
        return;
    }
    if (fake->is_turned) {
        if (hostile_step(fake))
            return;
    } else {
        honest_step(fake);
    }
    if (evbuffer_get_length(fake->to_launcher) > 0) {
        if (fake->is_turned || fake->says_done)
            wake(fake);
        fake->conn.ops->input(fake->to_launcher, fake->conn.arg);
    } else if (fake->says_done) {
        fake->is_done = true;
        fake->conn.ops->closed(NULL, fake->conn.arg);
    }
}

/* True when it has left. */
static bool hostile_step(struct fake *fake)
{
    static const struct conn_failure why = { .stage = "running", .exit_code = EXIT_LOST,
                                             .text = "gone" };
    const uint8_t *bytes = fake->is_second ? input.later : input.bytes;
    size_t         size = fake->is_second ? input.later_size : input.size;
    size_t         at = size > 0 ? fake->sent % size : 0, some = size - at;

    if (fake->sent >= size * input.times) {
        fake->is_done = fake->node->state == NODE_DONE;
        fake->conn.ops->closed(input.ends_badly ? &why : NULL, fake->conn.arg);
        return true;
    }
    some = some < input.chunk ? some : input.chunk;
    evbuffer_add(fake->to_launcher, bytes + at, some);
    fake->sent += some;
    evbuffer_drain(fake->to_agent, evbuffer_get_length(fake->to_agent));
    return false;
}

static bool turns_at(const struct fake *fake, enum frame_type type)
{
    static const enum turn_point points[FRAME_TYPE_COUNT] = {
        [FRAME_PROBE] = AT_PROBE, [FRAME_PLAN] = AT_PLAN, [FRAME_GO] = AT_GO,
        [FRAME_STOP] = AT_STOP,
    };

    return fake->is_hostile && points[type] != 0 && points[type] == input.from;
}

static void honest_step(struct fake *fake)
{
    struct frame frame;
    struct error err;
    int          got = 0;

    while (!fake->is_turned && (got = frame_peek(fake->to_agent, &frame, &err)) > 0) {
        if (turns_at(fake, frame.type)) {
            fake->is_turned = true;
            wake(fake);
        }
        /* One that turns at GO has begun all the same, so that its ranks exist. */
        if (!fake->is_turned || frame.type == FRAME_PLAN)
            answer(fake, &frame);
        frame_drop(fake->to_agent, &frame);
    }
    must(got >= 0, err.text);
}

static void end_ranks(struct fake *fake, const char *how, int number)
{
    struct frame end = { .type = FRAME_OUTPUT, .generation = fake->node->generation };
    int          i;

    for (i = 0; i < fake->node->plan->ranks; i++) {
        end.rank = (uint32_t)fake->node->plan->rank[i].rank;
        for (end.stream = STREAM_STDOUT; end.stream <= STREAM_STDERR; end.stream++)
            frame_put(fake->to_launcher, &end);
        say(fake, FRAME_EXIT, i, json_pack("{s:i, s:I}", how, number, "at_ns",
                                           (json_int_t)clock_now_ns()));
    }
    say(fake, FRAME_DONE, -1, json_pack("{s:i}", "left", 0));
    fake->says_done = true;
}

static void begin(struct fake *fake)
{
    int i;

    for (i = 0; i < fake->node->plan->ranks; i++)
        say(fake, FRAME_STARTED, i, json_pack("{s:i, s:I}", "pid", 100 + i, "at_ns",
                                              (json_int_t)clock_now_ns()));
    if (!input.is_exec)
        say(fake, FRAME_KVS, -1, json_pack("{s:{s:s}}", "put", fake->is_hostile ? "h" : "k", "v"));
    if (!fake->is_hostile && (input.is_exec || !input.honest_waits || input.from == AT_STOP))
        end_ranks(fake, "code", input.from == AT_STOP ? 3 : 0);
}

static void answer_probe(struct fake *fake, const json_t *body)
{
    const char   *op = json_string_value(json_object_get(body, "op"));
    json_int_t    port = json_integer_value(json_object_get(body, "port"));
    const json_t *list = json_object_get(body, "addresses"), *address;
    json_t       *reached = json_array();
    size_t        i;

    must(op != NULL && (strcmp(op, "listen") == 0 || (port >= 1 && port <= 65535)),
         "a PROBE that an agent would refuse");
    if (strcmp(op, "connect") == 0)
        must(json_array_size(list) >= 1 && json_array_size(list) <= 64,
             "a PROBE with no address, or too many");
    json_array_foreach(list, i, address) {
        must(json_is_string(address), "an address that is no text");
        json_array_append_new(reached, json_pack("{s:O, s:s}", "addr", address, "if", "eth0"));
    }
    say(fake, FRAME_PROBED, -1, json_pack("{s:s, s:i, s:o}", "op", op, "port", 29500, "reached",
                                          reached));
}

/* What the real agent would do, and no patience with what it would refuse. */
static void answer(struct fake *fake, const struct frame *frame)
{
    struct error err;
    json_t      *body;

    if (frame->type == FRAME_GO) {
        begin(fake);
        return;
    }
    if (frame->type != FRAME_PROBE && frame->type != FRAME_PLAN && frame->type != FRAME_KVS &&
        frame->type != FRAME_STOP)
        return;
    body = frame_json(frame, &err);
    must(body != NULL, err.text);
    if (frame->type == FRAME_PROBE)
        answer_probe(fake, body);
    else if (frame->type == FRAME_PLAN)
        say(fake, FRAME_READY, -1, json_pack("{s:s}", "containment", "lease"));
    else if (!fake->says_done && frame->type == FRAME_KVS && !fake->is_hostile)
        end_ranks(fake, "code", 0);
    else if (!fake->says_done && frame->type == FRAME_STOP && fake->node->state >= NODE_RUNNING)
        end_ranks(fake, "signal", 15);
    else if (!fake->says_done && frame->type == FRAME_STOP) {
        say(fake, FRAME_DONE, -1, json_pack("{s:i}", "left", 0));
        fake->says_done = true;
    }
    json_decref(body);
}
