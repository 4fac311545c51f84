/* bcast_frames.c - the frames of `muster bcast`: see bcast_receive.h
 *
 * Each frame is handled completely before the next one is read. CREDIT then reports it, which
 * bounds the bytes in flight. HAVE reports the chunks that have arrived.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "session/bcast_work.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>

#include "copy/safe_openat.h"
#include "entry.h"
#include "exit_code.h"
#include "node/own_dir.h"
#include "node/test_switch.h"
#include "xalloc.h"
#include "xevent.h"

/* HAVE is sent after this much, or when nothing is missing. */
#define TELL_BYTES (512u << 10)
#define TELL_ROWS  128
#define ASK_ROWS   512 /* per NEED */
#define OWED_MOST  (32u << 10) /* half of the smallest window */
/* Freed memory to keep: a chunk is allocated and freed for every MiB, and the kernel would
 * clear returned memory again page by page. */
#define KEPT_BYTES (16 << 20)
#define DANGLING_MAX 4096 /* links to report: more would tell the user nothing new */

static void  failed_cb(uint32_t tree, uint32_t number, const char *path, const char *what,
                       const char *why, bool is_all, void *arg);
static void  dangling_cb(uint32_t tree, uint32_t number, void *arg);
static void  finish_cb(evutil_socket_t fd, short what, void *arg);
static char *root_of(const struct agent *agent, const json_t *body);
static int   begin_tree(struct agent *agent, uint32_t tree, const char *root, bool beside_agent,
                        struct error *err);
static void  ask(struct agent *agent);
static void  tell(struct agent *agent);
static void  send_have(struct agent *agent);
static void  answer(struct agent *agent, const struct frame *frame, int rc,
                    const struct error *why);
static void  give_back_cb(evutil_socket_t fd, short what, void *arg);

void bcast_frames_close(struct agent *agent)
{
    if (agent->bcast == NULL)
        return;
    bcast_links_close(agent->bcast);
    bcast_receive_free(agent->bcast->receiver);
    arriving_clear(&agent->bcast->arriving);
    event_free(agent->bcast->give_back);
    event_free(agent->bcast->finish);
    buffer_clear(&agent->bcast->dangling);
    free(agent->bcast);
}

int bcast_frames_take_tree(struct agent *agent, const struct frame *frame,
                           const json_t *body, struct error *err)
{
    json_int_t     tree = json_integer_value(json_object_get(body, "tree"));
    struct failure failure;
    struct error   why;
    char          *root = root_of(agent, body);

    (void)frame;
    if (root == NULL || tree < 0 || tree >= BCAST_TREES_MAX) {
        free(root);
        return err_set(err,
                       "TREE frame: \"tree\" is not a number below %d, or \"root\" does not "
                       "name a blob with an absolute path",
                       BCAST_TREES_MAX);
    }
    blobs_clear(&agent->blobs);
    if (begin_tree(agent, (uint32_t)tree, root,
                   json_is_true(json_object_get(body, "beside_agent")), &why) < 0) {
        failure_set(&failure, EXIT_CREATE, "", "%s", why.text);
        agent_fail(agent, "bcast", &failure);
    }
    free(root);
    return 0;
}

/* Ignores the node's own OpenSSL configuration: it is meant for other programs. */
struct bcast *bcast_open(struct agent *agent)
{
    static const struct bcast_receive_ops ops = { failed_cb, dangling_cb };
    const char                           *wish = test_switch(TEST_SWITCH_OPENAT);
    struct bcast                         *bcast;

    if (agent->bcast != NULL)
        return agent->bcast;
    bcast = agent->bcast = xcalloc(1, sizeof *bcast);
    if (wish != NULL && strcmp(wish, "walk") == 0)
        safe_walk_always();
    OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
    mallopt(M_MMAP_THRESHOLD, KEPT_BYTES);
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
    bcast->receiver = bcast_receive_new(&ops, agent, BCAST_LINKS_ANY, BCAST_SMALL_MAX);
    bcast->give_back = xevent_new(agent->base, -1, give_back_cb, agent);
    bcast->finish = xevent_new(agent->base, -1, finish_cb, agent);
    return bcast;
}

static int begin_tree(struct agent *agent, uint32_t tree, const char *root, bool beside_agent,
                      struct error *err)
{
    char *beside = beside_agent ? own_dir(err) : NULL;
    int   rc = -1;

    if (!beside_agent || beside != NULL)
        rc = bcast_receive_root(bcast_open(agent)->receiver, tree, beside_agent ? beside : root,
                                err);
    free(beside);
    return rc;
}

/* Returns the root path, which the caller frees. NULL: there is none. */
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
    rc = bcast_receive_entries(agent->bcast->receiver, frame->body, frame->size, &wanted, &why);
    if (rc == 0)
        bcast_send_raw(agent, FRAME_WANTED, wanted.bytes, wanted.size);
    buffer_clear(&wanted);
    answer(agent, frame, rc, &why);
    if (rc == 0)
        bcast_continue(agent);
    return 0;
}

/* HAVE is the answer. */
int bcast_frames_take_sums(struct agent *agent, const struct frame *frame,
                           const json_t *body, struct error *err)
{
    struct error why;

    (void)body;
    if (agent->bcast == NULL)
        return err_set(err, "SUMS frame before TREE");
    if (bcast_receive_sums(agent->bcast->receiver, frame->body, frame->size, &why) < 0)
        bcast_refuse(agent, &why);
    else
        bcast_continue(agent);
    return 0;
}

int bcast_frames_take_file(struct agent *agent, const struct frame *frame,
                           const json_t *body, struct error *err)
{
    struct error why;

    (void)body;
    if (agent->bcast == NULL)
        return err_set(err, "FILE frame before TREE");
    answer(agent, frame,
           arriving_begin(&agent->bcast->arriving, agent->bcast->receiver, frame->body,
                          frame->size, &why), &why);
    return 0;
}

int bcast_frames_take_data(struct agent *agent, const struct frame *frame,
                           const json_t *body, struct error *err)
{
    struct error why;
    int          rc;

    (void)body;
    if (agent->bcast == NULL)
        return err_set(err, "DATA frame before TREE");
    rc = arriving_take(&agent->bcast->arriving, agent->bcast->receiver, frame->body, frame->size,
                       &why);
    answer(agent, frame, rc, &why);
    if (rc == 0)
        bcast_continue(agent);
    return 0;
}

int bcast_frames_take_finish(struct agent *agent, const struct frame *frame,
                             const json_t *body, struct error *err)
{
    (void)frame, (void)body;
    if (agent->bcast == NULL)
        return err_set(err, "FINISH frame before TREE");
    finish_cb(-1, 0, agent);
    return 0;
}

/* Does one part, so that the agent answers heartbeats meanwhile. HAVE shows that it goes on. */
static void finish_cb(evutil_socket_t fd, short what, void *arg)
{
    const struct timeval at_once = { 0 };
    struct agent        *agent = arg;
    struct bcast        *bcast = agent->bcast;

    (void)fd, (void)what;
    if (!bcast_receive_finish(bcast->receiver)) {
        send_have(agent);
        xevent_add(bcast->finish, &at_once);
    } else {
        bcast_send_raw(agent, FRAME_FINISH, bcast->dangling.bytes, bcast->dangling.size);
    }
}

static void dangling_cb(uint32_t tree, uint32_t number, void *arg)
{
    struct buffer *dangling = &((struct agent *)arg)->bcast->dangling;
    unsigned char *at;

    if (dangling->size >= (size_t)DANGLING_MAX * 8)
        return;
    at = (unsigned char *)buffer_reserve(dangling, 8);
    put_u32(at, tree);
    put_u32(at + 4, number);
    dangling->size += 8;
}

/* --- after each frame ------------------------------------------------------- */

void bcast_continue(struct agent *agent)
{
    ask(agent);
    bcast_receive_settle(agent->bcast->receiver);
    bcast_serve_wake(agent->bcast->serve);
    tell(agent);
}

static void ask(struct agent *agent)
{
    struct bcast     *bcast = agent->bcast;
    enum chunk_asked  whom = bcast->fetch != NULL ? ASKED_NODE : ASKED_LAUNCHER;
    struct chunk      ids[ASK_ROWS];
    unsigned char     body[ASK_ROWS * CHUNK_ID_BYTES];
    size_t            count, i;

    while (!bcast->is_link_lost &&
           (count = chunk_rows_ask(bcast_receive_rows(bcast->receiver), whom, ids, ASK_ROWS)) > 0) {
        if (whom == ASKED_NODE) {
            bcast_fetch_ask(bcast->fetch, ids, count);
            continue;
        }
        for (i = 0; i < count; i++)
            chunk_put(body + i * CHUNK_ID_BYTES, ids[i]);
        bcast_send_raw(agent, FRAME_NEED, body, count * CHUNK_ID_BYTES);
    }
}

static void tell(struct agent *agent)
{
    struct bcast              *bcast = agent->bcast;
    const struct bcast_counts *now = bcast_receive_counts(bcast->receiver);

    if (now->rows == bcast->told.rows && now->files == bcast->told.files)
        return;
    if (bcast_receive_rows(bcast->receiver)->count > 0 &&
        now->rows - bcast->told.rows < TELL_ROWS && now->bytes - bcast->told.bytes < TELL_BYTES)
        return;
    send_have(agent);
}

static void send_have(struct agent *agent)
{
    struct bcast              *bcast = agent->bcast;
    const struct bcast_counts *now = bcast_receive_counts(bcast->receiver);
    unsigned char              body[32];

    put_u64(body, now->rows);
    put_u64(body + 8, now->files);
    put_u64(body + 16, now->bytes);
    put_u64(body + 24, bcast->node_bytes);
    bcast_send_raw(agent, FRAME_HAVE, body, sizeof body);
    bcast->told = *now;
}

static void failed_cb(uint32_t tree, uint32_t number, const char *path, const char *what,
                      const char *why, bool is_all, void *arg)
{
    json_t *body = json_pack("{s:I, s:I, s:s, s:s}", "tree", (json_int_t)tree, "entry",
                             (json_int_t)number, "what", what, "text", why);

    (void)path; /* the launcher has it */
    if (is_all)
        json_object_set_new(body, "all", json_true());
    agent_send(arg, FRAME_FAILED, 0, body);
}

/* Acknowledges a frame, together with others that arrived with it, or refuses it. */
static void answer(struct agent *agent, const struct frame *frame, int rc,
                   const struct error *why)
{
    const struct timeval at_once = { 0 };
    struct bcast        *bcast = agent->bcast;

    if (rc < 0) {
        bcast_refuse(agent, why);
        return;
    }
    bcast->owed += (uint32_t)frame->size;
    if (bcast->owed >= OWED_MOST)
        give_back_cb(-1, 0, agent);
    else if (bcast->owed > 0)
        xevent_add(bcast->give_back, &at_once);
}

static void give_back_cb(evutil_socket_t fd, short what, void *arg)
{
    struct agent *agent = arg;
    unsigned char size[4];

    (void)fd, (void)what;
    if (agent->bcast->owed == 0)
        return;
    put_u32(size, agent->bcast->owed);
    agent->bcast->owed = 0;
    bcast_send_raw(agent, FRAME_CREDIT, size, sizeof size);
}

void bcast_refuse(struct agent *agent, const struct error *why)
{
    struct failure failure;

    failure_set(&failure, EXIT_PROTOCOL, "", "refused: %s", why->text);
    agent_fail(agent, "bcast", &failure);
}

void bcast_send_raw(struct agent *agent, enum frame_type type, const void *body, size_t size)
{
    struct frame frame = { .type = type, .generation = agent->generation, .body = body,
                           .size = size };

    if (agent->link.is_lost)
        return;
    frame_put(agent->link.wire, &frame);
    link_flush(&agent->link);
}
