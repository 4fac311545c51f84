/* plan_encode.c - see plan_encode.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "plan/plan_encode.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elastic/hang_rule.h"
#include "frame.h"
#include "xalloc.h"

/* Collects the blobs of one node. */
struct encoder {
    struct evbuffer *out;
    uint32_t         generation;
    uint32_t         next_id;
    size_t           total;      /* bytes of all blobs */
    char            *last_argv;  /* packed argv of the previous rank */
    size_t           last_argv_size;
    uint32_t         last_argv_id;
};

static void    set_common(struct encoder *encoder, json_t *body, const struct plan *plan,
                          size_t node);
static void    set_log(struct encoder *encoder, json_t *body, const struct plan *plan,
                       const struct options *options);
static void    set_notice(struct encoder *encoder, json_t *body, const struct plan *plan,
                          size_t node, const struct options *options);
static void    set_pid_file(struct encoder *encoder, json_t *body, const struct plan *run,
                            size_t node, bool is_shared);
static json_t *pmi_of(const struct plan *plan, size_t node);
static json_t *launcher_words(const struct plan *plan);
static json_t *add_ranks(struct encoder *encoder, const struct plan *plan, size_t node);
static json_t *add_argv(struct encoder *encoder, const struct strlist *argv);
static json_t *add_list(struct encoder *encoder, const struct strlist *list);
static json_t *add_text(struct encoder *encoder, const char *text);
static json_t *add_blob(struct encoder *encoder, const char *bytes, size_t size);
static void    send_blob(struct encoder *encoder, uint32_t id, const char *bytes, size_t size);

int plan_encode(const struct plan *plan, size_t node, const struct options *options,
               const struct plan_terms *terms, struct evbuffer *out, struct error *err)
{
    struct encoder encoder = { .out = out, .generation = terms->generation, .next_id = 1 };
    const struct plan *world = plan_world(plan, node);
    bool               is_exec = plan->command == COMMAND_EXEC;
    json_t            *body;

    body = json_pack("{s:s, s:s, s:i, s:i, s:i, s:f, s:f, s:f, s:I, s:b}",
                     "run_id", plan->run_id, "mode", is_exec ? "exec" : "run",
                     "world_size", world->world_size, "node_rank", plan->node[node].node_rank,
                     "node_count", plan->node_count, "grace_s", options->grace_s,
                     "heartbeat_s", options->heartbeat_s, "lease_s", options->dead_after_s,
                     "credit", (json_int_t)terms->credit, "omp_default",
                     !is_exec && !world->per_node);
    set_common(&encoder, body, plan, node);
    if (!terms->is_check && options->save_pid)
        set_pid_file(&encoder, body, plan, node, terms->is_shared);
    if (!terms->is_check)
        set_log(&encoder, body, world, options);
    if (!is_exec && options->hang_timeout_s != 0)
        json_object_set_new(body, "hang_s", json_real(options->hang_timeout_s > 0
                                                          ? options->hang_timeout_s
                                                          : HANG_AUTO_IDLE_S));
    if (!is_exec && options->progress != NULL)
        json_object_set_new(body, "progress", add_text(&encoder, options->progress));
    if (options->no_pidns || (terms->is_shared && !options->strict_containment))
        json_object_set_new(body, "no_pidns", json_true());
    if (options->allow_open_mpi)
        json_object_set_new(body, "allow_open_mpi", json_true());
    if (terms->stays)
        json_object_set_new(body, "stay", json_true());
    if (terms->is_local)
        json_object_set_new(body, "local", json_true());
    if (!is_exec && !options->no_ssh)
        json_object_set_new(body, "pmi", pmi_of(plan, node));
    if (!is_exec && !options->no_ssh && world->pmix_name != NULL)
        json_object_set_new(body, "pmix", json_pack("{s:s, s:b}", "namespace", world->pmix_name,
                                                    "wanted", world->options->pmix));
    if (terms->socket[0] != '\0')
        json_object_set_new(body, "reconnect",
                            json_pack("{s:s, s:s, s:f}", "socket", terms->socket, "token",
                                      terms->token, "window_s", terms->window_s));
    if (options->name != NULL)
        json_object_set_new(body, "launcher", launcher_words(plan));
    if (terms->replace_s > 0)
        json_object_set_new(body, "replace_s", json_real(terms->replace_s));
    if (plan->has_terminal)
        json_object_set_new(body, "window", json_pack("[i, i]", terms->rows, terms->columns));
    json_object_set_new(body, "ranks", add_ranks(&encoder, plan, node));
    free(encoder.last_argv);
    if (encoder.total > PLAN_BLOBS_MAX) {
        json_decref(body);
        return err_set(err,
                       "%s: the arguments and environment of its %d ranks take %zu bytes, more "
                       "than the limit of %u",
                       plan->node[node].host, plan->node[node].ranks, encoder.total,
                       PLAN_BLOBS_MAX);
    }
    frame_put_json(out, FRAME_PLAN, terms->generation, 0, body);
    return 0;
}

static void set_common(struct encoder *encoder, json_t *body, const struct plan *plan, size_t node)
{
    const struct plan_node *where = &plan->node[node];
    const struct plan      *world = plan_world(plan, node);
    const struct options   *options = world->options;

    if (where->cwd != NULL)
        json_object_set_new(body, "cwd", add_text(encoder, where->cwd));
    if (plan->command == COMMAND_CHECK && options->cwd == NULL)
        json_object_set_new(body, "cwd_optional", json_true()); /* it needs no file there */
    if (world->beside_agent)
        json_object_set_new(body, "beside_agent", json_true());
    json_object_set_new(body, "env", add_list(encoder, &where->env));
    if (world->script != NULL)
        json_object_set_new(body, "script", add_text(encoder, world->script));
    if (options->venv_script != NULL)
        json_object_set_new(body, "venv_script", add_text(encoder, options->venv_script));
    if (options->bind_cores)
        json_object_set_new(body, "bind",
                            json_pack("{s:s}", "list", options->bind_core_list != NULL
                                                           ? options->bind_core_list : ""));
    if (plan->command == COMMAND_EXEC)
        return;
    set_notice(encoder, body, plan, node, options);
    if (options->health_check != NULL)
        json_object_set_new(body, "health_check", add_text(encoder, options->health_check));
    if (options->flight_recorder)
        json_object_set_new(body, "flight_recorder", json_true());
    if (options->stack_signal > 0)
        json_object_set_new(body, "stack_signal", json_integer(options->stack_signal));
}

static void set_log(struct encoder *encoder, json_t *body, const struct plan *plan,
                    const struct options *options)
{
    const char *dir = options->each_rank_log != NULL ? options->each_rank_log : options->log_dir;
    json_t     *log;

    if (dir == NULL)
        return;
    log = json_pack("{s:o, s:s, s:b}", "dir", add_text(encoder, dir), "stamp", plan->stamp,
                    "console", options->each_rank_log == NULL);
    json_object_set_new(body, "log", log);
}

/* The first node looks for checkpoints: its ranks are the first to write them. */
static void set_notice(struct encoder *encoder, json_t *body, const struct plan *plan, size_t node,
                       const struct options *options)
{
    const struct plan *world = plan_world(plan, node);
    char              *file = plan_notice_file(plan, node);

    json_object_set_new(body, "notice_file", add_text(encoder, file));
    if (world->ckpt_marker != NULL && plan->node[node].node_rank == (int)world->first_node)
        json_object_set_new(body, "ckpt_marker", add_text(encoder, world->ckpt_marker));
    if (world->ckpt_marker != NULL)
        json_object_set_new(body, "term_is_notice", json_true());
    if (options->spot != NULL && strcmp(options->spot, "off") != 0)
        json_object_set_new(body, "spot", json_string(options->spot));
    free(file);
}

/* DeepSpeed writes its pid to /tmp/<pid of the runner>.deepspeed on each node. Nodes of one machine
 * have names of their own, which other nodes that come or go do not change. */
static void set_pid_file(struct encoder *encoder, json_t *body, const struct plan *run,
                         size_t node, bool is_shared)
{
    const char *role = plan_world(run, node)->role_name;
    char       *path = is_shared ? xasprintf("/tmp/%ld.%s%s%s.deepspeed", (long)getpid(),
                                             run->node[node].host, role != NULL ? "." : "",
                                             role != NULL ? role : "")
                                 : xasprintf("/tmp/%ld.deepspeed", (long)getpid());

    json_object_set_new(body, "pid_file", add_text(encoder, path));
    free(path);
}

/* Returns the key-value space and process mapping for PMI. With --no_ssh there is no PMI:
 * nothing could relay between nodes that are started separately. */
static json_t *pmi_of(const struct plan *plan, size_t node)
{
    char   *mapping = plan_pmi_mapping(plan, node);
    json_t *pmi = json_pack("{s:s, s:s}", "kvsname", plan->run_id, "mapping", mapping);

    free(mapping);
    return pmi;
}

/* Describes this launcher to a user who finds the name in use. A run's id begins with its start
 * time. */
static json_t *launcher_words(const struct plan *plan)
{
    const char *at = plan->run_id;
    char        host[HOST_NAME_MAX + 1] = "", text[HOST_NAME_MAX + 100];
    int         size;

    (void)gethostname(host, sizeof host - 1);
    size = snprintf(text, sizeof text, "by pid %ld of %s, %.4s-%.2s-%.2s %.2s:%.2s:%.2s",
                    (long)getpid(), host, at, at + 4, at + 6, at + 9, at + 11, at + 13);
    return json_text(text, (size_t)size);
}

static json_t *add_ranks(struct encoder *encoder, const struct plan *plan, size_t node)
{
    const struct plan_node *where = &plan->node[node];
    const int               first = plan_world(plan, node)->first_rank;
    json_t                 *ranks = json_array(), *rank;
    struct strlist          env = { 0 };
    int                     i;

    for (i = 0; i < where->ranks; i++) {
        plan_rank_env(plan, node, i, &env);
        rank = json_pack("{s:i, s:i, s:i, s:o, s:o}", "rank", where->rank[i].rank - first,
                         "local_rank", where->rank[i].local_rank, "slot",
                         plan_rank_gpu(where, &where->rank[i]), "argv",
                         add_argv(encoder, &where->rank[i].argv), "env", add_list(encoder, &env));
        if (plan_rank_has_input(plan, where->rank[i].rank))
            json_object_set_new(rank, "input",
                                json_string(plan->has_terminal ? "terminal" : "pipe"));
        json_array_append_new(ranks, rank);
        strlist_clear(&env);
    }
    return ranks;
}

static json_t *add_argv(struct encoder *encoder, const struct strlist *argv)
{
    size_t size;
    char  *bytes = strlist_pack(argv, &size);

    if (encoder->last_argv != NULL && size == encoder->last_argv_size &&
        memcmp(bytes, encoder->last_argv, size) == 0) {
        free(bytes);
        return json_integer(encoder->last_argv_id);
    }
    free(encoder->last_argv);
    encoder->last_argv = bytes;
    encoder->last_argv_size = size;
    encoder->last_argv_id = encoder->next_id;
    return add_blob(encoder, bytes, size);
}

static json_t *add_list(struct encoder *encoder, const struct strlist *list)
{
    size_t  size;
    char   *bytes = strlist_pack(list, &size);
    json_t *id = add_blob(encoder, bytes, size);

    free(bytes);
    return id;
}

static json_t *add_text(struct encoder *encoder, const char *text)
{
    return add_blob(encoder, text, strlen(text));
}

static json_t *add_blob(struct encoder *encoder, const char *bytes, size_t size)
{
    uint32_t id = encoder->next_id++;

    encoder->total += size;
    send_blob(encoder, id, bytes, size);
    return json_integer(id);
}

static void send_blob(struct encoder *encoder, uint32_t id, const char *bytes, size_t size)
{
    const size_t   most = FRAME_BODY_MAX - 4;
    unsigned char *body = xmalloc(4 + (size < most ? size : most));
    size_t         part;
    struct frame   frame = { .type = FRAME_BLOB, .generation = encoder->generation, .body = body };

    put_u32(body, id);
    do { /* an empty blob is sent, too */
        part = size < most ? size : most;
        memcpy(body + 4, bytes, part);
        frame.size = 4 + part;
        frame_put(encoder->out, &frame);
        bytes += part;
        size -= part;
    } while (size > 0);
    free(body);
}
