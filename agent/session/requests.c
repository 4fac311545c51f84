/* requests.c - the launcher's requests that are independent of the run: PROBE, CLEAN, STACKS
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "session/agent.h"

#include <unistd.h>

#include "exit_code.h"
#include "node/process.h"

static void probed_cb(json_t *body, void *arg);
static void cleaned_cb(json_t *body, void *arg);
static void stacked_cb(uint32_t rank, json_t *body, void *arg);

void requests_open(struct agent *agent)
{
    agent->requests.probe = probe_new(agent->base, probed_cb, agent);
}

void requests_close(struct agent *agent)
{
    probe_free(agent->requests.probe);
    clean_free(agent->requests.clean);
    stacks_free(agent->requests.stacks);
}

void requests_again(struct agent *agent)
{
    stacks_free(agent->requests.stacks);
    agent->requests.stacks = NULL;
}

void requests_end_probe(struct agent *agent)
{
    probe_end(agent->requests.probe);
}

int requests_take_probe(struct agent *agent, const struct frame *frame, const json_t *body,
                        struct error *err)
{
    (void)frame;
    /* MASTER_PORT is chosen before the start. */
    if (agent->state > AGENT_READY && json_object_get(body, "port") != NULL)
        return err_set(err, "PROBE frame with a port at the wrong time");
    return probe_request(agent->requests.probe, body, err);
}

static void probed_cb(json_t *body, void *arg)
{
    struct agent *agent = arg;

    agent_send(agent, FRAME_PROBED, 0, body);
    link_flush(&agent->link);
}

int requests_take_clean(struct agent *agent, const struct frame *frame, const json_t *body,
                        struct error *err)
{
    struct failure failure;
    struct process self;

    (void)frame;
    if (agent->requests.clean != NULL)
        return err_set(err, "a second CLEAN frame");
    if (!process_read(getpid(), &self)) {
        failure_set(&failure, EXIT_INTERNAL, "",
                    "/proc shows no processes (is something mounted over it?)");
        agent_fail(agent, "clean", &failure);
        return 0;
    }
    agent->requests.clean = clean_begin(agent->base, body, cleaned_cb, agent, err);
    return agent->requests.clean != NULL ? 0 : -1;
}

static void cleaned_cb(json_t *body, void *arg)
{
    struct agent *agent = arg;

    agent_send(agent, FRAME_CLEANED, 0, body);
    link_flush(&agent->link);
}

int requests_take_stacks(struct agent *agent, const struct frame *frame, const json_t *body,
                         struct error *err)
{
    (void)frame, (void)body;
    if (agent->requests.stacks != NULL)
        return err_set(err, "a second STACKS frame");
    agent->requests.stacks = stacks_begin(agent, stacked_cb, agent);
    return 0;
}

static void stacked_cb(uint32_t rank, json_t *body, void *arg)
{
    struct agent *agent = arg;

    agent_send(agent, FRAME_STACKED, rank, body);
    link_flush(&agent->link);
}
