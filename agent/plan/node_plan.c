/* node_plan.c - see node_plan.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "plan/node_plan.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "frame.h"
#include "xalloc.h"

/* The arguments of every reading function below. */
struct reader {
    const json_t       *body;
    const struct blobs *blobs;
    struct error       *err;
    size_t             *listed; /* bytes of all lists so far */
};

static int           read_numbers(struct reader *in, struct node_plan *plan);
static int           read_paths(struct reader *in, struct node_plan *plan);
static int           read_objects(struct reader *in, struct node_plan *plan);
static int           read_reconnect(struct reader *in, struct node_plan *plan);
static int           read_window(struct reader *in, struct node_plan *plan);
static int           read_ranks(struct reader *in, struct node_plan *plan);
static int           read_rank(struct reader *in, const struct node_plan *plan,
                               struct node_plan_rank *rank);
static int           read_input(struct reader *in, enum node_plan_input *input);
static struct reader inside(const struct reader *in, const json_t *body);
static int           get_int(struct reader *in, const char *key, int64_t min, int64_t max,
                             int *number);
static int           get_seconds(struct reader *in, const char *key, double *seconds);
static int           get_text(struct reader *in, const char *key, char **text);
static int           get_path(struct reader *in, const char *key, char **path);
static int           get_list(struct reader *in, const char *key, bool is_env,
                              struct strlist *list);
static int           get_blob(struct reader *in, const char *key,
                              const struct blob **blob);

int node_plan_read(struct node_plan *plan, const json_t *body, const struct blobs *blobs,
                   struct error *err)
{
    size_t        listed = 0;
    struct reader in = { body, blobs, err, &listed };

    *plan = (struct node_plan){ 0 };
    if (read_numbers(&in, plan) < 0 || read_paths(&in, plan) < 0 ||
        read_objects(&in, plan) < 0 || read_window(&in, plan) < 0 || read_ranks(&in, plan) < 0) {
        node_plan_clear(plan);
        return -1;
    }
    return 0;
}

void node_plan_clear(struct node_plan *plan)
{
    int i;

    for (i = 0; i < plan->ranks; i++) {
        strlist_clear(&plan->rank[i].argv);
        strlist_clear(&plan->rank[i].env);
    }
    free(plan->rank);
    strlist_clear(&plan->env);
    free(plan->run_id);
    free(plan->progress);
    free(plan->launcher);
    free(plan->cwd);
    free(plan->script);
    free(plan->kvsname);
    free(plan->mapping);
    free(plan->pmix_name);
    free(plan->bind_list);
    free(plan->log_dir);
    free(plan->log_stamp);
    free(plan->venv_script);
    free(plan->pid_file);
    free(plan->health_check);
    free(plan->spot);
    free(plan->notice_file);
    free(plan->ckpt_marker);
    free(plan->socket);
    free(plan->token);
    *plan = (struct node_plan){ 0 };
}

static int read_numbers(struct reader *in, struct node_plan *plan)
{
    char *mode = NULL;
    int   credit = 0;

    if (get_text(in, "mode", &mode) < 0)
        return -1;
    plan->is_exec = strcmp(mode, "exec") == 0;
    free(mode);
    if (get_text(in, "run_id", &plan->run_id) < 0 ||
        get_int(in, "world_size", 1, FRAME_WORLD_MAX, &plan->world_size) < 0 ||
        get_int(in, "node_rank", 0, FRAME_WORLD_MAX, &plan->node_rank) < 0 ||
        get_int(in, "node_count", 1, FRAME_WORLD_MAX, &plan->node_count) < 0 ||
        get_int(in, "credit", 0, INT32_MAX, &credit) < 0 ||
        get_seconds(in, "grace_s", &plan->grace_s) < 0 ||
        get_seconds(in, "heartbeat_s", &plan->heartbeat_s) < 0 ||
        get_seconds(in, "lease_s", &plan->lease_s) < 0 ||
        (json_object_get(in->body, "hang_s") != NULL &&
         get_seconds(in, "hang_s", &plan->hang_s) < 0) ||
        (json_object_get(in->body, "replace_s") != NULL &&
         get_seconds(in, "replace_s", &plan->replace_s) < 0) ||
        (json_object_get(in->body, "stack_signal") != NULL &&
         get_int(in, "stack_signal", 1, SIGRTMAX, &plan->stack_signal) < 0) ||
        (json_object_get(in->body, "spot") != NULL &&
         get_text(in, "spot", &plan->spot) < 0) ||
        (json_object_get(in->body, "launcher") != NULL &&
         get_text(in, "launcher", &plan->launcher) < 0))
        return -1;
    plan->credit = (uint32_t)credit;
    plan->no_pidns = json_is_true(json_object_get(in->body, "no_pidns"));
    plan->allow_open_mpi = json_is_true(json_object_get(in->body, "allow_open_mpi"));
    plan->is_local = json_is_true(json_object_get(in->body, "local"));
    plan->stays = json_is_true(json_object_get(in->body, "stay"));
    plan->term_is_notice = json_is_true(json_object_get(in->body, "term_is_notice"));
    plan->cwd_optional = json_is_true(json_object_get(in->body, "cwd_optional"));
    plan->beside_agent = json_is_true(json_object_get(in->body, "beside_agent"));
    plan->flight_recorder = json_is_true(json_object_get(in->body, "flight_recorder"));
    plan->omp_default = json_is_true(json_object_get(in->body, "omp_default"));
    if (plan->heartbeat_s <= 0 || plan->lease_s <= plan->heartbeat_s)
        return err_set(in->err, "PLAN frame: a lease of %g s with a heartbeat every %g s",
                       plan->lease_s, plan->heartbeat_s);
    return 0;
}

static int read_paths(struct reader *in, struct node_plan *plan)
{
    if (get_path(in, "cwd", &plan->cwd) < 0 || get_path(in, "script", &plan->script) < 0 ||
        get_path(in, "venv_script", &plan->venv_script) < 0 ||
        get_path(in, "pid_file", &plan->pid_file) < 0 ||
        get_path(in, "health_check", &plan->health_check) < 0 ||
        get_path(in, "notice_file", &plan->notice_file) < 0 ||
        get_path(in, "progress", &plan->progress) < 0 ||
        get_path(in, "ckpt_marker", &plan->ckpt_marker) < 0)
        return -1;
    return get_list(in, "env", true, &plan->env);
}

static int read_objects(struct reader *in, struct node_plan *plan)
{
    struct reader pmi = inside(in, json_object_get(in->body, "pmi"));
    struct reader pmix = inside(in, json_object_get(in->body, "pmix"));
    struct reader bind = inside(in, json_object_get(in->body, "bind"));
    struct reader log = inside(in, json_object_get(in->body, "log"));
    struct reader reconnect = inside(in, json_object_get(in->body, "reconnect"));

    if (pmi.body != NULL && (get_text(&pmi, "kvsname", &plan->kvsname) < 0 ||
                             get_text(&pmi, "mapping", &plan->mapping) < 0))
        return -1;
    if (pmix.body != NULL && plan->kvsname == NULL)
        return err_set(in->err, "PLAN frame: \"pmix\" without \"pmi\"");
    if (pmix.body != NULL && get_text(&pmix, "namespace", &plan->pmix_name) < 0)
        return -1;
    plan->wants_pmix = json_is_true(json_object_get(pmix.body, "wanted"));
    if (bind.body != NULL && get_text(&bind, "list", &plan->bind_list) < 0)
        return -1;
    if (reconnect.body != NULL && read_reconnect(&reconnect, plan) < 0)
        return -1;
    if (log.body == NULL)
        return 0;
    if (get_path(&log, "dir", &plan->log_dir) < 0 || get_text(&log, "stamp", &plan->log_stamp) < 0)
        return -1;
    if (plan->log_dir == NULL || strchr(plan->log_stamp, '/') != NULL)
        return err_set(in->err, "PLAN frame: no log directory, or a stamp that is not a name");
    plan->log_console = json_is_true(json_object_get(log.body, "console"));
    return 0;
}

static int read_reconnect(struct reader *in, struct node_plan *plan)
{
    if (get_text(in, "socket", &plan->socket) < 0 || get_text(in, "token", &plan->token) < 0 ||
        get_seconds(in, "window_s", &plan->reconnect_s) < 0)
        return -1;
    if (plan->socket[0] == '\0' || strlen(plan->socket) > FRAME_SOCKET_MAX ||
        strlen(plan->token) < 32)
        return err_set(
            in->err,
            "PLAN frame: \"socket\" must have 1 to %d bytes, and \"token\" at least 32",
            FRAME_SOCKET_MAX);
    return 0;
}

/* "window":[rows, columns] */
static int read_window(struct reader *in, struct node_plan *plan)
{
    const json_t *window = json_object_get(in->body, "window");
    json_int_t    rows = json_integer_value(json_array_get(window, 0));
    json_int_t    columns = json_integer_value(json_array_get(window, 1));

    if (window != NULL && (rows < 0 || rows > UINT16_MAX || columns < 0 || columns > UINT16_MAX))
        return err_set(in->err, "PLAN frame: \"window\" is not the size of a terminal");
    plan->rows = (int)rows;
    plan->columns = (int)columns;
    return 0;
}

static int read_ranks(struct reader *in, struct node_plan *plan)
{
    const json_t *list = json_object_get(in->body, "ranks");
    size_t        count = json_array_size(list), i;
    int           j;

    if (count == 0 || count > FRAME_RANKS_MAX)
        return err_set(in->err, "PLAN frame: %zu ranks for one node: must be 1 to %d",
                       count, FRAME_RANKS_MAX);
    plan->rank = xcalloc(count, sizeof *plan->rank);
    for (i = 0; i < count; i++) {
        struct reader one = inside(in, json_array_get(list, i));

        plan->ranks++;
        if (read_rank(&one, plan, &plan->rank[i]) < 0)
            return -1;
        for (j = 0; j < plan->ranks - 1; j++)
            if (plan->rank[j].rank == plan->rank[i].rank)
                return err_set(in->err, "PLAN frame: rank %u appears twice",
                               plan->rank[i].rank);
    }
    return 0;
}

static int read_rank(struct reader *in, const struct node_plan *plan, struct node_plan_rank *rank)
{
    int number = 0;

    if (get_int(in, "rank", 0, plan->world_size - 1, &number) < 0 ||
        get_int(in, "local_rank", 0, FRAME_RANKS_MAX, &rank->local_rank) < 0 ||
        get_int(in, "slot", 0, INT32_MAX, &rank->slot) < 0 ||
        get_list(in, "argv", false, &rank->argv) < 0 ||
        get_list(in, "env", true, &rank->env) < 0 || read_input(in, &rank->input) < 0)
        return -1;
    rank->rank = (uint32_t)number;
    if (rank->argv.count == 0 || rank->argv.item[0][0] == '\0')
        return err_set(in->err, "PLAN frame: nothing to run for rank %d", number);
    return 0;
}

static int read_input(struct reader *in, enum node_plan_input *input)
{
    const json_t *value = json_object_get(in->body, "input");
    const char   *word = json_string_value(value);

    if (value == NULL)
        *input = INPUT_NOWHERE;
    else if (word != NULL && strcmp(word, "pipe") == 0)
        *input = INPUT_PIPE;
    else if (word != NULL && strcmp(word, "terminal") == 0)
        *input = INPUT_TERMINAL;
    else
        return err_set(in->err, "PLAN frame: \"input\" is neither \"pipe\" nor \"terminal\"");
    return 0;
}

static struct reader inside(const struct reader *in, const json_t *body)
{
    struct reader inner = *in;

    inner.body = body;
    return inner;
}

static int get_int(struct reader *in, const char *key, int64_t min, int64_t max, int *number)
{
    const json_t *value = json_object_get(in->body, key);

    if (!json_is_integer(value) || json_integer_value(value) < min ||
        json_integer_value(value) > max)
        return err_set(in->err, "PLAN frame: \"%s\" is missing or not a number from %lld to %lld",
                       key, (long long)min, (long long)max);
    *number = (int)json_integer_value(value);
    return 0;
}

static int get_seconds(struct reader *in, const char *key, double *seconds)
{
    const json_t *value = json_object_get(in->body, key);

    *seconds = json_number_value(value);
    if (!json_is_number(value) || !(*seconds >= 0 && *seconds <= NODE_PLAN_SECONDS_MAX))
        return err_set(in->err, "PLAN frame: \"%s\" is missing or not a number of seconds up to %g",
                       key, NODE_PLAN_SECONDS_MAX);
    return 0;
}

static int get_text(struct reader *in, const char *key, char **text)
{
    const char *value = json_string_value(json_object_get(in->body, key));

    if (value == NULL || strlen(value) > 4096)
        return err_set(in->err, "PLAN frame: \"%s\" is missing or not a short text", key);
    *text = xstrdup(value);
    return 0;
}

static int get_path(struct reader *in, const char *key, char **path)
{
    const struct blob *blob;

    if (get_blob(in, key, &blob) < 0)
        return -1;
    if (blob == NULL)
        return 0;
    if (blob->size == 0 || blob->size >= 4096 || memchr(blob->bytes, '\0', blob->size) != NULL)
        return err_set(in->err, "PLAN frame: \"%s\" is empty or not a path", key);
    *path = xstrndup(blob->bytes, blob->size);
    return 0;
}

static int get_list(struct reader *in, const char *key, bool is_env, struct strlist *list)
{
    const struct blob *blob;
    size_t             i;

    if (get_blob(in, key, &blob) < 0)
        return -1;
    if (blob == NULL)
        return err_set(in->err, "PLAN frame: \"%s\" is missing", key);
    if (blob->size > NODE_PLAN_LISTS_MAX - *in->listed)
        return err_set(in->err, "PLAN frame: more than %u MiB of arguments and environment",
                       NODE_PLAN_LISTS_MAX >> 20);
    *in->listed += blob->size;
    if (strlist_unpack(list, blob->bytes, blob->size) < 0)
        return err_set(in->err, "PLAN frame: the blob of \"%s\" is truncated", key);
    for (i = 0; is_env && i < list->count; i++)
        if (strchr(list->item[i], '=') == NULL || list->item[i][0] == '=')
            return err_set(in->err, "PLAN frame: \"%s\" has an entry that is not NAME=value",
                           key);
    return 0;
}

/* *blob stays NULL when the key is absent. */
static int get_blob(struct reader *in, const char *key, const struct blob **blob)
{
    const json_t *id = json_object_get(in->body, key);

    *blob = NULL;
    if (id == NULL)
        return 0;
    if (json_is_integer(id) && json_integer_value(id) >= 0 && json_integer_value(id) <= UINT32_MAX)
        *blob = blobs_find(in->blobs, (uint32_t)json_integer_value(id));
    if (*blob == NULL)
        return err_set(in->err, "PLAN frame: \"%s\" names a blob that was not sent", key);
    return 0;
}
