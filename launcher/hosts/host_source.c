/* host_source.c - see host_source.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "hosts/host_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hosts/allocation.h"
#include "hosts/local_hosts.h"
#include "log.h"
#include "plan/cuda_devices.h"
#include "plan/environ.h"
#include "plan/plan.h"
#include "xalloc.h"

static int  find(const struct options *options, char *const *here, struct hostlist *hosts,
                 struct error *err);
static int  read_file(const struct options *options, const char *path, struct hostlist *hosts,
                      struct error *err);
static int  read_list(const struct options *options, const char *name, struct hostlist *hosts,
                      struct error *err);
static int  keep_groups(const char *groups, struct hostlist *hosts, struct error *err);
static int  by_name(const void *a, const void *b);
static int  find_unnamed(const struct options *options, char *const *here, struct hostlist *hosts,
                         struct error *err);
static void tell_uncounted(const struct options *options, const char *path,
                           const struct hostlist *hosts);
static void tell_unused(const struct options *options, char *const *here,
                        const struct hostlist *hosts);

int host_source_find(const struct options *options, char *const *here, struct hostlist *hosts,
                     struct error *err)
{
    struct error why;

    *hosts = (struct hostlist){ 0 };
    if (find(options, here, hosts, err) < 0)
        return -1;
    if (options->ssh_user == NULL || hostlist_set_user(hosts, options->ssh_user, &why) == 0)
        return 0;
    hostlist_clear(hosts);
    return err_set(err, "--ssh_user: %s", why.text);
}

static int find(const struct options *options, char *const *here, struct hostlist *hosts,
                struct error *err)
{
    const char *wcoll = environ_value(here, "WCOLL"), *file = options->hostfile;
    bool        is_named = options->hosts != NULL || options->hostfile_given ||
                    strcmp(file, "-") == 0;
    int         rc;

    if (!is_named && (options->groups != NULL || options->all_hosts))
        return read_list(options, options->groups != NULL ? "-g" : "-a", hosts, err);
    if (!is_named) {
        if (options->command == COMMAND_EXEC && wcoll != NULL && wcoll[0] != '\0')
            file = wcoll;
        else if (access(file, F_OK) < 0)
            return find_unnamed(options, here, hosts, err);
    }
    rc = options->hosts != NULL ? read_list(options, "-H", hosts, err)
                                : read_file(options, file, hosts, err);
    if (rc == 0 && options->groups != NULL)
        rc = keep_groups(options->groups, hosts, err);
    if (rc == 0)
        tell_unused(options, here, hosts);
    return rc;
}

static int read_list(const struct options *options, const char *name, struct hostlist *hosts,
                     struct error *err)
{
    int rc = name[1] == 'H' ? hostlist_from_argument(options->hosts, 1, hosts, err)
                            : hostlist_from_groups(options->groups, hosts, err);

    if (rc == 0)
        tell_uncounted(options, name, hosts);
    return rc;
}

/* Drops the hosts that are in none of the groups. */
static int keep_groups(const char *groups, struct hostlist *hosts, struct error *err)
{
    struct hostlist members, all = *hosts;
    const char    **names;
    size_t          i;

    if (hostlist_from_groups(groups, &members, err) < 0) {
        hostlist_clear(hosts);
        return -1;
    }
    names = xreallocarray(NULL, members.count, sizeof *names);
    for (i = 0; i < members.count; i++)
        names[i] = members.host[i].name;
    qsort(names, members.count, sizeof *names, by_name);
    for (i = hosts->count = 0; i < all.count; i++) {
        const char *name = all.host[i].name;

        if (bsearch(&name, names, members.count, sizeof *names, by_name) != NULL)
            hosts->host[hosts->count++] = all.host[i];
        else
            host_clear(&all.host[i]);
    }
    free(names);
    hostlist_clear(&members);
    if (hosts->count > 0)
        return 0;
    hostlist_clear(hosts);
    return err_set(err, "-g %.256s: none of its hosts is among the %zu of the hostfile or -H",
                   groups, all.count);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int read_file(const struct options *options, const char *path, struct hostlist *hosts,
                     struct error *err)
{
    if (strcmp(path, "-") != 0 && access(path, F_OK) < 0)
        return err_set(err, "hostfile %s: %s%s", path, strerror(errno),
                       strchr(path, '/') == NULL ? "; use --hosts for host names" : "");
    if (hostfile_read(path, hosts, err) < 0)
        return -1;
    tell_uncounted(options, path, hosts);
    return 0;
}

/* A job on only this machine is a run without a hostfile, as in DeepSpeed. */
static int find_unnamed(const struct options *options, char *const *here, struct hostlist *hosts,
                        struct error *err)
{
    char *words;
    int   rc = allocation_hosts(options, here, hosts, &words, err);

    if (rc < 0)
        return -1;
    if (rc == 1 && (hosts->count > 1 || !plan_host_is_local(&hosts->host[0], options))) {
        log_warn("no hostfile: using the hosts of %s", words);
        free(words);
        return 0;
    }
    if (rc == 1) {
        free(words);
        hostlist_clear(hosts);
    }
    if (options->command != COMMAND_BOOTSTRAP) /* which says that it needs hosts */
        log_warn("no hostfile (%s): using this machine alone", options->hostfile);
    return local_hosts(options, here, hosts, err);
}

/* Warns about hosts without slots=N, unless commands/gpu_slots.c will ask them for their
 * GPUs. */
static void tell_uncounted(const struct options *options, const char *path,
                           const struct hostlist *hosts)
{
    if (options->command == COMMAND_RUN && (options->dry_run || options->no_ssh) &&
        options->num_gpus < 0 && hostlist_is_uncounted(hosts))
        log_warn("%s: hosts without slots=N have 1 slot here%s", path,
                 options->dry_run ? "; a run uses one slot per GPU"
                                  : ": with --no_ssh muster cannot count their GPUs");
}

/* CUDA_VISIBLE_DEVICES of this shell says nothing about other machines. Batch systems set it to the
 * first GPUs, which the slots of a list of hosts are anyway. */
static void tell_unused(const struct options *options, char *const *here,
                        const struct hostlist *hosts)
{
    const char    *visible = environ_value(here, VISIBLE_DEVICES);
    struct strlist devices = { 0 };
    struct error   err;
    int            most = 0;
    size_t         i;

    if (visible == NULL || options->include != NULL || options->exclude != NULL ||
        (options->command != COMMAND_RUN && options->command != COMMAND_CHECK))
        return;
    for (i = 0; i < hosts->count; i++)
        if (hosts->host[i].slots > most && env_get(&hosts->host[i].env, VISIBLE_DEVICES) == NULL)
            most = hosts->host[i].slots;
    if (most > 0 && (cuda_devices_read(visible, 0, &devices, &err) < 0 ||
                     !cuda_devices_are_first(&devices) || (int)devices.count < most))
        log_warn(VISIBLE_DEVICES "=%s is ignored, since the hosts have slots: write "
                 "env:" VISIBLE_DEVICES "=... behind a host, or --include=HOST:0,1",
                 visible);
    strlist_clear(&devices);
}
