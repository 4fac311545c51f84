/* local_hosts.c - see local_hosts.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "hosts/local_hosts.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "plan/cuda_devices.h"
#include "plan/environ.h"
#include "xalloc.h"

static int  wanted_slots(const struct options *options);
static bool uses_gpus(const struct options *options);
static int  take_visible(const struct options *options, const char *visible,
                         struct hostlist *hosts, struct error *err);
static int  most(int a, int b);

int local_hosts(const struct options *options, char *const *here, struct hostlist *hosts,
                struct error *err)
{
    const char *visible = uses_gpus(options) ? environ_value(here, VISIBLE_DEVICES) : NULL;
    int         slots = local_gpus();

    if (options->num_nodes > 1)
        return err_set(err, "--num_nodes %d without a hostfile: name the machines with "
                            "--hostfile or -H", options->num_nodes);
    if (visible != NULL && options->include == NULL && options->exclude == NULL)
        return take_visible(options, visible, hosts, err);
    if (visible != NULL)
        log_warn(VISIBLE_DEVICES "=%s is ignored: --%s chooses among all GPUs of this machine",
                 visible, options->include != NULL ? "include" : "exclude");
    if (slots == 0)
        slots = most(1, wanted_slots(options));
    hostlist_add(hosts, "localhost", slots);
    return 0;
}

static int wanted_slots(const struct options *options)
{
    return most(options->members.start_ranks, most(options->num_ranks, options->num_gpus));
}

/* Does the subcommand do anything with the GPUs of its hosts? */
static bool uses_gpus(const struct options *options)
{
    return options->command == COMMAND_RUN || options->command == COMMAND_CHECK ||
           options->command == COMMAND_DOCTOR;
}

/* The devices become the names of the slots, so that a run takes the first of them. Where none is
 * visible, ranks are started as on a machine without GPUs. */
static int take_visible(const struct options *options, const char *visible, struct hostlist *hosts,
                        struct error *err)
{
    struct strlist devices = { 0 };
    int            wanted = wanted_slots(options), gpus = local_gpus();
    char          *variable;
    int            rc = cuda_devices_read(visible, gpus, &devices, err);

    if (rc == 1)
        log_warn(VISIBLE_DEVICES "=%s: as CUDA does, muster reads it up to the first word that is "
                 "no GPU of this machine: %zu %s", visible, devices.count,
                 devices.count == 1 ? "GPU" : "GPUs");
    if (rc >= 0 && devices.count > 0 && wanted > (int)devices.count)
        rc = err_set(err, "%s %d: " VISIBLE_DEVICES "=%s has only %zu; ask for fewer, or unset it",
                     wanted > options->num_gpus ? "-np" : "--num_gpus", wanted, visible,
                     devices.count);
    if (rc >= 0) {
        if (rc == 0 && devices.count == 0 && gpus > 0)
            log_warn(VISIBLE_DEVICES "=%s has none of the %d GPUs of this machine", visible, gpus);
        hostlist_add(hosts, "localhost",
                     devices.count > 0 ? (int)devices.count : most(1, wanted));
        variable = cuda_devices_variable(&devices);
        strlist_add(&hosts->host[0].env, variable);
        free(variable);
    }
    strlist_clear(&devices);
    return rc < 0 ? -1 : 0;
}

static int most(int a, int b)
{
    return a > b ? a : b;
}

/* Counts the device files. Tests replace the pattern with MUSTER_TEST_GPU_GLOB. */
int local_gpus(void)
{
    const char *pattern = getenv("MUSTER_TEST_GPU_GLOB");
    glob_t      found;
    int         count = 0;

    if (glob(pattern != NULL ? pattern : "/dev/nvidia[0-9]*", GLOB_NOSORT, NULL, &found) == 0)
        count = (int)found.gl_pathc;
    globfree(&found);
    return count;
}
