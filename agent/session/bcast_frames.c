/* bcast_frames.c - the frames of `muster bcast`: see bcast_receive.h
 *
 * Each frame is handled completely before the next one is read; CREDIT then reports it,
 * which bounds the bytes on their way.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "session/agent.h"

#include <stdlib.h>
#include <string.h>

#include "entry.h"
#include "exit_code.h"
#include "xalloc.h"


static void failed_cb(uint32_t number, const char *what, const char *why, bool is_all, void *arg);
static char *root_of(const struct agent *agent, const json_t *body);
static void answer(struct agent *agent, const struct frame *frame, int rc,
                   const struct error *why);
static void send_raw(struct agent *agent, enum frame_type type, const void *body, size_t size);

void bcast_frames_close(struct agent *agent)
{
    bcast_receive_free(agent->bcast);
}

int bcast_frames_take_tree(struct agent *agent, const struct frame *frame,
                           const json_t *body, struct error *err)
{
    static const struct bcast_receive_ops ops = { failed_cb };
    struct failure                        failure;
    struct error                          why;
    char                                 *root = root_of(agent, body);

    (void)frame;
    if (root == NULL)
        return err_set(err,
                       "TREE frame: \"root\" is not the number of a blob with an absolute path");
    blobs_clear(&agent->blobs);
    if (agent->bcast == NULL)
        agent->bcast = bcast_receive_new(&ops, agent);
    if (bcast_receive_root(agent->bcast, root, &why) < 0) {
        failure_set(&failure, EXIT_CREATE, "", "%s", why.text);
        agent_fail(agent, "bcast", &failure);
    }
    free(root);
    return 0;
}

/* The caller frees it; NULL if there is none. */
static char *root_of(const struct agent *agent, const json_t *body)
{
    const json_t      *id = json_object_get(body, "root");
    const struct blob *blob = NULL;

    if (json_is_integer(id) && json_integer_value(id) >= 0 &&
        json_integer_value(id) <= UINT32_MAX)
        blob = blobs_find(&agent->blobs, (uint32_t)json_integer_value(id));
    if (blob == NULL || blob->size == 0 || blob->size > ENTRY_PATH_MAX ||
        blob->bytes[0] != '/' || memchr(blob->bytes, '\0', blob->size) != NULL)
        return NULL;
    return xstrndup(blob->bytes, blob->size);
}

int bcast_frames_take_entries(struct agent *agent, const struct frame *frame,
                              const json_t *body, struct error *err)
{
    struct buffer wanted = { 0 };
    struct error  why;
    int           rc;

    (void)body;
    if (agent->bcast == NULL)
        return err_set(err, "ENTRIES frame before TREE");
    rc = bcast_receive_entries(agent->bcast, frame->body, frame->size, &wanted, &why);
    if (rc == 0)
        send_raw(agent, FRAME_WANTED, wanted.bytes, wanted.size);
    answer(agent, frame, rc, &why);
    buffer_clear(&wanted);
    return 0;
}

int bcast_frames_take_file(struct agent *agent, const struct frame *frame,
                           const json_t *body, struct error *err)
{
    struct error why;

    (void)body;
    if (agent->bcast == NULL)
        return err_set(err, "FILE frame before TREE");
    answer(agent, frame, bcast_receive_file(agent->bcast, frame->body, frame->size, &why), &why);
    return 0;
}

int bcast_frames_take_data(struct agent *agent, const struct frame *frame,
                           const json_t *body, struct error *err)
{
    struct error why;

    (void)body;
    if (agent->bcast == NULL)
        return err_set(err, "DATA frame before TREE");
    answer(agent, frame, bcast_receive_data(agent->bcast, frame->body, frame->size, &why), &why);
    return 0;
}

static void failed_cb(uint32_t number, const char *what, const char *why, bool is_all, void *arg)
{
    json_t *body = json_pack("{s:I, s:s, s:s}", "entry", (json_int_t)number, "what", what, "text",
                             why);

    if (is_all)
        json_object_set_new(body, "all", json_true());
    agent_send(arg, FRAME_FAILED, 0, body);
}

/* Report it as done; or refuse it, and read no more from this sender. */
static void answer(struct agent *agent, const struct frame *frame, int rc,
                   const struct error *why)
{
    unsigned char  size[4];
    struct failure failure;

    if (rc < 0) {
        failure_set(&failure, EXIT_PROTOCOL, "", "refused: %s", why->text);
        agent_fail(agent, "bcast", &failure);
        return;
    }
    put_u32(size, (uint32_t)frame->size);
    send_raw(agent, FRAME_CREDIT, size, sizeof size);
    link_flush(&agent->link);
}

static void send_raw(struct agent *agent, enum frame_type type, const void *body, size_t size)
{
    struct frame frame = { .type = type, .generation = agent->generation, .body = body,
                           .size = size };

    if (!agent->link.is_lost)
        frame_put(agent->link.wire, &frame);
}
