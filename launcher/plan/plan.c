/* plan.c - see plan.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "plan/plan.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "plan/cuda_devices.h"
#include "plan/domain.h"
#include "frame.h"
#include "log.h"
#include "plan/environ.h"
#include "plan/horovod.h"
#include "xalloc.h"


/* Data that all nodes share. */
struct common {
    const struct options   *options;
    const struct selection *selection;
    const struct program   *program;
    char *const            *here;
    char                   *cwd; /* NULL: the login directory */
    struct strlist          env;
    bool                    local_only;
    int                     cross_size[FRAME_RANKS_MAX]; /* [i]: nodes with more than i ranks */
};

static void  node_clear(struct plan_node *node);
static bool  is_same_host(const char *a, const char *b);
static char *run_id_make(const char *name);
static char *secret_text(const char *begin);
static void  notice_make(struct plan *plan, const struct options *options,
                         const struct program *program);
static char *cwd_of_run(const struct options *options);
static int   check_alone(struct plan *plan, const struct options *options,
                         const struct host *first, struct error *err);
static int   add_node(struct plan *plan, const struct selected *selected, struct common *common,
                      struct error *err);
static void  count_across(struct plan *plan, const struct common *common);
static int   check_ranks(const struct host *host, int ranks, int world_size,
                         const char *hostfile, struct error *err);
static char *dup_or_null(const char *text);
static void  add_ranks(struct plan_node *node, int first, const struct host *host,
                       const struct common *common);
static void  make_argv(struct plan_rank *rank, const struct host *host,
                       const struct program *program);
static void  fill_in(const struct plan_node *node, struct strlist *words);
static char *fill_in_word(const char *word, const char *host, const char *user, int number);
static int   name_devices(struct plan_node *node, const struct host *host, bool per_node,
                          struct error *err);
static int   collect_env(struct plan_node *node, const struct host *host,
                         const struct common *common, struct error *err);
static int   check_env(const struct plan *plan, const struct options *options,
                       struct error *err);

int plan_make(struct plan *plan, const struct options *options,
              const struct selection *selection, const struct program *program,
              char *const *here, struct error *err)
{
    struct common common = { .options = options, .selection = selection, .program = program,
                             .here = here, .cwd = cwd_of_run(options), .local_only = true };
    size_t        i;
    int           rc = -1;

    *plan = (struct plan){
        .command = options->command,
        .options = options,
        .role_name = dup_or_null(options->role_name),
        .node = xcalloc(selection->count, sizeof *plan->node),
        .node_count = (int)selection->count,
        .script = program->script != NULL ? xstrdup(program->script) : NULL,
        .master_addr = options->master_addr != NULL ? xstrdup(options->master_addr) : NULL,
        .master_port = options->master_port,
        .one_gpu_per_rank = options->one_gpu_per_rank,
        .per_node = options->per_node,
        .beside_agent = program->sent != NULL,
        .by_sudo = options->sudo || options->command == COMMAND_BOOTSTRAP,
        .input_to = options->input_to,
        .has_terminal = options->pty,
        .terminal = options->pty ? dup_or_null(environ_value(here, "TERM")) : NULL,
        .max_restarts = options->max_restarts,
        .generation = options->first_generation,
        .first_generation = options->first_generation,
    };
    plan->run_id = options->resumed != NULL ? xstrdup(options->resumed)
                                            : run_id_make(options->name);
    plan_stamp(plan);
    notice_make(plan, options, program);
    plan->pmix_name = secret_text("");
    for (i = 0; i < selection->count; i++)
        common.local_only = common.local_only &&
                            plan_host_is_local(selection->node[i].host, options);
    if (options->no_ssh && check_alone(plan, options, selection->node[0].host, err) < 0)
        goto out;
    if (environ_collect(options, here, common.cwd, common.local_only, &common.env, err) < 0)
        goto out;
    for (i = 0; i < selection->count; i++)
        if (add_node(plan, &selection->node[i], &common, err) < 0)
            goto out;
    count_across(plan, &common);
    plan_add_labels(plan);
    plan->uses_horovod = horovod_is_used(options, program->imports_horovod, &plan->node[0].env);
    rc = check_env(plan, options, err);
out:
    strlist_clear(&common.env);
    free(common.cwd);
    if (rc < 0)
        plan_clear(plan);
    return rc;
}

int plan_make_like(struct plan *made, const struct plan *plan, const struct selection *hosts,
                   struct error *err)
{
    const struct plan_source *source = plan->source;

    if (plan_make(made, source->options, hosts, source->program, source->here, err) < 0)
        return -1;
    free(made->run_id);
    free(made->stamp);
    made->source = source;
    made->run_id = xstrdup(plan->run_id);
    made->stamp = xstrdup(plan->stamp);
    made->generation = plan->generation;
    made->master_port = plan->master_port;
    return 0;
}

void plan_tell_masters(const struct plan *plan, const struct options *options, char *const *here)
{
    static const char *const names[] = { "MASTER_ADDR", "MASTER_PORT" };
    static const char *const instead[] = { "--master_addr", "--master_port" };
    const bool               is_given[] = { options->master_addr != NULL,
                                            options->master_port > 0 };
    const char              *value;
    size_t                   i, n;

    if (plan->command == COMMAND_EXEC || command_is(plan->command, COMMAND_NODE_JOB))
        return;
    for (i = 0; i < 2; i++) {
        value = environ_value(here, names[i]);
        for (n = 0; value == NULL && n < plan->nodes; n++)
            value = env_get(&plan->node[n].env, names[i]);
        if (value != NULL && value[0] != '\0' && !is_given[i])
            log_warn("%s=%s of the environment is not used, since muster finds one that works "
                     "from every node; %s=%s gives it to the ranks", names[i], value, instead[i],
                     value);
    }
}

int plan_check_input(const struct plan *plan, const struct options *options, struct error *err)
{
    if (plan->command == COMMAND_EXEC && plan->has_terminal && plan->nodes > 1)
        return err_set(err, "--pty needs one host, and there are %zu: name it with -i HOST (muster "
                       "exec without a command is a prompt for all)", plan->nodes);
    if (plan->input_to >= plan->world_size && !options->no_ssh &&
        !command_is(plan->command, COMMAND_NODE_JOB))
        return err_set(err, "--stdin %d: no such rank; the last is %d", plan->input_to,
                       plan->world_size - 1);
    return 0;
}

void plan_next_generation(struct plan *plan)
{
    size_t i;

    plan->generation++;
    plan_stamp(plan);
    for (i = 0; i < plan->roles; i++)
        plan_next_generation(&plan->role[i]);
}

void plan_stamp(struct plan *plan)
{
    char *base = plan->role_name != NULL ? xasprintf("%s-%s", plan->run_id, plan->role_name)
                                         : xstrdup(plan->run_id);

    free(plan->stamp);
    plan->stamp = plan->generation > 0 ? xasprintf("%s-%d", base, plan->generation)
                                       : xstrdup(base);
    free(base);
}

void plan_clear(struct plan *plan)
{
    size_t i;

    for (i = 0; i < plan->nodes && plan->node != NULL; i++) /* those of a role are the run's */
        node_clear(&plan->node[i]);
    for (i = 0; i < plan->roles; i++)
        plan_clear(&plan->role[i]);
    free(plan->role);
    free(plan->role_name);
    free(plan->node);
    free(plan->run_id);
    free(plan->stamp);
    free(plan->script);
    free(plan->master_addr);
    free(plan->notice_stem);
    free(plan->pmix_name);
    free(plan->ckpt_marker);
    free(plan->terminal);
    *plan = (struct plan){ 0 };
}

static void node_clear(struct plan_node *node)
{
    int i;

    free(node->host);
    free(node->label);
    free(node->addr);
    free(node->user);
    free(node->iface);
    free(node->python);
    free(node->cwd);
    free(node->slot);
    strlist_clear(&node->device);
    strlist_clear(&node->env);
    for (i = 0; i < node->ranks; i++)
        strlist_clear(&node->rank[i].argv);
    free(node->rank);
}

bool plan_host_is_local(const struct host *host, const struct options *options)
{
    char name[256];

    if (options->transport == TRANSPORT_EXEC)
        return true;
    if (options->transport == TRANSPORT_SSH || options->transport == TRANSPORT_OPENSSH ||
        options->force_multi)
        return false;
    if (host->user != NULL || host->addr != NULL || host->port != 0)
        return false;
    if (strcasecmp(host->name, "localhost") == 0)
        return true;
    name[sizeof name - 1] = '\0';
    return gethostname(name, sizeof name - 1) == 0 && is_same_host(host->name, name);
}

/* te1 is the same host as te1.lan, but te1.a is not te1.b. */
static bool is_same_host(const char *a, const char *b)
{
    size_t a_short = strcspn(a, "."), b_short = strcspn(b, ".");

    if (a[a_short] == '.' && b[b_short] == '.')
        return strcasecmp(a, b) == 0;
    return a_short == b_short && strncasecmp(a, b, a_short) == 0;
}

/* muster-train writes DIR/latest when a checkpoint is complete. */
static void notice_make(struct plan *plan, const struct options *options,
                        const struct program *program)
{
    static const char dir[] = "--checkpoint_dir";
    const char       *name = program->head.count > 0 ? program->head.item[0] : "", *base;
    const char       *found = NULL;
    size_t            i;

    plan->notice_stem = secret_text("/tmp/muster-notice-");
    plan->ckpt_marker = dup_or_null(options->ckpt_marker);
    base = strrchr(name, '/') != NULL ? strrchr(name, '/') + 1 : name;
    if (plan->ckpt_marker != NULL || strcmp(base, "muster-train") != 0)
        return;
    for (i = 0; i < options->args.count; i++) {
        if (strcmp(options->args.item[i], dir) == 0)
            found = options->args.item[i + 1]; /* NULL at the end */
        else if (strncmp(options->args.item[i], "--checkpoint_dir=", sizeof dir) == 0)
            found = options->args.item[i] + sizeof dir;
    }
    if (found != NULL)
        plan->ckpt_marker = xasprintf("%s/latest", found);
}

/* Returns begin and 32 hex digits that other users cannot guess. */
static char *secret_text(const char *begin)
{
    uint64_t noise[2] = { 0 };

    if (getrandom(noise, sizeof noise, 0) != sizeof noise)
        noise[0] = (uint64_t)getpid();
    return xasprintf("%s%016" PRIx64 "%016" PRIx64, begin, noise[0], noise[1]);
}

/* UTC, so that run ids sort by start time in every time zone. The random part distinguishes two
 * starts in the same second. */
static char *run_id_make(const char *name)
{
    time_t         now = time(NULL);
    struct tm      utc;
    char           date[16], clock[8];
    unsigned short noise;

    if (getrandom(&noise, sizeof noise, 0) != sizeof noise)
        noise = (unsigned short)getpid();
    gmtime_r(&now, &utc);
    strftime(date, sizeof date, "%Y%m%d", &utc);
    strftime(clock, sizeof clock, "%H%M%S", &utc);
    return xasprintf("%s-%s-%04x%s%s", date, clock, noise, name != NULL ? "-" : "",
                     name != NULL ? name : "");
}

/* A run starts in this directory, at the same path on every node, as in DeepSpeed. exec starts
 * in the login directory, as ssh does. */
static char *cwd_of_run(const struct options *options)
{
    char *here, *cwd;

    if (options->cwd != NULL && (options->cwd[0] == '/' || options->command == COMMAND_EXEC))
        return xstrdup(options->cwd);
    here = options->command != COMMAND_EXEC ? getcwd(NULL, 0) : NULL;
    if (here == NULL || options->cwd == NULL)
        return here;
    cwd = xasprintf("%s/%s", here, options->cwd);
    free(here);
    return cwd;
}

/* With --no_ssh the other nodes are started separately, and all must use the same master
 * without talking to each other first. */
static int check_alone(struct plan *plan, const struct options *options, const struct host *first,
                       struct error *err)
{
    if (options->node_rank >= plan->node_count)
        return err_set(err, "--node_rank %d: there are %d nodes, 0 to %d", options->node_rank,
                       plan->node_count, plan->node_count - 1);
    if (plan->node_count > 1 && plan->master_addr == NULL)
        return err_set(err, "--no_ssh needs --master_addr, since muster cannot ask the other "
                            "nodes: an address of the first, %s", first->name);
    if (plan->node_count > 1 && plan->master_port == 0)
        plan->master_port = MASTER_PORT_DEFAULT;
    return 0;
}

/* Adds the next node, in hostfile order. Its ranks follow those of the node before. */
static int add_node(struct plan *plan, const struct selected *selected, struct common *common,
                    struct error *err)
{
    const struct options *options = common->options;
    const struct host    *host = selected->host;
    struct plan_node     *node = &plan->node[plan->nodes];
    bool                  is_exec = options->command == COMMAND_EXEC;
    int                   ranks = command_is(options->command, COMMAND_NODE_JOB) ? 0
                                  : is_exec                           ? 1 : selected->slots;
    int                   first = plan->world_size, slots = selected->slots + selected->more;
    int                   node_rank = (int)(selected - common->selection->node), i;

    plan->world_size += ranks;
    if (check_ranks(host, ranks, plan->world_size, options->hostfile, err) < 0)
        return -1;
    for (i = 0; i < ranks; i++)
        common->cross_size[i]++;
    if (options->no_ssh && node_rank != options->node_rank)
        return 0;
    plan->nodes++;
    *node = (struct plan_node){
        .host = xstrdup(host->name),
        .addr = dup_or_null(host->addr),
        .user = dup_or_null(host->user),
        .port = host->port > 0 ? host->port : options->ssh_port,
        .iface = dup_or_null(host->iface),
        .python = dup_or_null(host->python),
        .cwd = dup_or_null(host->cwd != NULL ? host->cwd : common->cwd),
        .class = host->class,
        .price = host->price,
        .on_demand_price = host->on_demand_price,
        .is_local = options->no_ssh || plan_host_is_local(host, options),
        .node_rank = node_rank,
        .slot = xmemdup(selected->slot, (size_t)slots * sizeof *selected->slot),
        .slots = slots,
        .ranks = ranks,
    };
    add_ranks(node, first, host, common);
    for (i = 0; i < ranks; i++)
        node->rank[i].cross_rank = common->cross_size[i] - 1;
    if (!is_exec && name_devices(node, host, options->per_node, err) < 0)
        return -1;
    return collect_env(node, host, common, err);
}

static void count_across(struct plan *plan, const struct common *common)
{
    size_t i;
    int    j;

    for (i = 0; i < plan->nodes; i++)
        for (j = 0; j < plan->node[i].ranks; j++)
            plan->node[i].rank[j].cross_size = common->cross_size[j];
}

void plan_add_labels(struct plan *plan)
{
    struct strlist names = { 0 };
    size_t         i, domain;

    for (i = 0; i < plan->nodes; i++) {
        free(plan->node[i].label);
        plan->node[i].label = NULL;
        strlist_add(&names, plan->node[i].host);
    }
    domain = domain_shared(&names);
    for (i = 0; i < plan->nodes && domain > 0; i++)
        plan->node[i].label = xstrndup(names.item[i], strlen(names.item[i]) - domain);
    strlist_clear(&names);
}

/* Refuses what the agent would refuse, before each rank has an argument list. */
static int check_ranks(const struct host *host, int ranks, int world_size, const char *hostfile,
                       struct error *err)
{
    struct error why;

    if (ranks > FRAME_RANKS_MAX)
        err_set(&why, "%s: %d ranks exceed the limit of %d per node", host->name, ranks,
                FRAME_RANKS_MAX);
    else if (world_size > FRAME_WORLD_MAX)
        err_set(&why, "%s: with its %d ranks the run exceeds the limit of %d", host->name,
                ranks, FRAME_WORLD_MAX);
    else
        return 0;
    if (host->line > 0)
        return err_set(err, "%s:%d: %s", hostfile, host->line, why.text);
    return err_set(err, "%s", why.text);
}

static char *dup_or_null(const char *text)
{
    return text != NULL ? xstrdup(text) : NULL;
}

static void add_ranks(struct plan_node *node, int first, const struct host *host,
                      const struct common *common)
{
    struct plan_rank *rank;
    int               i;

    node->rank = xcalloc((size_t)node->ranks, sizeof *node->rank);
    for (i = 0; i < node->ranks; i++) {
        rank = &node->rank[i];
        rank->rank = first + i;
        rank->local_rank = common->options->local_rank_by == LOCAL_RANK_INDEX
                               ? i
                               : rank->rank % node->ranks;
        /* The GPU that a script uses if it goes by LOCAL_RANK. */
        rank->slot = common->options->command == COMMAND_EXEC ? 0 : node->slot[rank->local_rank];
        make_argv(rank, host, common->program);
        if (common->options->fills_in)
            fill_in(node, &rank->argv);
    }
}

static void make_argv(struct plan_rank *rank, const struct host *host,
                      const struct program *program)
{
    size_t i;

    for (i = 0; i < program->head.count; i++)
        strlist_add(&rank->argv, i == 0 && program->is_python && host->python != NULL
                                     ? host->python
                                     : program->head.item[i]);
    if (program->wants_local_rank)
        strlist_addf(&rank->argv, "--local_rank=%d", rank->local_rank);
    strlist_append(&rank->argv, &program->args);
}

/* As pdsh -R exec does. */
static void fill_in(const struct plan_node *node, struct strlist *words)
{
    const struct passwd *self = node->user == NULL ? getpwuid(getuid()) : NULL;
    const char          *user = node->user != NULL ? node->user
                                : self != NULL     ? self->pw_name : "";
    size_t               i;
    char                *word;

    for (i = 0; i < words->count; i++) {
        word = fill_in_word(words->item[i], node->host, user, node->node_rank);
        free(words->item[i]);
        words->item[i] = word;
    }
}

/* Puts them for %h, %u and %n, and "%" for "%%"; other words stay. */
static char *fill_in_word(const char *word, const char *host, const char *user, int number)
{
    char  *text;
    size_t size;
    FILE  *out = open_memstream(&text, &size);

    if (out == NULL)
        xalloc_die();
    for (; *word != '\0'; word++) {
        if (*word != '%' || word[1] == '\0' || strchr("hun%", word[1]) == NULL) {
            fputc(*word, out);
            continue;
        }
        word++;
        if (*word == 'n')
            fprintf(out, "%d", number);
        else
            fputs(*word == 'h' ? host : *word == 'u' ? user : "%", out);
    }
    if (fclose(out) != 0)
        xalloc_die();
    return text;
}

/* The hostfile may give a host's GPUs other names (UUIDs, MIG instances) with
 * env:CUDA_VISIBLE_DEVICES. Slot k is then the k-th name. The one rank of --per-node sees all of
 * them, unless the user has chosen some of the slots. */
static int name_devices(struct plan_node *node, const struct host *host, bool per_node,
                        struct error *err)
{
    const char  *names = env_get(&host->env, VISIBLE_DEVICES);
    int          last = node->slot[node->slots - 1], i;
    struct error why;

    if (names == NULL)
        return 0;
    if (cuda_devices_read(names, 0, &node->device, &why) < 0)
        return err_set(err, "%s: %s", host->name, why.text);
    node->has_no_gpus = node->device.count == 0;
    if (node->has_no_gpus)
        return 0;
    if (per_node && node->slots == host->slots) {
        node->slots = (int)node->device.count;
        node->slot = xreallocarray(node->slot, node->device.count, sizeof *node->slot);
        for (i = 0; i < node->slots; i++)
            node->slot[i] = i;
    } else if ((size_t)last >= node->device.count) {
        return err_set(err, "%s: slot %d has no device: " VISIBLE_DEVICES "=%s names %zu",
                       host->name, last, names, node->device.count);
    }
    return 0;
}

static int collect_env(struct plan_node *node, const struct host *host,
                       const struct common *common, struct error *err)
{
    size_t i;
    char  *name;

    /* PYTHONPATH begins with the working directory, and this host has its own. */
    if (host->cwd == NULL)
        strlist_append(&node->env, &common->env);
    else if (environ_collect(common->options, common->here, host->cwd, common->local_only,
                             &node->env, err) < 0)
        return -1;
    for (i = 0; i < host->env.count; i++) {
        name = xstrndup(host->env.item[i], strcspn(host->env.item[i], "="));
        env_set(&node->env, name, env_get(&host->env, name));
        free(name);
    }
    return 0;
}

/* Refuses --env for a variable that muster sets for each rank: it would be ignored. */
static int check_env(const struct plan *plan, const struct options *options, struct error *err)
{
    static const char *const masters[] = { "MASTER_ADDR", "MASTER_PORT" };
    struct strlist           own = { 0 };
    const char              *name;
    char                    *copy;
    size_t                   i;
    int                      rc = 0;

    if (command_is(plan->command, COMMAND_NODE_JOB))
        return 0;
    plan_rank_env(plan, 0, 0, &own);
    for (i = 0; i < 2 && plan->command != COMMAND_EXEC; i++)
        env_set(&own, masters[i], "");
    for (i = 0; i < options->env.count && rc == 0; i++) {
        name = options->env.item[i];
        if (environ_is_pattern(name) || environ_is_left_out(name))
            continue;
        copy = xstrndup(name, strcspn(name, "="));
        if (env_get(&own, copy) != NULL)
            rc = err_set(
                err, "--env %s: muster itself sets this variable for each rank%s", copy,
                strcmp(copy, VISIBLE_DEVICES) == 0
                    ? "; use --include, or env:" VISIBLE_DEVICES " in the hostfile"
                : strncmp(copy, "MASTER_", 7) == 0 ? "; use --master_addr and --master_port"
                                                   : "");
        free(copy);
    }
    strlist_clear(&own);
    return rc;
}
