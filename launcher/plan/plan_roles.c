/* plan_roles.c - see plan_roles.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "plan/plan_roles.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frame.h"
#include "xalloc.h"

static int  take(struct selection *share, const struct options *options, size_t which,
                 const struct hostlist *hosts, const struct selection *all, char **taken,
                 struct error *err);
static const char *own(const char *filter, const char *of_run);
static char *slots_of(const struct selection *all, char **taken, const struct host *host,
                      const struct selected **from);
static int  take_of(struct selected *node, const struct selected *from, char *is_taken,
                    const struct selected *wanted, int most, bool per_node);
static int  where_is(const struct selected *node, int slot);
static int  join(struct plan *plan, struct error *err);

/* ---- slots ---- */

int plan_roles_divide(struct selection *share, const struct options *options,
                      const struct hostlist *hosts, const struct selection *all,
                      struct error *err)
{
    char **taken = xcalloc(all->count, sizeof *taken); /* by node of all: by slot */
    size_t i;
    int    rc = 0;

    for (i = 0; i < all->count; i++)
        taken[i] = xcalloc((size_t)all->node[i].slots + (size_t)all->node[i].more, 1);
    for (i = 0; i < options->roles && rc == 0; i++)
        rc = take(&share[i], options, i, hosts, all, taken, err);
    for (i = 0; i < all->count; i++)
        free(taken[i]);
    free(taken);
    return rc;
}

static int take(struct selection *share, const struct options *options, size_t which,
                const struct hostlist *hosts, const struct selection *all, char **taken,
                struct error *err)
{
    const struct options     *role = &options->role[which];
    const struct select_rules rules = { .include = own(role->include, options->include),
                                        .exclude = own(role->exclude, options->exclude),
                                        .num_nodes = -1, .num_gpus = -1 };
    const struct selected    *from;
    struct selection          wanted = { 0 };
    struct error              why;
    char                     *is_taken;
    size_t                    i;
    int                       left = role->role_ranks > 0 ? role->role_ranks : INT_MAX, ranks;

    if (select_slots(hosts, &rules, &wanted, &why) < 0)
        return err_set(err, "--role %s: %s", role->role_name, why.text);
    share->node = xcalloc(wanted.count, sizeof *share->node);
    for (i = 0; i < wanted.count && left > 0; i++) {
        is_taken = slots_of(all, taken, wanted.node[i].host, &from);
        ranks = from == NULL ? 0 : take_of(&share->node[share->count], from, is_taken,
                                           &wanted.node[i], left, role->per_node);
        share->count += ranks > 0;
        left -= ranks;
    }
    selection_clear(&wanted);
    if (left > 0 && role->role_ranks > 0)
        return err_set(err, "--role %s:%d: it gets only %d %s%s; name more, or ask for fewer",
                       role->role_name, role->role_ranks, role->role_ranks - left,
                       role->per_node ? "host" : "slot", role->role_ranks - left == 1 ? "" : "s");
    if (share->count == 0)
        return err_set(err, "--role %s: no slot is left for it; name more hosts", role->role_name);
    return 0;
}

/* The filter of the run was applied before. */
static const char *own(const char *filter, const char *of_run)
{
    return filter != NULL && of_run != NULL && strcmp(filter, of_run) == 0 ? NULL : filter;
}

static char *slots_of(const struct selection *all, char **taken, const struct host *host,
                      const struct selected **from)
{
    size_t i;

    *from = NULL;
    for (i = 0; i < all->count; i++)
        if (all->node[i].host == host) {
            *from = &all->node[i];
            return taken[i];
        }
    return NULL;
}

/* Gives node what the role wants of a host and no other has taken, for at most that many ranks.
 * Returns the number of ranks. */
static int take_of(struct selected *node, const struct selected *from, char *is_taken,
                   const struct selected *wanted, int most, bool per_node)
{
    int i, at, count = 0, *slot = xcalloc((size_t)wanted->slots, sizeof *slot);

    for (i = 0; i < wanted->slots && (per_node || count < most); i++) {
        at = where_is(from, wanted->slot[i]);
        if (at < 0 || is_taken[at])
            continue;
        is_taken[at] = 1;
        slot[count++] = wanted->slot[i];
    }
    if (count == 0) {
        free(slot);
        return 0;
    }
    *node = (struct selected){ .host = wanted->host, .slot = slot,
                               .slots = per_node ? 1 : count, .more = per_node ? count - 1 : 0 };
    return node->slots;
}

static int where_is(const struct selected *node, int slot)
{
    int i;

    for (i = 0; i < node->slots + node->more; i++)
        if (node->slot[i] == slot)
            return i;
    return -1;
}

/* ---- ranks ---- */

int plan_roles_make(struct plan *plan, const struct options *options,
                    const struct selection *share, const struct program *program,
                    char *const *here, struct error *err)
{
    struct error why;
    size_t       i;
    int          rc = 0;

    *plan = (struct plan){
        .command = options->command,
        .options = options,
        .role = xcalloc(options->roles, sizeof *plan->role),
        .max_restarts = options->max_restarts,
        .generation = options->first_generation,
        .first_generation = options->first_generation,
        .input_to = options->input_to,
    };
    for (i = 0; i < options->roles && rc == 0; i++) {
        rc = plan_make(&plan->role[i], &options->role[i], &share[i], &program[i], here, &why);
        if (rc == 0)
            plan->roles++;
        else
            err_set(err, "--role %s: %s", options->role[i].role_name, why.text);
    }
    if (rc == 0)
        rc = join(plan, err);
    if (rc < 0)
        plan_clear(plan);
    return rc;
}

/* Moves the nodes of all roles into the plan of the run. */
static int join(struct plan *plan, struct error *err)
{
    struct plan *role;
    size_t       i, n;
    int          k;

    plan->run_id = xstrdup(plan->options->resumed != NULL ? plan->options->resumed
                                                          : plan->role[0].run_id);
    plan_stamp(plan);
    for (i = 0; i < plan->roles; i++) {
        role = &plan->role[i];
        role->first_node = plan->nodes;
        role->first_rank = plan->world_size;
        plan->nodes += role->nodes;
        plan->node_count += role->node_count;
        plan->world_size += role->world_size;
        if (plan->world_size > FRAME_WORLD_MAX)
            return err_set(err, "the ranks of all roles exceed the limit of %d", FRAME_WORLD_MAX);
    }
    plan->node = xcalloc(plan->nodes, sizeof *plan->node);
    for (i = 0; i < plan->roles; i++) {
        role = &plan->role[i];
        memcpy(&plan->node[role->first_node], role->node, role->nodes * sizeof *role->node);
        free(role->node);
        role->node = NULL;
        free(role->run_id);
        role->run_id = xstrdup(plan->run_id);
        role->generation = role->first_generation = plan->generation;
        plan_stamp(role);
        for (n = role->first_node; n < role->first_node + role->nodes; n++) {
            plan->node[n].role = (int)i;
            plan->node[n].first_rank = role->first_rank;
            plan->node[n].node_rank = (int)n;
            for (k = 0; k < plan->node[n].ranks; k++)
                plan->node[n].rank[k].rank += role->first_rank;
        }
    }
    plan_add_labels(plan);
    return 0;
}
