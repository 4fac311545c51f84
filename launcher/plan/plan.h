/* plan.h - who runs where, with what environment
 *
 * Made before anything is started and without I/O; --dry-run prints it,
 * launch.c carries it out. Only the master's address and port and each node's
 * interface may be filled in later, once the nodes have answered.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PLAN_H
#define MUSTER_PLAN_H

#include <jansson.h>

#include "options/options.h"
#include "plan/environ.h"
#include "plan/program.h"
#include "plan/select.h"

struct plan_rank {
    int            rank, local_rank;
    int            slot; /* device number on the node; exec: 0 */
    struct strlist argv;
};

struct plan_node {
    char *host;  /* label and, without addr, what is connected to */
    char *addr, *user;
    int   port;  /* 0: ssh config decides */
    char *iface; /* fixed by the hostfile, or found by master.c; NULL: unknown */
    char *cwd;   /* NULL: stay where the login leaves us */
    bool  is_local;  /* agent by fork instead of SSH */
    int   node_rank; /* in the world: its place in node[], but with --no_ssh */
    int  *slot;
    int   slots;
    struct strlist    device; /* CUDA names of slots 0, 1 ... by the hostfile; empty: numbers */
    struct strlist    env; /* collected environment, this host's own last */
    struct plan_rank *rank;
    int               ranks;
};

struct plan {
    enum command      command;
    char             *run_id; /* runid.h */
    char             *stamp;  /* for file names: run_id, and "-1" behind it at a second start */
    char             *script; /* must be readable on every node; NULL: none */
    struct plan_node *node;  /* those we start: all, with --no_ssh only our own */
    size_t            nodes;
    int               node_count; /* of the world; more than nodes with --no_ssh */
    int               world_size; /* ranks on all node_count nodes */
    int               generation; /* starts of the ranks before this one */
    char             *master_addr; /* NULL until known */
    int               master_port; /* 0 until known */
    bool              one_gpu_per_rank;
};

/* Put it together; takes nothing over. -1 with err. here: environment for
 * program and environ. */
int  plan_make(struct plan *plan, const struct options *options,
               const struct selection *selection, const struct program *program,
               char *const *here, struct error *err);
void plan_clear(struct plan *plan);

/* True when this host name means this machine: "localhost", or this machine's
 * host name, without user, port or address of its own. */
bool plan_host_is_local(const struct host *host, const struct options *options);

/* What is set for one rank on top of the node's env: RANK, LOCAL_RANK ...
 * CUDA_VISIBLE_DEVICES, MUSTER_*. PMI_* are the agent's. unset_only: names that give way to
 * the user's own (NCCL_SOCKET_IFNAME, GLOO_SOCKET_IFNAME). */
void plan_rank_env(const struct plan *plan, size_t node, int index, struct strlist *env);
void plan_node_env_default(const struct plan *plan, size_t node, struct strlist *env);

/* PMI_process_mapping, "(vector,(0,2,4))"; caller frees. */
char *plan_pmi_mapping(const struct plan *plan);

/* For people (stdout of --dry-run) and for programs (--json). Values of variables
 * may be secrets: with_values false leaves them out, as plan_print does without -v. */
void    plan_print(const struct plan *plan, FILE *out);
json_t *plan_json(const struct plan *plan, bool with_values);

#endif
