/* leftovers.c - processes and shared memory of earlier runs; processes that have the GPUs open
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "doctor/checkup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup/orphans.h"
#include "node/gpu.h"
#include "node/gpu_holders.h"
#include "node/shm.h"
#include "xalloc.h"

#define OLD_S      10 /* younger ones may be about to exit */
#define MIB        (1024.0 * 1024.0)
#define CLEAN_MEND "muster clean --kill"
#define GPU_MEND   "muster clean --kill-gpu"

static void shm_check(const struct checkup *checkup);
static void holder_check(const struct checkup *checkup, const struct gpu_holder *holder,
                         const struct orphans *orphans);

void leftovers_check(const struct checkup *checkup)
{
    struct orphans orphans = { .started_by = process_ticks_ago(OLD_S), .own_network = true };
    size_t         i, left = 0;

    orphans_look(&orphans);
    for (i = 0; i < orphans.count; i++)
        left += orphan_is_left(&orphans.item[i]);
    orphans_clear(&orphans);
    if (left > 0)
        checkup_find(checkup, CHECKUP_WARN, "they hold GPUs, ports and memory", CLEAN_MEND,
                     "%zu process%s of earlier runs", left, left == 1 ? "" : "es");
    shm_check(checkup);
}

/* Users other than root see only whether their own files are in use. */
static void shm_check(const struct checkup *checkup)
{
    json_t *stale = shm_stale(geteuid() != 0), *file;
    double  size = 0;
    size_t  i;

    json_array_foreach(stale, i, file)
        size += (double)json_integer_value(json_object_get(file, "size"));
    if (json_array_size(stale) > 0)
        checkup_find(checkup, CHECKUP_WARN, "NCCL and data loaders find no space: crash at init",
                     CLEAN_MEND, "%zu stale file%s in /dev/shm (%.0f MiB)", json_array_size(stale),
                     json_array_size(stale) == 1 ? "" : "s", size / MIB);
    json_decref(stale);
}

void holders_check(const struct checkup *checkup)
{
    struct gpu_holders holders;
    struct orphans     orphans = { 0 };
    json_int_t         slots = json_integer_value(json_object_get(checkup->request, "slots"));
    int                gpus = gpu_count();
    size_t             i;

    checkup_fact(checkup, "gpus", json_integer(gpus));
    if (gpus > 0 && slots > gpus)
        checkup_find(checkup, CHECKUP_FAIL, "the last ranks fail with \"invalid device ordinal\"",
                     "write that number into the hostfile", "slots=%lld, but %d GPUs",
                     (long long)slots, gpus);
    gpu_holders_find(&holders, NULL);
    if (holders.count > 0)
        orphans_look(&orphans);
    for (i = 0; i < holders.count && i < GPU_HOLDERS_MAX; i++)
        holder_check(checkup, &holders.item[i], &orphans);
    gpu_holders_clear(&holders);
    orphans_clear(&orphans);
}

/* Names the command that ends it, which depends on whose it is: muster clean --kill ends what is of
 * a run, --kill-gpu what is not, and neither what is of a run that is running. */
static void holder_check(const struct checkup *checkup, const struct gpu_holder *holder,
                         const struct orphans *orphans)
{
    json_t     *about = gpu_holder_about(holder);
    const char *user = json_string_value(json_object_get(about, "user"));
    bool        is_mine, is_of_run, is_running;
    char        run[ORPHAN_RUN_ID_MAX], *mend;

    if (about == NULL)
        return;
    is_mine = (uid_t)json_integer_value(json_object_get(about, "uid")) == user_login();
    is_of_run = orphans_run_of(orphans, &holder->process, run, &is_running);
    if (is_of_run && is_running && run[0] != '\0')
        mend = xasprintf("wait, or: muster stop %s", run);
    else if (is_of_run && is_running)
        mend = xstrdup("wait, or: muster status, muster stop");
    else if (is_mine)
        mend = xstrdup(is_of_run ? CLEAN_MEND : GPU_MEND " mine");
    else
        mend = xasprintf(GPU_MEND " %s%s%s%s", strchr(user, ' ') != NULL ? "'" : "", user,
                         strchr(user, ' ') != NULL ? "'" : "", geteuid() == 0 ? "" : " --sudo");
    checkup_find(checkup, CHECKUP_WARN, "CUDA out of memory at the start", mend,
                 "a GPU is in use by pid %lld of %s: %.100s",
                 (long long)json_integer_value(json_object_get(about, "pid")), user,
                 json_string_value(json_object_get(about, "command")));
    free(mend);
    json_decref(about);
}
