/* server.h - the PMIx server of this node: libpmix, and what it asks of its host
 *
 * libpmix answers the ranks in threads of its own. What it needs of the rest of the run it asks by
 * callbacks there, which become calls that the main thread takes from a pipe (PMIx 4, chapter 17).
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PMIX_SERVER_H
#define MUSTER_PMIX_SERVER_H

#include <stddef.h>

#include "err.h"
#include "job.h"
#include "strlist.h"

enum server_call_type {
    CALL_CONNECTED, /* a rank has begun, finished, or wants the run to end with `code` */
    CALL_FINALIZED,
    CALL_ABORT,
    CALL_FENCE,     /* all ranks of this node wait for the data of the others */
};

struct server_call {
    enum server_call_type type;
    int                   local; /* index of the rank on this node */
    int                   code;
    char                 *bytes; /* of a fence */
    size_t                size;
    void                 *reply; /* for server_answer() */
};

/* Starts the server, for one job in this process. dir: a directory of its own, which exists. -1
 * with err. */
int  server_start(const struct job *job, const char *dir, struct error *err);
void server_stop(void);

/* Adds what a rank's environment needs to find the server. -1 with err. */
int server_env(int local, struct strlist *env, struct error *err);

/* A descriptor that is readable when there is a call. */
int server_fd(void);
/* Returns the next call, or NULL. The caller answers it. */
struct server_call *server_take(void);
/* Answers the call and frees it. bytes: of a fence, allocated, and given away. */
void server_answer(struct server_call *call, char *bytes, size_t size);
/* Frees a call that gets no answer any more. */
void server_drop(struct server_call *call);

#endif
