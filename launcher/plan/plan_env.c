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

static void set_node(const struct plan *plan, const struct plan_node *node, struct strlist *env);
static void set_devices(const struct plan *plan, const struct plan_node *node,
                        const struct plan_rank *rank, struct strlist *env);
static void print_device(FILE *out, const struct plan_node *node, int slot);
static FILE *text_open(char **text, size_t *size);

/* Sets DeepSpeed's names, then torchrun's, which many trainers read, then horovodrun's and Open
 * MPI's for scripts. Of Open MPI's names only those are set that its library does not read. */
void plan_rank_env(const struct plan *plan, size_t node, int index, struct strlist *env)
{
    const struct plan_node *where = &plan->node[node];
    const struct plan_rank *rank = &where->rank[index];
    const struct {
        const char *name;
        int         value;
        bool        per_node; /* also with --per-node */
    } numbers[] = {
        { "RANK", rank->rank, true },
        { "WORLD_SIZE", plan->world_size, true },
        { "NODE_RANK", where->node_rank, true },
        { "GROUP_RANK", where->node_rank, true },
        { "GROUP_WORLD_SIZE", plan->node_count, true },
        { "LOCAL_RANK", rank->local_rank, false },
        { "LOCAL_WORLD_SIZE", where->ranks, false },
        { "LOCAL_SIZE", where->ranks, false },
        { "CROSS_RANK", where->node_rank, false },
        { "CROSS_SIZE", plan->node_count, false },
        { "TORCHELASTIC_RESTART_COUNT", plan->generation, false },
        { "TORCHELASTIC_MAX_RESTARTS", plan->max_restarts, false },
        { "HOROVOD_RANK", rank->rank, false },
        { "HOROVOD_SIZE", plan->world_size, false },
        { "HOROVOD_LOCAL_RANK", rank->local_rank, false },
        { "HOROVOD_LOCAL_SIZE", where->ranks, false },
        { "HOROVOD_CROSS_RANK", where->node_rank, false },
        { "HOROVOD_CROSS_SIZE", plan->node_count, false },
        { "OMPI_COMM_WORLD_RANK", rank->rank, false },
        { "OMPI_COMM_WORLD_SIZE", plan->world_size, false },
        { "OMPI_COMM_WORLD_LOCAL_RANK", rank->local_rank, false },
        { "OMPI_COMM_WORLD_LOCAL_SIZE", where->ranks, false },
        { "OMPI_COMM_WORLD_NODE_RANK", rank->local_rank, false },
    };
    char  *notice;
    size_t i;

    env_set(env, "MUSTER_RUN_ID", plan->run_id);
    env_setf(env, "MUSTER_GENERATION", "%d", plan->generation);
    if (plan->terminal != NULL && plan_rank_has_input(plan, rank->rank))
        env_set(env, "TERM", plan->terminal);
    if (plan->command == COMMAND_EXEC)
        return;
    for (i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (numbers[i].per_node || !plan->per_node)
            env_setf(env, numbers[i].name, "%d", numbers[i].value);
    if (plan->per_node)
        set_node(plan, where, env);
    else
        env_set(env, "TORCHELASTIC_RUN_ID", plan->run_id);
    notice = plan_notice_file(plan, node);
    env_set(env, "MUSTER_NOTICE_FILE", notice);
    free(notice);
    if (plan->accumulation_steps > 0)
        env_setf(env, "MUSTER_GRADIENT_ACCUMULATION_STEPS", "%ld", plan->accumulation_steps);
    if (plan->master_addr != NULL)
        env_set(env, "MASTER_ADDR", plan->master_addr);
    if (plan->master_port > 0)
        env_setf(env, "MASTER_PORT", "%d", plan->master_port);
    set_devices(plan, where, rank, env);
}

/* What programs that start processes themselves read: torchrun PET_*, llamafactory-cli and swift
 * NNODES and NPROC_PER_NODE, scripts with JAX the others. LOCAL_RANK and torchrun's own variables
 * would tell such a program that it is one of those processes. */
static void set_node(const struct plan *plan, const struct plan_node *node, struct strlist *env)
{
    env_setf(env, "NNODES", "%d", plan->node_count);
    env_setf(env, "NPROC_PER_NODE", "%d", node->slots);
    env_setf(env, "PET_NNODES", "%d", plan->node_count);
    env_setf(env, "PET_NODE_RANK", "%d", node->node_rank);
    env_setf(env, "PET_NPROC_PER_NODE", "%d", node->slots);
    env_setf(env, "JAX_NUM_PROCESSES", "%d", plan->node_count);
    env_setf(env, "JAX_PROCESS_ID", "%d", node->node_rank);
}

/* The node is in the name because nodes may share a machine; the generation, because a file of
 * an earlier generation must not be mistaken for one of this generation. */
char *plan_notice_file(const struct plan *plan, size_t node)
{
    return xasprintf("%s.%d.%d", plan->notice_stem, plan->node[node].node_rank,
                     plan->generation);
}

/* "=" makes NCCL match eth0 but not eth01. Gloo always matches the whole name. */
void plan_go_env(const struct plan *plan, size_t node, struct strlist *env)
{
    const char *iface = plan->node[node].iface;
    bool        is_v6;

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
    if (iface == NULL)
        return;
    strlist_add(env, "");
    env_setf(env, "NCCL_SOCKET_IFNAME", "=%s", iface);
    env_set(env, "GLOO_SOCKET_IFNAME", iface);
}

char *plan_pmi_mapping(const struct plan *plan)
{
    char  *text;
    size_t size, i, first;
    FILE  *out = text_open(&text, &size);

    fputs("(vector", out);
    for (first = 0; first < plan->nodes; first = i) {
        for (i = first + 1; i < plan->nodes; i++)
            if (plan->node[i].ranks != plan->node[first].ranks)
                break;
        fprintf(out, ",(%zu,%zu,%d)", first, i - first, plan->node[first].ranks);
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
