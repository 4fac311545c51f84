/* pmi.h - the process management interface of MPICH, version 1
 *
 * Every rank may use it on the descriptor PMI_FD: plain text, one request per line, one answer
 * per line (MPICH's src/pmi/src/pmi_v1.c is the client). This is the node's side: it answers
 * gets and stores puts. When all ranks of the node wait in the barrier, it passes the puts on.
 * When the launcher's union of all nodes comes back, the barrier is over. This module does no
 * I/O: lines in, lines out.
 *
 * Requests that begin with "cmd=shard_" are not part of MPICH: they go to the launcher
 * unchanged (launcher/shards/request.h), and the answers come back from there. "cmd=step" is not
 * part of it either, and has no answer.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_PMI_H
#define MUSTER_AGENT_PMI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <event2/buffer.h>
#include <jansson.h>

#include "err.h"

/* Limits that get_maxes reports to the ranks, and that are enforced. */
#define PMI_KVSNAME_MAX 256
#define PMI_KEY_MAX     64
#define PMI_VALUE_MAX   1024
/* A request: these three, their names, and some spare. */
#define PMI_LINE_MAX 4096
/* Limit for the keys and values of the whole run; the launcher has the same limit.
 * Puts of this node's ranks also count the memory of an entry, so that many short
 * ones cannot evade the limit. */
#define PMI_STORE_MAX   (64u << 20)
#define PMI_ENTRY_BYTES 128
/* Requests of one rank about shards that the launcher has not answered: at this limit we stop
 * reading from that rank until it has. */
#define PMI_SHARDS_WAITING_MAX 64
/* Bytes of JSON in one frame, which holds 1 MiB. */
#define PMI_PART_MAX (960u << 10)

struct pmi_ops {
    /* All ranks of this node are in the barrier: sends their puts (the callee owns them). more:
     * another part follows; the part without `more` completes the barrier. */
    void (*barrier)(json_t *puts, bool more, void *arg);
    /* A rank wants the run to end; called once per rank. */
    void (*abort)(int local, int code, void *arg);
    /* A request about shards, without the end of its line. */
    void (*shard)(int local, const char *line, void *arg);
    /* A rank has done a step of its training. last: the one after which there are no more; -1:
     * unknown. */
    void (*step)(int local, int64_t step, int64_t last, void *arg);
};

struct pmi;

struct pmi *pmi_new(const char *kvsname, const char *mapping, int world_size, int ranks,
                    const struct pmi_ops *ops, void *arg);
void        pmi_free(struct pmi *pmi);

/* Takes complete lines of local rank number `local` out of in, and adds answers to out. -1: the
 * rank does not speak PMI; close the connection. */
int  pmi_input(struct pmi *pmi, int local, struct evbuffer *in, struct evbuffer *out,
               struct error *err);

/* Takes the union of puts, or a part of it, from the launcher. 1: the barrier is over, call
 * pmi_release() for every rank; 0: more parts follow; -1 with err. */
int  pmi_union(struct pmi *pmi, const json_t *body, struct error *err);
/* Adds the answer that lets one rank leave the barrier; nothing if the
 * rank is not in the barrier. */
void pmi_release(struct pmi *pmi, int local, struct evbuffer *out);

/* Passes on the launcher's answer to a request about shards, with the end of its line. Call
 * pmi_input() afterwards: lines may wait in `in`. Ignored if no answer is pending. */
void pmi_shard_answer(struct pmi *pmi, int local, const void *line, size_t size,
                      struct evbuffer *out);

/* Has any rank here sent an MPI request? */
bool pmi_was_asked(const struct pmi *pmi);
/* True if the rank began to use PMI and did not finish: it failed, whatever its exit status. */
bool pmi_is_unfinished(const struct pmi *pmi, int local);

#endif
