/* ras_reply.h - what NCCL's RAS says of the communicators of a job; pure
 *
 * NCCL answers in JSON from 2.28.7 on, and in text before. A text tells counts only of the
 * communicators in which they differ, and before 2.26 for all collectives together. Any
 * process of the user may have the port: all of an answer is limited, and its names are made
 * harmless. An answer of 8 MiB, of 8192 ranks in two communicators, takes 0.2 s to read.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_RAS_REPLY_H
#define MUSTER_AGENT_RAS_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "err.h"

#define RAS_REPLY_MAX  (16u << 20) /* bytes of an answer */
#define RAS_VALUES_MAX (1u << 20)  /* values in its JSON: 16 MiB of NCCL's own have fewer */
#define RAS_COMMS_MAX  32          /* communicators that are described; the rest is counted */
#define RAS_OPS_MAX    8           /* collectives of each; NCCL counts five */
#define RAS_RANKS_MAX  8           /* ranks that are named for one count, or as missing */
#define RAS_NAME_SIZE  24
#define RAS_HASH_SIZE  20
#define RAS_HOST_SIZE  48

/* A rank of a communicator. */
struct ras_rank {
    int  rank;                /* its number there */
    int  world;               /* its number in the world; -1: not known */
    int  pid, gpu;            /* as NCCL knows them; -1: not known */
    char host[RAS_HOST_SIZE]; /* an address; "": not known */
    bool is_silent;           /* if missing: its process does not answer the others */
};

struct ras_ranks {
    int             count; /* may be more than are named */
    int             named;
    struct ras_rank rank[RAS_RANKS_MAX];
};

/* How often ranks have launched a collective. */
struct ras_op {
    char             name[RAS_NAME_SIZE]; /* "AllReduce"; "": the answer does not say which */
    uint64_t         least, most;
    struct ras_ranks late, early; /* that have launched it least often, and most often */
    int              ranks;       /* all of which the answer has a number */
};

struct ras_comm {
    char             hash[RAS_HASH_SIZE]; /* "0x1c2b" */
    int              size;                /* 0: not known */
    uint64_t         print; /* of all its counts: differs when one of them has changed */
    int              ops;
    struct ras_op    op[RAS_OPS_MAX];
    struct ras_ranks missing;
};

struct ras_reply {
    int              comms;  /* all communicators */
    int              wrong;  /* those in which counts differ or ranks are missing */
    uint64_t         print;  /* of all */
    struct ras_comm *comm;   /* the first of the wrong ones */
    int              listed; /* at most RAS_COMMS_MAX */
};

/* Reads an answer, whichever form it has. world_size: a communicator of that size has the world's
 * ranks. The caller clears it. -1 with err, and nothing to clear: it is not whole, or not of
 * NCCL. */
int  ras_reply_read(struct ras_reply *reply, int world_size, const char *bytes, size_t size,
                    struct error *err);
void ras_reply_clear(struct ras_reply *reply);

/* Returns it as the body of COLLECTIVES, a new object. */
json_t *ras_reply_json(const struct ras_reply *reply);

/* For ras_json.c and ras_text.c, which read the two forms. */
int ras_json_read(struct ras_reply *reply, int world_size, const char *bytes, size_t size,
                  struct error *err);
int ras_text_read(struct ras_reply *reply, const char *bytes, size_t size, struct error *err);

/* Adds a number or bytes to a print. */
uint64_t ras_print_add(uint64_t print, const void *bytes, size_t size);

/* Copies a name, of which odd characters become '?'. */
void ras_name_copy(char *to, size_t size, const char *from, size_t length);

/* Notes that `count` ranks have launched the collective that often; rank names one of them, or is
 * NULL. Returns the collective; NULL: there are too many. */
struct ras_op *ras_comm_count(struct ras_comm *comm, const char *name, uint64_t launched,
                              int count, const struct ras_rank *rank);
/* Names a rank that ras_comm_count() has counted before. */
void ras_op_name(struct ras_op *op, uint64_t launched, const struct ras_rank *rank);
/* Notes that `count` ranks are missing; rank names one of them, or is NULL. */
void ras_comm_missing(struct ras_comm *comm, int count, const struct ras_rank *rank);
/* Do the counts of a collective differ? */
bool ras_op_differs(const struct ras_op *op);
/* The communicator is complete: keeps it, if something is wrong with it. */
void ras_reply_add(struct ras_reply *reply, const struct ras_comm *comm);
/* Calls name for each rank that is named in communicators which are kept. */
void ras_reply_each(struct ras_reply *reply,
                    void (*name)(const struct ras_comm *comm, struct ras_rank *rank, void *arg),
                    void *arg);

#endif
