/* pmi.h - the process management interface of MPICH, version 1
 *
 * Every rank may use it on the descriptor PMI_FD: plain text, one request a line, one
 * answer a line (MPICH's src/pmi/src/pmi_v1.c is the client). This is the node's side: it
 * answers gets and keeps puts. When all ranks of the node wait in the barrier it passes
 * the puts on; when the launcher's union of all nodes comes back, the barrier is over. No
 * I/O here: lines in, lines out.
 *
 * Requests that begin with "cmd=shard_" are not of MPICH: they go to the launcher as they are
 * (launcher/shards/request.h), and the answers come back from there.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_PMI_H
#define MUSTER_AGENT_PMI_H

#include <stdbool.h>
#include <stddef.h>

#include <event2/buffer.h>
#include <jansson.h>

#include "err.h"

/* Told to the ranks by get_maxes, and enforced. */
#define PMI_KVSNAME_MAX 256
#define PMI_KEY_MAX     64
#define PMI_VALUE_MAX   1024
/* A request: those three, their names, and some spare. */
#define PMI_LINE_MAX 4096
/* Keys and values of the whole run; the launcher has the same bound. What this node's ranks
 * put is counted with the memory of an entry, so that many short ones cannot get around the
 * bound. */
#define PMI_STORE_MAX   (64u << 20)
#define PMI_ENTRY_BYTES 128
/* Requests of a rank about shards that the launcher has not answered: it reads no more of that rank
 * until it has. */
#define PMI_SHARDS_WAITING_MAX 64
/* Bytes of JSON in one frame, which holds 1 MiB. */
#define PMI_PART_MAX (960u << 10)

struct pmi_ops {
    /* All ranks of this node are in the barrier: send their puts (the callee owns them).
     * more: another part follows; the barrier is complete with the part without. */
    void (*barrier)(json_t *puts, bool more, void *arg);
    /* A rank wants the run to end; once for each. */
    void (*abort)(int local, int code, void *arg);
    /* A request about shards, without the end of its line. */
    void (*shard)(int local, const char *line, void *arg);
};

struct pmi;

struct pmi *pmi_new(const char *kvsname, const char *mapping, int world_size, int ranks,
                    const struct pmi_ops *ops, void *arg);
void        pmi_free(struct pmi *pmi);

/* Take whole lines of local rank number `local` out of in, and add answers to out. -1: it
 * does not speak PMI; close the connection. */
int  pmi_input(struct pmi *pmi, int local, struct evbuffer *in, struct evbuffer *out,
               struct error *err);

/* The union of puts, or a part of it, from the launcher. 1: the barrier is
 * over, call pmi_release() for every rank; 0: more parts follow; -1 with err. */
int  pmi_union(struct pmi *pmi, const json_t *body, struct error *err);
/* The answer that lets one rank leave the barrier; nothing if it was not in. */
void pmi_release(struct pmi *pmi, int local, struct evbuffer *out);

/* The launcher's answer to a request about shards, with the end of its line. Then pmi_input()
 * again: lines may wait in `in`. Ignored if none is awaited. */
void pmi_shard_answer(struct pmi *pmi, int local, const void *line, size_t size,
                      struct evbuffer *out);

/* Has any rank here asked anything of MPI's? */
bool pmi_was_asked(const struct pmi *pmi);
/* It began to use PMI and did not finish: it failed, whatever its status. */
bool pmi_is_unfinished(const struct pmi *pmi, int local);

#endif
