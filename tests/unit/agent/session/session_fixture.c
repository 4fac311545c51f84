/* session_fixture.c - see session_fixture.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "session_fixture.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "xalloc.h"

#define PATIENCE_S 30 /* nothing here takes longer on a busy machine */

static void open_ranks(struct world *world, int ranks);
static void open_rank(struct world *world, int index);
static void listen_to_agent(struct world *world);

/* ---- what agent.c and startup.c hand to the link and to the ranks ---- */

static void room_cb(void *arg)
{
    output_pump_run(arg);
}

static void lost_cb(const struct error *err, void *arg)
{
    struct world *world = (struct world *)arg; /* the agent is its first member */

    world->losses++;
    world->why = *err;
}

static void tell_cb(enum frame_type type, uint32_t rank, json_t *body, void *arg)
{
    agent_send(arg, type, rank, body);
}

static void output_cb(void *arg)
{
    output_pump_run(arg);
}

static void input_cb(void *arg)
{
    input_frames_tell(arg);
}

/* ---- the world ---- */

struct world *world_new(int ranks)
{
    static const struct link_ops ops = { launcher_frames_take, room_cb, reconnect_cut, lost_cb };
    struct world                *world = xcalloc(1, sizeof *world);
    struct agent                *agent = &world->agent;
    int                          pair[2];

    signal(SIGPIPE, SIG_IGN); /* as the agent does */
    alarm(2 * PATIENCE_S); /* what should come never did */
    agent->base = event_base_new();
    event_base_priority_init(agent->base, 4);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    world->launcher = pair[1];
    fcntl(world->launcher, F_SETFL, O_NONBLOCK);
    world->heard = evbuffer_new();
    link_open(&agent->link, agent->base, pair[0], pair[0], &ops, agent);
    agent->reconnect.relay_fd = -1;
    agent->guard.fd = world->guard = -1;
    agent->heartbeat.lease_s = 300;
    heartbeat_renew(agent);
    requests_open(agent);
    if (ranks > 0)
        open_ranks(world, ranks);
    return world;
}

static void open_ranks(struct world *world, int ranks)
{
    static const struct rank_ops ops = { .tell = tell_cb, .output = output_cb, .input = input_cb,
                                         .log_changed = output_cb };
    struct agent                *agent = &world->agent;
    static int                   worlds; /* one that failed may be there still */
    int                          pair[2], i;

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    agent->guard.fd = pair[0];
    world->guard = pair[1];
    agent->plan.grace_s = 30;
    agent->plan.ranks = ranks;
    agent->plan.rank = xcalloc((size_t)ranks, sizeof *agent->plan.rank);
    agent->plan.token = xstrdup(TOKEN);
    agent->plan.socket = xasprintf("muster-test-%ld-%d", (long)getpid(), ++worlds);
    ranks_init(&agent->ranks, agent->base, &agent->guard, &agent->plan, &ops, agent);
    for (i = 0; i < ranks; i++)
        open_rank(world, i);
    agent->ranks.has_begun = true;
    agent->state = AGENT_RUNNING;
    output_pump_credit(agent, 1 << 20);
}

static void open_rank(struct world *world, int index)
{
    struct rank               *rank = &world->agent.ranks.rank[index];
    const struct guard_message started = { .type = GUARD_STARTED, .id = index, .pid = 4711 };
    struct error               err;

    world->agent.plan.rank[index].rank = (uint32_t)(FIRST_RANK + index);
    world->writer[index] = stream_open(&rank->out, world->agent.base, STREAM_STDOUT, 2, &err);
    assert_true(world->writer[index] >= 0);
    rank->out.to_frames = true;
    rank->out.changed = output_cb;
    rank->out.arg = &world->agent;
    assert_ptr_equal(ranks_started(&world->agent.ranks, &started), rank);
}

void world_free(struct world *world)
{
    struct agent *agent = &world->agent;
    int           line = agent->link.in_fd, i;

    for (i = 0; i < agent->plan.ranks; i++)
        world_close_output(world, i);
    ranks_clear(&agent->ranks);
    requests_close(agent);
    task_frames_end(agent);
    reconnect_close(agent);
    node_plan_clear(&agent->plan);
    link_close(&agent->link);
    close(line);
    ending_close(agent);
    event_base_free(agent->base);
    evbuffer_free(world->heard);
    if (world->launcher >= 0)
        close(world->launcher);
    if (world->guard >= 0) {
        close(agent->guard.fd);
        close(world->guard);
    }
    free(world);
}

void world_turn(struct world *world)
{
    int i;

    for (i = 0; i < 10; i++)
        event_base_loop(world->agent.base, EVLOOP_NONBLOCK);
    listen_to_agent(world);
}

static void listen_to_agent(struct world *world)
{
    while (world->launcher >= 0 && evbuffer_read(world->heard, world->launcher, 1 << 16) > 0)
        ;
}

json_t *world_hear(struct world *world, enum frame_type type, struct frame *was)
{
    int64_t      end_ns = clock_now_ns() + PATIENCE_S * NS_PER_S;
    struct frame frame;
    struct error err;
    json_t      *body = NULL;

    for (;;) {
        while (frame_peek(world->heard, &frame, &err) > 0 && frame.type != type)
            frame_drop(world->heard, &frame);
        if (frame_peek(world->heard, &frame, &err) > 0)
            break;
        if (clock_now_ns() > end_ns)
            fail_msg("no %s frame for %d s", frame_name(type), PATIENCE_S);
        event_base_loop(world->agent.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
        listen_to_agent(world);
    }
    if (frame.size > 0 && frame.body[0] == '{')
        body = frame_json(&frame, &err);
    if (was != NULL)
        *was = frame;
    frame_drop(world->heard, &frame);
    return body;
}

bool world_has(struct world *world, enum frame_type type)
{
    struct evbuffer *rest = evbuffer_new();
    struct frame     frame;
    struct error     err;
    bool             has = false;

    world_turn(world);
    evbuffer_add(rest, evbuffer_pullup(world->heard, -1), evbuffer_get_length(world->heard));
    while (!has && frame_peek(rest, &frame, &err) > 0) {
        has = frame.type == type;
        frame_drop(rest, &frame);
    }
    evbuffer_free(rest);
    return has;
}

double world_stop_s(struct world *world)
{
    struct guard_message message;

    while (recv(world->guard, &message, sizeof message, MSG_DONTWAIT) == sizeof message)
        if (message.type == GUARD_STOP)
            return message.seconds;
    return -1;
}

void world_rank_ends(struct world *world, int index)
{
    const struct guard_message message = { .type = GUARD_EXITED, .id = index,
                                           .at_ns = clock_now_ns() };

    ranks_exited(&world->agent.ranks, &message);
    ending_rank_ended(&world->agent);
}

void world_close_output(struct world *world, int index)
{
    if (world->writer[index] >= 0)
        close(world->writer[index]);
    world->writer[index] = -1;
}
