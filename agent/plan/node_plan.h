/* node_plan.h - the plan for this node: PLAN and its blobs, as a struct
 *
 * This only parses and examines nothing on the node (prepare.c does that).
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

/* No time limit is longer than a day, which keeps nanoseconds far from overflow. */
#define NODE_PLAN_SECONDS_MAX 86400.0
/* Bytes of all argument and environment lists together: many ranks may refer to one blob. */
#define NODE_PLAN_LISTS_MAX (512u << 20)

/* Where a rank's standard input comes from. */
enum node_plan_input {
    INPUT_NOWHERE,  /* /dev/null */
    INPUT_PIPE,     /* what the launcher sends */
    INPUT_TERMINAL, /* the same, in a terminal, which takes the rank's output, too */
};

struct node_plan_rank {
    uint32_t       rank; /* in the world, as in the frames about it */
    int            local_rank, slot;
    enum node_plan_input input;
    struct strlist argv, env;
};

struct node_plan {
    char          *run_id;
    char          *launcher; /* "by pid 4711 of te0, 2026-11-20 07:30:00"; NULL: no --name */
    bool           is_exec;  /* one command per node instead of a job */
    bool           no_pidns; /* the ranks see all processes, as with is_exec */
    bool           allow_open_mpi; /* each rank may be a world of its own */
    bool           is_local; /* muster is on this machine, and sleeps when it sleeps */
    bool           stays;    /* when all is over, wait for another PLAN */
    int            world_size, node_rank, node_count;
    double         grace_s, heartbeat_s, lease_s;
    double         hang_s;    /* 0: no --hang-timeout */
    char          *progress;  /* --progress; NULL: the known forms of a step's line */
    double         replace_s; /* how long another run of this name may take to end; 0: it is
                                 not asked to end */
    uint32_t       credit;
    char          *cwd;    /* NULL: unchanged */
    bool           cwd_optional;  /* unchanged if it does not exist */
    bool           beside_agent;  /* argv begins with a path below the agent's directory */
    char          *script; /* a file that Python must be able to read; NULL: none */
    struct strlist env;
    char          *kvsname, *mapping;   /* NULL: no PMI */
    char          *pmix_name;           /* a namespace for PMIx; NULL: no PMIx */
    bool           wants_pmix;          /* though the program may not show that it needs it */
    char          *bind_list;           /* NULL: no binding; "": all cores */
    char          *log_dir, *log_stamp; /* NULL: no log files */
    bool           log_console;
    char          *venv_script, *pid_file; /* NULL: none */
    char          *health_check; /* a program that must find this node healthy; NULL: none */
    char          *spot;        /* --spot; NULL: off */
    char          *notice_file; /* in the ranks' environment: appears when a node will leave */
    bool           term_is_notice; /* SIGTERM to the agent: the ranks may save first */
    bool           flight_recorder; /* PyTorch's, for all ranks */
    int            stack_signal; /* lets Python show its stacks; 0: none */
    char          *ckpt_marker; /* a glob: a newer match is a checkpoint; NULL: not this node */
    bool           omp_default;
    char          *socket, *token; /* to reconnect (reconnect_socket.h); NULL: not possible */
    double         reconnect_s;    /* ... and how long that is possible */
    int            rows, columns; /* of a terminal */
    struct node_plan_rank *rank;
    int                    ranks;
};

/* -1 with err; then plan is empty. */
int  node_plan_read(struct node_plan *plan, const json_t *body, const struct blobs *blobs,
                    struct error *err);
void node_plan_clear(struct node_plan *plan);

#endif
