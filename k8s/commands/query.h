/* query.h - the options of the commands about jobs that exist: get, list, logs, scale ...
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_QUERY_H
#define MUSTER_QUERY_H

#include "commands/place.h"

struct query {
    struct place   place;
    bool           is_json, is_name, is_all, does_follow;
    int64_t        tail;     /* -1: all */
    const char    *instance; /* NULL: the launcher */
    int64_t        workers;  /* 0: not given */
    int64_t        since_s;  /* -1: not given */
    struct strlist names;
};

/* Which options a command has; --namespace and --context are in all. */
enum { QUERY_OUTPUT = 1, QUERY_ALL = 2, QUERY_LOG = 4, QUERY_WORKERS = 8, QUERY_SINCE = 16 };

/* Reads and connects. names: least and most number of jobs. Returns 0, or an exit status after a
 * message. */
int  query_begin(struct query *query, char *const *argv, unsigned has, size_t least, size_t most);
void query_end(struct query *query);

/* Path in the API of all objects of that kind, in the namespace or in all; caller frees. */
char *query_path(const struct query *query, enum object_kind kind);

#endif
