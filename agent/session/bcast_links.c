/* bcast_links.c - links between nodes: those that this node asks for
 * chunks, and those that ask it
 *
 * The launcher decides which node asks which, and gives both the key of their link.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "session/bcast_work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>

#define CALLERS_MAX 64 /* addresses of one node */

static int  read_link(const json_t *body, struct seal_link *link, struct error *err);
static int  read_callers(const json_t *body, struct strlist *callers, struct error *err);
static bool own_address(char *address, size_t size);
static int  read_cb(struct chunk chunk, void *bytes, size_t *size, void *arg);
static void linked_cb(void *arg);
static void chunk_cb(struct chunk chunk, const void *bytes, size_t size, void *arg);
static void lost_cb(const char *why, void *arg);

void bcast_links_close(struct bcast *bcast)
{
    bcast_fetch_free(bcast->fetch);
    bcast_serve_free(bcast->serve);
}

int bcast_frames_take_listen(struct agent *agent, const struct frame *frame, const json_t *body,
                             struct error *err)
{
    static const struct bcast_serve_ops ops = { read_cb };
    struct bcast    *bcast = agent->bcast;
    struct strlist   callers = { 0 };
    struct seal_link link;
    struct error     why;
    char             address[64] = "";
    int              port = -1, rc;

    (void)frame;
    if (agent->give != NULL)
        bcast = bcast_open(agent);
    if (bcast == NULL)
        return err_set(err, "LISTEN frame before TREE");
    if (read_link(body, &link, err) < 0)
        return -1;
    rc = read_callers(body, &callers, err);
    if (rc == 0) {
        err_set(&why, "its login session has no SSH_CONNECTION");
        if (own_address(address, sizeof address)) {
            if (bcast->serve == NULL)
                bcast->serve = bcast_serve_new(agent->base, address, 0, &ops, agent);
            port = bcast_serve_expect(bcast->serve, &link, &callers, &why);
        }
        agent_send(agent, FRAME_LISTEN, 0,
                   port > 0 ? json_pack("{s:I, s:s, s:i}", "link", (json_int_t)link.number, "addr",
                                        address, "port", port)
                            : json_pack("{s:I, s:s}", "link", (json_int_t)link.number, "error",
                                        why.text));
        link_flush(&agent->link);
    }
    OPENSSL_cleanse(&link, sizeof link);
    strlist_clear(&callers);
    return rc;
}

int bcast_frames_take_link(struct agent *agent, const struct frame *frame, const json_t *body,
                           struct error *err)
{
    static const struct bcast_fetch_ops ops = { linked_cb, chunk_cb, lost_cb };
    const char      *address = json_string_value(json_object_get(body, "addr"));
    json_int_t       port = json_integer_value(json_object_get(body, "port"));
    struct bcast    *bcast = agent->bcast;
    struct seal_link link = { .number = 0 };

    (void)frame;
    if (bcast == NULL)
        return err_set(err, "LINK frame before TREE");
    if (address != NULL && (read_link(body, &link, err) < 0))
        return -1;
    if (address != NULL && (port < 1 || port > 65535))
        return err_set(err, "LINK frame: \"port\" is not from 1 to 65535");
    bcast_fetch_free(bcast->fetch);
    bcast->fetch = NULL;
    bcast->is_link_lost = false;
    chunk_rows_unask_node(bcast_receive_rows(bcast->receiver));
    if (address != NULL) {
        bcast->link = link.number;
        bcast->fetch = bcast_fetch_new(agent->base, address, (int)port, &link, &ops, agent);
        OPENSSL_cleanse(&link, sizeof link);
    }
    bcast_continue(agent);
    return 0;
}

static int read_link(const json_t *body, struct seal_link *link, struct error *err)
{
    json_int_t number = json_integer_value(json_object_get(body, "link"));

    if (number < 1 || number > UINT32_MAX ||
        !seal_read_hex(json_string_value(json_object_get(body, "key")), link->key,
                       sizeof link->key) ||
        !seal_read_hex(json_string_value(json_object_get(body, "run")), link->run,
                       sizeof link->run))
        return err_set(err, "LINK or LISTEN frame: \"link\", \"key\" or \"run\" is invalid");
    link->number = (uint32_t)number;
    return 0;
}

static int read_callers(const json_t *body, struct strlist *callers, struct error *err)
{
    const json_t *list = json_object_get(body, "callers"), *address;
    size_t        i;

    if (!json_is_array(list) || json_array_size(list) > CALLERS_MAX)
        return err_set(err, "LISTEN frame: \"callers\" is not a list of addresses");
    json_array_foreach(list, i, address) {
        if (!json_is_string(address))
            return err_set(err, "LISTEN frame: an address is not a string");
        strlist_add(callers, json_string_value(address));
    }
    return 0;
}

/* Finds the address at which sshd accepted the launcher's connection. Other nodes can most
 * likely connect there, too. */
static bool own_address(char *address, size_t size)
{
    const char *connection = getenv("SSH_CONNECTION");
    char        ours[64];

    if (connection == NULL || sscanf(connection, "%*s %*s %63s", ours) != 1)
        return false;
    snprintf(address, size, "%s", ours);
    return true;
}

static int read_cb(struct chunk chunk, void *bytes, size_t *size, void *arg)
{
    struct agent *agent = arg;

    return agent->give != NULL ? give_frames_read(agent, chunk, bytes, size)
                               : bcast_receive_read(agent->bcast->receiver, chunk, bytes, size);
}

static void linked_cb(void *arg)
{
    struct agent *agent = arg;

    agent_send(agent, FRAME_LINKED, 0,
               json_pack("{s:I}", "link", (json_int_t)agent->bcast->link));
    link_flush(&agent->link);
}

/* If the other node lacks a chunk, or has a wrong one, asks the launcher for it. */
static void chunk_cb(struct chunk chunk, const void *bytes, size_t size, void *arg)
{
    struct agent      *agent = arg;
    struct bcast      *bcast = agent->bcast;
    struct chunk_rows *rows = bcast_receive_rows(bcast->receiver);
    struct chunk_row  *row = chunk_rows_find(rows, chunk);
    unsigned char      id[CHUNK_ID_BYTES];

    if (row == NULL)
        return;
    if (bytes != NULL && bcast_receive_chunk(bcast->receiver, chunk, bytes, size)) {
        bcast->node_bytes += size;
    } else {
        chunk_rows_ask_launcher(rows, row);
        chunk_put(id, chunk);
        bcast_send_raw(agent, FRAME_NEED, id, sizeof id);
    }
    bcast_continue(agent);
}

static void lost_cb(const char *why, void *arg)
{
    struct agent *agent = arg;

    agent->bcast->is_link_lost = true;
    agent_send(agent, FRAME_LINKED, 0,
               json_pack("{s:I, s:o}", "link", (json_int_t)agent->bcast->link, "error",
                         json_text(why, strlen(why))));
    link_flush(&agent->link);
}
