/* plan.h - which rank runs where, and with what environment
 *
 * The plan is made without I/O before any process starts. --dry-run prints it, course/launch.c
 * carries it out. Only the address and port of the master and the interface of each node may be
 * filled in later, when the nodes have answered.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PLAN_H
#define MUSTER_PLAN_H

#include <jansson.h>

#include "options/options.h"
#include "plan/environ.h"
#include "plan/program.h"
#include "plan/select.h"

#define MASTER_PORT_DEFAULT 29500 /* as in DeepSpeed and PyTorch */
#define PLAN_RANK_NAME      64

struct plan_rank {
    int            rank, local_rank;
    int            cross_rank; /* Horovod's: nodes before this one that have as many ranks */
    int            cross_size; /* ... and all nodes of the world that have */
    int            slot; /* device number on the node; exec: 0 */
    struct strlist argv;
};

struct plan_node {
    int   role;  /* which world of the run it belongs to; 0 if there is one */
    int   first_rank; /* the number in the run of the first rank of that world */
    char *host;  /* if addr is NULL, also the name to connect to */
    char *label; /* without the domain that all hosts share; NULL: host, see plan_label() */
    char *addr, *user;
    int   port;  /* 0: ssh config decides */
    const char *class; /* a constant; NULL: unknown */
    double price, on_demand_price; /* per hour; 0: unknown */
    char *iface; /* from the hostfile, or found by master.c; NULL: unknown */
    char *cwd;   /* NULL: the login directory */
    char *python; /* from the hostfile; NULL: the run's */
    bool  is_local;  /* the agent is forked, not started over SSH */
    int   node_rank; /* in the run: its index in node[], except with --no_ssh */
    int  *slot;
    int   slots;
    struct strlist    device; /* CUDA names of slots 0, 1 ...; empty: numbers, unless has_no_gpus */
    bool              has_no_gpus; /* CUDA_VISIBLE_DEVICES of the host names none */
    struct strlist    env; /* collected environment, the host's own variables last */
    struct plan_rank *rank;
    int               ranks;
};

/* The inputs from which the plans of one run are made. All are borrowed. */
struct plan_source {
    const struct options   *options;
    const struct selection *hosts; /* all hosts that may take part */
    const struct program   *program;
    char *const            *here;
};

/* A world, or with roles several in one run. role[] has one plan for each then, without nodes: all
 * nodes are here, one per role and host, those of the first role first, and so are the ranks. Ask
 * plan_world() for what the roles differ in. */
struct plan {
    const struct plan_source *source; /* NULL: there is only this plan */
    struct plan      *role;
    size_t            roles;      /* 0: one world */
    char             *role_name;  /* in role[]: its name; else NULL */
    size_t            first_node; /* in role[]: in node[] of the plan that has it; else 0 */
    int               first_rank; /* the same for its ranks */
    const struct options *options; /* borrowed */
    enum command      command;
    char             *run_id; /* runid.h */
    char             *stamp;  /* for file names: run_id, "-ROLE", from the second start "-1" ... */
    char             *script; /* must be readable on every node; NULL: none */
    struct plan_node *node;  /* the nodes that this muster starts: all, or with --no_ssh one */
    size_t            nodes;
    int               node_count; /* nodes in the world; with --no_ssh greater than nodes; with
                                     roles: in all worlds */
    int               world_size; /* ranks on all node_count nodes */
    int               generation; /* how often the ranks have been started before */
    int               first_generation; /* of this muster; > 0: it resumes a run */
    int               max_restarts;
    long              accumulation_steps; /* that keep ds_config's batch size; 0: unknown */
    char             *notice_stem; /* beginning of MUSTER_NOTICE_FILE; unguessable */
    char             *pmix_name;   /* beginning of PMIX_NAMESPACE; unguessable */
    char             *ckpt_marker; /* a glob on node 0; NULL: checkpoints are not observed */
    char             *master_addr; /* NULL until known */
    int               master_port; /* 0 until known */
    int               horovod_port; /* where hvd.init() finds the other ranks; 0 until known */
    bool              uses_horovod;
    bool              one_gpu_per_rank;
    bool              beside_agent; /* argv begins with a path below the agent's directory */
    bool              per_node; /* each node has one rank, which sees all its GPUs */
    bool              by_sudo;  /* the agents are root */
    int               input_to; /* a rank, INPUT_TO_ALL or INPUT_TO_NONE */
    bool              has_terminal; /* that rank has one */
    char             *terminal; /* TERM there; NULL: unknown */
};

/* Returns the world of a node: the plan itself, or the one of its role. */
static inline struct plan *plan_world(const struct plan *plan, size_t node)
{
    return plan->roles > 0 ? &plan->role[plan->node[node].role] : (struct plan *)plan;
}

/* The worlds of a run are its roles, in their order, or the plan alone. */
static inline size_t plan_worlds(const struct plan *plan)
{
    return plan->roles > 0 ? plan->roles : 1;
}

static inline struct plan *plan_world_at(const struct plan *plan, size_t index)
{
    return plan->roles > 0 ? &plan->role[index] : (struct plan *)plan;
}

/* Returns 0 for the plan itself. */
static inline size_t plan_world_index(const struct plan *plan, const struct plan *world)
{
    return world == plan ? 0 : (size_t)(world - plan->role);
}

/* Returns the world of a rank of the run. */
const struct plan *plan_world_of_rank(const struct plan *plan, int rank);
/* Returns "rank 3", or with roles "rank 3 of train", for messages; rank is its number in the
 * run. */
const char *plan_rank_name(const struct plan *plan, int rank, char name[PLAN_RANK_NAME]);

/* Returns the name of a node in output, reports and tables. */
static inline const char *plan_label(const struct plan_node *node)
{
    return node->label != NULL ? node->label : node->host;
}

/* Is this the first start of the ranks by this muster? */
static inline bool plan_is_first(const struct plan *plan)
{
    return plan->generation == plan->first_generation;
}

/* Makes the plan, which takes ownership of nothing. Returns -1 with err. here: the environment,
 * for program and environ. */
int  plan_make(struct plan *plan, const struct options *options,
               const struct selection *selection, const struct program *program,
               char *const *here, struct error *err);
void plan_clear(struct plan *plan);

/* Makes a plan of the same run and generation for other hosts. Returns -1 with err. */
int plan_make_like(struct plan *made, const struct plan *plan, const struct selection *hosts,
                   struct error *err);

/* Sets stamp from the run, the role and the generation. */
void plan_stamp(struct plan *plan);
/* Gives each node a label: its name without the domain that all share. */
void plan_add_labels(struct plan *plan);

/* Warns of MASTER_ADDR or MASTER_PORT in the environment, here or in what goes to the nodes: the
 * ranks get others. */
void plan_tell_masters(const struct plan *plan, const struct options *options,
                       char *const *here);

/* Before the first start: is there a rank that --stdin and --pty name? Later worlds may lack it.
 * -1 with err. */
int plan_check_input(const struct plan *plan, const struct options *options, struct error *err);

/* Does the rank get what comes on standard input? */
static inline bool plan_rank_has_input(const struct plan *plan, int rank)
{
    return plan->input_to == INPUT_TO_ALL || plan->input_to == rank;
}

/* Prepares the plan, or a role of it, for another start of its ranks, whose files get new
 * names. */
void plan_next_generation(struct plan *plan);
/* Returns the largest number that a generation of the run, or of a role, has. */
int plan_latest_generation(const struct plan *plan);

/* Is host this machine: "localhost" or this machine's host name, without its own user, port or
 * address? */
bool plan_host_is_local(const struct host *host, const struct options *options);

/* plan_rank_env() adds to env the variables that one rank has beyond its node's: RANK,
 * LOCAL_RANK ... CUDA_VISIBLE_DEVICES, MUSTER_*. The agent sets PMI_*. plan_go_env() adds the
 * variables that GO brings when every node has answered: MASTER_ADDR and MASTER_PORT; then,
 * after an empty string, the ones that apply unless the user sets them (NCCL_SOCKET_IFNAME,
 * GLOO_SOCKET_IFNAME). With Horovod: and where its ranks meet, and that they do so by Gloo. */
void plan_rank_env(const struct plan *run, size_t node, int index, struct strlist *env);
/* Returns the number of the rank's GPU on the node, as far as it is known, for its cores. */
int plan_rank_gpu(const struct plan_node *node, const struct plan_rank *rank);
/* Returns MUSTER_NOTICE_FILE of a node in this generation; the caller frees it. */
char *plan_notice_file(const struct plan *plan, size_t node);
void plan_go_env(const struct plan *run, size_t node, struct strlist *env);

/* Returns PMI_process_mapping of the node's world, "(vector,(0,2,4))"; the caller frees it. */
char *plan_pmi_mapping(const struct plan *run, size_t node);

/* Show the plan to people (stdout of --dry-run) and to programs (--json). Values of variables
 * may be secrets: plan_json() leaves them out if with_values is false, plan_print() without -v.
 * Without -v plan_print() also prints nodes that differ only in name as one. */
void    plan_print(const struct plan *plan, FILE *out);
json_t *plan_json(const struct plan *plan, bool with_values);

#endif
