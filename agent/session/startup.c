/* startup.c - from PLAN to READY: starts the guard, the virtual
 * environment, and checks everything
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "session/agent.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "exit_code.h"
#include "guard/pid_range.h"
#include "plan/limits.h"
#include "session/ready_report.h"
#include "xalloc.h"

static int  begin_guard(struct agent *agent, struct failure *failure);
static int  guard_failed(int error, const char *text, struct failure *failure);
static void venv_cb(const struct strlist *env, const struct failure *failure, void *arg);
static void prepare(struct agent *agent);
static int  prepare_all(struct agent *agent, struct failure *failure);
static void log_changed_cb(void *arg);
static void tell_cb(enum frame_type type, uint32_t rank, json_t *body, void *arg);
static void output_cb(void *arg);
static void input_cb(void *arg);
static void puts_cb(json_t *puts, bool more, void *arg);
static void abort_cb(int local, int code, void *arg);
static void shard_cb(int local, const char *line, void *arg);
static void step_cb(int local, int64_t step, int64_t last, void *arg);
static void pmix_ready_cb(void *arg);
static void pmix_failed_cb(const struct failure *failure, void *arg);

void startup_open(struct agent *agent)
{
    size_t i;

    for (i = 0; environ[i] != NULL; i++)
        strlist_add(&agent->startup.environment, environ[i]);
}

void startup_close(struct agent *agent)
{
    json_decref(agent->startup.report);
    if (agent->startup.pid_file != NULL)
        unlink(agent->startup.pid_file);
    free(agent->startup.pid_file);
    venv_free(agent->startup.venv);
    strlist_clear(&agent->startup.environment);
    namesake_close(agent);
}

void startup_again(struct agent *agent)
{
    json_decref(agent->startup.report);
    agent->startup.report = NULL;
    agent->startup.is_again = true;
}

int startup_take_plan(struct agent *agent, const struct frame *frame, const json_t *body,
                      struct error *err)
{
    static const struct rank_ops ops = { tell_cb, output_cb, input_cb, log_changed_cb,
                                         { puts_cb, abort_cb, shard_cb, step_cb },
                                         { pmix_ready_cb, pmix_failed_cb } };
    struct failure failure;

    (void)frame;
    node_plan_clear(&agent->plan);
    if (node_plan_read(&agent->plan, body, &agent->blobs, err) < 0)
        return -1;
    blobs_clear(&agent->blobs);
    output_pump_credit(agent, agent->plan.credit);
    heartbeat_set(agent, agent->plan.heartbeat_s, agent->plan.lease_s);
    ranks_init(&agent->ranks, agent->base, &agent->guard, &agent->plan, &ops, agent);
    agent_enter(agent, AGENT_PREPARING);
    if (notice_begin(agent, &failure) < 0) {
        agent_fail(agent, "plan", &failure);
        return 0;
    }
    if (agent->startup.is_again) {
        startup_has_name(agent);
        return 0;
    }
    if (agent->plan.socket != NULL)
        reconnect_open(agent);
    if (begin_guard(agent, &failure) < 0)
        agent_fail(agent, "plan", &failure);
    else
        namesake_check(agent);
    return 0;
}

/* First of all: whatever touches dead storage hangs. */
void startup_has_name(struct agent *agent)
{
    health_begin(agent);
}

void startup_is_fit(struct agent *agent)
{
    struct failure failure;

    if (prepare_cwd(&agent->plan, &failure) < 0)
        agent_fail(agent, "plan", &failure);
    else if (agent->plan.venv_script != NULL && !agent->startup.is_again)
        agent->startup.venv = venv_start(agent->base, &agent->guard, agent->plan.venv_script,
                                         agent->plan.cwd, &agent->startup.environment, venv_cb,
                                         agent);
    else
        prepare(agent);
}

static int begin_guard(struct agent *agent, struct failure *failure)
{
    struct error why;
    bool         use_pidns = !agent->plan.is_exec && !agent->plan.no_pidns;

    if (guard_start(&agent->guard, agent->plan.run_id, use_pidns, &why) < 0)
        return guard_failed(errno, why.text, failure);
    /* If muster is on this machine, all its processes may have been stopped
     * together, and continue later. */
    agent->guard.is_leased = !agent->plan.is_local;
    guard_events_open(agent);
    guard_number(&agent->guard, pid_range_here(agent->plan.node_rank, agent->plan.node_count));
    return 0;
}

static int guard_failed(int error, const char *text, struct failure *failure)
{
    limits_failure(failure, error, "%s", text);
    if (failure->hint[0] == '\0')
        failure->code = EXIT_INTERNAL;
    return -1;
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
    strlist_clear(&agent->startup.environment);
    strlist_append(&agent->startup.environment, env);
    prepare(agent);
    output_pump_run(agent);
}

/* The environment is known: checks the rest, and forks the ranks while the
 * log files are created. */
static void prepare(struct agent *agent)
{
    struct failure failure;

    if (prepare_all(agent, &failure) < 0) {
        agent_fail(agent, "plan", &failure);
        return;
    }
    agent->startup.report = ready_report_body(agent);
    health_report(agent, agent->startup.report);
    ranks_start_pmix(&agent->ranks, agent->generation, &agent->startup.environment);
    startup_continue(agent);
}

static int prepare_all(struct agent *agent, struct failure *failure)
{
    struct error why;

    if (limits_check(&agent->plan, failure) < 0)
        return -1;
    if (agent->plan.script != NULL && prepare_script(agent->plan.script, failure) < 0)
        return -1;
    ras_prepare(agent->requests.ras, &agent->plan, &agent->startup.environment);
    if (ranks_prepare(&agent->ranks, &agent->startup.environment, failure) < 0 ||
        flight_recorder_begin(agent, failure) < 0)
        return -1;
    stacks_prepare(agent);
    if (agent->plan.pid_file != NULL && agent->startup.pid_file == NULL) {
        if (prepare_pid_file(agent->plan.pid_file, failure) < 0)
            return -1;
        agent->startup.pid_file = xstrdup(agent->plan.pid_file);
    }
    if (ranks_open_logs(&agent->ranks, &why) < 0)
        return failure_set(failure, EXIT_CREATE, "", "%s", why.text);
    return 0;
}

void startup_continue(struct agent *agent)
{
    struct failure failure = { .code = EXIT_CREATE };
    int            rc;

    if (agent->state != AGENT_PREPARING || agent->startup.report == NULL)
        return; /* a log file was created before the rest was checked */
    rc = ranks_fork(&agent->ranks, &failure);
    if (rc == 0)
        rc = ranks_logs_created(&agent->ranks, &failure.why);
    if (rc < 0) {
        agent_fail(agent, "plan", &failure);
    } else if (rc > 0 && ranks_all_stand(&agent->ranks)) {
        agent_send(agent, FRAME_READY, 0, json_incref(agent->startup.report));
        agent_enter(agent, AGENT_READY);
        link_flush(&agent->link);
    }
}

void startup_rank_fell(struct agent *agent, const struct rank *rank)
{
    struct failure failure;

    if (agent->state > AGENT_READY)
        return; /* the run is being stopped */
    rank_explain(rank, &failure);
    agent_fail(agent, "plan", &failure);
}

static void log_changed_cb(void *arg)
{
    startup_continue(arg);
    output_pump_run(arg);
}

static void tell_cb(enum frame_type type, uint32_t rank, json_t *body, void *arg)
{
    if (type == FRAME_EXIT) {
        kernel_watch_look(arg, json_integer_value(json_object_get(body, "at_ns")));
        heartbeat_tell_steps(arg);
    }
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

    agent_send(agent, FRAME_ABORT, agent->ranks.rank[local].plan->rank,
               json_pack("{s:i}", "code", code));
    link_flush(&agent->link);
}

static void shard_cb(int local, const char *line, void *arg)
{
    struct agent *agent = arg;
    struct frame  frame = { .type = FRAME_SHARD, .generation = agent->generation,
                            .rank = agent->ranks.rank[local].plan->rank,
                            .body = (const unsigned char *)line, .size = strlen(line) };

    if (agent->link.is_lost)
        return;
    frame_put(agent->link.wire, &frame);
    link_flush(&agent->link);
}

static void step_cb(int local, int64_t step, int64_t last, void *arg)
{
    struct agent *agent = arg;

    rank_step(&agent->ranks.rank[local], step, last);
}

static void pmix_ready_cb(void *arg)
{
    struct agent *agent = arg;

    ranks_take_pmix(&agent->ranks);
    startup_continue(agent);
    output_pump_run(agent);
}

/* The ranks would wait for each other without end. */
static void pmix_failed_cb(const struct failure *failure, void *arg)
{
    struct agent *agent = arg;

    if (agent->state < AGENT_ENDING)
        agent_fail(agent, agent->state < AGENT_RUNNING ? "plan" : "run", failure);
}
