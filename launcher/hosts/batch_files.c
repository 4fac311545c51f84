/* batch_files.c - see batch.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "hosts/batch.h"
#include "number.h"
#include "plan/environ.h"
#include "xalloc.h"

#define BLANKS " \t\r"

static const char *given(char *const *here, const char *name);
static int  read_nodes(char *const *here, const char *variable, struct batch_job *job,
                       struct error *err);
static int  read_torque_gpus(const char *path, struct batch_job *job, struct error *err);
static int  read_pairs(const char *variable, char *text, bool by_line, struct hostlist *hosts,
                       struct error *err);
static void drop_launch_node(struct hostlist *hosts);

/* OpenPBS has a line per MPI process, Torque one per core. */
int batch_pbs(char *const *here, bool no_ssh, struct batch_job *job, struct error *err)
{
    const char *gpus = given(here, "PBS_GPUFILE");

    (void)no_ssh;
    if (given(here, "PBS_NODEFILE") == NULL)
        return 0;
    job->system = "PBS";
    job->id = given(here, "PBS_JOBID");
    if (read_nodes(here, "PBS_NODEFILE", job, err) < 0)
        return -1;
    if (gpus != NULL && access(gpus, F_OK) == 0 && read_torque_gpus(gpus, job, err) < 0)
        return -1;
    return 1;
}

int batch_oar(char *const *here, bool no_ssh, struct batch_job *job, struct error *err)
{
    (void)no_ssh;
    if (given(here, "OAR_NODEFILE") == NULL)
        return 0;
    job->system = "OAR";
    job->id = given(here, "OAR_JOB_ID");
    return read_nodes(here, "OAR_NODEFILE", job, err) < 0 ? -1 : 1;
}

/* On CORAL machines (CSM_ALLOCATION_ID) the first host is the launch node, which is not the
 * job's. */
int batch_lsf(char *const *here, bool no_ssh, struct batch_job *job, struct error *err)
{
    const char *list = given(here, "LSB_MCPU_HOSTS");
    char       *copy;
    int         rc;

    (void)no_ssh;
    if (given(here, "LSB_JOBID") == NULL)
        return 0;
    job->system = "LSF";
    job->id = given(here, "LSB_JOBID");
    if (given(here, "LSB_DJOB_HOSTFILE") != NULL) {
        rc = read_nodes(here, "LSB_DJOB_HOSTFILE", job, err);
    } else if (list != NULL) {
        copy = xstrdup(list);
        rc = read_pairs("LSB_MCPU_HOSTS", copy, false, &job->hosts, err);
        free(copy);
        job->slots_by = "LSB_MCPU_HOSTS";
        job->counts_cores = true;
    } else {
        rc = err_set(err, "LSF job %s has neither LSB_DJOB_HOSTFILE nor LSB_MCPU_HOSTS: name the "
                          "hosts with -H", job->id);
    }
    if (rc == 0 && given(here, "CSM_ALLOCATION_ID") != NULL)
        drop_launch_node(&job->hosts);
    return rc < 0 ? -1 : 1;
}

/* Only jobs of a parallel environment have the file, whose lines are "te1 4 all.q@te1 UNDEFINED". A
 * host is in several lines if several of its queues serve the job. (sge_pe(5)) */
int batch_grid_engine(char *const *here, bool no_ssh, struct batch_job *job, struct error *err)
{
    const char  *path = given(here, "PE_HOSTFILE");
    struct error why;
    size_t       size;
    char        *text;
    int          rc;

    (void)no_ssh;
    if (path == NULL)
        return 0;
    job->system = "Grid Engine";
    job->id = given(here, "JOB_ID");
    job->slots_by = "PE_HOSTFILE";
    job->counts_cores = true;
    text = file_read_at_once(path, HOSTFILE_BYTES_MAX, &size, &why);
    if (text == NULL)
        return err_set(err, "PE_HOSTFILE: %s", why.text);
    rc = read_pairs("PE_HOSTFILE", text, true, &job->hosts, err);
    free(text);
    return rc < 0 ? -1 : 1;
}

static const char *given(char *const *here, const char *name)
{
    const char *value = environ_value(here, name);

    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* A file with a line for each slot of a host */
static int read_nodes(char *const *here, const char *variable, struct batch_job *job,
                      struct error *err)
{
    struct error why;

    if (hostfile_read(given(here, variable), &job->hosts, &why) < 0)
        return err_set(err, "%s: %s", variable, why.text);
    job->slots_by = variable;
    job->counts_cores = true;
    return 0;
}

/* Torque lists the GPUs as "te1-gpu0", those of a host one after the other; there may be none. */
static int read_torque_gpus(const char *path, struct batch_job *job, struct error *err)
{
    struct hostlist *hosts = &job->hosts;
    size_t           size, i, at = 0;
    char            *text = file_read_at_once(path, HOSTFILE_BYTES_MAX, &size, err);
    char            *rest = text, *line, *gpu;
    int             *gpus;
    bool             has_some = false;

    if (text == NULL)
        return -1;
    gpus = xcalloc(hosts->count, sizeof *gpus);
    while ((line = strsep(&rest, "\n")) != NULL) {
        gpu = strstr(line, "-gpu");
        if (gpu == NULL)
            continue;
        *gpu = '\0';
        for (i = 0; i < hosts->count && strcmp(hosts->host[at].name, line) != 0; i++)
            at = (at + 1) % hosts->count;
        if (i < hosts->count && gpus[at] < HOST_SLOTS_MAX) {
            gpus[at]++;
            has_some = true;
        }
    }
    for (i = 0; i < hosts->count && has_some; i++)
        hosts->host[i].slots = gpus[i] > 0 ? gpus[i] : 1;
    if (has_some) {
        job->slots_by = "PBS_GPUFILE";
        job->counts_cores = false;
    }
    free(gpus);
    free(text);
    return 0;
}

/* Reads "te1 4 te2 4", or the first two words of each line. */
static int read_pairs(const char *variable, char *text, bool by_line, struct hostlist *hosts,
                      struct error *err)
{
    struct error why;
    char        *rest = text, *line, *host, *slots;
    int64_t      count;
    int          rc = 0;

    while (rc == 0 && (line = strsep(&rest, "\n")) != NULL)
        while (rc == 0 && (host = strtok_r(line, BLANKS, &line)) != NULL) {
            slots = strtok_r(NULL, BLANKS, &line);
            if (slots == NULL)
                rc = err_set(&why, "no number behind '%.64s'", host);
            else if (parse_number(slots, 1, HOST_SLOTS_MAX, &count, &why) < 0 ||
                     batch_add(host, (size_t)count, hosts, &why) == NULL)
                rc = -1;
            if (by_line)
                break;
        }
    if (rc == 0 && hosts->count == 0)
        rc = err_set(&why, "names no host");
    return rc < 0 ? err_set(err, "%s: %s", variable, why.text) : 0;
}

static void drop_launch_node(struct hostlist *hosts)
{
    if (hosts->count < 2 || hosts->host[0].slots > 1 || hosts->host[1].slots == 1)
        return;
    host_clear(&hosts->host[0]);
    memmove(hosts->host, hosts->host + 1, --hosts->count * sizeof *hosts->host);
}
