/* query.c - see query.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "commands/query.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "exit_code.h"
#include "log.h"
#include "number.h"
#include "xalloc.h"

#define ROWS_MAX 8

static int set_output(void *to, const char *value, struct error *err)
{
    struct query *query = to;

    query->is_json = strcmp(value, "json") == 0;
    query->is_yaml = strcmp(value, "yaml") == 0;
    query->is_wide = strcmp(value, "wide") == 0;
    query->is_name = strcmp(value, "name") == 0;
    if (!query->is_json && !query->is_yaml && !query->is_wide && !query->is_name)
        return err_set(err, "must be json, yaml, wide or name, not '%.60s'", value);
    return 0;
}

static int set_all(void *to, const char *value, struct error *err)
{
    (void)value, (void)err;
    ((struct query *)to)->is_all = true;
    return 0;
}

static int set_follow(void *to, const char *value, struct error *err)
{
    (void)value, (void)err;
    ((struct query *)to)->does_follow = true;
    return 0;
}

static int set_watch(void *to, const char *value, struct error *err)
{
    (void)value, (void)err;
    ((struct query *)to)->does_watch = true;
    return 0;
}

static int set_tail(void *to, const char *value, struct error *err)
{
    return parse_number(value, 0, INT32_MAX, &((struct query *)to)->tail, err);
}

static int set_workers(void *to, const char *value, struct error *err)
{
    return parse_number(value, 1, JOB_WORKERS_MAX, &((struct query *)to)->workers, err);
}

static int set_since(void *to, const char *value, struct error *err)
{
    double seconds;

    if (parse_seconds(value, 0, INT32_MAX, &seconds, err) < 0)
        return -1;
    ((struct query *)to)->since_s = (int64_t)seconds;
    return 0;
}

static int set_file(void *to, const char *value, struct error *err)
{
    (void)err;
    ((struct query *)to)->file = value;
    return 0;
}

static int set_port(void *to, const char *value, struct error *err)
{
    return parse_number(value, 1, UINT16_MAX, &((struct query *)to)->port, err);
}

static int set_instance(void *to, const char *value, struct error *err)
{
    (void)err;
    ((struct query *)to)->instance = value;
    return 0;
}

static int set_identity(void *to, const char *value, struct error *err)
{
    if (value[0] == '\0' || strlen(value) > 100)
        return err_set(err, "must have 1 to 100 characters");
    ((struct query *)to)->identity = value;
    return 0;
}

static const struct {
    unsigned       of; /* 0: every command */
    struct arg_row row;
} all_rows[] = {
    { QUERY_OUTPUT, { "output", 'o', "FORMAT", "json, yaml, wide or name", set_output } },
    { QUERY_ALL, { "all-namespaces", 'A', NULL, "the jobs of all namespaces", set_all } },
    { QUERY_FOLLOW,
      { "follow", 'f', NULL, "follow the output until the job ends", set_follow } },
    { QUERY_FILE, { "file", 'f', "FILE", "a ScaleIn or ScaleOut document", set_file } },
    { QUERY_WATCH,
      { "watch", 'w', NULL, "print a line for each change, until the end", set_watch } },
    { QUERY_TAIL, { "tail", 't', "LINES", "only the last LINES lines at first", set_tail } },
    { QUERY_INSTANCE,
      { "instance", 'i', "POD", "a Pod other than the launcher", set_instance } },
    { QUERY_IDENTITY,
      { "identity", 0, "NAME", "holder of the Lease (default: the host name)", set_identity } },
    { QUERY_PORT, { "port", 0, "PORT", "local port (default 6006)", set_port } },
    { QUERY_PAGE_PORT, { "port", 0, "PORT", "local port (default 9464)", set_port } },
    { QUERY_WORKERS, { "workers", 'w', "N", "the new number of workers", set_workers } },
    { QUERY_SINCE,
      { "since", 's', "TIME", "only jobs that ended more than TIME ago: 3d, 12h", set_since } },
    { 0, { "namespace", 'n', "NAME", "namespace (default: the context's)", place_set_space } },
    { 0,
      { "context", 0, "NAME", "context in the kubeconfig (default: the current)",
        place_set_context } },
};

int query_begin(struct query *query, const struct subcommand *self, char *const *argv,
                unsigned has, size_t least, size_t most)
{
    struct arg_row rows[ROWS_MAX] = { { 0 } };
    struct error   err;
    size_t         count = 0, i;
    int            rc;

    *query = (struct query){ .tail = -1, .since_s = -1, .port = QUERY_BOARD_PORT };
    if (has & QUERY_PAGE_PORT)
        query->port = JOB_PAGE_PORT;
    for (i = 0; i < sizeof all_rows / sizeof all_rows[0]; i++)
        if (all_rows[i].of == 0 || (all_rows[i].of & has))
            rows[count++] = all_rows[i].row;
    rc = args_read((const char *const *)argv, rows, false, query, &query->names, &err);
    if (rc > 0) {
        args_help(self->name, self->usage, self->summary, rows, stdout);
        query_end(query);
        return SUBCOMMAND_HELP;
    }
    if (rc < 0)
        log_error("%s", err.text);
    else if (query->names.count < least)
        log_error("the name of a job is missing; `muster k8s list` shows them");
    else if (query->names.count > most)
        log_error("'%.80s': too many arguments", query->names.item[most]);
    else if (place_open(&query->place, &err) == 0)
        return 0;
    else {
        log_error("%s", err.text);
        query_end(query);
        return EXIT_UNREACHABLE;
    }
    query_end(query);
    return EXIT_USAGE;
}

void query_end(struct query *query)
{
    place_close(&query->place);
    strlist_clear(&query->names);
}

int query_find(const struct query *query, struct job *job, struct observed *observed,
               struct error *err)
{
    const char *name = query->names.item[0];
    int         rc = place_find(&query->place, name, job, observed, err);

    if (rc == 0)
        return err_set(err, "there is no job %s in namespace %s; `muster k8s list` shows them",
                       name, query->place.space);
    return rc < 0 ? -1 : 0;
}

int query_pod(const struct query *query, const struct job *job, size_t *number, struct error *err)
{
    size_t i;

    *number = object_launcher(job);
    if (query->instance == NULL)
        return 0;
    for (i = 0; i < object_pods(job); i++)
        if (strcmp(object_name(job, object_pod(job, i)).text, query->instance) == 0) {
            *number = object_pod(job, i);
            return 0;
        }
    return err_set(err,
                   "--instance: %.80s is not a Pod of this job; `muster k8s get %s` shows them",
                   query->instance, job->name);
}

char *query_path(const struct query *query, enum object_kind kind)
{
    return query->is_all ? xasprintf("%s/%s", object_kinds[kind].root, object_kinds[kind].plural)
                         : place_path(&query->place, kind, NULL);
}
