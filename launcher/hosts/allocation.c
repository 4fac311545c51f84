/* allocation.c - see allocation.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "hosts/allocation.h"

#include <stdlib.h>
#include <string.h>

#include "hostrange.h"
#include "hosts/batch.h"
#include "hosts/local_hosts.h"
#include "plan/cuda_devices.h"
#include "plan/environ.h"
#include "xalloc.h"

/* Flux first: its instances run as jobs of the others. OAR before PBS, whose variable some of its
 * sites set, too. */
static batch_reader *const readers[] = { batch_flux, batch_slurm,       batch_oar,
                                         batch_pbs,  batch_grid_engine, batch_lsf };

static int   find(const struct options *options, char *const *here, struct batch_job *job,
                  struct error *err);
static bool  are_given(const struct batch_job *job, const char *visible);
static int   take_visible(const char *visible, struct batch_job *job, struct error *err);
static void  take_local_gpus(struct batch_job *job, int gpus);
static void  set_slots(struct hostlist *hosts, int slots);
static char *describe(const struct batch_job *job);

int allocation_hosts(const struct options *options, char *const *here, struct hostlist *hosts,
                     char **words, struct error *err)
{
    const char      *visible = environ_value(here, VISIBLE_DEVICES);
    struct batch_job job = { 0 };
    int              rc = find(options, here, &job, err);

    if (rc > 0 && visible != NULL && !are_given(&job, visible) &&
        take_visible(visible, &job, err) < 0)
        rc = -1;
    if (rc > 0 && visible == NULL && local_gpus() > 0)
        take_local_gpus(&job, local_gpus());
    if (rc > 0)
        *words = describe(&job);
    else
        hostlist_clear(&job.hosts);
    *hosts = job.hosts;
    return rc;
}

static int find(const struct options *options, char *const *here, struct batch_job *job,
                struct error *err)
{
    size_t i;
    int    rc = 0;

    for (i = 0; i < sizeof readers / sizeof *readers && rc == 0; i++)
        rc = readers[i](here, options->no_ssh, job, err);
    return rc;
}

int batch_refuse_tasks(const char *starter, const char *tasks, const char *variable,
                       struct error *err)
{
    return err_set(err,
                   "%s starts muster %s times (%s); start it once, without %s, or once on each "
                   "node with --no_ssh, or name the hosts with -H",
                   starter, tasks, variable, starter);
}

struct host *batch_add(const char *name, size_t slots, struct hostlist *hosts, struct error *err)
{
    struct hostlist one = { 0 };
    size_t          i;

    if (slots == 0 || slots > HOST_SLOTS_MAX) {
        err_set(err, "%.64s: %zu slots: the limits are 1 and %d", name, slots, HOST_SLOTS_MAX);
        return NULL;
    }
    if (strpbrk(name, "@^,[:") != NULL) {
        err_set(err, "'%.64s' is not the name of a host", name);
        return NULL;
    }
    for (i = hosts->count; i > 0; i--)
        if (strcmp(hosts->host[i - 1].name, name) == 0) {
            if (hosts->host[i - 1].slots + (int)slots <= HOST_SLOTS_MAX)
                hosts->host[i - 1].slots += (int)slots;
            return &hosts->host[i - 1];
        }
    if (hosts->count == HOSTFILE_HOSTS_MAX) {
        err_set(err, "more than %d hosts", HOSTFILE_HOSTS_MAX);
        return NULL;
    }
    if (hostlist_from_argument(name, (int)slots, &one, err) < 0)
        return NULL;
    hostlist_take(hosts, &one.host[0]);
    free(one.host);
    return &hosts->host[hosts->count - 1];
}

bool batch_is_single(const struct hostlist *hosts)
{
    size_t i;

    for (i = 0; i < hosts->count; i++)
        if (hosts->host[i].slots != 1)
            return false;
    return true;
}

/* Are these GPUs what the batch system has given us here? Other hosts may have others. */
static bool are_given(const struct batch_job *job, const char *visible)
{
    const char *given;
    size_t      i;

    for (i = 0; i < job->hosts.count && job->gives_gpus; i++) {
        given = env_get(&job->hosts.host[i].env, VISIBLE_DEVICES);
        if (given != NULL && strcmp(given, visible) == 0)
            return true;
    }
    return false;
}

/* The batch system, or the user, has said which GPUs the job may use here: the same on every host.
 * Only their number, if they are names: each GPU has its own. */
static int take_visible(const char *visible, struct batch_job *job, struct error *err)
{
    struct strlist devices = { 0 };
    size_t         i, length = strlen(VISIBLE_DEVICES "=");
    char          *variable;
    int            rc = cuda_devices_read(visible, 0, &devices, err);

    if (rc >= 0 && devices.count > 0) {
        set_slots(&job->hosts, (int)devices.count);
        job->slots_by = VISIBLE_DEVICES;
    } else if (rc >= 0 && job->slots_by == NULL) {
        job->slots_by = "no GPUs in " VISIBLE_DEVICES;
    }
    variable = cuda_devices_variable(&devices);
    for (i = 0; i < job->hosts.count && rc >= 0 && cuda_devices_are_numbers(&devices); i++)
        env_set(&job->hosts.host[i].env, VISIBLE_DEVICES, variable + length);
    free(variable);
    strlist_clear(&devices);
    return rc < 0 ? -1 : 0;
}

/* A job that has asked for nothing has one slot per host, or counts cores, of which a rank needs
 * more than one; but two ranks cannot share a GPU. */
static void take_local_gpus(struct batch_job *job, int gpus)
{
    size_t i;
    bool   is_single = batch_is_single(&job->hosts), is_changed = false;

    if (is_single && job->slots_by == NULL) {
        set_slots(&job->hosts, gpus);
        job->slots_by = "GPUs of this machine";
    }
    for (i = 0; i < job->hosts.count && job->counts_cores; i++)
        if (is_single || job->hosts.host[i].slots > gpus) {
            job->hosts.host[i].slots = gpus;
            is_changed = true;
        }
    if (is_changed)
        job->slots_by = "GPUs of this machine";
}

static void set_slots(struct hostlist *hosts, int slots)
{
    size_t i;

    for (i = 0; i < hosts->count; i++)
        hosts->host[i].slots = slots;
}

static char *describe(const struct batch_job *job)
{
    const struct hostlist *hosts = &job->hosts;
    const char            *by = job->slots_by;
    struct strlist         names = { 0 };
    char                  *folded, *slots, *words;
    int                    least = hosts->host[0].slots, most = least;
    size_t                 i;

    for (i = 0; i < hosts->count; i++) {
        strlist_add(&names, hosts->host[i].name);
        least = hosts->host[i].slots < least ? hosts->host[i].slots : least;
        most = hosts->host[i].slots > most ? hosts->host[i].slots : most;
        hosts->host[i].is_counted = true;
    }
    folded = hostrange_fold(&names);
    slots = least < most ? xasprintf("%d to %d slots", least, most)
                         : xasprintf("%d %s%s", most, most == 1 ? "slot" : "slots",
                                     hosts->count > 1 ? " each" : "");
    words = xasprintf("%s job%s%s: %s, %s%s%s%s", job->system, job->id != NULL ? " " : "",
                      job->id != NULL ? job->id : "", folded, slots, by != NULL ? " (" : "",
                      by != NULL ? by : "", by != NULL ? ")" : "");
    free(folded);
    free(slots);
    strlist_clear(&names);
    return words;
}
