/* local_hosts.c - see local_hosts.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "plan/local_hosts.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "number.h"
#include "plan/environ.h"
#include "xalloc.h"

#define DEVICE_MOST 4095

static void take_visible(const char *visible, struct hostlist *hosts, char **include);
static int  highest_device(const char *list);
static int  most(int a, int b);
static int  count_words(const char *list);

int local_hosts(const struct options *options, char *const *here, struct hostlist *hosts,
                char **include, struct error *err)
{
    const char *visible = environ_value(here, "CUDA_VISIBLE_DEVICES");
    bool        chosen = options->include != NULL || options->exclude != NULL ||
                  options->num_gpus > 0 || options->num_ranks > 0;
    int slots = local_gpus();

    *include = NULL;
    if (options->num_nodes > 1)
        return err_set(err, "--num_nodes %d without a hostfile: name the machines with "
                            "--hostfile or -H", options->num_nodes);
    if (visible != NULL && visible[0] != '\0' && !chosen) {
        take_visible(visible, hosts, include);
        return 0;
    }
    if (visible != NULL && visible[0] != '\0')
        log_warn("CUDA_VISIBLE_DEVICES=%s is ignored: --include, --exclude, --num_gpus or -np "
                 "choose the devices", visible);
    if (slots == 0)
        slots = most(1, most(options->num_ranks, options->num_gpus));
    hostlist_add(hosts, "localhost", slots);
    return 0;
}

/* Numbers become a filter, so that slots keep their numbers. Other names go into the host's
 * environment, and slot k is the k-th name. */
static void take_visible(const char *visible, struct hostlist *hosts, char **include)
{
    int highest = highest_device(visible);

    if (highest >= 0) {
        hostlist_add(hosts, "localhost", most(local_gpus(), highest + 1));
        *include = xasprintf("localhost:%s", visible);
        return;
    }
    hostlist_add(hosts, "localhost", count_words(visible));
    strlist_addf(&hosts->host[0].env, "CUDA_VISIBLE_DEVICES=%s", visible);
}

/* Returns the highest number in "2,3", or -1 if a word is not a number (UUIDs, MIG). */
static int highest_device(const char *list)
{
    char   *copy = xstrdup(list), *rest = copy, *word;
    int64_t number;
    int     highest = -1;

    while ((word = strsep(&rest, ",")) != NULL) {
        if (parse_number(word, 0, DEVICE_MOST, &number, NULL) < 0) {
            highest = -1;
            break;
        }
        if (number > highest)
            highest = (int)number;
    }
    free(copy);
    return highest;
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

static int count_words(const char *list)
{
    int count = 1;

    for (; *list != '\0'; list++)
        count += *list == ',';
    return count;
}
