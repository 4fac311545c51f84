/* plan_env.c - the variables that describe the run to a rank
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"
#include "xalloc.h"

static void set_numbers(const struct plan *plan, const struct plan_node *where,
                        const struct plan_rank *of, struct strlist *env);
static void set_roles(const struct plan *run, const struct plan *own, struct strlist *env);
static void set_node(const struct plan *plan, const struct plan_node *node, struct strlist *env);
static void set_masters(const struct plan *run, struct strlist *env);
static void set_defaults(const struct plan *plan, const char *iface, struct strlist *env);
static char *role_variable(const struct plan *role, const char *what);
static void set_devices(const struct plan *plan, const struct plan_node *node,
                        const struct plan_rank *rank, struct strlist *env);
static void print_device(FILE *out, const struct plan_node *node, int slot);
static FILE *text_open(char **text, size_t *size);

void plan_rank_env(const struct plan *run, size_t node, int index, struct strlist *env)
{
    const struct plan_rank *rank = &run->node[node].rank[index];
    const struct plan      *plan = plan_world(run, node);
    char                   *notice;

    env_set(env, "MUSTER_RUN_ID", plan->run_id);
    env_setf(env, "MUSTER_GENERATION", "%d", plan->generation);
    env_set(env, "MUSTER_HOST", run->node[node].host);
    if (run->terminal != NULL && plan_rank_has_input(run, rank->rank))
        env_set(env, "TERM", run->terminal);
    if (plan->command == COMMAND_EXEC)
        return;
    set_numbers(plan, &run->node[node], rank, env);
    set_roles(run, plan, env);
    if (plan->per_node)
        set_node(plan, &run->node[node], env);
    else
        env_set(env, "TORCHELASTIC_RUN_ID", plan->run_id);
    notice = plan_notice_file(run, node);
    env_set(env, "MUSTER_NOTICE_FILE", notice);
    free(notice);
    if (plan->accumulation_steps > 0)
        env_setf(env, "MUSTER_GRADIENT_ACCUMULATION_STEPS", "%ld", plan->accumulation_steps);
    if (plan->master_addr != NULL)
        env_set(env, "MASTER_ADDR", plan->master_addr);
    if (plan->master_port > 0)
        env_setf(env, "MASTER_PORT", "%d", plan->master_port);
    set_devices(plan, &run->node[node], rank, env);
}

/* Sets DeepSpeed's names, then torchrun's, which many trainers read, then horovodrun's and Open
 * MPI's for scripts. Of Open MPI's names only those are set that its library does not read. Horovod
 * hangs unless the local ranks of a node rise with its ranks, which DeepSpeed's need not. */
static void set_numbers(const struct plan *plan, const struct plan_node *where,
                        const struct plan_rank *of, struct strlist *env)
{
    const int rank = of->rank - plan->first_rank, local_rank = of->local_rank;
    const int index = of->rank - where->rank[0].rank; /* on its node */
    const int node_rank = where->node_rank - (int)plan->first_node;
    const struct {
        const char *name;
        int         value;
        bool        per_node; /* also with --per-node */
    } numbers[] = {
        { "RANK", rank, true },
        { "WORLD_SIZE", plan->world_size, true },
        { "NODE_RANK", node_rank, true },
        { "GROUP_RANK", node_rank, true },
        { "GROUP_WORLD_SIZE", plan->node_count, true },
        { "LOCAL_RANK", local_rank, false },
        { "LOCAL_WORLD_SIZE", where->ranks, false },
        { "LOCAL_SIZE", where->ranks, false },
        { "CROSS_RANK", node_rank, false },
        { "CROSS_SIZE", plan->node_count, false },
        { "TORCHELASTIC_RESTART_COUNT", plan->generation, false },
        { "TORCHELASTIC_MAX_RESTARTS", plan->max_restarts, false },
        { "HOROVOD_RANK", rank, false },
        { "HOROVOD_SIZE", plan->world_size, false },
        { "HOROVOD_LOCAL_RANK", index, false },
        { "HOROVOD_LOCAL_SIZE", where->ranks, false },
        { "HOROVOD_CROSS_RANK", of->cross_rank, false },
        { "HOROVOD_CROSS_SIZE", of->cross_size, false },
        { "OMPI_COMM_WORLD_RANK", rank, false },
        { "OMPI_COMM_WORLD_SIZE", plan->world_size, false },
        { "OMPI_COMM_WORLD_LOCAL_RANK", local_rank, false },
        { "OMPI_COMM_WORLD_LOCAL_SIZE", where->ranks, false },
        { "OMPI_COMM_WORLD_NODE_RANK", local_rank, false },
    };
    size_t i;

    for (i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (numbers[i].per_node || !plan->per_node)
            env_setf(env, numbers[i].name, "%d", numbers[i].value);
}

/* What programs that start processes themselves read: torchrun PET_*, llamafactory-cli and swift
 * NNODES and NPROC_PER_NODE, scripts with JAX the others. LOCAL_RANK and torchrun's own variables
 * would tell such a program that it is one of those processes. */
static void set_node(const struct plan *plan, const struct plan_node *node, struct strlist *env)
{
    const int node_rank = node->node_rank - (int)plan->first_node;

    env_setf(env, "NNODES", "%d", plan->node_count);
    env_setf(env, "NPROC_PER_NODE", "%d", node->slots);
    env_setf(env, "PET_NNODES", "%d", plan->node_count);
    env_setf(env, "PET_NODE_RANK", "%d", node_rank);
    env_setf(env, "PET_NPROC_PER_NODE", "%d", node->slots);
    env_setf(env, "JAX_NUM_PROCESSES", "%d", plan->node_count);
    env_setf(env, "JAX_PROCESS_ID", "%d", node_rank);
}

/* Who it is, and who else there is. */
static void set_roles(const struct plan *run, const struct plan *own, struct strlist *env)
{
    char  *text, *name;
    size_t size, i;
    FILE  *out;

    if (run->roles == 0)
        return;
    out = text_open(&text, &size);
    for (i = 0; i < run->roles; i++) {
        name = role_variable(&run->role[i], "SIZE");
        env_setf(env, name, "%d", run->role[i].world_size);
        free(name);
        fprintf(out, "%s%s", i > 0 ? " " : "", run->role[i].role_name);
    }
    fclose(out);
    env_set(env, "MUSTER_ROLES", text);
    env_set(env, "MUSTER_ROLE", own->role_name);
    free(text);
}

/* Where rank 0 of each role is, an address that all nodes of the run can reach. */
static void set_masters(const struct plan *run, struct strlist *env)
{
    char  *name;
    size_t i;

    for (i = 0; i < run->roles; i++) {
        name = role_variable(&run->role[i], "ADDR");
        env_set(env, name, run->role[i].master_addr);
        free(name);
        name = role_variable(&run->role[i], "PORT");
        env_setf(env, name, "%d", run->role[i].master_port);
        free(name);
    }
}

/* Returns "MUSTER_ROLE_TRAIN_ADDR"; the caller frees it. */
static char *role_variable(const struct plan *role, const char *what)
{
    char *name = xasprintf("MUSTER_ROLE_%s_%s", role->role_name, what), *at;

    for (at = name; *at != '\0'; at++)
        *at = *at == '-' ? '_' : (char)toupper((unsigned char)*at);
    return name;
}

/* The node is in the name because nodes may share a machine; the generation, because a file of
 * an earlier generation must not be mistaken for one of this generation. */
char *plan_notice_file(const struct plan *plan, size_t node)
{
    return xasprintf("%s.%d.%d", plan_world(plan, node)->notice_stem, plan->node[node].node_rank,
                     plan->generation);
}

void plan_go_env(const struct plan *run, size_t node, struct strlist *env)
{
    const struct plan *plan = plan_world(run, node);
    bool               is_v6;

    if (plan->command == COMMAND_EXEC)
        return;
    env_set(env, "MASTER_ADDR", plan->master_addr);
    env_setf(env, "MASTER_PORT", "%d", plan->master_port);
    if (plan->per_node) {
        env_set(env, "PET_MASTER_ADDR", plan->master_addr);
        env_setf(env, "PET_MASTER_PORT", "%d", plan->master_port);
        is_v6 = strchr(plan->master_addr, ':') != NULL;
        env_setf(env, "JAX_COORDINATOR_ADDRESS", "%s%s%s:%d", is_v6 ? "[" : "", plan->master_addr,
                 is_v6 ? "]" : "", plan->master_port);
    }
    set_masters(run, env);
    if (plan->horovod_port > 0) {
        env_set(env, "HOROVOD_GLOO_RENDEZVOUS_ADDR", plan->master_addr);
        env_setf(env, "HOROVOD_GLOO_RENDEZVOUS_PORT", "%d", plan->horovod_port);
        env_set(env, "HOROVOD_HOSTNAME", run->node[node].host);
    }
    set_defaults(plan, run->node[node].iface, env);
}

/* Adds an empty string, and what the ranks get unless the user has set it. "=" makes NCCL match
 * eth0 but not eth01. Gloo always matches the whole name; without one, Horovod's looks up the name
 * of this machine. */
static void set_defaults(const struct plan *plan, const char *iface, struct strlist *env)
{
    if (iface != NULL || plan->horovod_port > 0)
        strlist_add(env, "");
    if (iface != NULL) {
        env_setf(env, "NCCL_SOCKET_IFNAME", "=%s", iface);
        env_set(env, "GLOO_SOCKET_IFNAME", iface);
    }
    if (plan->horovod_port == 0)
        return;
    env_set(env, "HOROVOD_CONTROLLER", "gloo");
    env_set(env, "HOROVOD_CPU_OPERATIONS", "gloo");
    if (iface == NULL && strcmp(plan->master_addr, "127.0.0.1") == 0)
        iface = "lo";
    if (iface != NULL)
        env_set(env, "HOROVOD_GLOO_IFACE", iface);
}

char *plan_pmi_mapping(const struct plan *run, size_t node)
{
    const struct plan *plan = plan_world(run, node);
    size_t             begin = plan->first_node, end = begin + plan->nodes;
    char              *text;
    size_t             size, i, first;
    FILE              *out = text_open(&text, &size);

    fputs("(vector", out);
    for (first = begin; first < end; first = i) {
        for (i = first + 1; i < end; i++)
            if (run->node[i].ranks != run->node[first].ranks)
                break;
        fprintf(out, ",(%zu,%zu,%d)", first - begin, i - first, run->node[first].ranks);
    }
    fputc(')', out);
    fclose(out);
    return text;
}

static void set_devices(const struct plan *plan, const struct plan_node *node,
                        const struct plan_rank *rank, struct strlist *env)
{
    char  *text;
    size_t size;
    FILE  *out = text_open(&text, &size);
    int    i;

    if (plan->one_gpu_per_rank && !node->has_no_gpus)
        print_device(out, node, rank->slot);
    for (i = 0; i < node->slots && !plan->one_gpu_per_rank && !node->has_no_gpus; i++) {
        if (i > 0)
            fputc(',', out);
        print_device(out, node, node->slot[i]);
    }
    fclose(out);
    env_set(env, "CUDA_VISIBLE_DEVICES", text);
    free(text);
}

int plan_rank_gpu(const struct plan_node *node, const struct plan_rank *rank)
{
    const char *name = node->device.count > 0 ? node->device.item[rank->slot] : "";

    return isdigit((unsigned char)name[0]) ? atoi(name) : rank->slot;
}

static void print_device(FILE *out, const struct plan_node *node, int slot)
{
    if (node->device.count > 0)
        fputs(node->device.item[slot], out);
    else
        fprintf(out, "%d", slot);
}

static FILE *text_open(char **text, size_t *size)
{
    FILE *out = open_memstream(text, size);

    if (out == NULL)
        xalloc_die();
    return out;
}
