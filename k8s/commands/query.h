/* query.h - the options of the commands about jobs that exist: get, list, logs, scale ...
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_QUERY_H
#define MUSTER_QUERY_H

#include "commands/place.h"
#include "commands/subcommands.h"

#define QUERY_BOARD_PORT 6006 /* TensorBoard's default */

struct query {
    struct place   place;
    bool           is_json, is_yaml, is_wide, is_name, is_all, does_follow, does_watch;
    int64_t        tail;     /* -1: all */
    const char    *instance; /* NULL: the launcher */
    const char    *file;     /* NULL: not given */
    int64_t        workers;  /* 0: not given */
    int64_t        since_s;  /* -1: not given */
    int64_t        port;
    const char    *identity; /* NULL: not given */
    struct strlist names; /* of jobs; for shell also the command */
};

/* Which options a command has; all commands have --namespace and --context. */
enum {
    QUERY_OUTPUT = 1,
    QUERY_ALL = 2,
    QUERY_FOLLOW = 4,
    QUERY_WORKERS = 8,
    QUERY_SINCE = 16,
    QUERY_TAIL = 32,
    QUERY_INSTANCE = 64,
    QUERY_PORT = 128,
    QUERY_IDENTITY = 256,
    QUERY_WATCH = 512,
    QUERY_FILE = 1024,
    QUERY_PAGE_PORT = 2048,
};

/* Parses the options and connects. least, most: number of job names. Returns 0, or what the
 * subcommand must return: an exit status after a message, or SUBCOMMAND_HELP. */
int  query_begin(struct query *query, const struct subcommand *self, char *const *argv,
                 unsigned has, size_t least, size_t most);
void query_end(struct query *query);

/* Finds the job with the first of the names, and observes its anchor. Returns 0, or -1: error,
 * or no such job. Call job_clear() and observed_clear() in both cases. */
int query_find(const struct query *query, struct job *job, struct observed *observed,
               struct error *err);

/* Finds the number of the Pod that --instance names, by default the launcher's. */
int query_pod(const struct query *query, const struct job *job, size_t *number,
              struct error *err);

/* Returns the API's path of all objects of a kind, in one or all namespaces; caller frees. */
char *query_path(const struct query *query, enum object_kind kind);

#endif
