/* kvs.c - see kvs.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "rendezvous/kvs.h"

#include <stdlib.h>
#include <string.h>

#include "frame.h"
#include "xalloc.h"

/* Bytes of a body. A '"' or '\\' takes two bytes in JSON, and each pair adds "":"",. */
#define PART_MAX        (FRAME_BODY_MAX - 64)
#define PAIR_JSON(k, v) (2 * ((k) + (v)) + 6)

struct kvs {
    size_t  nodes, missing;
    bool   *is_in;  /* by node, in this barrier */
    json_t *put;    /* the union so far */
    json_t *answer; /* rest of the last barrier's answer, not yet taken; or NULL */
    size_t  bytes;  /* of keys and values, in all barriers */
};

static void open_for(struct kvs *kvs, size_t nodes);
static void forget(struct kvs *kvs);
static int  check_pair(const char *key, const json_t *value, struct error *err);
static bool is_word(const char *text, size_t size, size_t max);
static int  add_pair(struct kvs *kvs, const char *key, json_t *value, struct error *err);

struct kvs *kvs_new(size_t nodes)
{
    struct kvs *kvs = xcalloc(1, sizeof *kvs);

    open_for(kvs, nodes);
    return kvs;
}

void kvs_again(struct kvs *kvs, size_t nodes)
{
    forget(kvs);
    open_for(kvs, nodes);
}

static void open_for(struct kvs *kvs, size_t nodes)
{
    *kvs = (struct kvs){ .nodes = nodes,
                         .missing = nodes,
                         .is_in = xcalloc(nodes, sizeof *kvs->is_in),
                         .put = json_object() };
}

static void forget(struct kvs *kvs)
{
    json_decref(kvs->put);
    json_decref(kvs->answer);
    free(kvs->is_in);
}

void kvs_free(struct kvs *kvs)
{
    if (kvs == NULL)
        return;
    forget(kvs);
    free(kvs);
}

int kvs_node_in(struct kvs *kvs, size_t node, const json_t *body, struct error *err)
{
    json_t     *put = json_object_get(body, "put"), *value;
    const char *key;

    if (node >= kvs->nodes || kvs->is_in[node])
        return err_set(err, "KVS frame: this node is already in the barrier");
    if (!json_is_object(put))
        return err_set(err, "KVS frame: no object \"put\"");
    json_object_foreach(put, key, value)
        if (check_pair(key, value, err) < 0 || add_pair(kvs, key, value, err) < 0)
            return err_set(err, "KVS frame: %s", err->text);
    if (json_is_true(json_object_get(body, "more")))
        return 0;
    kvs->is_in[node] = true;
    if (--kvs->missing > 0)
        return 0;

    json_decref(kvs->answer);
    kvs->answer = kvs->put;
    kvs->put = json_object();
    kvs->missing = kvs->nodes;
    memset(kvs->is_in, 0, kvs->nodes * sizeof *kvs->is_in);
    return 1;
}

bool kvs_is_late(const struct kvs *kvs, size_t node)
{
    return kvs->missing < kvs->nodes && !kvs->is_in[node];
}

json_t *kvs_take(struct kvs *kvs)
{
    json_t     *put, *value, *body = NULL;
    const char *key;
    void       *next;
    size_t      size = 0;

    if (kvs->answer == NULL)
        return NULL;
    put = json_object();
    json_object_foreach_safe(kvs->answer, next, key, value) {
        size += PAIR_JSON(strlen(key), json_string_length(value));
        if (size > PART_MAX)
            break;
        if (json_object_set_nocheck(put, key, value) < 0)
            xalloc_die();
        json_object_del(kvs->answer, key);
    }
    body = json_pack("{s:o}", "put", put);
    if (body == NULL)
        xalloc_die();
    if (json_object_size(kvs->answer) > 0) {
        json_object_set_new(body, "more", json_true());
    } else {
        json_decref(kvs->answer);
        kvs->answer = NULL;
    }
    return body;
}

static int check_pair(const char *key, const json_t *value, struct error *err)
{
    if (!is_word(key, strlen(key), KVS_KEY_MAX))
        return err_set(err, "'%.80s' is not a PMI key (up to %d characters, no spaces)", key,
                       KVS_KEY_MAX);
    if (!json_is_string(value))
        return err_set(err, "the value of %s is not a string", key);
    if (!is_word(json_string_value(value), json_string_length(value), KVS_VALUE_MAX))
        return err_set(err,
                       "the value of %s is not a PMI value (up to %d characters, no spaces)",
                       key, KVS_VALUE_MAX);
    return 0;
}

/* Can "key=value key=value\n" of PMI-1 carry this text? */
static bool is_word(const char *text, size_t size, size_t max)
{
    size_t i;

    for (i = 0; i < size; i++)
        if (text[i] <= ' ' || text[i] > '~')
            return false;
    return size <= max;
}

static int add_pair(struct kvs *kvs, const char *key, json_t *value, struct error *err)
{
    json_t *known = json_object_get(kvs->put, key);

    if (known != NULL && !json_equal(known, value))
        return err_set(err, "key %s was put twice, as '%.64s' and as '%.64s'", key,
                       json_string_value(known), json_string_value(value));
    if (known != NULL)
        return 0;
    kvs->bytes += strlen(key) + json_string_length(value) + KVS_PAIR_COST;
    if (kvs->bytes > KVS_BYTES_MAX)
        return err_set(err, "more than %zu MiB of keys and values in one run",
                       KVS_BYTES_MAX >> 20);
    if (json_object_set_nocheck(kvs->put, key, value) < 0)
        xalloc_die();
    return 0;
}
