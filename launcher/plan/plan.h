/* plan.h - which rank runs where, and with what environment
 *
 * Made without I/O before anything is started; --dry-run prints it, run/launch.c carries it
 * out. Only the address and port of the master and the interface of each node may be filled in
 * later, once the nodes have answered.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PLAN_H
#define MUSTER_PLAN_H

#include <jansson.h>

#include "options/options.h"
#include "plan/environ.h"
#include "plan/program.h"
#include "plan/select.h"

#define MASTER_PORT_DEFAULT 29500 /* of DeepSpeed and PyTorch, too */

struct plan_rank {
    int            rank, local_rank;
    int            slot; /* device number on the node; exec: 0 */
    struct strlist argv;
};

struct plan_node {
    char *host;  /* without addr, also the name to connect to */
    char *label; /* without the domain that all hosts share; NULL: host, see plan_label() */
    char *addr, *user;
    int   port;  /* 0: ssh config decides */
    const char *class; /* a constant; NULL: not known */
    double price, on_demand_price; /* of an hour; 0: not known */
    char *iface; /* fixed by the hostfile, or found by master.c; NULL: unknown */
    char *cwd;   /* NULL: the directory of the login */
    bool  is_local;  /* agent by fork instead of SSH */
    int   node_rank; /* in the world: its index in node[], except with --no_ssh */
    int  *slot;
    int   slots;
    struct strlist    device; /* CUDA names of slots 0, 1 ... by the hostfile; empty: numbers */
    struct strlist    env; /* collected environment, this host's own last */
    struct plan_rank *rank;
    int               ranks;
};

/* From what plans of one run are made; all of it is borrowed. */
struct plan_source {
    const struct options   *options;
    const struct selection *hosts; /* all that may take part */
    const struct program   *program;
    char *const            *here;
};

struct plan {
    const struct plan_source *source; /* NULL: there is only this plan */
    enum command      command;
    char             *run_id; /* runid.h */
    char             *stamp;  /* for file names: run_id, with "-1" appended at the second start */
    char             *script; /* must be readable on every node; NULL: none */
    struct plan_node *node;  /* those that this muster starts: all, or with --no_ssh one */
    size_t            nodes;
    int               node_count; /* of the world; more than nodes with --no_ssh */
    int               world_size; /* ranks on all node_count nodes */
    int               generation; /* starts of the ranks before this one */
    int               first_generation; /* of this muster: > 0 if it resumes a run */
    int               max_restarts;
    long              accumulation_steps; /* that keep the batch of a ds_config; 0: not known */
    char             *notice_stem; /* of MUSTER_NOTICE_FILE; nobody can guess it */
    char             *ckpt_marker; /* a glob on node 0; NULL: nobody knows of checkpoints */
    char             *master_addr; /* NULL until known */
    int               master_port; /* 0 until known */
    bool              one_gpu_per_rank;
};

/* What output, reports and tables call a node. */
static inline const char *plan_label(const struct plan_node *node)
{
    return node->label != NULL ? node->label : node->host;
}

/* No rank was started by this muster before. */
static inline bool plan_is_first(const struct plan *plan)
{
    return plan->generation == plan->first_generation;
}

/* Make the plan; it takes ownership of nothing. -1 with err. here: the environment, for program
 * and environ. */
int  plan_make(struct plan *plan, const struct options *options,
               const struct selection *selection, const struct program *program,
               char *const *here, struct error *err);
void plan_clear(struct plan *plan);

/* Into made: a plan of the same run and generation, for other hosts. -1 with err. */
int plan_make_like(struct plan *made, const struct plan *plan, const struct selection *hosts,
                   struct error *err);

/* All ranks are started once more: files of ranks get names of their own. */
void plan_next_generation(struct plan *plan);

/* True if host is this machine: "localhost", or this machine's
 * host name, without user, port or address of its own. */
bool plan_host_is_local(const struct host *host, const struct options *options);

/* plan_rank_env: what is set for one rank in addition to the env of its node: RANK, LOCAL_RANK
 * ... CUDA_VISIBLE_DEVICES, MUSTER_*; the agent sets PMI_*. plan_go_env: what comes with GO,
 * once every node has answered: MASTER_ADDR and MASTER_PORT; then, behind an empty string, what is
 * set unless the user sets it (NCCL_SOCKET_IFNAME, GLOO_SOCKET_IFNAME). */
void plan_rank_env(const struct plan *plan, size_t node, int index, struct strlist *env);
/* MUSTER_NOTICE_FILE of that node in this generation; caller frees. */
char *plan_notice_file(const struct plan *plan, size_t node);
void plan_go_env(const struct plan *plan, size_t node, struct strlist *env);

/* PMI_process_mapping, "(vector,(0,2,4))"; caller frees. */
char *plan_pmi_mapping(const struct plan *plan);

/* For people (stdout of --dry-run) and for programs (--json). Values of variables
 * may be secrets: with_values false leaves them out, as plan_print does without -v, when it also
 * prints nodes that differ in their names alone as one. */
void    plan_print(const struct plan *plan, FILE *out);
json_t *plan_json(const struct plan *plan, bool with_values);

#endif
