/* launcher_frames.c - what the launcher says, and what follows from it
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "session/agent.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup/name_lock.h"
#include "clock.h"
#include "node/process.h"
#include "plan/limits.h"
#include "session/ready_report.h"
#include "xalloc.h"
#include "xevent.h"

/* Between SPAWN and STARTED; a hundred times that would fill the guard's
 * socket in both directions. */
#define STARTING_MAX  16
#define CREDIT_MAX    (UINT64_C(1) << 40)

static frame_f take_ping, take_pong, take_probe, take_blob, take_plan, take_go, take_credit,
    take_kvs, take_signal, take_stop, take_clean, take_stacks, take_ack;

/* What the launcher may send. from, to: the states in which it makes sense. */
static const struct {
    frame_f         *take;
    bool             is_json;
    enum agent_state from, to;
} frames[FRAME_TYPE_COUNT] = {
    [FRAME_PING] = { take_ping, false, AGENT_WAITING, AGENT_DONE },
    [FRAME_PONG] = { take_pong, false, AGENT_WAITING, AGENT_DONE },
    [FRAME_PROBE] = { take_probe, true, AGENT_WAITING, AGENT_RUNNING },
    [FRAME_BLOB] = { take_blob, false, AGENT_WAITING, AGENT_WAITING },
    [FRAME_PLAN] = { take_plan, true, AGENT_WAITING, AGENT_WAITING },
    [FRAME_GO] = { take_go, false, AGENT_READY, AGENT_READY },
    [FRAME_CREDIT] = { take_credit, false, AGENT_READY, AGENT_DONE },
    [FRAME_KVS] = { take_kvs, true, AGENT_RUNNING, AGENT_DONE },
    [FRAME_SIGNAL] = { take_signal, true, AGENT_READY, AGENT_DONE },
    [FRAME_STOP] = { take_stop, true, AGENT_WAITING, AGENT_DONE },
    [FRAME_STACKS] = { take_stacks, false, AGENT_RUNNING, AGENT_DONE },
    [FRAME_CLEAN] = { take_clean, true, AGENT_WAITING, AGENT_WAITING },
    [FRAME_ACK] = { take_ack, false, AGENT_WAITING, AGENT_DONE },
    [FRAME_RECONNECT] = { agent_take_reconnect, true, AGENT_WAITING, AGENT_WAITING },
    [FRAME_TREE] = { agent_take_tree, true, AGENT_WAITING, AGENT_WAITING },
    [FRAME_ENTRIES] = { agent_take_entries, false, AGENT_WAITING, AGENT_WAITING },
    [FRAME_FILE] = { agent_take_file, false, AGENT_WAITING, AGENT_WAITING },
    [FRAME_DATA] = { agent_take_data, false, AGENT_WAITING, AGENT_WAITING },
};

static int  begin_guard(struct agent *agent, struct failure *failure);
static int  check_name(struct agent *agent, struct failure *failure);
static int  prepare_all(struct agent *agent, struct failure *failure);
static void prepared(struct agent *agent);
static int  logs_created(struct agent *agent, struct error *err);
static void puts_cb(json_t *puts, bool more, void *arg);
static void cleaned_cb(json_t *body, void *arg);
static void stacked_cb(uint32_t rank, json_t *body, void *arg);
static void abort_cb(int local, int code, void *arg);
static void venv_cb(const struct strlist *env, const struct failure *failure, void *arg);

int agent_frame(const struct frame *frame, void *arg, struct error *err)
{
    struct agent *agent = arg;
    json_t       *body = NULL;
    int           rc;
    bool          timeless = frame->type == FRAME_PING || frame->type == FRAME_PONG ||
                    frame->type == FRAME_ACK;

    if (frames[frame->type].take == NULL)
        return err_set(err, "a %s frame, which only agents send", frame_name(frame->type));
    if (agent->ranks > 0 && frame->generation != agent->generation && !timeless)
        return 0;
    if (agent->state < frames[frame->type].from || agent->state > frames[frame->type].to) {
        /* A frame may cross with our end; before that it is a mistake. */
        return agent->state >= AGENT_ENDING
                   ? 0 : err_set(err, "%s frame at the wrong time", frame_name(frame->type));
    }
    if (!timeless)
        agent->generation = frame->generation;
    if (frames[frame->type].is_json && (body = frame_json(frame, err)) == NULL)
        return -1;
    rc = frames[frame->type].take(agent, frame, body, err);
    json_decref(body);
    if (resend_queue_owes_ack(&agent->link.resend))
        resend_queue_put_ack(&agent->link.resend, agent->generation);
    if (rc == 0)
        agent_pump(agent);
    return rc;
}

void agent_start_ranks(struct agent *agent)
{
    struct failure failure = { .code = PREPARE_CANNOT_EXECUTE };
    struct rank   *rank;

    while (agent->state == AGENT_RUNNING && agent->starting < STARTING_MAX &&
           agent->next_start < agent->ranks) {
        rank = &agent->rank[agent->next_start++];
        if (rank_start(rank, &failure.why) < 0) {
            agent_fail(agent, "start", &failure);
            return;
        }
        agent->starting++;
    }
}

static int take_ping(struct agent *agent, const struct frame *frame, const json_t *body,
                     struct error *err)
{
    unsigned char answer[16];
    struct frame  pong = { .type = FRAME_PONG, .generation = agent->generation,
                           .body = answer, .size = sizeof answer };

    (void)body;
    if (frame->size != 8)
        return err_set(err, "PING frame of %zu bytes", frame->size);
    memcpy(answer, frame->body, 8);
    put_u64(answer + 8, (uint64_t)clock_now_ns());
    frame_put(agent->link.wire, &pong);
    return 0;
}

/* That it came is all that counts; see heard_ns. */
static int take_pong(struct agent *agent, const struct frame *frame, const json_t *body,
                     struct error *err)
{
    (void)agent, (void)frame, (void)body, (void)err;
    return 0;
}

static int take_probe(struct agent *agent, const struct frame *frame, const json_t *body,
                      struct error *err)
{
    (void)frame;
    /* What is about MASTER_PORT belongs to the start. */
    if (agent->state != AGENT_WAITING && json_object_get(body, "port") != NULL)
        return err_set(err, "PROBE frame with a port at the wrong time");
    return probe_request(agent->probe, body, err);
}

void agent_probed(json_t *body, void *arg)
{
    struct agent *agent = arg;

    agent_send(agent, FRAME_PROBED, 0, body);
    link_flush(&agent->link);
}

static int take_blob(struct agent *agent, const struct frame *frame, const json_t *body,
                     struct error *err)
{
    (void)body;
    return blobs_take(&agent->blobs, frame->body, frame->size, err);
}

static int take_plan(struct agent *agent, const struct frame *frame, const json_t *body,
                     struct error *err)
{
    static const struct pmi_ops ops = { puts_cb, abort_cb };
    struct failure failure;
    int            i;

    (void)frame;
    if (node_plan_read(&agent->plan, body, &agent->blobs, err) < 0)
        return -1;
    blobs_clear(&agent->blobs);
    probe_end(agent->probe);
    agent->credit = agent->plan.credit;
    agent_set_heartbeat(agent, agent->plan.heartbeat_s);
    agent->ranks = agent->plan.ranks;
    agent->rank = xcalloc((size_t)agent->ranks, sizeof *agent->rank);
    for (i = 0; i < agent->ranks; i++)
        rank_init(&agent->rank[i], agent, i);
    if (agent->plan.kvsname != NULL)
        agent->pmi = pmi_new(agent->plan.kvsname, agent->plan.mapping, agent->plan.world_size,
                             agent->ranks, &ops, agent);
    agent_enter(agent, AGENT_PREPARING);
    if (agent->plan.socket != NULL)
        agent_open_reconnect(agent);
    if (begin_guard(agent, &failure) < 0 || check_name(agent, &failure) < 0 ||
        prepare_cwd(&agent->plan, &failure) < 0)
        agent_fail(agent, "plan", &failure);
    else if (agent->plan.venv_script != NULL)
        agent->venv = venv_start(agent->base, &agent->guard, agent->plan.venv_script,
                                 agent->plan.cwd, &agent->environment, venv_cb, agent);
    else
        prepared(agent);
    return 0;
}

/* The same job twice on the same GPUs is a slip more often than a wish. */
static int check_name(struct agent *agent, struct failure *failure)
{
    char *other;

    agent->name_lock = name_lock_take(agent->base, agent->plan.run_id);
    if (agent->name_lock == NULL || (other = name_lock_holder(agent->plan.run_id)) == NULL)
        return 0;
    failure_set(failure, PREPARE_CANNOT_CREATE,
                "muster stop ends it, where it was launched; or take another --name",
                "a run of the same name goes on there: %s", other);
    free(other);
    return -1;
}

static int begin_guard(struct agent *agent, struct failure *failure)
{
    struct error why;
    bool         use_pidns = !agent->plan.is_exec && !agent->plan.no_pidns;

    if (guard_start(&agent->guard, agent->plan.run_id, use_pidns, &why) < 0)
        return failure_set(failure, EXIT_INTERNAL, "", "%s", why.text);
    limits_raise();
    agent_watch_guard(agent);
    return 0;
}

static void venv_cb(const struct strlist *env, const struct failure *failure, void *arg)
{
    struct agent *agent = arg;

    if (agent->state != AGENT_PREPARING)
        return;
    if (failure != NULL) {
        agent_fail(agent, "plan", failure);
        return;
    }
    strlist_clear(&agent->environment);
    strlist_append(&agent->environment, env);
    prepared(agent);
    agent_pump(agent);
}

/* The environment is known: check the rest. */
static void prepared(struct agent *agent)
{
    struct failure failure;

    if (prepare_all(agent, &failure) < 0)
        agent_fail(agent, "plan", &failure);
    else
        agent_log_changed(agent);
}

/* When all of them are there it is time to say READY. */
void agent_log_changed(struct agent *agent)
{
    struct failure failure = { .code = PREPARE_CANNOT_CREATE };
    int            rc = agent->state == AGENT_PREPARING ? logs_created(agent, &failure.why) : 0;

    if (rc < 0) {
        agent_fail(agent, "plan", &failure);
    } else if (rc > 0) {
        agent_send(agent, FRAME_READY, 0, ready_report_body(agent));
        agent_enter(agent, AGENT_READY);
    }
    agent_pump(agent);
}

static int prepare_all(struct agent *agent, struct failure *failure)
{
    struct error why;
    int          i, threads;

    if (limits_check(&agent->plan, failure) < 0)
        return -1;
    if (agent->plan.script != NULL && prepare_script(agent->plan.script, failure) < 0)
        return -1;
    if (prepare_binding(&agent->plan, &agent->environment, &agent->binding, &threads, failure) < 0)
        return -1;
    for (i = 0; i < agent->ranks; i++) {
        struct rank *rank = &agent->rank[i];

        prepare_env(&agent->plan, rank->plan, &agent->environment, threads, &rank->env);
        rank->path = prepare_program(rank->plan->argv.item[0], &rank->env, failure);
        if (rank->path == NULL)
            return -1;
    }
    if (agent->plan.pid_file != NULL) {
        if (prepare_pid_file(agent->plan.pid_file, failure) < 0)
            return -1;
        agent->pid_file_made = true;
    }
    for (i = 0; i < agent->ranks && agent->plan.log_dir != NULL; i++)
        if (rank_open_log(&agent->rank[i], &why) < 0)
            return failure_set(failure, PREPARE_CANNOT_CREATE, "", "%s", why.text);
    return 0;
}

/* 1: all of them; 0: not yet; -1 with err. */
static int logs_created(struct agent *agent, struct error *err)
{
    int i, rc, all = 1;

    for (i = 0; i < agent->ranks && agent->plan.log_dir != NULL; i++) {
        rc = log_file_created(agent->rank[i].log, err);
        if (rc < 0)
            return -1;
        all = all && rc;
    }
    return all;
}

static int take_go(struct agent *agent, const struct frame *frame, const json_t *body,
                   struct error *err)
{
    (void)frame, (void)body, (void)err;
    agent->has_begun = true;
    oom_begin(&agent->memory);
    idle_begin(&agent->idle);
    agent->master_port = probe_release_port(agent->probe);
    agent_enter(agent, AGENT_RUNNING);
    agent_start_ranks(agent);
    return 0;
}

static int take_credit(struct agent *agent, const struct frame *frame, const json_t *body,
                       struct error *err)
{
    (void)body;
    if (frame->size != 4)
        return err_set(err, "CREDIT frame of %zu bytes", frame->size);
    agent->credit += get_u32(frame->body);
    if (agent->credit > CREDIT_MAX)
        agent->credit = CREDIT_MAX;
    return 0;
}

static int take_kvs(struct agent *agent, const struct frame *frame, const json_t *body,
                    struct error *err)
{
    int i, rc;

    (void)frame;
    if (agent->pmi == NULL)
        return err_set(err, "KVS frame, but the plan has no PMI");
    rc = pmi_union(agent->pmi, body, err);
    for (i = 0; i < agent->ranks && rc > 0; i++)
        if (agent->rank[i].pmi != NULL)
            pmi_release(agent->pmi, i, bufferevent_get_output(agent->rank[i].pmi));
    return rc < 0 ? -1 : 0;
}

static void puts_cb(json_t *puts, bool more, void *arg)
{
    struct agent *agent = arg;
    json_t       *body = json_pack("{s:o}", "put", puts);

    if (more)
        json_object_set_new(body, "more", json_true());
    agent_send(agent, FRAME_KVS, 0, body);
    link_flush(&agent->link);
}

static void abort_cb(int local, int code, void *arg)
{
    struct agent *agent = arg;

    agent_send(agent, FRAME_ABORT, agent->rank[local].plan->rank, json_pack("{s:i}", "code", code));
    link_flush(&agent->link);
}

static int take_signal(struct agent *agent, const struct frame *frame, const json_t *body,
                       struct error *err)
{
    json_int_t number = json_integer_value(json_object_get(body, "signal"));

    (void)frame;
    if (number < 1 || number > SIGRTMAX)
        return err_set(err, "SIGNAL frame: no \"signal\" from 1 to %d", SIGRTMAX);
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
        return err_set(err, "STOP frame: no \"grace_s\" that is a number of seconds");
    if (agent->state == AGENT_RUNNING)
        agent_look_at_port(agent);
    agent_stop(agent, json_number_value(grace_s));
    return 0;
}

static int take_clean(struct agent *agent, const struct frame *frame, const json_t *body,
                      struct error *err)
{
    struct failure failure;
    struct process self;

    (void)frame;
    if (agent->clean != NULL)
        return err_set(err, "a second CLEAN frame");
    if (!process_read(getpid(), &self)) {
        failure_set(&failure, EXIT_INTERNAL, "", "/proc shows no processes: what is mounted over it?");
        agent_fail(agent, "clean", &failure);
        return 0;
    }
    agent->clean = clean_begin(agent->base, body, cleaned_cb, agent, err);
    return agent->clean != NULL ? 0 : -1;
}

static void cleaned_cb(json_t *body, void *arg)
{
    struct agent *agent = arg;

    agent_send(agent, FRAME_CLEANED, 0, body);
    link_flush(&agent->link);
}

static int take_stacks(struct agent *agent, const struct frame *frame, const json_t *body,
                       struct error *err)
{
    (void)frame, (void)body;
    if (agent->stacks != NULL)
        return err_set(err, "a second STACKS frame");
    agent->stacks = stacks_begin(agent, stacked_cb, agent);
    return 0;
}

static void stacked_cb(uint32_t rank, json_t *body, void *arg)
{
    struct agent *agent = arg;

    agent_send(agent, FRAME_STACKED, rank, body);
    link_flush(&agent->link);
}

static int take_ack(struct agent *agent, const struct frame *frame, const json_t *body,
                    struct error *err)
{
    (void)body;
    return resend_queue_take_ack(&agent->link.resend, frame, err);
}
