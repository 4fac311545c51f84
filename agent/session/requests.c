/* requests.c - the launcher's requests that are independent of the run: PROBE, CLEAN, STACKS,
 * RAS
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "session/agent.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "exit_code.h"
#include "node/process.h"
#include "rank/horovod_server.h"
#include "task/lookup.h"

static int  serve_horovod(struct agent *agent, const json_t *body, struct error *err);
static void listen_horovod(struct agent *agent);
static int  look_up(struct agent *agent, const json_t *body, const char *name,
                    struct error *err);
static bool is_address(const char *name);
static void looked_up_cb(const json_t *addresses, const char *why, void *arg);
static int  probe_named(struct agent *agent, struct error *err);
static void probed_cb(json_t *body, void *arg);
static void cleaned_cb(json_t *body, void *arg);
static void stacked_cb(uint32_t rank, json_t *body, void *arg);
static void collectives_cb(json_t *body, void *arg);

void requests_open(struct agent *agent)
{
    agent->requests.probe = probe_new(agent->base, probed_cb, agent);
    agent->requests.ras = ras_new(agent->base);
}

void requests_close(struct agent *agent)
{
    requests_end_probe(agent);
    probe_free(agent->requests.probe);
    clean_free(agent->requests.clean);
    requests_again(agent);
    ras_free(agent->requests.ras);
}

void requests_again(struct agent *agent)
{
    stacks_free(agent->requests.stacks);
    agent->requests.stacks = NULL;
    horovod_server_free(agent->requests.horovod);
    agent->requests.horovod = NULL;
    ras_forget(agent->requests.ras);
}

void requests_end_probe(struct agent *agent)
{
    lookup_free(agent->requests.lookup);
    json_decref(agent->requests.probing);
    agent->requests.lookup = NULL;
    agent->requests.probing = NULL;
    probe_end(agent->requests.probe);
}

int requests_take_probe(struct agent *agent, const struct frame *frame, const json_t *body,
                        struct error *err)
{
    const char *name = json_string_value(json_object_get(body, "name"));
    const char *op = json_string_value(json_object_get(body, "op"));

    (void)frame;
    /* MASTER_PORT is chosen before the start, and so is Horovod's port. */
    if (agent->state > AGENT_READY &&
        (json_object_get(body, "port") != NULL || (op != NULL && strcmp(op, "horovod") == 0)))
        return err_set(err, "PROBE frame with a port at the wrong time");
    if (op != NULL && strcmp(op, "horovod") == 0)
        return serve_horovod(agent, body, err);
    if (name == NULL)
        return probe_request(agent->requests.probe, body, err);
    if (name[0] == '-')
        return err_set(err, "PROBE frame: \"name\" begins with '-'");
    return look_up(agent, body, name, err);
}

static int serve_horovod(struct agent *agent, const json_t *body, struct error *err)
{
    const char *address = json_string_value(json_object_get(body, "address"));

    if (address == NULL)
        listen_horovod(agent);
    else if (agent->requests.horovod != NULL)
        horovod_server_begin(agent->requests.horovod, address);
    else
        return err_set(err, "PROBE frame: no port was asked for Horovod");
    return 0;
}

static void listen_horovod(struct agent *agent)
{
    struct error why;
    json_t      *answer;
    int          port;

    horovod_server_free(agent->requests.horovod);
    agent->requests.horovod = horovod_server_new(agent->base, &port, &why);
    answer = agent->requests.horovod != NULL
                 ? json_pack("{s:s, s:i}", "op", "horovod", "port", port)
                 : json_pack("{s:s, s:s}", "op", "horovod", "error", why.text);
    probed_cb(answer, agent);
}

/* The rest of the request waits until the addresses of the name are known. */
static int look_up(struct agent *agent, const json_t *body, const char *name, struct error *err)
{
    struct requests *requests = &agent->requests;
    struct error     why;

    lookup_free(requests->lookup);
    json_decref(requests->probing);
    requests->lookup = NULL;
    requests->probing = json_deep_copy(body);
    if (is_address(name)) {
        json_object_set_new(requests->probing, "named", json_pack("[s]", name));
        return probe_named(agent, err);
    }
    requests->lookup = lookup_begin(agent->base, name, looked_up_cb, agent, &why);
    return requests->lookup != NULL ? 0 : probe_named(agent, err); /* the node cannot tell */
}

/* Also one with a zone, "fe80::1%eth0": getent would leave the zone out. */
static bool is_address(const char *name)
{
    unsigned char bytes[sizeof(struct in6_addr)];
    char          v6[INET6_ADDRSTRLEN];

    snprintf(v6, sizeof v6, "%.*s", (int)strcspn(name, "%"), name);
    return inet_pton(AF_INET, name, bytes) == 1 || inet_pton(AF_INET6, v6, bytes) == 1;
}

static void looked_up_cb(const json_t *addresses, const char *why, void *arg)
{
    struct agent  *agent = arg;
    struct failure failure;
    struct error   err;

    if (why[0] != '\0')
        json_object_set_new(agent->requests.probing, "unnamed", json_string(why));
    else if (addresses != NULL)
        json_object_set_new(agent->requests.probing, "named", json_deep_copy(addresses));
    if (probe_named(agent, &err) == 0)
        return;
    failure_set(&failure, EXIT_PROTOCOL, "", "%s", err.text);
    agent_fail(agent, "protocol", &failure);
}

static int probe_named(struct agent *agent, struct error *err)
{
    json_t *body = agent->requests.probing;
    int     rc;

    agent->requests.probing = NULL;
    rc = probe_request(agent->requests.probe, body, err);
    json_decref(body);
    return rc;
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
    if ((agent->requests.stacks != NULL && !stacks_are_told(agent->requests.stacks)) ||
        flight_recorder_is_asked(agent))
        return err_set(err, "a second STACKS frame before the first one was answered");
    stacks_free(agent->requests.stacks);
    flight_recorder_ask(agent);
    agent->requests.stacks = stacks_begin(agent, stacked_cb, agent);
    return 0;
}

/* The end of STACKED is the last that comes: the flight recorder's frames come before it. */

static void stacked_cb(uint32_t rank, json_t *body, void *arg)
{
    struct agent *agent = arg;

    if (json_is_true(json_object_get(body, "end")) && flight_recorder_is_asked(agent)) {
        json_decref(body);
        return;
    }
    agent_send(agent, FRAME_STACKED, rank, body);
    link_flush(&agent->link);
}

void requests_end_stacks(struct agent *agent)
{
    if (agent->requests.stacks == NULL || !stacks_are_told(agent->requests.stacks))
        return; /* stacks_begin() sends the end */
    agent_send(agent, FRAME_STACKED, 0, json_pack("{s:b}", "end", true));
    link_flush(&agent->link);
}

int requests_take_ras(struct agent *agent, const struct frame *frame, const json_t *body,
                      struct error *err)
{
    (void)frame, (void)body, (void)err;
    ras_ask(agent->requests.ras, collectives_cb, agent);
    return 0;
}

/* DONE is the last frame. */
static void collectives_cb(json_t *body, void *arg)
{
    struct agent *agent = arg;

    if (agent->state == AGENT_DONE) {
        json_decref(body);
        return;
    }
    agent_send(agent, FRAME_COLLECTIVES, 0, body);
    link_flush(&agent->link);
}
