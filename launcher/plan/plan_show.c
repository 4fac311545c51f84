/* plan_show.c - a plan as text and as JSON
 *
 * Values of variables may be secrets: they are shown only with -v.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "elastic/hang_rule.h"
#include "frame.h"
#include "hostrange.h"
#include "log.h"
#include "plan/plan.h"
#include "sanitize.h"
#include "xalloc.h"

#define WIDTH 80

static void    print_world(const struct plan *plan, const struct plan *world, FILE *out);
static void    print_what(const struct plan *plan, const struct plan *world, FILE *out);
static void    print_input(const struct plan *plan, FILE *out);
static void    print_hang(const struct plan *plan, FILE *out);
static void    print_master(const struct plan *plan, FILE *out);
static bool    is_alike(const struct plan_node *a, const struct plan_node *b, bool is_exec);
static bool    is_same(const struct strlist *a, const struct strlist *b);
static void    print_where(const struct plan *plan, size_t first, size_t count, FILE *out);
static const char *shown_name(const struct plan_node *node);
static void    print_ranks(const struct plan *plan, size_t node, FILE *out);
static void    print_numbers(const struct plan *plan, size_t first, size_t count, FILE *out);
static void    print_env(const struct strlist *env, const struct strlist *known,
                         const char *indent, FILE *out);
static bool    is_in(const struct strlist *list, const char *entry);
static void    print_word(const char *word, FILE *out);
static json_t *json_roles(const struct plan *plan);
static json_t *json_node(const struct plan *plan, size_t index, bool with_values);
static json_t *json_words(const struct strlist *list);
static json_t *json_env(const struct strlist *env, bool with_values);
static json_t *json_word(const char *text);

void plan_print(const struct plan *plan, FILE *out)
{
    size_t i;

    if (plan->roles == 0) {
        print_world(plan, plan, out);
        return;
    }
    fprintf(out, "run %s: %d ranks in %zu roles\n", plan->run_id, plan->world_size, plan->roles);
    for (i = 0; i < plan->roles; i++) {
        fputc('\n', out);
        print_world(plan, &plan->role[i], out);
    }
}

static void print_world(const struct plan *plan, const struct plan *world, FILE *out)
{
    const struct plan_node *first = &plan->node[world->first_node];
    size_t                  end = world->first_node + world->nodes, i, next;

    if (world->world_size > 0)
        print_what(plan, world, out);
    print_input(world, out);
    print_hang(world, out);
    for (i = world->first_node; i < end; i = next) {
        const struct plan_node *node = &plan->node[i];

        for (next = i + 1; next < end; next++)
            if (!is_alike(node, &plan->node[next], plan->command == COMMAND_EXEC))
                break;
        if (world->world_size > 0)
            fputc('\n', out);
        print_where(plan, i, next - i, out);
        if (node->ranks == 0)
            continue;
        if (log_wants(LOG_INFO))
            print_ranks(plan, i, out);
        else
            print_numbers(plan, i, next - i, out);
        if (strcmp(node->rank[0].argv.item[0], first->rank[0].argv.item[0]) != 0) {
            fputs("  runs ", out);
            print_word(node->rank[0].argv.item[0], out);
            fputc('\n', out);
        }
        if (node > first)
            print_env(&node->env, &first->env, "  environment: ", out);
    }
}

/* Says what the nodes must pass, and what will show the steps of the ranks. */
static void print_hang(const struct plan *plan, FILE *out)
{
    const struct options *options = plan->options;

    if (plan->command != COMMAND_RUN)
        return;
    if (options->health_check != NULL) {
        fputs("health check on each node: ", out);
        print_word(options->health_check, out);
        fputc('\n', out);
    }
    if (options->progress != NULL) {
        fputs("steps: lines that match ", out);
        print_word(options->progress, out);
        fputc('\n', out);
    }
    if (options->hang_timeout_s == 0)
        return;
    if (options->hang_timeout_s == OPTION_AUTO)
        fprintf(out, "hang: nothing is done for %g s, or no step is reported for longer than the "
                     "steps before let expect (auto)\n", HANG_AUTO_IDLE_S);
    else
        fprintf(out, "hang: nothing is done, or no step is reported, for %g s\n",
                options->hang_timeout_s);
}

static void print_input(const struct plan *plan, FILE *out)
{
    const char *where = plan->has_terminal ? ", in a terminal" : "";

    if (plan->input_to == INPUT_TO_ALL)
        fprintf(out, "standard input: to all\n");
    else if (plan->input_to != INPUT_TO_NONE)
        fprintf(out, "standard input: to rank %d%s\n", plan->input_to, where);
}

/* Do the nodes differ only in names and numbers? With -v each node is shown. */
static bool is_alike(const struct plan_node *a, const struct plan_node *b, bool is_exec)
{
    const char *const texts[][2] = { { a->addr, b->addr },
                                     { a->user, b->user },
                                     { a->iface, b->iface },
                                     { a->cwd, b->cwd } };
    size_t            i;

    for (i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i][0] != texts[i][1] &&
            (texts[i][0] == NULL || texts[i][1] == NULL || strcmp(texts[i][0], texts[i][1]) != 0))
            return false;
    if (log_wants(LOG_INFO) || a->is_local != b->is_local || a->port != b->port ||
        a->ranks != b->ranks)
        return false;
    if (a->ranks == 0)
        return true;
    if (!is_exec && (a->slots != b->slots ||
                     memcmp(a->slot, b->slot, (size_t)a->slots * sizeof *a->slot) != 0))
        return false;
    return is_same(&a->device, &b->device) && is_same(&a->env, &b->env) &&
           strcmp(a->rank[0].argv.item[0], b->rank[0].argv.item[0]) == 0;
}

static bool is_same(const struct strlist *a, const struct strlist *b)
{
    size_t i;

    if (a->count != b->count)
        return false;
    for (i = 0; i < a->count; i++)
        if (strcmp(a->item[i], b->item[i]) != 0)
            return false;
    return true;
}

/* The roles after the first have its environment, but for what is shown. */
static void print_what(const struct plan *plan, const struct plan *world, FILE *out)
{
    static const struct strlist none;
    const struct plan_node     *first = &plan->node[world->first_node];
    bool                        is_exec = plan->command == COMMAND_EXEC;
    struct strlist              own = { 0 };
    size_t                      i;

    fprintf(out, "%s %s: %d %s%s on %d %s\n", world->role_name != NULL ? "role" : "run",
            world->role_name != NULL ? world->role_name : plan->run_id, world->world_size,
            is_exec ? "command" : "rank", world->world_size == 1 ? "" : "s", world->node_count,
            world->node_count == 1 ? "node" : "nodes");
    fputs(!is_exec && world->world_size > 1 ? "command of rank 0:" : "command:", out);
    for (i = 0; i < first->rank[0].argv.count; i++) {
        fputc(' ', out);
        print_word(first->rank[0].argv.item[i], out);
    }
    fputc('\n', out);
    if (world->first_node > 0) {
        print_env(&first->env, &plan->node[0].env, "environment: ", out);
    } else {
        fputs(first->env.count > 0 ? "environment:\n" : "", out);
        print_env(&first->env, &none, "  ", out);
        fputs("additional environment of each rank:\n", out);
        plan_rank_env(plan, 0, 0, &own);
        print_env(&own, &none, "  ", out);
        strlist_clear(&own);
    }
    if (!is_exec)
        print_master(world, out);
}

static void print_master(const struct plan *plan, FILE *out)
{
    fputs("master: ", out);
    if (plan->master_addr != NULL)
        print_word(plan->master_addr, out);
    else
        fputs("an address of node 0 that all nodes can reach", out);
    if (plan->master_port > 0)
        fprintf(out, ", port %d\n", plan->master_port);
    else
        fputs(", port 29500 or a free one\n", out);
    if (plan->uses_horovod)
        fputs("Horovod's ranks meet there, too, at a free port of node 0's agent\n", out);
}

/* Prints "te[1-4]: by SSH, user bob, port 2222, in /work". */
static void print_where(const struct plan *plan, size_t first, size_t count, FILE *out)
{
    const struct plan_node *node = &plan->node[first];
    struct strlist          names = { 0 };
    char                   *folded;
    size_t                  i;

    for (i = first; i < first + count; i++)
        strlist_add(&names, shown_name(&plan->node[i]));
    folded = count > 1 ? hostrange_fold(&names) : xstrdup(shown_name(node));
    strlist_clear(&names);
    fputs(folded, out);
    free(folded);
    fputs(node->is_local ? ": this machine" : ": by SSH", out);
    if (node->addr != NULL) {
        fputs(" to ", out);
        print_word(node->addr, out);
    }
    if (node->user != NULL) {
        fputs(", user ", out);
        print_word(node->user, out);
    }
    if (plan->by_sudo)
        fputs(", root by sudo", out);
    if (node->port > 0 && !node->is_local)
        fprintf(out, ", port %d", node->port);
    if (node->cwd != NULL && node->ranks > 0) {
        fputs(", in ", out);
        print_word(node->cwd, out);
    }
    if (node->iface != NULL) {
        fputs(", interface ", out);
        print_word(node->iface, out);
    }
    fputc('\n', out);
}

static const char *shown_name(const struct plan_node *node)
{
    return log_wants(LOG_INFO) ? node->host : plan_label(node);
}

static void print_ranks(const struct plan *plan, size_t node, FILE *out)
{
    const struct plan_node *where = &plan->node[node];
    struct strlist          env = { 0 };
    int                     i;

    for (i = 0; i < where->ranks && plan->command != COMMAND_EXEC; i++) {
        plan_rank_env(plan, node, i, &env);
        fprintf(out, "  rank %d, local rank %d, CUDA_VISIBLE_DEVICES=%s\n",
                where->rank[i].rank - where->first_rank, where->rank[i].local_rank,
                env_get(&env, "CUDA_VISIBLE_DEVICES"));
        strlist_clear(&env);
    }
}

/* Prints the ranks of equal nodes: "ranks 0-15, 8 per node, CUDA_VISIBLE_DEVICES=0,1,2,3" */
static void print_numbers(const struct plan *plan, size_t first, size_t count, FILE *out)
{
    const struct plan_node *node = &plan->node[first], *last = node + count - 1;
    struct strlist          env = { 0 };
    int                     from = node->rank[0].rank - node->first_rank;
    int                     to = last->rank[last->ranks - 1].rank - node->first_rank;

    if (plan->command == COMMAND_EXEC)
        return;
    if (to > from)
        fprintf(out, "  ranks %d-%d", from, to);
    else
        fprintf(out, "  rank %d", from);
    if (count > 1)
        fprintf(out, ", %d per node", node->ranks);
    plan_rank_env(plan, first, 0, &env);
    if (plan_world(plan, first)->one_gpu_per_rank && node->ranks > 1)
        fputs(", CUDA_VISIBLE_DEVICES has one GPU per rank\n", out);
    else
        fprintf(out, ", CUDA_VISIBLE_DEVICES=%s\n", env_get(&env, "CUDA_VISIBLE_DEVICES"));
    strlist_clear(&env);
}

/* Prints the entries that are not in known: several names per line, or with values one entry
 * per line. */
static void print_env(const struct strlist *env, const struct strlist *known, const char *indent,
                      FILE *out)
{
    bool   with_values = log_wants(LOG_INFO);
    int    column = 0;
    size_t i, length;
    char  *text;

    for (i = 0; i < env->count; i++) {
        if (is_in(known, env->item[i]))
            continue;
        length = with_values ? strlen(env->item[i]) : strcspn(env->item[i], "=");
        if (column > 0 && (with_values || column + 1 + (int)length > WIDTH)) {
            fputc('\n', out);
            column = 0;
        }
        text = sanitize_text(env->item[i], length);
        column += fprintf(out, "%s%s", column == 0 ? indent : " ", text);
        free(text);
    }
    if (column > 0)
        fputc('\n', out);
}

static bool is_in(const struct strlist *list, const char *entry)
{
    size_t i;

    for (i = 0; i < list->count; i++)
        if (strcmp(list->item[i], entry) == 0)
            return true;
    return false;
}

/* Prints word quoted for a shell, with control characters as text. */
static void print_word(const char *word, FILE *out)
{
    char       *text = sanitize_text(word, strlen(word));
    const char *at;

    if (*text != '\0' && strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                      "0123456789_@%+=:,./-") == strlen(text)) {
        fputs(text, out);
        free(text);
        return;
    }
    fputc('\'', out);
    for (at = text; *at != '\0'; at++) {
        if (*at == '\'')
            fputs("'\\''", out);
        else
            fputc(*at, out);
    }
    fputc('\'', out);
    free(text);
}

json_t *plan_json(const struct plan *plan, bool with_values)
{
    json_t *nodes = json_array(), *body;
    size_t  i;

    for (i = 0; i < plan->nodes; i++)
        json_array_append_new(nodes, json_node(plan, i, with_values));
    body = json_pack("{s:s, s:s, s:i, s:i, s:i, s:b, s:o, s:o, s:o, s:o}",
                     "run_id", plan->run_id, "mode", command_name(plan->command),
                     "world_size", plan->world_size, "node_count", plan->node_count,
                     "max_restarts", plan->max_restarts, "by_sudo", (int)plan->by_sudo,
                     "master_addr", json_word(plan->master_addr), "master_port",
                     plan->master_port > 0 ? json_integer(plan->master_port) : json_null(),
                     "command", json_words(&plan->node[0].rank[0].argv), "nodes", nodes);
    if (body == NULL)
        xalloc_die();
    if (plan->roles > 0)
        json_object_set_new(body, "roles", json_roles(plan));
    return body;
}

static json_t *json_roles(const struct plan *plan)
{
    json_t            *list = json_array();
    const struct plan *role;

    for (role = plan->role; role < plan->role + plan->roles; role++)
        json_array_append_new(
            list, json_pack("{s:s, s:i, s:i, s:o, s:o, s:o}", "name", role->role_name,
                            "world_size", role->world_size, "node_count", role->node_count,
                            "master_addr", json_word(role->master_addr), "master_port",
                            role->master_port > 0 ? json_integer(role->master_port) : json_null(),
                            "command", json_words(&plan->node[role->first_node].rank[0].argv)));
    return list;
}

static json_t *json_node(const struct plan *plan, size_t index, bool with_values)
{
    const struct plan_node *node = &plan->node[index];
    json_t                 *slots = json_array(), *ranks = json_array(), *locals = json_array();
    json_t                 *devices = json_array(), *body;
    const char             *role = plan_world(plan, index)->role_name;
    struct strlist          env = { 0 };
    int                     i;

    for (i = 0; i < node->slots; i++)
        json_array_append_new(slots, json_integer(node->slot[i]));
    for (i = 0; i < node->ranks; i++) {
        json_array_append_new(ranks, json_integer(node->rank[i].rank - node->first_rank));
        json_array_append_new(locals, json_integer(node->rank[i].local_rank));
        plan_rank_env(plan, index, i, &env);
        json_array_append_new(devices, json_word(env_get(&env, "CUDA_VISIBLE_DEVICES")));
        strlist_clear(&env);
    }
    body = json_pack("{s:o, s:i, s:b, s:o, s:o, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
                     "host", json_word(node->host), "node_rank", node->node_rank, "local",
                     (int)node->is_local, "addr", json_word(node->addr), "user",
                     json_word(node->user), "port", node->port, "interface",
                     json_word(node->iface), "cwd", json_word(node->cwd), "slots", slots,
                     "ranks", ranks, "local_ranks", locals, "cuda_visible_devices", devices,
                     "command", json_words(&node->rank[0].argv), "environment",
                     json_env(&node->env, with_values));
    if (role != NULL)
        json_object_set_new(body, "role", json_string(role));
    return body;
}

static json_t *json_words(const struct strlist *list)
{
    json_t *array = json_array();
    size_t  i;

    for (i = 0; i < list->count; i++)
        json_array_append_new(array, json_word(list->item[i]));
    return array;
}

/* Returns {"NAME":"value"}, or {"NAME":null} without values. */
static json_t *json_env(const struct strlist *env, bool with_values)
{
    json_t *object = json_object();
    size_t  i, length;
    char   *name;
    json_t *key;

    for (i = 0; i < env->count; i++) {
        length = strcspn(env->item[i], "=");
        name = xstrndup(env->item[i], length);
        key = json_word(name);
        json_object_set_new(object, json_string_value(key),
                            with_values ? json_word(env->item[i] + length + 1) : json_null());
        json_decref(key);
        free(name);
    }
    return object;
}

static json_t *json_word(const char *text)
{
    return text != NULL ? json_text(text, strlen(text)) : json_null();
}
