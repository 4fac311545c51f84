/* fuzz_agent_frames.c - what the launcher's end of the stream may say to an agent
 *
 * Frames are cut out of the bytes as the link does, and their bodies read as
 * the agent reads them, up to where something would be done on the node. A RAS
 * frame has what NCCL then answers, in a world of as many ranks as its number.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "elastic/collectives.h"
#include "frame.h"
#include "guard/go_env.h"
#include "link/reconnect_socket.h"
#include "plan/bind.h"
#include "plan/blob.h"
#include "plan/node_plan.h"
#include "plan/prepare.h"
#include "rank/pmi.h"
#include "ras/ras_reply.h"
#include "resend_queue.h"
#include "task/task.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void puts_cb(json_t *puts, bool more, void *arg)
{
    (void)more, (void)arg;
    json_decref(puts);
}

static void abort_cb(int local, int code, void *arg)
{
    (void)local, (void)code, (void)arg;
}

static void shard_cb(int local, const char *line, void *arg)
{
    (void)local, (void)line, (void)arg;
}

static void step_cb(int local, int64_t step, int64_t last, void *arg)
{
    (void)local, (void)step, (void)last, (void)arg;
}

static int take_plan(const json_t *body, const struct blobs *blobs, struct error *err)
{
    struct strlist  base = { 0 }, env = { 0 };
    struct node_plan plan;
    hwloc_bitmap_t  cores = hwloc_bitmap_alloc();
    int             i, rc = node_plan_read(&plan, body, blobs, err);

    strlist_add(&base, "PATH=/bin");
    for (i = 0; i < plan.ranks && rc == 0; i++) {
        prepare_env(&plan, &plan.rank[i], &base, 1, &env);
        strlist_clear(&env);
    }
    if (plan.bind_list != NULL)
        bind_list(plan.bind_list, cores, err);
    hwloc_bitmap_free(cores);
    strlist_clear(&base);
    node_plan_clear(&plan);
    return rc;
}

static int take_attach(const json_t *body, struct resend_queue *queue, struct error *err)
{
    const char *name, *token;
    uint64_t    received;
    size_t      again;

    if (reconnect_socket_request(body, &name, &token, &received, err) < 0)
        return -1;
    return resend_queue_rewind(queue, received, &again, err);
}

static int take_task(const json_t *body, struct error *err)
{
    static const struct task_row table[] = { { "echo", NULL }, { NULL, NULL } };
    struct task_request          request;

    return task_request_read(&request, body, table, err);
}

static int take_go(const struct frame *frame, struct error *err)
{
    static struct go_env *env;
    char                  own[] = "A=1", *variables[2 + GO_ENV_VARIABLES] = { own };

    if (env == NULL)
        env = go_env_new(err);
    if (env == NULL || go_env_set(env, frame->body, frame->size, err) < 0)
        return -1;
    go_env_lay(env, variables);
    return 0;
}

/* What is accepted has room in a frame, and the launcher takes it. */
static int take_ras(const struct frame *frame)
{
    struct collectives known = { 0 };
    struct ras_reply   reply;
    struct error       err;
    json_t            *body;
    char              *text;

    if (ras_reply_read(&reply, (int)(frame->rank % 64), (const char *)frame->body, frame->size,
                       &err) < 0)
        return err.text[0] != '\0' ? 0 : (abort(), -1);
    body = ras_reply_json(&reply);
    text = json_dumps(body, JSON_COMPACT);
    if (text == NULL || strlen(text) > FRAME_BODY_MAX ||
        collectives_take(&known, body, 1, &err) < 0)
        abort();
    free(text);
    json_decref(body);
    collectives_again(&known);
    ras_reply_clear(&reply);
    return 0;
}

static int take(const struct frame *frame, struct blobs *blobs, struct pmi *pmi,
                struct resend_queue *queue, struct error *err)
{
    json_t *body;
    int     rc = 0;

    if (frame->type == FRAME_BLOB)
        return blobs_take(blobs, frame->body, frame->size, err);
    if (frame->type == FRAME_GO)
        return take_go(frame, err);
    if (frame->type == FRAME_RAS)
        return take_ras(frame);
    if (frame->type == FRAME_ACK)
        return resend_queue_take_ack(queue, frame, err);
    body = frame_json(frame, err);
    if (body == NULL)
        return -1;
    if (frame->type == FRAME_PLAN)
        rc = take_plan(body, blobs, err);
    else if (frame->type == FRAME_KVS)
        rc = pmi_union(pmi, body, err);
    else if (frame->type == FRAME_RECONNECT)
        rc = take_attach(body, queue, err);
    else if (frame->type == FRAME_TASK)
        rc = take_task(body, err);
    json_decref(body);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct pmi_ops ops = { puts_cb, abort_cb, shard_cb, step_cb };
    struct evbuffer *in = evbuffer_new();
    struct pmi      *pmi = pmi_new("kvs", NULL, 1, 1, &ops, NULL);
    struct blobs     blobs = { 0 };
    struct resend_queue queue;
    struct frame     frame;
    struct error     err;

    resend_queue_init(&queue);
    queue.keeps = true;
    frame_put(queue.bytes, &(struct frame){ .type = FRAME_GO });
    resend_queue_send(&queue, in);
    evbuffer_drain(in, evbuffer_get_length(in));
    evbuffer_add(in, data, size);
    while (frame_peek(in, &frame, &err) > 0 && take(&frame, &blobs, pmi, &queue, &err) >= 0)
        frame_drop(in, &frame);
    resend_queue_clear(&queue);
    blobs_clear(&blobs);
    pmi_free(pmi);
    evbuffer_free(in);
    return 0;
}
