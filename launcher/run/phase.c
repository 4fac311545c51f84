/* phase.c - see phase.h; course/launch.c describes the phases
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/phase.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buffer.h"
#include "clock.h"
#include "log.h"
#include "input/terminal.h"
#include "node/flow.h"
#include "node/shared_machine.h"
#include "plan/plan_encode.h"
#include "run/costs.h"
#include "run/deadline.h"
#include "run/pool.h"
#include "run/run.h"
#include "run/run_status.h"
#include "run/start_check.h"
#include "transport/conn_sudo.h"
#include "xalloc.h"

#define PREPARE_S         40.0 /* for READY; a venv script alone may take 20 s */
#define REPLACE_SURE_S    10.0 /* beyond what the launcher of a replaced run may take */
#define LEAVE_S           5.0  /* for an agent that must leave */
#define RECONNECT_STAGE_S 5.0  /* for each stage of a reconnect */

/* --reconnect=auto is a multiple of the node's login time, since the next login may take
 * longer. A node also keeps its ranks this long after muster was killed. */
#define LOGINS_WAITED 2.0
#define WINDOW_MIN_S  1.0
#define WINDOW_MAX_S  10.0

static struct conn *new_conn(struct run *run, bool by_fork, const struct conn_target *target,
                             const struct conn_ops *ops, void *arg);
static char        *purpose(const struct options *options);
static void         enter_phase(struct run *run, enum phase_now now);
static void         enter_preparing(struct run *run);
static void         send_plan(struct run *run, struct node *node, const struct plan *plan,
                              size_t index, struct plan_terms *terms);
static double       health_s(const struct run *run);
static double       window_s(const struct run *run, const struct node *node);
static double       replace_s(const struct run *run);
static double       between(double least_s, double s, double most_s);
static bool         is_forked(const struct run *run, const struct node *node);
static void         enter_running(struct run *run);

void phase_begin(struct run *run)
{
    run->phase = (struct phase){ .awaits = xcalloc(run->plan->nodes, sizeof(bool)),
                                 .stayed = xcalloc(run->plan->nodes, sizeof(bool)),
                                 .is_away = xcalloc(run->plan->roles + 1, sizeof(bool)) };
}

void phase_make_room(struct run *run)
{
    enum phase_now now = run->phase.now;

    phase_clear(run);
    phase_begin(run);
    run->phase.now = now;
    run->phase.next = run->phase.first_slow = run->plan->nodes;
}

void phase_clear(struct run *run)
{
    free(run->phase.awaits);
    free(run->phase.shared);
    free(run->phase.stayed);
    free(run->phase.is_away);
    run->phase.awaits = run->phase.shared = run->phase.stayed = run->phase.is_away = NULL;
}

/* A stage that hangs is soon started again, since the network may be back. But a login that is
 * always slow must get the time to succeed. */
struct conn *phase_dial(struct node *node, const struct conn_ops *ops, void *ops_arg, void *arg)
{
    struct run *run = arg;
    double      stage_s = between(RECONNECT_STAGE_S, LOGINS_WAITED * node->login_s,
                                  run->options->connect_timeout_s);

    return phase_conn(run, node, stage_s, ops, ops_arg);
}

/* --fanout counts handshakes; an open connection makes room for the next one. */
void phase_connect(struct run *run)
{
    struct phase *phase = &run->phase;

    while (phase->now != PHASE_STOPPING && phase->next < run->plan->nodes &&
           phase->handshakes < (size_t)run->options->fanout) {
        struct node *node = run->node[phase->next++];

        phase->handshakes++;
        if (!run_is_exec(run))
            phase_await(run, node);
        node_connect(node, phase_conn(run, node, run->options->connect_timeout_s, &node_conn_ops,
                                     node));
    }
}

struct conn *phase_conn(struct run *run, struct node *node, double stage_s,
                        const struct conn_ops *ops, void *arg)
{
    const struct plan_node *where = node->plan;
    struct conn_target      target = {
        .host = where->host,
        .addr = where->addr,
        .user = where->user,
        .port = where->port > 0 ? where->port : run->options->ssh_port,
        .ssh_config = run->options->ssh_config,
        .connect_timeout_s = stage_s,
        .segment_bytes = run->job != NULL ? run->job->segment_bytes : 0,
    };

    return new_conn(run, is_forked(run, node), &target, ops, arg);
}

static struct conn *new_conn(struct run *run, bool by_fork, const struct conn_target *target,
                             const struct conn_ops *ops, void *arg)
{
    conn_new_f  *make = by_fork                                        ? conn_exec_new
                        : run->options->transport == TRANSPORT_OPENSSH ? conn_openssh_new
                                                                       : conn_ssh_new;
    char        *text;
    struct conn *conn;

    if (!run->options->sudo && (run->job == NULL || !run->job->needs_root))
        return make(run->base, target, &run->agent, ops, arg);
    text = purpose(run->options);
    conn = conn_sudo_new(make, text, run->base, target, &run->agent, ops, arg);
    free(text);
    return conn;
}

/* Returns "exec systemctl restart chrony", what an agent needs root for; not all of a long one. */
static char *purpose(const struct options *options)
{
    struct buffer text = { 0 };
    size_t        i;

    buffer_add_text(&text, command_table[options->command].name);
    for (i = 0; i <= options->args.count && text.size < FRAME_PURPOSE_MAX; i++) {
        const char *word = i == 0 ? options->script : options->args.item[i - 1];

        if (word == NULL)
            continue;
        buffer_add(&text, " ", 1);
        buffer_add_text(&text, word);
    }
    buffer_add(&text, "", 1);
    return text.bytes;
}

void phase_node_over(struct run *run)
{
    run->phase.over++;
    phase_maybe_end(run);
}

void phase_maybe_end(struct run *run)
{
    if (run->phase.over == run->plan->nodes && run_goes_on(run) &&
        run->phase.now < PHASE_RUNNING)
        phase_stop(run);
    else if (run->phase.over < run->plan->nodes || run_goes_on(run))
        run_changed(run);
    else if (pool_end(run))
        event_base_loopbreak(run->base);
}

bool phase_is_over(const struct run *run)
{
    size_t i, staying = 0;

    if (run->phase.now == PHASE_RUNNING && phase_any_away(run))
        return false;
    for (i = 0; i < run->plan->nodes; i++)
        staying += run->node[i]->state == NODE_STAYING;
    return (staying > 0 || run_goes_on(run)) && staying + run->phase.over == run->plan->nodes &&
           (run->phase.now == PHASE_RUNNING || run->phase.now == PHASE_STOPPING);
}

void phase_restart(struct run *run)
{
    struct phase *phase = &run->phase;

    memset(phase->awaits, 0, run->plan->nodes * sizeof *phase->awaits);
    memset(phase->stayed, 0, run->plan->nodes * sizeof *phase->stayed);
    memset(phase->is_away, 0, run->plan->roles * sizeof *phase->is_away);
    phase->awaited = 0;
    phase->is_held = false;
    phase->go_ns = phase->stop_ns = 0;
    enter_phase(run, PHASE_RESTARTING);
    costs_over(run, false);
}

void phase_prepare(struct run *run)
{
    enter_phase(run, PHASE_PREPARING);
}

void phase_run(struct run *run)
{
    enter_phase(run, PHASE_RUNNING);
}

void phase_leave(struct run *run)
{
    size_t i;

    for (i = 0; i < run->plan->nodes; i++)
        if (run->node[i]->state == NODE_STAYING)
            node_leave(run->node[i], LEAVE_S);
    phase_maybe_end(run);
}

void phase_stop_role(struct run *run, const struct plan *role)
{
    size_t i;

    run->phase.is_away[role - run->plan->role] = true;
    deadline_stop(run, role, run->options->grace_s);
    for (i = role->first_node; i < role->first_node + role->nodes; i++) {
        run->phase.stayed[i] = false; /* the next generation needs it */
        if (run->node[i]->state == NODE_RUNNING)
            node_stop(run->node[i], run->options->grace_s);
    }
}

void phase_prepare_role(struct run *run, const struct plan *role)
{
    size_t i;

    for (i = role->first_node;
         i < role->first_node + role->nodes && run->phase.now == PHASE_RUNNING; i++)
        phase_prepare_node(run, run->node[i]);
}

void phase_run_role(struct run *run, const struct plan *role)
{
    size_t i;

    run->phase.is_away[role - run->plan->role] = false;
    log_info("role %s: MASTER_PORT %d", role->role_name, role->master_port);
    run_status_beat(run);
    for (i = role->first_node; i < role->first_node + role->nodes; i++)
        phase_go(run, run->node[i]);
}

bool phase_is_away(const struct run *run, const struct node *node)
{
    return run->plan->roles > 0 && run->phase.is_away[node->plan->role];
}

bool phase_any_away(const struct run *run)
{
    size_t i;

    for (i = 0; i < run->plan->roles; i++)
        if (run->phase.is_away[i])
            return true;
    return false;
}

void phase_await(struct run *run, struct node *node)
{
    run->phase.awaits[node->index] = true;
    run->phase.awaited++;
}

void phase_stop(struct run *run)
{
    if (run->phase.now == PHASE_STOPPING)
        return;
    enter_phase(run, PHASE_STOPPING);
    run->phase.stop_ns = clock_now_ns();
    output_progress(run->output, NULL);
    phase_stop_nodes(run, run->options->grace_s);
    run_changed(run);
}

void phase_stop_last(struct run *run)
{
    run->phase.is_last = true;
    phase_stop(run);
}

static void enter_phase(struct run *run, enum phase_now now)
{
    log_info("%s -> %s", run_phase_name(run->phase.now), run_phase_name(now));
    run->phase.now = now;
    switch (now) {
    case PHASE_PREPARING:
        enter_preparing(run);
        break;
    case PHASE_RUNNING:
        enter_running(run);
        run_changed(run); /* for nodes that cool down, and a world that may grow */
        break;
    case PHASE_CONNECTING:
    case PHASE_STOPPING:
    case PHASE_RESTARTING:
        break;
    }
}

static void enter_preparing(struct run *run)
{
    size_t i;

    if (run->phase.shared == NULL &&
        (run->options->save_pid ||
         (!run->options->no_pidns && !run->options->strict_containment)))
        run->phase.shared = shared_machine_find(run->node, run->plan->nodes);
    for (i = 0; i < run->plan->nodes; i++)
        phase_await(run, run->node[i]);
    for (i = 0; i < run->plan->nodes && run->phase.now == PHASE_PREPARING; i++)
        phase_prepare_node(run, run->node[i]);
}

void phase_prepare_node(struct run *run, struct node *node)
{
    struct plan_terms terms = { .is_shared =
                                    run->phase.shared != NULL && run->phase.shared[node->index],
                                .credit = flow_begin(run->flow, node->index),
                                .stays = run_may_restart(run) };

    send_plan(run, node, run->plan, node->index, &terms);
}

void phase_check_node(struct run *run, struct node *node, const struct plan *plan)
{
    size_t            count = 0, i;
    struct node     **others = xcalloc(pool_nodes(run) + 1, sizeof(struct node *)), *other;
    bool             *shared;
    struct plan_terms terms = { .stays = true, .is_check = true };

    for (i = 0; i < pool_nodes(run); i++) {
        other = pool_node(run, i);
        if (other != NULL && other != node && other->hello != NULL)
            others[count++] = other;
    }
    others[count++] = node;
    shared = shared_machine_find(others, count);
    terms.is_shared = shared[count - 1];
    free(shared);
    free(others);
    send_plan(run, node, plan, 0, &terms);
}

/* index: of the node in that plan. */
static void send_plan(struct run *run, struct node *node, const struct plan *plan, size_t index,
                      struct plan_terms *terms)
{
    const struct reconnect_key *key = reconnect_key(node->reconnect);
    struct evbuffer            *frames = evbuffer_new();
    struct error                err;

    terms->window_s = window_s(run, node);
    terms->replace_s = replace_s(run);
    terms->is_local = is_forked(run, node);
    terms->generation = node->generation;
    terminal_size(STDIN_FILENO, &terms->rows, &terms->columns);
    if (!terms->is_local && terms->window_s > 0 && key->socket[0] == '\0')
        reconnect_make_key(node->reconnect, run->plan->run_id, node->plan->node_rank);
    terms->socket = key->socket;
    terms->token = key->token;
    if (plan_encode(plan, index, run->options, terms, frames, &err) < 0) {
        node_fail(node, "plan", EXIT_USAGE, "pass large data in a file", "%s", err.text);
    } else {
        node_send_plan(node, frames);
        node_enter(node, NODE_PREPARING, PREPARE_S + health_s(run) + terms->replace_s);
    }
    evbuffer_free(frames);
}

/* Returns how long a node may check whether it is fit for ranks. */
static double health_s(const struct run *run)
{
    return FRAME_HEALTH_S + (plan_is_first(run->plan) ? 0 : FRAME_HEALTH_FREE_S) +
           (run->options->health_check != NULL ? FRAME_HEALTH_PROGRAM_S : 0);
}

/* Returns how long an agent waits for a reconnect. */
static double window_s(const struct run *run, const struct node *node)
{
    if (run->options->reconnect_s >= 0) /* not OPTION_AUTO */
        return run->options->reconnect_s;
    return between(WINDOW_MIN_S, LOGINS_WAITED * node->login_s, WINDOW_MAX_S);
}

/* Returns how long --replace waits: as long as muster stop would, if that run has the same
 * --grace. */
static double replace_s(const struct run *run)
{
    return run->options->replace ? run->options->grace_s + NODE_STOP_S + REPLACE_SURE_S : 0;
}

/* Returns s, but at least least_s, and never more than most_s. */
static double between(double least_s, double s, double most_s)
{
    s = s < least_s ? least_s : s;
    return s < most_s ? s : most_s;
}

/* Is the agent started by fork, without SSH? */
static bool is_forked(const struct run *run, const struct node *node)
{
    return node->plan->is_local || run->options->no_ssh;
}

static void enter_running(struct run *run)
{
    size_t i;

    output_progress(run->output, NULL);
    for (i = 0; i < run->plan->nodes; i++)
        if (i == plan_world(run->plan, i)->first_node)
            log_info("MASTER_ADDR %s, MASTER_PORT %d", plan_world(run->plan, i)->master_addr,
                     plan_world(run->plan, i)->master_port);
    if (plan_is_first(run->plan))
        start_check_clocks(run);
    deadline_start(run);
    run->phase.go_ns = clock_now_ns();
    costs_running(run);
    run_status_beat(run); /* if we are killed, muster resume must know where ranks may live */
    for (i = 0; i < run->plan->nodes; i++)
        if (!node_is_over(run->node[i]))
            phase_go(run, run->node[i]);
}

void phase_go(struct run *run, struct node *node)
{
    struct strlist env = { 0 };
    char          *bytes;
    size_t         size;

    outcome_begun(&run->outcome);
    plan_go_env(run->plan, node->index, &env);
    bytes = strlist_pack(&env, &size);
    node_send_raw(node, FRAME_GO, bytes, size);
    node_enter(node, NODE_RUNNING, 0);
    free(bytes);
    strlist_clear(&env);
}

void phase_stop_nodes(struct run *run, double grace_s)
{
    size_t i;

    deadline_stop(run, run->plan, grace_s);
    for (i = 0; i < run->plan->nodes; i++) {
        struct node *node = run->node[i];

        if (node_is_over(node) || node->state == NODE_DONE)
            continue;
        if (node->state == NODE_STAYING)
            continue; /* it leaves when all is over, if no other generation follows */
        if (node_takes_frames(node) && node->state >= NODE_ANSWERED) {
            node_stop(node, grace_s);
            continue;
        }
        node_drop(node);
        phase_node_over(run);
    }
    phase_maybe_end(run);
}
