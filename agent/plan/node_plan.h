/* node_plan.h - what this node has to run: the PLAN frame and its blobs, read
 *
 * Only reading: nothing is looked at on the node yet (prepare.c does that).
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_NODE_PLAN_H
#define MUSTER_AGENT_NODE_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "err.h"
#include "plan/blob.h"
#include "strlist.h"

/* No deadline is longer than a day; it keeps nanoseconds far from overflow. */
#define NODE_PLAN_SECONDS_MAX 86400.0
/* All argument and environment lists together; many ranks may name one blob. */
#define NODE_PLAN_LISTS_MAX (512u << 20)

struct node_plan_rank {
    uint32_t       rank; /* global */
    int            local_rank, slot;
    struct strlist argv, env;
};

struct node_plan {
    char          *run_id;
    bool           is_exec;  /* one command a node instead of a job */
    bool           no_pidns; /* the ranks shall see all processes, as they do with is_exec */
    int            world_size, node_rank, node_count;
    double         grace_s, heartbeat_s, lease_s;
    double         hang_s; /* 0: nobody asks whether the ranks do anything */
    uint32_t       credit;
    char          *cwd;    /* NULL: stay */
    char          *script; /* that Python must be able to read; NULL: none */
    struct strlist env, env_default;
    char          *kvsname, *mapping;   /* NULL: no PMI */
    char          *bind_list;           /* NULL: no binding; "": all cores */
    char          *log_dir, *log_stamp; /* NULL: no files */
    bool           log_console;
    char          *venv_script, *pid_file; /* NULL: none */
    bool           omp_default;
    char          *socket, *token; /* how to come back in (reconnect_socket.h); NULL: not at all */
    double         reconnect_s;    /* ... and within which time */
    struct node_plan_rank *rank;
    int                    ranks;
};

/* -1 with what is missing or wrong; plan is then empty. */
int  node_plan_read(struct node_plan *plan, const json_t *body, const struct blobs *blobs,
                    struct error *err);
void node_plan_clear(struct node_plan *plan);

#endif
