/* plan_env.c - the variables that describe the run to a rank
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "plan/plan.h"
#include "xalloc.h"

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
    } numbers[] = {
        { "RANK", rank->rank },
        { "LOCAL_RANK", rank->local_rank },
        { "WORLD_SIZE", plan->world_size },
        { "LOCAL_WORLD_SIZE", where->ranks },
        { "LOCAL_SIZE", where->ranks },
        { "NODE_RANK", where->node_rank },
        { "GROUP_RANK", where->node_rank },
        { "CROSS_RANK", where->node_rank },
        { "GROUP_WORLD_SIZE", plan->node_count },
        { "CROSS_SIZE", plan->node_count },
        { "TORCHELASTIC_RESTART_COUNT", plan->generation },
        { "TORCHELASTIC_MAX_RESTARTS", plan->max_restarts },
        { "HOROVOD_RANK", rank->rank },
        { "HOROVOD_SIZE", plan->world_size },
        { "HOROVOD_LOCAL_RANK", rank->local_rank },
        { "HOROVOD_LOCAL_SIZE", where->ranks },
        { "HOROVOD_CROSS_RANK", where->node_rank },
        { "HOROVOD_CROSS_SIZE", plan->node_count },
        { "OMPI_COMM_WORLD_RANK", rank->rank },
        { "OMPI_COMM_WORLD_SIZE", plan->world_size },
        { "OMPI_COMM_WORLD_LOCAL_RANK", rank->local_rank },
        { "OMPI_COMM_WORLD_LOCAL_SIZE", where->ranks },
        { "OMPI_COMM_WORLD_NODE_RANK", rank->local_rank },
    };
    char  *notice;
    size_t i;

    env_set(env, "MUSTER_RUN_ID", plan->run_id);
    env_setf(env, "MUSTER_GENERATION", "%d", plan->generation);
    if (plan->command == COMMAND_EXEC)
        return;
    for (i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        env_setf(env, numbers[i].name, "%d", numbers[i].value);
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

    if (plan->command == COMMAND_EXEC)
        return;
    env_set(env, "MASTER_ADDR", plan->master_addr);
    env_setf(env, "MASTER_PORT", "%d", plan->master_port);
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
