/* done_report.c - see done_report.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "session/done_report.h"

#include <string.h>
#include <unistd.h>

#include "node/process.h"
#include "session/agent.h"

static void    add_output(const struct ranks *ranks, json_t *body);
static void    add_logs(const struct ranks *ranks, json_t *body);
static json_t *stuck_processes(const struct agent *agent);

json_t *done_report_body(const struct agent *agent)
{
    const char *holder = agent->master_port.holder;
    const char *open_mpi = ranks_open_mpi(&agent->ranks);
    json_t     *body = json_pack("{s:i, s:i}", "left", agent->ending.left, "killed",
                                 agent->ending.killed);

    add_output(&agent->ranks, body);
    add_logs(&agent->ranks, body);
    json_object_set_new(body, "stuck", stuck_processes(agent));
    if (holder[0] != '\0')
        json_object_set_new(body, "port_taken", json_text(holder, strlen(holder)));
    if (open_mpi != NULL)
        json_object_set_new(body, "open_mpi", json_text(open_mpi, strlen(open_mpi)));
    return body;
}

static void add_output(const struct ranks *ranks, json_t *body)
{
    uint64_t lost = 0, unread = 0;
    int      i;

    for (i = 0; i < ranks->count; i++) {
        const struct rank *rank = &ranks->rank[i];

        lost += rank->out.lost_bytes + rank->err.lost_bytes;
        unread += rank->out.unread_bytes + rank->err.unread_bytes;
    }
    json_object_set_new(body, "lost_bytes", json_integer((json_int_t)lost));
    json_object_set_new(body, "unread_bytes", json_integer((json_int_t)unread));
}

static void add_logs(const struct ranks *ranks, json_t *body)
{
    json_t     *unsure = json_array();
    uint64_t    lost = 0;
    const char *path;
    int         i, why = 0;

    for (i = 0; i < ranks->count; i++) {
        struct log_file *log = ranks->rank[i].log;

        if (log == NULL)
            continue;
        lost += log_file_lost(log);
        why = why != 0 ? why : log_file_error(log);
        if ((path = log_file_unsure(log)) != NULL)
            json_array_append_new(unsure, json_text(path, strlen(path)));
    }
    json_object_set_new(body, "log_lost_bytes", json_integer((json_int_t)lost));
    json_object_set_new(body, "log_unsure", unsure);
    if (why != 0)
        json_object_set_new(body, "log_error", json_string(strerror(why)));
}

static json_t *stuck_processes(const struct agent *agent)
{
    struct processes left;
    json_t          *stuck = json_array();
    size_t           i;

    if (agent->ending.left == 0)
        return stuck;
    processes_below(&left, getpid());
    for (i = 0; i < left.count; i++)
        if (left.item[i].pid != agent->guard.pid)
            json_array_append_new(stuck, process_json(left.item[i].pid));
    processes_clear(&left);
    return stuck;
}
