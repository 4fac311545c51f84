/* rendezvous.c - see rendezvous.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/rendezvous.h"

#include <stdlib.h>

#include "frame.h"
#include "log.h"
#include "run/body.h"
#include "run/master.h"
#include "run/run.h"
#include "transport/nonce.h"
#include "xalloc.h"

#define PROBE_CONNECT_MS 2000
#define PROBE_S          10.0 /* for the answer to a PROBE */

struct rendezvous {
    struct master master;
    char          token[FRAME_NONCE_CHARS + 1];
    int           probe_port;  /* on which node 0 listens */
    char         *port_holder; /* who took MASTER_PORT before rank 0 had it; NULL: nobody */
};

static void send_probe(struct run *run, struct node *node, json_t *body);
static int  choose_address(struct run *run);
static bool take_error(struct run *run, struct node *node, const json_t *body);
static int  take_answer(struct run *run, const struct node *node, const json_t *body,
                        struct error *err);

struct rendezvous *rendezvous_new(void)
{
    struct rendezvous *rendezvous = xcalloc(1, sizeof *rendezvous);

    if (nonce_make(rendezvous->token) == 0)
        return rendezvous;
    free(rendezvous);
    return NULL;
}

void rendezvous_free(struct rendezvous *rendezvous)
{
    if (rendezvous != NULL)
        rendezvous_reset(rendezvous);
    free(rendezvous);
}

void rendezvous_reset(struct rendezvous *rendezvous)
{
    master_clear(&rendezvous->master);
    free(rendezvous->port_holder);
    rendezvous->port_holder = NULL;
}

const char *rendezvous_token(const struct rendezvous *rendezvous)
{
    return rendezvous->token;
}

void rendezvous_take_holder(struct run *run, const struct node *node, const char *holder)
{
    struct rendezvous *rendezvous = run->rendezvous;

    if (node->index == 0 && holder[0] != '\0' && rendezvous->port_holder == NULL)
        rendezvous->port_holder = xstrdup(holder);
}

const char *rendezvous_port_holder(const struct rendezvous *rendezvous)
{
    return rendezvous->port_holder;
}

/* ---- questions ---- */

void rendezvous_listen(struct run *run)
{
    struct rendezvous *rendezvous = run->rendezvous;
    struct error       err;

    if (master_init(&rendezvous->master, run->plan, run->node[0].hello, &err) < 0) {
        outcome_cause(&run->outcome, EXIT_UNREACHABLE, "%s", err.text);
        phase_stop(run);
        return;
    }
    send_probe(run, &run->node[0],
               json_pack("{s:s, s:s}", "op", "listen", "token", rendezvous->token));
}

void rendezvous_reach(struct run *run)
{
    const struct rendezvous *rendezvous = run->rendezvous;
    size_t                   i;

    for (i = 1; i < run->plan->nodes; i++)
        send_probe(run, &run->node[i],
                   json_pack("{s:s, s:s, s:i, s:i, s:o}", "op", "connect", "token",
                             rendezvous->token, "port", rendezvous->probe_port, "timeout_ms",
                             PROBE_CONNECT_MS, "addresses",
                             master_addresses(&rendezvous->master)));
}

void rendezvous_hold(struct run *run)
{
    const struct plan *plan = run->plan;
    bool               is_given = plan->master_port > 0;

    if (plan->generation == 0 && choose_address(run) < 0) {
        phase_stop(run);
        return;
    }
    send_probe(run, &run->node[0],
               json_pack("{s:s, s:i, s:b}", "op", "port", "port",
                         is_given ? plan->master_port : MASTER_PORT_DEFAULT + plan->generation,
                         "fixed", is_given));
}

void rendezvous_assume(struct run *run)
{
    if (run->plan->master_addr == NULL)
        run->plan->master_addr = xstrdup("127.0.0.1");
    if (run->plan->master_port == 0)
        run->plan->master_port = MASTER_PORT_DEFAULT;
}

/* Everybody has tried: take the address. --master_addr is used even if not everybody reached
 * it, and then only the interfaces come from here. */
static int choose_address(struct run *run)
{
    struct error err;

    if (run->plan->nodes == 1) {
        if (run->plan->master_addr == NULL)
            run->plan->master_addr = xstrdup("127.0.0.1");
        return 0;
    }
    if (master_choose(&run->rendezvous->master, run->plan, &err) == 0)
        return 0;
    if (run->plan->master_addr != NULL) {
        log_warn("%s; continuing with --master_addr %s", err.text, run->plan->master_addr);
        return 0;
    }
    outcome_cause(&run->outcome, EXIT_UNREACHABLE,
                  "%s; is a firewall between the nodes? --master_addr overrides", err.text);
    return -1;
}

static void send_probe(struct run *run, struct node *node, json_t *body)
{
    phase_await(run, node);
    node_enter(node, NODE_PROBING, PROBE_S);
    node_send(node, FRAME_PROBE, body);
}

/* ---- answers ---- */

void rendezvous_take(struct run *run, struct node *node, const json_t *body)
{
    struct error err;

    if (node->stop_ns != 0)
        return; /* it crossed with our STOP */
    if (take_error(run, node, body))
        return;
    if (take_answer(run, node, body, &err) < 0)
        node_fail(node, "protocol", EXIT_PROTOCOL, NULL, "%s", err.text);
    else
        node_enter(node, NODE_PROBED, 0);
}

static bool take_error(struct run *run, struct node *node, const json_t *body)
{
    const char *why = body_text(body, "error"), *holder = body_text(body, "holder");
    bool        is_port = run->phase.now == PHASE_HOLDING;

    if (why[0] == '\0')
        return false;
    node_fail(node, is_port ? "master port" : "probe", EXIT_CREATE,
              is_port ? "without --master_port muster takes a free one" : "", "%s%s%s", why,
              holder[0] != '\0' ? ", held by " : "", holder);
    return true;
}

static int take_answer(struct run *run, const struct node *node, const json_t *body,
                       struct error *err)
{
    int port = body_small_int(body, "port", 0, UINT16_MAX);

    if (run->phase.now == PHASE_REACHING)
        return master_answer(&run->rendezvous->master, node->index, body, err);
    if (port < 1)
        return err_set(err, "PROBED frame without a port");
    if (run->phase.now == PHASE_HOLDING)
        run->plan->master_port = port;
    else
        run->rendezvous->probe_port = port;
    return 0;
}
