/* ras_reply.c - see ras_reply.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "ras/ras_reply.h"

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

#define PRINT_FIRST 14695981039346656037u /* FNV-1a */
#define PRINT_PRIME 1099511628211u

static void    name_of_world(const struct ras_comm *comm, struct ras_rank *rank, void *arg);
static void    name_each(const struct ras_comm *comm, struct ras_ranks *ranks,
                         void (*name)(const struct ras_comm *comm, struct ras_rank *rank,
                                      void *arg), void *arg);
static void    ranks_add(struct ras_ranks *ranks, int count, const struct ras_rank *rank);
static json_t *json_of_comm(const struct ras_comm *comm);
static json_t *json_of_op(const struct ras_op *op);
static json_t *json_of_ranks(const struct ras_ranks *ranks, bool are_missing);

int ras_reply_read(struct ras_reply *reply, int world_size, const char *bytes, size_t size,
                   struct error *err)
{
    const char *at = bytes, *end = bytes + size;
    int         rc;

    *reply = (struct ras_reply){ .print = PRINT_FIRST };
    if (size > RAS_REPLY_MAX)
        return err_set(err, "its answer is longer than %u MiB", RAS_REPLY_MAX >> 20);
    while (at < end && isspace((unsigned char)*at))
        at++;
    if (at == end)
        return err_set(err, "it closed the connection without an answer");
    if (*at == '{')
        rc = ras_json_read(reply, world_size, at, (size_t)(end - at), err);
    else
        rc = ras_text_read(reply, at, (size_t)(end - at), err);
    if (rc < 0)
        ras_reply_clear(reply);
    else
        ras_reply_each(reply, name_of_world, &world_size);
    return rc;
}

static void name_of_world(const struct ras_comm *comm, struct ras_rank *rank, void *arg)
{
    const int *world_size = arg;

    if (comm->size == *world_size)
        rank->world = rank->rank;
    else if (rank->world >= *world_size)
        rank->world = -1;
}

void ras_reply_clear(struct ras_reply *reply)
{
    free(reply->comm);
    *reply = (struct ras_reply){ 0 };
}

uint64_t ras_print_add(uint64_t print, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;

    if (print == 0)
        print = PRINT_FIRST;
    for (; size > 0; size--)
        print = (print ^ *at++) * PRINT_PRIME;
    return print;
}

void ras_name_copy(char *to, size_t size, const char *from, size_t length)
{
    size_t i;

    for (i = 0; i < length && i + 1 < size; i++)
        to[i] = isalnum((unsigned char)from[i]) || strchr(".:_-%[]", from[i]) != NULL ? from[i]
                                                                                       : '?';
    to[i] = '\0';
}

/* --- one communicator --------------------------------------------------------- */

struct ras_op *ras_comm_count(struct ras_comm *comm, const char *name, uint64_t launched,
                              int count, const struct ras_rank *rank)
{
    struct ras_op *op = comm->op;

    while (op < comm->op + comm->ops && strcmp(op->name, name) != 0)
        op++;
    if (op == comm->op + RAS_OPS_MAX)
        return NULL;
    if (op == comm->op + comm->ops) {
        comm->ops++;
        *op = (struct ras_op){ .least = launched, .most = launched };
        snprintf(op->name, sizeof op->name, "%s", name);
    }
    op->ranks = op->ranks < INT_MAX - count ? op->ranks + count : INT_MAX;
    if (launched < op->least) {
        op->least = launched;
        op->late = (struct ras_ranks){ 0 };
    }
    if (launched > op->most) {
        op->most = launched;
        op->early = (struct ras_ranks){ 0 };
    }
    if (launched == op->least)
        ranks_add(&op->late, count, rank);
    if (launched == op->most)
        ranks_add(&op->early, count, rank);
    return op;
}

void ras_op_name(struct ras_op *op, uint64_t launched, const struct ras_rank *rank)
{
    if (launched == op->least)
        ranks_add(&op->late, 0, rank);
    if (launched == op->most)
        ranks_add(&op->early, 0, rank);
}

void ras_comm_missing(struct ras_comm *comm, int count, const struct ras_rank *rank)
{
    ranks_add(&comm->missing, count, rank);
}

static void ranks_add(struct ras_ranks *ranks, int count, const struct ras_rank *rank)
{
    ranks->count = ranks->count < INT_MAX - count ? ranks->count + count : INT_MAX;
    if (rank != NULL && ranks->named < RAS_RANKS_MAX)
        ranks->rank[ranks->named++] = *rank;
}

bool ras_op_differs(const struct ras_op *op)
{
    return op->least < op->most;
}

void ras_reply_add(struct ras_reply *reply, const struct ras_comm *comm)
{
    bool is_wrong = comm->missing.count > 0;
    int  i;

    reply->comms++;
    reply->print = ras_print_add(reply->print, &comm->print, sizeof comm->print);
    for (i = 0; i < comm->ops && !is_wrong; i++)
        is_wrong = ras_op_differs(&comm->op[i]);
    if (!is_wrong)
        return;
    reply->wrong++;
    if (reply->listed == RAS_COMMS_MAX)
        return;
    if (reply->comm == NULL)
        reply->comm = xcalloc(RAS_COMMS_MAX, sizeof *reply->comm);
    reply->comm[reply->listed++] = *comm;
}

void ras_reply_each(struct ras_reply *reply,
                    void (*name)(const struct ras_comm *comm, struct ras_rank *rank, void *arg),
                    void *arg)
{
    int i, j;

    for (i = 0; i < reply->listed; i++) {
        struct ras_comm *comm = &reply->comm[i];

        for (j = 0; j < comm->ops; j++) {
            name_each(comm, &comm->op[j].late, name, arg);
            name_each(comm, &comm->op[j].early, name, arg);
        }
        name_each(comm, &comm->missing, name, arg);
    }
}

static void name_each(const struct ras_comm *comm, struct ras_ranks *ranks,
                      void (*name)(const struct ras_comm *comm, struct ras_rank *rank, void *arg),
                      void *arg)
{
    int i;

    for (i = 0; i < ranks->named; i++)
        name(comm, &ranks->rank[i], arg);
}

/* --- for the launcher --------------------------------------------------------- */

json_t *ras_reply_json(const struct ras_reply *reply)
{
    json_t *list = json_array();
    char    print[20];
    int     i;

    for (i = 0; i < reply->listed; i++)
        json_array_append_new(list, json_of_comm(&reply->comm[i]));
    snprintf(print, sizeof print, "%016" PRIx64, reply->print);
    return json_pack("{s:i, s:i, s:s, s:o}", "communicators", reply->comms, "wrong",
                     reply->wrong, "print", print, "list", list);
}

static json_t *json_of_comm(const struct ras_comm *comm)
{
    json_t *ops = json_array(), *body;
    char    print[20];
    int     i;

    for (i = 0; i < comm->ops; i++)
        if (ras_op_differs(&comm->op[i]))
            json_array_append_new(ops, json_of_op(&comm->op[i]));
    snprintf(print, sizeof print, "%016" PRIx64, comm->print);
    body = json_pack("{s:s, s:i, s:s, s:o}", "hash", comm->hash, "size", comm->size, "print",
                     print, "ops", ops);
    if (comm->missing.count > 0)
        json_object_set_new(body, "missing", json_of_ranks(&comm->missing, true));
    return body;
}

static json_t *json_of_op(const struct ras_op *op)
{
    return json_pack("{s:s, s:I, s:I, s:i, s:o, s:o}", "name", op->name, "least",
                     (json_int_t)op->least, "most", (json_int_t)op->most, "ranks", op->ranks,
                     "late", json_of_ranks(&op->late, false), "early",
                     json_of_ranks(&op->early, false));
}

static json_t *json_of_ranks(const struct ras_ranks *ranks, bool are_missing)
{
    json_t *list = json_array(), *one;
    int     i;

    for (i = 0; i < ranks->named; i++) {
        const struct ras_rank *rank = &ranks->rank[i];

        one = json_pack("{s:i, s:i, s:i, s:i, s:s}", "rank", rank->rank, "world", rank->world,
                        "pid", rank->pid, "gpu", rank->gpu, "host", rank->host);
        if (are_missing)
            json_object_set_new(one, "silent", json_boolean(rank->is_silent));
        json_array_append_new(list, one);
    }
    return json_pack("{s:i, s:o}", "count", ranks->count, "named", list);
}
