/* bootstrap_job.c - see bootstrap_job.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bootstrap/bootstrap_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bootstrap/bootstrap_conf.h"
#include "bootstrap/mesh_round.h"
#include "bootstrap/node_address.h"
#include "bootstrap/project_push.h"
#include "bootstrap/public_key.h"
#include "bootstrap/swarm_round.h"
#include "exit_code.h"
#include "file.h"
#include "hostrange.h"
#include "log.h"
#include "run/run.h"
#include "transport/login.h"
#include "xalloc.h"

#define CONF_DEFAULT SYSCONFDIR "/muster/bootstrap.conf"
#define TEXT_MAX     65536
#define LOOK_S       60.0
#define PLAN_S       3600.0  /* importing a module from a cold disk takes minutes */
#define APPLY_S      86400.0 /* installing a package takes minutes, a warm-up hours */

/* The agent's steps, in its order. */
static const char *const step_names[] = { "key", "mesh", "name", "hosts", "packages",
                                          "driver", "data", "user", "shell", "limits", "python",
                                          "conda", "project", "environment", "gpus", "warm",
                                          "receipt" };
#define STEPS (sizeof step_names / sizeof *step_names)

static int     prepare(const struct run *run, void **data);
static int     allow_login(const struct options *options, struct error *err);
static int     read_conf(struct bootstrap *bootstrap, const struct options *options,
                         struct error *err);
static int     read_user(struct bootstrap *bootstrap, struct error *err);
static int     read_text(struct bootstrap *bootstrap, const char *section, const char *key,
                         struct error *err);
static int     choose_steps(struct bootstrap *bootstrap, const struct options *options,
                            struct error *err);
static int     mark_steps(const char *list, const char *option, bool *marked, struct error *err);
static int     read_names(struct bootstrap *bootstrap, const struct run *run, struct error *err);
static void    forget(const struct run *run, void *data);
static void    begin(struct run *run, struct node *node);
static bool    frame(struct run *run, struct node *node, const struct frame *frame,
                     const json_t *body);
static void    over(struct run *run, struct node *node);
static json_t *request(struct run *run, const struct node *node, int round, double *deadline_s);
static json_t *steps_request(const struct bootstrap *bootstrap, const struct run *run,
                             const struct node *node);
static void    gather_hosts(struct bootstrap *bootstrap, const struct run *run);
static void    line(struct run *run, const struct node *node, int round, const json_t *line);

const struct node_job bootstrap_job = {
    .prepare = prepare,
    .begin = begin,
    .frame = frame,
    .over = over,
    .report = bootstrap_report,
    .json = bootstrap_json,
    .free = forget,
    .needs_root = true,
};

/* --- before any node is connected ------------------------------------------- */

static int prepare(const struct run *run, void **data)
{
    static const struct node_task_ops ops = { .task = "bootstrap", .request = request,
                                              .line = line };
    const struct options *options = run->options;
    struct bootstrap     *bootstrap = *data = xcalloc(1, sizeof *bootstrap);
    struct error          err;
    int                   status = EXIT_DATA;

    if (!options_name_hosts(options) && run->plan->nodes == 1 &&
        strcmp(run->plan->node[0].host, "localhost") == 0) {
        log_error("no hosts: give them with --hostfile or -H (-H localhost is this machine)");
        return EXIT_USAGE;
    }
    bootstrap->op = options->apply    ? "apply"
                    : options->undo   ? "undo"
                    : options->record ? "record"
                                      : "plan";
    bootstrap->task = node_task_new(run, &ops);
    if (allow_login(options, &err) == 0 && read_conf(bootstrap, options, &err) == 0) {
        status = EXIT_USAGE;
        if (choose_steps(bootstrap, options, &err) == 0 && read_names(bootstrap, run, &err) == 0)
            return 0;
    }
    log_error("%s", err.text);
    return status;
}

static int allow_login(const struct options *options, struct error *err)
{
    if (options->trust_first)
        login_allow_unknown();
    if (options->password_fd >= 0)
        return login_read_password(LOGIN_BY_SSH, options->password_fd, err);
    login_allow_asking(LOGIN_BY_SSH);
    return 0;
}

static int read_conf(struct bootstrap *bootstrap, const struct options *options,
                     struct error *err)
{
    const char *path = options->args.count > 0 ? options->args.item[0] : NULL, *make_key;
    json_t     *access_conf, *keys;

    if (path == NULL && access(CONF_DEFAULT, F_OK) == 0)
        path = CONF_DEFAULT;
    bootstrap->conf = path != NULL ? bootstrap_conf_read(path, err) : json_object();
    if (bootstrap->conf == NULL)
        return -1;
    access_conf = json_object_get(bootstrap->conf, "access");
    keys = public_key_read(json_string_value(json_object_get(access_conf, "public_key")), err);
    if (keys == NULL)
        return -1;
    make_key = json_string_value(json_object_get(access_conf, "make_key"));
    bootstrap->own_key.is_unwanted = make_key != NULL && strcmp(make_key, "no") == 0;
    json_object_set_new(bootstrap->conf, "access", json_pack("{s:o}", "keys", keys));
    if (read_user(bootstrap, err) < 0 || read_text(bootstrap, "python", "requirements", err) < 0)
        return -1;
    return read_text(bootstrap, "conda", "environment", err) < 0
               ? -1 : project_push_read(bootstrap, err);
}

/* Nodes get the key itself. */
static int read_user(struct bootstrap *bootstrap, struct error *err)
{
    json_t     *user = json_object_get(bootstrap->conf, "user"), *keys;
    const char *path = json_string_value(json_object_get(user, "key"));

    if (path == NULL)
        return 0;
    if ((keys = public_key_read(path, err)) == NULL)
        return -1;
    json_object_set_new(user, "keys", keys);
    json_object_del(user, "key");
    return 0;
}

/* Nodes get the file as "text". */
static int read_text(struct bootstrap *bootstrap, const char *section, const char *key,
                     struct error *err)
{
    json_t     *settings = json_object_get(bootstrap->conf, section), *json = NULL;
    const char *path = json_string_value(json_object_get(settings, key));
    size_t      size;
    char       *text;

    if (path == NULL)
        return 0;
    if ((text = file_read(path, TEXT_MAX, &size, err)) == NULL)
        return err_set(err, "[%s] %s: %s", section, key, err->text);
    if (size > 0 && strlen(text) == size)
        json = json_string(text);
    free(text);
    if (json == NULL)
        return err_set(err, "[%s] %s: %s is empty, or not a text in UTF-8", section, key, path);
    json_object_set_new(settings, "text", json);
    return 0;
}

static int choose_steps(struct bootstrap *bootstrap, const struct options *options,
                        struct error *err)
{
    bool   only[STEPS] = { false }, skip[STEPS] = { false };
    size_t i;

    if (options->only == NULL && options->skip == NULL)
        return 0;
    if (mark_steps(options->only, "--only", only, err) < 0 ||
        mark_steps(options->skip, "--skip", skip, err) < 0)
        return -1;
    bootstrap->steps = json_array();
    for (i = 0; i < STEPS; i++)
        if ((options->only == NULL || only[i]) && !skip[i])
            json_array_append_new(bootstrap->steps, json_string(step_names[i]));
    return 0;
}

static int mark_steps(const char *list, const char *option, bool *marked, struct error *err)
{
    size_t length, i;

    for (; list != NULL && *list != '\0'; list += length + (list[length] == ',')) {
        length = strcspn(list, ",");
        for (i = 0; i < STEPS; i++)
            if (strlen(step_names[i]) == length && strncmp(list, step_names[i], length) == 0)
                break;
        if (i == STEPS)
            return err_set(err, "%s: there is no step '%.*s'; the steps are: key, mesh, name, "
                           "hosts, packages, driver, data, user, shell, limits, python, conda, "
                           "project, environment, gpus, warm, receipt", option,
                           (int)(length < 80 ? length : 80), list);
        marked[i] = true;
    }
    return 0;
}

static int read_names(struct bootstrap *bootstrap, const struct run *run, struct error *err)
{
    if (run->options->names == NULL)
        return 0;
    if (hostrange_expand(run->options->names, &bootstrap->names, err) < 0)
        return -1;
    if (bootstrap->names.count != run->plan->nodes)
        return err_set(err, "--names %s: %zu names for %zu hosts", run->options->names,
                       bootstrap->names.count, run->plan->nodes);
    return 0;
}

const json_t *bootstrap_login(const struct node *node)
{
    return node->login != NULL ? node->login : node->hello;
}

const char *bootstrap_name(const struct bootstrap *bootstrap, const struct run *run, size_t node)
{
    return bootstrap->names.count > 0 ? bootstrap->names.item[node] : run->plan->node[node].host;
}

static void forget(const struct run *run, void *data)
{
    struct bootstrap *bootstrap = data;

    (void)run;
    if (bootstrap == NULL)
        return;
    node_task_free(bootstrap->task);
    swarm_groups_free(bootstrap->swarm);
    json_decref(bootstrap->conf);
    json_decref(bootstrap->steps);
    json_decref(bootstrap->hosts);
    buffer_clear(&bootstrap->pushed);
    strlist_clear(&bootstrap->names);
    free(bootstrap);
}

/* --- the nodes -------------------------------------------------------------- */

static void begin(struct run *run, struct node *node)
{
    node_task_begin(((struct bootstrap *)run->job_data)->task, run, node);
}

static bool frame(struct run *run, struct node *node, const struct frame *frame,
                  const json_t *body)
{
    return node_task_frame(((struct bootstrap *)run->job_data)->task, run, node, frame, body);
}

static void over(struct run *run, struct node *node)
{
    node_task_over(((struct bootstrap *)run->job_data)->task, run, node);
}

static json_t *request(struct run *run, const struct node *node, int round, double *deadline_s)
{
    struct bootstrap *bootstrap = run->job_data;
    json_t           *body;

    if (own_key_settle(bootstrap) < 0 || round >= BOOTSTRAP_ROUNDS ||
        (round > BOOTSTRAP_ROUND_STEPS &&
         !(run->options->apply && swarm_is_wanted(bootstrap, run))))
        return NULL;
    if (round == BOOTSTRAP_ROUND_MESH) {
        *deadline_s = LOOK_S;
        return mesh_request(run, node);
    }
    if (bootstrap->hosts == NULL) {
        gather_hosts(bootstrap, run);
        mesh_gather(bootstrap, run);
    }
    body = steps_request(bootstrap, run, node);
    if (round == BOOTSTRAP_ROUND_STEPS)
        project_push_add(bootstrap, run->node[node->index], body);
    if (round == BOOTSTRAP_ROUND_SWARM_LOOK)
        swarm_look_request(bootstrap, run, node, body);
    if (round == BOOTSTRAP_ROUND_SWARM && !swarm_request(bootstrap, run, node, body)) {
        json_decref(body);
        body = NULL;
    }
    *deadline_s = round == BOOTSTRAP_ROUND_SWARM_LOOK       ? LOOK_S
                  : strcmp(bootstrap->op, "plan") == 0 ? PLAN_S
                                                            : APPLY_S;
    return body;
}

static json_t *steps_request(const struct bootstrap *bootstrap, const struct run *run,
                             const struct node *node)
{
    const json_t *login = bootstrap_login(node);
    json_t       *body;

    body = json_pack("{s:s, s:s, s:O, s:O, s:O?, s:O?}", "op", bootstrap->op, "name",
                     bootstrap_name(bootstrap, run, node->index), "conf", bootstrap->conf, "hosts",
                     bootstrap->hosts, "user", json_object_get(login, "user"), "home",
                     json_object_get(login, "home"));
    if (bootstrap->steps != NULL)
        json_object_set(body, "steps", bootstrap->steps);
    if (swarm_is_wanted(bootstrap, run))
        json_object_set_new(body, "warm", json_string("swarm"));
    return body;
}

/* Makes bootstrap->hosts. An address comes from the node's HELLO, else from the hostfile. If
 * there is none, nodes keep the address that they know. */
static void gather_hosts(struct bootstrap *bootstrap, const struct run *run)
{
    const char *network = json_string_value(
        json_object_get(json_object_get(bootstrap->conf, "hosts"), "network"));
    size_t n;

    bootstrap->hosts = json_array();
    for (n = 0; n < run->plan->nodes; n++) {
        const struct plan_node *node = &run->plan->node[n];
        const char             *known = node->addr != NULL ? node->addr : node->host;
        const char             *name = bootstrap_name(bootstrap, run, n), *address = NULL;

        if (run->node[n]->hello != NULL)
            address = node_address_choose(json_object_get(run->node[n]->hello, "addresses"), known,
                                          network);
        if (address == NULL && node_address_is_numeric(known))
            address = known;
        if (!node_address_is_numeric(name) && strcmp(name, "localhost") != 0)
            json_array_append_new(bootstrap->hosts,
                                  json_pack("{s:s, s:s*}", "name", name, "addr", address));
    }
}

/* Shows progress, since a warm-up takes long. */
static void line(struct run *run, const struct node *node, int round, const json_t *line)
{
    const char *text = json_string_value(json_object_get(line, "progress"));
    const char *step = json_string_value(json_object_get(line, "step"));

    (void)round;
    project_push_line(run->job_data, node, line);
    if (text == NULL || step == NULL)
        return;
    if (isatty(STDERR_FILENO))
        log_warn("%s: %s: %s", plan_label(node->plan), step, text);
    else
        log_info("%s: %s: %s", plan_label(node->plan), step, text);
}
