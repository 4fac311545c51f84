/* batch_slurm.c - see batch.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hosts/batch.h"
#include "number.h"
#include "plan/environ.h"
#include "xalloc.h"

static int  find_list(char *const *here, bool no_ssh, const char **list, struct error *err);
static int  gpus_per_node(char *const *here, const char **slots_by);
static int  read_tasks(const char *value, struct hostlist *hosts, struct error *err);

int batch_slurm(char *const *here, bool no_ssh, struct batch_job *job, struct error *err)
{
    const char  *list;
    struct error why;
    size_t       i;
    int          gpus, rc = find_list(here, no_ssh, &list, err);

    if (rc <= 0)
        return rc;
    job->system = "Slurm";
    job->id = environ_value(here, "SLURM_JOB_ID");
    if (hostlist_from_argument(list, 1, &job->hosts, &why) < 0)
        return err_set(err, "SLURM_JOB_NODELIST: %s", why.text);
    gpus = gpus_per_node(here, &job->slots_by);
    for (i = 0; i < job->hosts.count && gpus > 0; i++)
        job->hosts.host[i].slots = gpus;
    if (gpus > 0 || no_ssh)
        return 1;
    if (read_tasks(environ_value(here, "SLURM_TASKS_PER_NODE"), &job->hosts, &why) < 0)
        return err_set(err, "SLURM_TASKS_PER_NODE: %s", why.text);
    job->slots_by = batch_is_single(&job->hosts) ? NULL : "SLURM_TASKS_PER_NODE";
    return 1;
}

/* Returns 1 with the list of hosts. Below srun each muster would start all ranks, and with --no_ssh
 * one on each node is right. */
static int find_list(char *const *here, bool no_ssh, const char **list, struct error *err)
{
    const char *tasks = environ_value(here, "SLURM_STEP_NUM_TASKS");
    const char *nodes = environ_value(here, "SLURM_STEP_NUM_NODES");
    const char *step = environ_value(here, "SLURM_STEP_NODELIST");
    int64_t     count;

    *list = environ_value(here, "SLURM_JOB_NODELIST");
    if (*list == NULL || (*list)[0] == '\0')
        return 0;
    if (tasks == NULL || parse_number(tasks, 2, INT64_MAX, &count, NULL) < 0)
        return 1;
    if (!no_ssh)
        return batch_refuse_tasks("srun", tasks, "SLURM_STEP_NUM_TASKS", err);
    if (nodes != NULL && strcmp(nodes, tasks) != 0)
        return err_set(err, "srun starts muster %s times on %s nodes (SLURM_STEP_NUM_TASKS); with "
                            "--no_ssh one must start on each: srun --ntasks-per-node=1", tasks,
                       nodes);
    if (step != NULL && step[0] != '\0')
        *list = step;
    return 1;
}

/* Returns the GPUs per node, from "8", "a100:8" or "a100:4,h100:4"; 0: unknown. */
static int gpus_per_node(char *const *here, const char **slots_by)
{
    static const char *const names[] = { "SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE" };
    const char *value;
    char       *copy, *rest, *word;
    int64_t     number, sum = 0;
    size_t      i;

    for (i = 0; i < sizeof names / sizeof *names && sum == 0; i++) {
        value = environ_value(here, names[i]);
        *slots_by = names[i];
        copy = rest = xstrdup(value != NULL ? value : "");
        while ((word = strsep(&rest, ",")) != NULL && sum >= 0) {
            word = strrchr(word, ':') != NULL ? strrchr(word, ':') + 1 : word;
            sum = parse_number(word, 1, HOST_SLOTS_MAX, &number, NULL) < 0 ? -1 : sum + number;
        }
        free(copy);
        sum = sum > 0 && sum <= HOST_SLOTS_MAX ? sum : 0;
    }
    if (sum == 0)
        *slots_by = NULL;
    return (int)sum;
}

/* Reads "4(x2),3", in the order of the hosts. */
static int read_tasks(const char *value, struct hostlist *hosts, struct error *err)
{
    char   *copy = xstrdup(value != NULL ? value : ""), *rest = copy, *word, *times;
    int64_t tasks, nodes;
    size_t  n = 0;
    int     rc = 0;

    while (copy[0] != '\0' && rc == 0 && (word = strsep(&rest, ",")) != NULL) {
        times = strstr(word, "(x");
        nodes = 1;
        if (times != NULL) {
            *times = '\0';
            times[strcspn(times + 2, ")") + 2] = '\0';
            rc = parse_number(times + 2, 1, HOSTFILE_HOSTS_MAX, &nodes, err);
        }
        if (rc == 0)
            rc = parse_number(word, 1, HOST_SLOTS_MAX, &tasks, err);
        for (; rc == 0 && nodes > 0 && n < hosts->count; nodes--)
            hosts->host[n++].slots = (int)tasks;
    }
    free(copy);
    return rc;
}
