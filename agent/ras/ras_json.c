/* ras_json.c - NCCL's answer in JSON
 *
 *     {"nccl_version":"2.28.7", "communicators":[{"hash":"0x1c2b", "secondary_hash":"0x1:0x2",
 *       "size":2, "ranks":[{"rank":0, "host":"10.0.0.1", "pid":7, "cuda_dev":0, "nvml_dev":0,
 *       "status":{...}, "collective_counts":{"AllReduce":12, ...}}, ...],
 *       "missing_ranks":[{"rank":1, ..., "status":{"unresponsive":true,
 *       "considered_dead":false}}]}, ...], "ras":{...}}
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "ras/ras_reply.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

/* The ranks of the world, as one of its communicators has them. */
struct world {
    struct ras_rank *rank;
    int              count;
};

static bool has_too_many(const char *bytes, size_t size);
static int  read_comm(struct ras_comm *comm, json_t *body, struct error *err);
static int  read_rank(struct ras_comm *comm, json_t *body, struct error *err);
static int  read_missing(struct ras_comm *comm, json_t *body, struct error *err);
static int  read_who(struct ras_rank *rank, const json_t *body, struct error *err);
static void name_world(struct ras_reply *reply, int world_size, json_t *list);
static void find_in_world(const struct ras_comm *comm, struct ras_rank *rank, void *arg);
static int  small(const json_t *value);

int ras_json_read(struct ras_reply *reply, int world_size, const char *bytes, size_t size,
                  struct error *err)
{
    struct ras_comm comm;
    json_error_t    why;
    json_t         *body, *list, *one;
    size_t          i;
    int             rc = 0;

    if (has_too_many(bytes, size))
        return err_set(err, "its answer has more than %u values", RAS_VALUES_MAX);
    body = json_loadb(bytes, size, 0, &why);
    if (body == NULL)
        return err_set(err, "its answer is not JSON: line %d: %s", why.line, why.text);
    list = json_object_get(body, "communicators");
    if (!json_is_array(list))
        rc = err_set(err, "its answer has no list of communicators");
    json_array_foreach(list, i, one) {
        if (rc < 0)
            break;
        comm = (struct ras_comm){ 0 };
        rc = read_comm(&comm, one, err);
        if (rc == 0)
            ras_reply_add(reply, &comm);
    }
    if (rc == 0)
        name_world(reply, world_size, list);
    json_decref(body);
    return rc;
}

/* Each value takes some 100 bytes of memory, whatever it takes in the answer. Those in strings are
 * counted as well: NCCL's have none. */
static bool has_too_many(const char *bytes, size_t size)
{
    const char *at, *end = bytes + size;
    size_t      count = 0;

    for (at = bytes; at < end; at++)
        count += *at == ',' || *at == '[' || *at == '{';
    return count > RAS_VALUES_MAX;
}

static int read_comm(struct ras_comm *comm, json_t *body, struct error *err)
{
    const json_t *second = json_object_get(body, "secondary_hash");
    json_t       *hash = json_object_get(body, "hash"), *one;
    json_t       *ranks = json_object_get(body, "ranks");
    size_t        i;

    if (!json_is_string(hash) || !json_is_array(ranks))
        return err_set(err, "a communicator in its answer has no hash or no ranks");
    ras_name_copy(comm->hash, sizeof comm->hash, json_string_value(hash),
                  json_string_length(hash));
    comm->size = small(json_object_get(body, "size"));
    if (comm->size < 0)
        return err_set(err, "the size of communicator %s is not a number", comm->hash);
    if (json_is_string(second))
        comm->print = ras_print_add(0, json_string_value(second), json_string_length(second));
    json_array_foreach(ranks, i, one)
        if (read_rank(comm, one, err) < 0)
            return -1;
    json_array_foreach(json_object_get(body, "missing_ranks"), i, one)
        if (read_missing(comm, one, err) < 0)
            return -1;
    return 0;
}

static int read_rank(struct ras_comm *comm, json_t *body, struct error *err)
{
    struct ras_rank rank;
    json_t         *counts = json_object_get(body, "collective_counts"), *count;
    const char     *key;
    char            name[RAS_NAME_SIZE];
    json_int_t      launched;

    if (read_who(&rank, body, err) < 0)
        return -1;
    comm->print = ras_print_add(comm->print, &rank.rank, sizeof rank.rank);
    json_object_foreach(counts, key, count) {
        launched = json_integer_value(count);
        if (!json_is_integer(count) || launched < 0)
            return err_set(err, "a count of rank %d in communicator %s is not a number", rank.rank,
                           comm->hash);
        comm->print = ras_print_add(comm->print, key, strlen(key));
        comm->print = ras_print_add(comm->print, &launched, sizeof launched);
        ras_name_copy(name, sizeof name, key, strlen(key));
        if (strncmp(name, "Send", 4) != 0 && strncmp(name, "Recv", 4) != 0)
            ras_comm_count(comm, name, (uint64_t)launched, 1, &rank);
    }
    return 0;
}

static int read_missing(struct ras_comm *comm, json_t *body, struct error *err)
{
    const json_t   *status = json_object_get(body, "status");
    struct ras_rank rank;

    if (read_who(&rank, body, err) < 0)
        return -1;
    rank.is_silent = json_is_true(json_object_get(status, "unresponsive")) ||
                     json_is_true(json_object_get(status, "considered_dead"));
    comm->print = ras_print_add(comm->print, &rank.rank, sizeof rank.rank);
    ras_comm_missing(comm, 1, &rank);
    return 0;
}

static int read_who(struct ras_rank *rank, const json_t *body, struct error *err)
{
    const json_t *host = json_object_get(body, "host");

    *rank = (struct ras_rank){ .world = -1, .rank = small(json_object_get(body, "rank")),
                               .pid = small(json_object_get(body, "pid")),
                               .gpu = small(json_object_get(body, "cuda_dev")) };
    if (rank->rank < 0)
        return err_set(err, "a rank in its answer has no number");
    if (json_is_string(host) && strcmp(json_string_value(host), "unknown") != 0)
        ras_name_copy(rank->host, sizeof rank->host, json_string_value(host),
                      json_string_length(host));
    return 0;
}

/* --- numbers in the world ----------------------------------------------------- */

/* A communicator of all ranks says which process and GPU each of them has. */
static void name_world(struct ras_reply *reply, int world_size, json_t *list)
{
    struct world world = { 0 };
    json_t      *comm, *ranks, *one;
    size_t       i, j;

    json_array_foreach(list, i, comm) {
        ranks = json_object_get(comm, "ranks");
        if (small(json_object_get(comm, "size")) != world_size ||
            json_array_size(ranks) != (size_t)world_size)
            continue;
        world.rank = xcalloc((size_t)world_size, sizeof *world.rank);
        json_array_foreach(ranks, j, one)
            read_who(&world.rank[j], one, NULL);
        world.count = world_size;
        break;
    }
    ras_reply_each(reply, find_in_world, &world);
    free(world.rank);
}

/* Two of the same process and GPU say nothing. */
static void find_in_world(const struct ras_comm *comm, struct ras_rank *rank, void *arg)
{
    const struct world *world = arg;
    int                 i;

    (void)comm;
    for (i = 0; i < world->count && rank->pid >= 0; i++) {
        const struct ras_rank *other = &world->rank[i];

        if (other->pid != rank->pid || other->gpu != rank->gpu ||
            strcmp(other->host, rank->host) != 0)
            continue;
        if (rank->world >= 0) {
            rank->world = -1;
            return;
        }
        rank->world = other->rank;
    }
}

/* -1: it is none. */
static int small(const json_t *value)
{
    const json_int_t number = json_integer_value(value);

    return json_is_integer(value) && number >= 0 && number <= INT_MAX ? (int)number : -1;
}
