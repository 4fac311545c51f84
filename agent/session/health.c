/* health.c - before each generation: is this node fit for it? And while ranks run: how fast are its
 * GPUs and network ports, and what breaks there?
 *
 * The gate (gate/gate.h) remembers the first one, so it lives as long as the agent. Samples
 * (samples/sample_watch.h) are those of one generation.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "session/agent.h"

static void over_cb(const struct failure *failure, void *arg);
static void send_cb(enum frame_type type, json_t *body, void *arg);
static void looked_cb(void *arg);

void health_begin(struct agent *agent)
{
    if (agent->plan.is_exec) {
        startup_is_fit(agent);
        return;
    }
    if (agent->gate == NULL)
        agent->gate = gate_new(agent->base, over_cb, agent);
    if (gate_begin(agent->gate, &agent->plan))
        startup_is_fit(agent);
}

static void over_cb(const struct failure *failure, void *arg)
{
    struct agent *agent = arg;

    if (agent->state != AGENT_PREPARING)
        return;
    if (failure != NULL)
        agent_fail(agent, "health", failure);
    else
        startup_is_fit(agent);
    link_flush(&agent->link);
}

void health_report(struct agent *agent, json_t *ready)
{
    if (agent->gate == NULL)
        return;
    gate_know_holders(agent->gate, json_object_get(ready, "gpu_holders"));
    json_object_set_new(ready, "health", gate_report(agent->gate));
}

void health_stop(struct agent *agent)
{
    gate_stop(agent->gate);
}

void health_close(struct agent *agent)
{
    gate_free(agent->gate);
    agent->gate = NULL;
}

/* --- while ranks run --------------------------------------------------------- */

void health_watch_begin(struct agent *agent)
{
    static const struct sample_watch_ops ops = { send_cb, looked_cb };

    health_watch_end(agent);
    if (!agent->plan.is_exec)
        agent->samples = sample_watch_begin(agent->base, &agent->plan, &ops, agent);
}

bool health_look_last(struct agent *agent)
{
    return agent->link.is_lost || ranks_have_ended_well(&agent->ranks) ||
           sample_watch_look_last(agent->samples);
}

void health_watch_end(struct agent *agent)
{
    sample_watch_end(agent->samples);
    agent->samples = NULL;
}

/* While the connection is broken, SAMPLES would only wait, and be old when they arrive. */
static void send_cb(enum frame_type type, json_t *body, void *arg)
{
    struct agent *agent = arg;

    if (agent->state < AGENT_RUNNING || agent->state >= AGENT_DONE ||
        (type == FRAME_SAMPLES && agent->link.is_cut)) {
        json_decref(body);
        return;
    }
    agent_send(agent, type, 0, body);
    link_flush(&agent->link);
}

static void looked_cb(void *arg)
{
    ending_maybe_done(arg);
}
