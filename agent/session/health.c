/* health.c - before each generation: is this node fit for it?
 *
 * The gate (gate/gate.h) remembers the first one, so it lives as long as the agent.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "session/agent.h"

static void over_cb(const struct failure *failure, void *arg);

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
