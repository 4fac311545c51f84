/* ras.c - see ras.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "ras/ras.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "frame.h"
#include "ras/ras_client.h"
#include "ras/ras_port.h"
#include "xalloc.h"

#define ADDR   "NCCL_RAS_ADDR"
#define ENABLE "NCCL_RAS_ENABLE"

struct ras {
    struct event_base *base;
    int                fd;   /* holds the port; -1: there is none */
    int                port, world_size;
    bool               is_ours; /* the ranks of this generation have our address */
    struct ras_client *client;  /* NULL: there is no question */
    void (*told)(json_t *body, void *arg);
    void              *arg;
};

static bool is_set(const struct strlist *env);
static void answer_cb(const struct ras_reply *reply, const struct error *err, void *arg);
static json_t *no_answer(const char *why);

struct ras *ras_new(struct event_base *base)
{
    struct ras *ras = xcalloc(1, sizeof *ras);

    ras->base = base;
    ras->fd = -1;
    return ras;
}

void ras_free(struct ras *ras)
{
    if (ras == NULL)
        return;
    ras_client_free(ras->client);
    if (ras->fd >= 0)
        close(ras->fd);
    free(ras);
}

/* A file nccl.conf with the same variable yields to what is set here; its users have --env. */
void ras_prepare(struct ras *ras, const struct node_plan *plan, struct strlist *env)
{
    int i;

    if (ras->is_ours)
        env_unset(env, ADDR); /* what the generation before was given */
    ras->world_size = plan->world_size;
    ras->is_ours = !plan->is_exec && !is_set(env) && !is_set(&plan->env);
    for (i = 0; i < plan->ranks && ras->is_ours; i++)
        ras->is_ours = !is_set(&plan->rank[i].env);
    if (ras->is_ours && ras->fd < 0)
        ras->fd = ras_port_hold(&ras->port);
    ras->is_ours = ras->is_ours && ras->fd >= 0;
    if (ras->is_ours)
        env_setf(env, ADDR, "127.0.0.1:%d", ras->port);
}

static bool is_set(const struct strlist *env)
{
    const char *enable = env_get(env, ENABLE);

    return env_get(env, ADDR) != NULL || (enable != NULL && strcmp(enable, "0") == 0);
}

void ras_ask(struct ras *ras, void (*told)(json_t *body, void *arg), void *arg)
{
    if (ras->client != NULL)
        return;
    if (!ras->is_ours) {
        told(no_answer("muster chose no address for NCCL's RAS here"), arg);
        return;
    }
    ras->told = told;
    ras->arg = arg;
    ras->client = ras_client_begin(ras->base, ras->port, ras->world_size, answer_cb, ras);
}

void ras_forget(struct ras *ras)
{
    ras_client_free(ras->client);
    ras->client = NULL;
}

static void answer_cb(const struct ras_reply *reply, const struct error *err, void *arg)
{
    struct ras *ras = arg;
    json_t     *body = reply != NULL ? ras_reply_json(reply) : no_answer(err->text);

    ras_forget(ras);
    ras->told(body, ras->arg);
}

static json_t *no_answer(const char *why)
{
    return json_pack("{s:o}", "error", json_text(why, strlen(why)));
}
