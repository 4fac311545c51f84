/* allocation.c - see allocation.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "hosts/allocation.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hostrange.h"
#include "number.h"
#include "plan/cuda_devices.h"
#include "plan/environ.h"
#include "hosts/local_hosts.h"
#include "xalloc.h"

static int   slurm_hosts(char *const *here, struct hostlist *hosts, const char **slots_by,
                         struct error *err);
static int   slurm_gpus(char *const *here, const char **slots_by);
static int   slurm_tasks(char *const *here, struct hostlist *hosts, struct error *err);
static int   take_visible(const char *visible, struct hostlist *hosts, const char **slots_by,
                          struct error *err);
static bool  is_single(const struct hostlist *hosts);
static void  set_slots(struct hostlist *hosts, int slots);
static char *describe(const char *job, const struct hostlist *hosts, const char *slots_by);

int allocation_hosts(char *const *here, struct hostlist *hosts, char **words, struct error *err)
{
    const char *slurm = environ_value(here, "SLURM_JOB_NODELIST");
    const char *pbs = environ_value(here, "PBS_NODEFILE"), *id, *slots_by = NULL;
    const char *visible = environ_value(here, VISIBLE_DEVICES);
    char       *job;
    int         rc;

    *hosts = (struct hostlist){ 0 };
    if (slurm != NULL && slurm[0] != '\0') {
        rc = slurm_hosts(here, hosts, &slots_by, err);
        id = environ_value(here, "SLURM_JOB_ID");
    } else if (pbs != NULL && pbs[0] != '\0') {
        rc = hostfile_read(pbs, hosts, err);
        id = environ_value(here, "PBS_JOBID");
    } else {
        return 0;
    }
    if (rc == 0 && visible != NULL)
        rc = take_visible(visible, hosts, &slots_by, err);
    if (rc < 0) {
        hostlist_clear(hosts);
        return -1;
    }
    if (visible == NULL && slots_by == NULL && is_single(hosts) && local_gpus() > 0) {
        set_slots(hosts, local_gpus());
        slots_by = "GPUs of this machine";
    }
    job = xasprintf("%s job%s%s", slurm != NULL ? "Slurm" : "PBS", id != NULL ? " " : "",
                    id != NULL ? id : "");
    *words = describe(job, hosts, slots_by);
    free(job);
    return 1;
}

/* Refuses srun: it would start muster once per task, and each muster would start all ranks. */
static int slurm_hosts(char *const *here, struct hostlist *hosts, const char **slots_by,
                       struct error *err)
{
    const char  *tasks = environ_value(here, "SLURM_STEP_NUM_TASKS");
    struct error why;
    int64_t      count;
    int          gpus;

    if (tasks != NULL && parse_number(tasks, 2, INT64_MAX, &count, NULL) == 0)
        return err_set(err,
                       "srun starts muster %s times (SLURM_STEP_NUM_TASKS); start it once, "
                       "without srun, or name the hosts with -H",
                       tasks);
    if (hostlist_from_argument(environ_value(here, "SLURM_JOB_NODELIST"), 1, hosts, &why) < 0)
        return err_set(err, "SLURM_JOB_NODELIST: %s", why.text);
    gpus = slurm_gpus(here, slots_by);
    if (gpus > 0) {
        set_slots(hosts, gpus);
        return 0;
    }
    if (slurm_tasks(here, hosts, &why) < 0)
        return err_set(err, "SLURM_TASKS_PER_NODE: %s", why.text);
    *slots_by = is_single(hosts) ? NULL : "SLURM_TASKS_PER_NODE";
    return 0;
}

/* Returns the GPUs per node, from "8", "a100:8" or "a100:4,h100:4"; 0: unknown. */
static int slurm_gpus(char *const *here, const char **slots_by)
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
static int slurm_tasks(char *const *here, struct hostlist *hosts, struct error *err)
{
    const char *value = environ_value(here, "SLURM_TASKS_PER_NODE");
    char       *copy = xstrdup(value != NULL ? value : ""), *rest = copy, *word, *times;
    int64_t     tasks, nodes;
    size_t      n = 0;
    int         rc = 0;

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

/* The batch system, or the user, has said which GPUs the job may use here: the same on every host.
 * Only their number, if they are names: each GPU has its own. */
static int take_visible(const char *visible, struct hostlist *hosts, const char **slots_by,
                        struct error *err)
{
    struct strlist devices = { 0 };
    char          *variable;
    size_t         i;
    int            rc = cuda_devices_read(visible, 0, &devices, err);

    if (rc >= 0 && devices.count > 0) {
        set_slots(hosts, (int)devices.count);
        *slots_by = VISIBLE_DEVICES;
    } else if (rc >= 0) {
        *slots_by = *slots_by != NULL ? *slots_by : "no GPUs in " VISIBLE_DEVICES;
    }
    variable = cuda_devices_variable(&devices);
    for (i = 0; i < hosts->count && rc >= 0 && cuda_devices_are_numbers(&devices); i++)
        strlist_add(&hosts->host[i].env, variable);
    free(variable);
    strlist_clear(&devices);
    return rc < 0 ? -1 : 0;
}

/* Does each host have one slot? A job that asked for nothing has one per host, too. */
static bool is_single(const struct hostlist *hosts)
{
    size_t i;

    for (i = 0; i < hosts->count; i++)
        if (hosts->host[i].slots != 1)
            return false;
    return true;
}

static void set_slots(struct hostlist *hosts, int slots)
{
    size_t i;

    for (i = 0; i < hosts->count; i++)
        hosts->host[i].slots = slots;
}

static char *describe(const char *job, const struct hostlist *hosts, const char *slots_by)
{
    struct strlist names = { 0 };
    char          *folded, *words;
    int            least = hosts->host[0].slots, most = least;
    size_t         i;

    for (i = 0; i < hosts->count; i++) {
        strlist_add(&names, hosts->host[i].name);
        least = hosts->host[i].slots < least ? hosts->host[i].slots : least;
        most = hosts->host[i].slots > most ? hosts->host[i].slots : most;
        hosts->host[i].is_counted = true;
    }
    folded = hostrange_fold(&names);
    if (least == most)
        words = xasprintf("%s: %s, %d %s%s%s%s%s", job, folded, most, most == 1 ? "slot" : "slots",
                          hosts->count > 1 ? " each" : "", slots_by != NULL ? " (" : "",
                          slots_by != NULL ? slots_by : "", slots_by != NULL ? ")" : "");
    else
        words = xasprintf("%s: %s, %d to %d slots%s%s%s", job, folded, least, most,
                          slots_by != NULL ? " (" : "", slots_by != NULL ? slots_by : "",
                          slots_by != NULL ? ")" : "");
    free(folded);
    strlist_clear(&names);
    return words;
}
