/* launcher_frames.c - handles frames from the launcher, and checks the
 * state in which each may come
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "session/agent.h"

#include <signal.h>
#include <string.h>

#include "clock.h"
#include "exit_code.h"

static frame_f take_ping, take_pong, take_blob, take_go, take_credit, take_kvs, take_shard,
    take_signal, take_stop, take_ack, take_sudo;

/* The frames that the launcher may send. from, to: the states in which they are valid. */
static const struct {
    frame_f         *take;
    bool             is_json;
    enum agent_state from, to;
} frames[FRAME_TYPE_COUNT] = {
    [FRAME_PING] = { take_ping, false, AGENT_WAITING, AGENT_DONE },
    [FRAME_PONG] = { take_pong, false, AGENT_WAITING, AGENT_DONE },
    [FRAME_PROBE] = { requests_take_probe, true, AGENT_WAITING, AGENT_RUNNING },
    [FRAME_BLOB] = { take_blob, false, AGENT_WAITING, AGENT_STAYING },
    [FRAME_PLAN] = { startup_take_plan, true, AGENT_WAITING, AGENT_STAYING },
    [FRAME_GO] = { take_go, false, AGENT_READY, AGENT_READY },
    [FRAME_CREDIT] = { take_credit, false, AGENT_PREPARING, AGENT_DONE },
    [FRAME_KVS] = { take_kvs, true, AGENT_RUNNING, AGENT_DONE },
    [FRAME_SHARD] = { take_shard, false, AGENT_RUNNING, AGENT_DONE },
    [FRAME_INPUT] = { input_frames_take, false, AGENT_RUNNING, AGENT_DONE },
    [FRAME_WINDOW] = { input_frames_take_window, false, AGENT_RUNNING, AGENT_DONE },
    [FRAME_SIGNAL] = { take_signal, true, AGENT_READY, AGENT_DONE },
    [FRAME_STOP] = { take_stop, true, AGENT_WAITING, AGENT_DONE },
    [FRAME_STACKS] = { requests_take_stacks, false, AGENT_RUNNING, AGENT_DONE },
    [FRAME_RAS] = { requests_take_ras, false, AGENT_RUNNING, AGENT_DONE },
    [FRAME_NOTICE] = { notice_take, true, AGENT_RUNNING, AGENT_DONE },
    [FRAME_CLEAN] = { requests_take_clean, true, AGENT_WAITING, AGENT_WAITING },
    [FRAME_ACK] = { take_ack, false, AGENT_WAITING, AGENT_DONE },
    [FRAME_SUDO] = { take_sudo, true, AGENT_WAITING, AGENT_WAITING },
    [FRAME_RECONNECT] = { reconnect_take, true, AGENT_WAITING, AGENT_WAITING },
    [FRAME_TREE] = { bcast_frames_take_tree, true, AGENT_WAITING, AGENT_WAITING },
    [FRAME_ENTRIES] = { bcast_frames_take_entries, false, AGENT_WAITING, AGENT_WAITING },
    [FRAME_FILE] = { bcast_frames_take_file, false, AGENT_WAITING, AGENT_WAITING },
    [FRAME_DATA] = { bcast_frames_take_data, false, AGENT_WAITING, AGENT_WAITING },
    [FRAME_FINISH] = { bcast_frames_take_finish, false, AGENT_WAITING, AGENT_WAITING },
    [FRAME_TASK] = { task_frames_take, true, AGENT_WAITING, AGENT_WAITING },
    [FRAME_SUMS] = { bcast_frames_take_sums, false, AGENT_WAITING, AGENT_WAITING },
    [FRAME_LISTEN] = { bcast_frames_take_listen, true, AGENT_WAITING, AGENT_WAITING },
    [FRAME_LINK] = { bcast_frames_take_link, true, AGENT_WAITING, AGENT_WAITING },
    [FRAME_GIVE] = { give_frames_take_give, true, AGENT_WAITING, AGENT_WAITING },
    [FRAME_LIST] = { give_frames_take_list, false, AGENT_WAITING, AGENT_WAITING },
    [FRAME_HASH] = { give_frames_take_hash, false, AGENT_WAITING, AGENT_WAITING },
    [FRAME_NEED] = { give_frames_take_need, false, AGENT_WAITING, AGENT_WAITING },
};

int launcher_frames_take(const struct frame *frame, void *arg, struct error *err)
{
    struct agent *agent = arg;
    json_t       *body = NULL;
    int           rc;
    bool          timeless = frame->type == FRAME_PING || frame->type == FRAME_PONG ||
                    frame->type == FRAME_ACK;

    if (frames[frame->type].take == NULL)
        return err_set(err, "a %s frame, which only agents send", frame_name(frame->type));
    if ((agent->ranks.count > 0 || agent->state == AGENT_STAYING) &&
        frame->generation != agent->generation && !timeless)
        return 0;
    if (agent->state < frames[frame->type].from || agent->state > frames[frame->type].to) {
        /* It may have crossed with our DONE or with our end; in an earlier
         * state it is an error. */
        return agent->state >= AGENT_ENDING
                   ? 0 : err_set(err, "%s frame at the wrong time", frame_name(frame->type));
    }
    if (!timeless)
        agent->generation = frame->generation;
    if (agent->state == AGENT_WAITING) /* no rank is in danger yet */
        heartbeat_renew(agent);
    if (frames[frame->type].is_json && (body = frame_json(frame, err)) == NULL)
        return -1;
    rc = frames[frame->type].take(agent, frame, body, err);
    json_decref(body);
    if (resend_queue_owes_ack(&agent->link.resend))
        resend_queue_put_ack(&agent->link.resend, agent->generation);
    if (rc == 0) {
        output_pump_run(agent);
        link_flush(&agent->link); /* it may be an answer */
    }
    return rc;
}

static int take_ping(struct agent *agent, const struct frame *frame, const json_t *body,
                     struct error *err)
{
    unsigned char answer[16];
    struct frame  pong = { .type = FRAME_PONG, .generation = agent->generation,
                           .body = answer, .size = sizeof answer };

    (void)body;
    if (frame->size != 16)
        return err_set(err, "PING frame of %zu bytes", frame->size);
    heartbeat_heard(agent, (int64_t)get_u64(frame->body),
                    (int64_t)get_u64((const unsigned char *)frame->body + 8));
    memcpy(answer, frame->body, 8);
    put_u64(answer + 8, (uint64_t)clock_now_ns());
    frame_put(agent->link.wire, &pong);
    return 0;
}

static int take_pong(struct agent *agent, const struct frame *frame, const json_t *body,
                     struct error *err)
{
    (void)body;
    if (frame->size != 16)
        return err_set(err, "PONG frame of %zu bytes", frame->size);
    heartbeat_answered(agent, (int64_t)get_u64(frame->body),
                       (int64_t)get_u64((const unsigned char *)frame->body + 8));
    return 0;
}

static int take_blob(struct agent *agent, const struct frame *frame, const json_t *body,
                     struct error *err)
{
    (void)body;
    return blobs_take(&agent->blobs, frame->body, frame->size, err);
}

static int take_go(struct agent *agent, const struct frame *frame, const json_t *body,
                   struct error *err)
{
    struct failure failure = { .code = EXIT_INTERNAL };

    (void)body;
    if (go_env_set(agent->guard.go_env, frame->body, frame->size, err) < 0)
        return -1;
    requests_end_probe(agent);
    idle_begin(&agent->idle);
    master_port_release(agent);
    agent_enter(agent, AGENT_RUNNING);
    kernel_watch_begin(agent);
    checkpoint_watch_begin(agent);
    health_watch_begin(agent);
    if (ranks_begin(&agent->ranks, &failure.why) < 0)
        agent_fail(agent, "start", &failure);
    return 0;
}

static int take_credit(struct agent *agent, const struct frame *frame, const json_t *body,
                       struct error *err)
{
    (void)body;
    if (frame->size != 4)
        return err_set(err, "CREDIT frame of %zu bytes", frame->size);
    output_pump_credit(agent, get_u32(frame->body));
    return 0;
}

static int take_kvs(struct agent *agent, const struct frame *frame, const json_t *body,
                    struct error *err)
{
    (void)frame;
    return ranks_kvs(&agent->ranks, body, err);
}

static int take_shard(struct agent *agent, const struct frame *frame, const json_t *body,
                      struct error *err)
{
    (void)body;
    return ranks_shard(&agent->ranks, frame, err);
}

static int take_signal(struct agent *agent, const struct frame *frame, const json_t *body,
                       struct error *err)
{
    json_int_t number = json_integer_value(json_object_get(body, "signal"));

    (void)frame;
    if (number < 1 || number > SIGRTMAX)
        return err_set(err, "SIGNAL frame: \"signal\" is not from 1 to %d", SIGRTMAX);
    guard_signal(&agent->guard, GUARD_ALL, (int)number);
    return 0;
}

static int take_stop(struct agent *agent, const struct frame *frame, const json_t *body,
                     struct error *err)
{
    const json_t *grace_s = json_object_get(body, "grace_s");

    (void)frame;
    if (!json_is_number(grace_s) || !(json_number_value(grace_s) >= 0) ||
        json_number_value(grace_s) > NODE_PLAN_SECONDS_MAX)
        return err_set(err, "STOP frame: \"grace_s\" is not a number of seconds");
    if (agent->state == AGENT_STAYING) {
        agent_leave(agent);
        return 0;
    }
    if (agent->state == AGENT_RUNNING)
        master_port_look(agent);
    agent_stop(agent, json_number_value(grace_s));
    return 0;
}

static int take_ack(struct agent *agent, const struct frame *frame, const json_t *body,
                    struct error *err)
{
    (void)body;
    return resend_queue_take_ack(&agent->link.resend, frame, err);
}

/* Another agent takes over this connection: see sudo.h. */
static int take_sudo(struct agent *agent, const struct frame *frame, const json_t *body,
                     struct error *err)
{
    (void)frame;
    if (sudo_request_read(&agent->sudo, body, err) < 0)
        return -1;
    event_base_loopbreak(agent->base);
    return 0;
}
