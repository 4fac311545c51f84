/* fuzz_batch.c - any text as what a batch system says of a job
 *
 * The first byte chooses: 'f' is Flux's R, 'g' and 'p' are the files of Grid Engine and PBS, 'l'
 * and all others the variables of LSF and Slurm. Whatever is accepted has hosts with slots and
 * harmless names.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hosts/batch.h"
#include "log.h"
#include "xalloc.h"

static int ask(char which, char *text, size_t size, struct batch_job *job, struct error *err)
{
    char  variable[64], *value = xasprintf("SLURM_JOB_NODELIST=te[1-3],%s", text);
    char *tasks = xasprintf("SLURM_TASKS_PER_NODE=%s", text);
    char *list = xasprintf("LSB_MCPU_HOSTS=%s", text);
    char *slurm[] = { value, tasks, NULL }, *lsf[] = { (char[]){ "LSB_JOBID=1" }, list, NULL };
    char *file[] = { variable, NULL };
    int   fd = memfd_create("fuzz", MFD_CLOEXEC), rc;

    if (fd < 0 || write(fd, text, size) != (ssize_t)size)
        abort();
    snprintf(variable, sizeof variable, "%s=/proc/self/fd/%d",
             which == 'g' ? "PE_HOSTFILE" : "PBS_NODEFILE", fd);
    rc = which == 'f'   ? batch_flux_parse(text, size, job, err)
         : which == 'g' ? batch_grid_engine(file, false, job, err)
         : which == 'p' ? batch_pbs(file, false, job, err)
         : which == 'l' ? batch_lsf(lsf, false, job, err)
                        : batch_slurm(slurm, false, job, err);
    close(fd);
    free(value);
    free(tasks);
    free(list);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct batch_job job = { 0 };
    struct error     err = { "" };
    char            *text;
    size_t           i;

    if (size == 0 || memchr(data, '^', size) != NULL || memchr(data, '@', size) != NULL)
        return 0; /* names a file, or a group */
    log_init("fuzz", LOG_ERROR);
    text = xstrndup((const char *)data + 1, size - 1);
    if (ask((char)data[0], text, strlen(text), &job, &err) < 0) {
        if (err.text[0] == '\0')
            abort();
    } else if (job.hosts.count == 0) {
        abort();
    }
    for (i = 0; i < job.hosts.count; i++)
        if (job.hosts.host[i].slots < 1 || job.hosts.host[i].slots > HOST_SLOTS_MAX ||
            job.hosts.host[i].name[0] == '-')
            abort();
    hostlist_clear(&job.hosts);
    free(text);
    return 0;
}
