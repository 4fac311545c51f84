/* test_allocation.c - the hosts of a job, by the environment that each batch system gives it
 *
 * Variables and files are those of real jobs: of Slurm 22.05, Grid Engine 8.1.9 and Flux 0.88 they
 * were recorded; of OpenPBS, Torque, LSF and OAR their sources or manuals have them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "file.h"
#include "hosts/allocation.h"
#include "hosts/batch.h"
#include "log.h"
#include "xalloc.h"

#define VARIABLES_MAX 8
#define R(entries, hosts) "{\"version\":1,\"execution\":{\"R_lite\":[" entries \
                          "],\"starttime\":0.0,\"expiration\":0.0,\"nodelist\":[" hosts "]}}"

static char dir[] = "/tmp/test_allocation.XXXXXX";

struct job {
    const char *file; /* what the file "f" contains; NULL: there is none */
    const char *here[VARIABLES_MAX]; /* "%" is the file's path */
    const char *expected; /* words, or the end of an error; NULL: no job */
};

static int set_up(void **state)
{
    (void)state;
    setenv("MUSTER_TEST_GPU_GLOB", "/nonexistent", 1);
    log_init("test", LOG_ERROR);
    return mkdtemp(dir) == NULL || chdir(dir) < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
    (void)state;
    return unlink("f") < 0 || unlink("gpu0") < 0 || unlink("gpu1") < 0 || chdir("/") < 0 ||
                   rmdir(dir) < 0 ? -1 : 0;
}

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* Returns what was found, as text; the caller frees it. */
static char *find(const struct job *job, bool no_ssh, struct hostlist *hosts)
{
    struct options options = { .no_ssh = no_ssh };
    char          *here[VARIABLES_MAX + 1] = { NULL }, *words = NULL;
    struct error   err;
    int            rc;

    memcpy(here, job->here, sizeof job->here);
    if (job->file != NULL)
        write_file("f", job->file);
    rc = allocation_hosts(&options, here, hosts, &words, &err);
    return rc < 0 ? xstrdup(err.text) : rc == 0 ? NULL : words;
}

static void check(const struct job *jobs, size_t count, bool no_ssh)
{
    struct hostlist hosts;
    size_t          i, end;
    char           *found;

    for (i = 0; i < count; i++) {
        found = find(&jobs[i], no_ssh, &hosts);
        end = jobs[i].expected != NULL ? strlen(jobs[i].expected) : 0;
        if ((found == NULL) != (jobs[i].expected == NULL) ||
            (found != NULL && (strlen(found) < end ||
                               strcmp(found + strlen(found) - end, jobs[i].expected) != 0)))
            fail_msg("%zu %s: %s", i, jobs[i].here[0], found != NULL ? found : "no job");
        free(found);
        hostlist_clear(&hosts);
    }
}

static void slurm_and_pbs_are_read(void **state)
{
    static const struct job jobs[] = {
        { NULL, { "HOME=/root" }, NULL },
        { NULL, { "PBS_NODEFILE=", "LSB_JOBID=", "FLUX_URI=", "SLURM_JOB_NODELIST=" }, NULL },
        /* Slurm */
        { NULL, { "SLURM_JOB_ID=24", "SLURM_JOB_NODELIST=te[1-2]", "SLURM_TASKS_PER_NODE=2(x2)" },
          "Slurm job 24: te[1-2], 2 slots each (SLURM_TASKS_PER_NODE)" },
        { NULL, { "SLURM_JOB_NODELIST=te[1-2],x9", "SLURM_TASKS_PER_NODE=1(x2),3" },
          "Slurm job: te[1-2],x9, 1 to 3 slots (SLURM_TASKS_PER_NODE)" },
        { NULL, { "SLURM_JOB_NODELIST=te1", "SLURM_GPUS_PER_NODE=a100:4,h100:4" },
          "Slurm job: te1, 8 slots (SLURM_GPUS_PER_NODE)" },
        { NULL, { "SLURM_JOB_NODELIST=te[1-2]", "SLURM_STEP_NUM_TASKS=1",
                  "SLURM_STEP_NODELIST=te1", "SLURM_STEP_ID=4294967290" },
          "te[1-2], 1 slot each" },
        { NULL, { "SLURM_JOB_NODELIST=te[1-2]", "SLURM_STEP_NUM_TASKS=2" },
          "srun starts muster 2 times (SLURM_STEP_NUM_TASKS); start it once, without srun, or once "
          "on each node with --no_ssh, or name the hosts with -H" },
        { NULL, { "SLURM_JOB_NODELIST=te[1-2" }, "'[' without ']'" },
        { NULL, { "SLURM_JOB_NODELIST=te1", "SLURM_TASKS_PER_NODE=x" },
          "'x' is not a number from 1 to 4096" },
        /* PBS */
        { "te1\nte1\nte2\n", { "PBS_NODEFILE=f", "PBS_JOBID=9.pbs" },
          "PBS job 9.pbs: te[1-2], 1 to 2 slots (PBS_NODEFILE)" },
        { "te1\nte2\nte1\nte2\n", { "PBS_NODEFILE=f", "PBS_GPUFILE=none" },
          "te[1-2], 2 slots each (PBS_NODEFILE)" },
        { "", { "PBS_NODEFILE=f" }, "contains no host; a line looks like \"te1 slots=4\"" },
        { NULL, { "PBS_NODEFILE=none" }, "PBS_NODEFILE: none: No such file or directory" },
    };

    (void)state;
    check(jobs, sizeof jobs / sizeof *jobs, false);
}

static void others_are_read(void **state)
{
    static const struct job jobs[] = {
        /* LSF */
        { "te1\nte1\nte2\nte2\n", { "LSB_JOBID=5", "LSB_DJOB_HOSTFILE=f",
                                    "LSB_MCPU_HOSTS=te9 3" },
          "LSF job 5: te[1-2], 2 slots each (LSB_DJOB_HOSTFILE)" },
        { NULL, { "LSB_JOBID=5", "LSB_MCPU_HOSTS=te1 3 te2 2 " },
          "te[1-2], 2 to 3 slots (LSB_MCPU_HOSTS)" },
        { NULL, { "LSB_JOBID=5", "LSB_MCPU_HOSTS=batch5 1 h1 42 h2 42", "CSM_ALLOCATION_ID=7" },
          "h[1-2], 42 slots each (LSB_MCPU_HOSTS)" },
        { NULL, { "LSB_JOBID=5", "LSB_MCPU_HOSTS=h1 42 h2 42", "CSM_ALLOCATION_ID=7" },
          "h[1-2], 42 slots each (LSB_MCPU_HOSTS)" },
        { NULL, { "LSB_JOBID=5", "LSB_MCPU_HOSTS=h1 1 h2 2" }, "1 to 2 slots (LSB_MCPU_HOSTS)" },
        { NULL, { "LSB_JOBID=5", "LSB_MCPU_HOSTS=te1 3 te2" },
          "LSB_MCPU_HOSTS: no number behind 'te2'" },
        { NULL, { "LSB_JOBID=5", "LSB_MCPU_HOSTS=te1 0" }, "'0' is not a number from 1 to 4096" },
        { NULL, { "LSB_JOBID=5", "LSB_MCPU_HOSTS= " }, "LSB_MCPU_HOSTS: names no host" },
        { NULL, { "LSB_JOBID=5" }, "name the hosts with -H" },
        /* Grid Engine */
        { "te1 3 all.q@te1 UNDEFINED\nte2 2 all.q@te2 UNDEFINED\n",
          { "PE_HOSTFILE=f", "JOB_ID=2" },
          "Grid Engine job 2: te[1-2], 2 to 3 slots (PE_HOSTFILE)" },
        { "te1 2 b.q@te1 0,0\nte1 4 all.q@te1 0,0:0,1\nte2 4 all.q@te2 <NULL>\n",
          { "PE_HOSTFILE=f" }, "te[1-2], 4 to 6 slots (PE_HOSTFILE)" },
        { "te1\n", { "PE_HOSTFILE=f" }, "PE_HOSTFILE: no number behind 'te1'" },
        { "^/etc/passwd 2\n", { "PE_HOSTFILE=f" }, "'^/etc/passwd' is not the name of a host" },
        { "@gpu 2\n", { "PE_HOSTFILE=f" }, "'@gpu' is not the name of a host" },
        { "-x 2\n", { "PE_HOSTFILE=f" }, "to leave a host out write --exclude=HOST" },
        { "te1 4096\nte2 4097\n", { "PE_HOSTFILE=f" }, "'4097' is not a number from 1 to 4096" },
        { "\n", { "PE_HOSTFILE=f" }, "PE_HOSTFILE: names no host" },
        { NULL, { "PE_HOSTFILE=none" }, "PE_HOSTFILE: none: No such file or directory" },
        /* OAR, before the file that some of its sites set for programs of PBS */
        { "te1\nte1\nte2\nte2\n", { "OAR_NODEFILE=f", "OAR_JOB_ID=3", "PBS_NODEFILE=none" },
          "OAR job 3: te[1-2], 2 slots each (OAR_NODEFILE)" },
    };

    (void)state;
    check(jobs, sizeof jobs / sizeof *jobs, false);
}

/* With --no_ssh muster runs on each host; Slurm's step has those on which it does. */
static void each_node_may_start_its_own(void **state)
{
    static const struct job jobs[] = {
        { NULL, { "SLURM_JOB_NODELIST=te[1-4]", "SLURM_STEP_NUM_TASKS=2",
                  "SLURM_STEP_NUM_NODES=2", "SLURM_STEP_NODELIST=te[2-3]", "SLURM_GPUS_ON_NODE=4" },
          "te[2-3], 4 slots each (SLURM_GPUS_ON_NODE)" },
        { NULL, { "SLURM_JOB_NODELIST=te[1-2]", "SLURM_STEP_NUM_TASKS=4",
                  "SLURM_STEP_NUM_NODES=2", "SLURM_STEP_NODELIST=te[1-2]" },
          "srun starts muster 4 times on 2 nodes (SLURM_STEP_NUM_TASKS); with --no_ssh one must "
          "start on each: srun --ntasks-per-node=1" },
        { "te1\nte2\n", { "PBS_NODEFILE=f" }, "te[1-2], 1 slot each (PBS_NODEFILE)" },
    };

    (void)state;
    check(jobs, sizeof jobs / sizeof *jobs, true);
}

/* This machine has two GPUs: more ranks than that cannot train on a host like it. */
static void cores_are_no_gpus(void **state)
{
    static const struct job jobs[] = {
        { "te1 32 all.q@te1 UNDEFINED\nte2 1 all.q@te2 UNDEFINED\n", { "PE_HOSTFILE=f" },
          "te[1-2], 1 to 2 slots (GPUs of this machine)" },
        { "te1\nte2\n", { "PBS_NODEFILE=f" }, "te[1-2], 2 slots each (GPUs of this machine)" },
        { "te1\nte1\nte2\nte2\n", { "OAR_NODEFILE=f" }, "2 slots each (OAR_NODEFILE)" },
        { NULL, { "LSB_JOBID=5", "LSB_MCPU_HOSTS=te1 8 te2 8", "CUDA_VISIBLE_DEVICES=0,1,2" },
          "te[1-2], 3 slots each (CUDA_VISIBLE_DEVICES)" },
        { NULL, { "SLURM_JOB_NODELIST=te[1-2]" }, "te[1-2], 2 slots each (GPUs of this machine)" },
        { NULL, { "SLURM_JOB_NODELIST=te[1-2]", "SLURM_GPUS_ON_NODE=8" },
          "te[1-2], 8 slots each (SLURM_GPUS_ON_NODE)" },
    };
    char *glob = xasprintf("%s/gpu*", dir);

    (void)state;
    write_file("gpu0", "");
    write_file("gpu1", "");
    setenv("MUSTER_TEST_GPU_GLOB", glob, 1);
    check(jobs, sizeof jobs / sizeof *jobs, false);
    setenv("MUSTER_TEST_GPU_GLOB", "/nonexistent", 1);
    free(glob);
}

static void torque_lists_gpus(void **state)
{
    const struct job jobs[] = {
        { "te10\nte10\nte1\nte1\n", { "PBS_NODEFILE=f", "PBS_GPUFILE=gpu0" },
          "te[1,10], 2 to 4 slots (PBS_GPUFILE)" },
        { "te1\nte1\nte2\nte2\n", { "PBS_NODEFILE=f", "PBS_GPUFILE=gpu1" },
          "te[1-2], 2 slots each (PBS_NODEFILE)" },
    };

    (void)state;
    write_file("gpu0", "te10-gpu0\nte10-gpu1\nte1-gpu0\nte1-gpu1\nte1-gpu2\nte1-gpu3\n");
    write_file("gpu1", "");
    check(jobs, sizeof jobs / sizeof *jobs, false);
}

/* Returns "te1:2=0,1 te2:1=3": hosts, slots and CUDA_VISIBLE_DEVICES; or the error. */
static char *show(const char *r)
{
    struct batch_job job = { 0 };
    struct error     err;
    const char      *gpus;
    char            *text = xstrdup(""), *more;
    size_t           i;

    if (batch_flux_parse(r, strlen(r), &job, &err) < 0) {
        free(text);
        text = xstrdup(err.text);
    } else {
        for (i = 0; i < job.hosts.count; i++) {
            gpus = env_get(&job.hosts.host[i].env, "CUDA_VISIBLE_DEVICES");
            more = xasprintf("%s%s%s:%d%s%s", text, i > 0 ? " " : "", job.hosts.host[i].name,
                             job.hosts.host[i].slots, gpus != NULL ? "=" : "",
                             gpus != NULL ? gpus : "");
            free(text);
            text = more;
        }
    }
    hostlist_clear(&job.hosts);
    return text;
}

static void flux_says_what_each_host_has(void **state)
{
    static const struct {
        const char *r, *expected;
    } cases[] = {
        { R("{\"rank\":\"0-1\",\"children\":{\"gpu\":\"0-3\",\"core\":\"0-7\"}}", "\"te[1-2]\""),
          "te1:4=0,1,2,3 te2:4=0,1,2,3" },
        { R("{\"rank\":\"0\",\"children\":{\"gpu\":\"0-3\",\"core\":\"0-7\"}},"
            "{\"rank\":\"1\",\"children\":{\"gpu\":\"0\",\"core\":\"0-1\"}}", "\"te[2,4]\""),
          "te2:4=0,1,2,3 te4:1=0" },
        /* in the order of the ranks, not of the entries; rank 1 is down */
        { R("{\"rank\":\"2,3\",\"children\":{\"gpu\":\"1,3\"}},"
            "{\"rank\":\"0\",\"children\":{\"gpu\":\"0\"}}", "\"te1\", \"x[8-9]\""),
          "te1:1=0 x8:2=1,3 x9:2=1,3" },
        { R("{\"rank\":\"0\",\"children\":{\"core\":\"0-3\"}}", "\"te2\""), "te2:4" },
        /* two brokers on one host */
        { R("{\"rank\":\"0-1\",\"children\":{\"core\":\"0-1\"}}", "\"te[1,1]\""), "te1:4" },
        { R("{\"rank\":\"0\",\"children\":{\"core\":\"0\"}},"
            "{\"rank\":\"1\",\"children\":{\"core\":\"0-7\",\"gpu\":\"0\"}}", "\"te[1-2]\""),
          "te2:1=0" },
        { R("{\"rank\":\"0-1\",\"children\":{\"gpu\":\"0\"}}", "\"te[1,1]\""),
          "Flux has te1 twice: name the hosts and their slots with -H" },
        { "", "Flux's R has no execution.R_lite: '[' or '{' expected near end of file" },
        { "[]", "Flux's R has no execution.R_lite" },
        { "{\"execution\":{\"R_lite\":{}}}", "Flux's R has no execution.R_lite" },
        { "{\"execution\":{\"R_lite\":[]}}", "Flux's R names no host" },
        { R("", "7"), "Flux's R: nodelist is not a list of hosts" },
        { R("", "\"te[1\""), "Flux's R: nodelist is not a list of hosts" },
        { R("", "\"te1\""), "Flux's R has 0 ranks, but 1 hosts" },
        { R("{\"rank\":\"0-2\",\"children\":{\"core\":\"0\"}}", "\"te[1-2]\""),
          "Flux's R has 3 ranks, but 2 hosts" },
        { R("{\"rank\":0,\"children\":{\"core\":\"0\"}}", "\"te1\""),
          "Flux's R: '' is not a set of ranks with cores" },
        { R("{\"rank\":\"0-\",\"children\":{\"core\":\"0\"}}", "\"te1\""),
          "Flux's R: '0-' is not a set of ranks with cores" },
        { R("{\"rank\":\"0\",\"children\":{\"core\":\"x\"}}", "\"te1\""),
          "Flux's R: '0' is not a set of ranks with cores" },
        { R("{\"rank\":\"0\"}", "\"te1\""), "te1: 0 slots: the limits are 1 and 4096" },
        { R("{\"rank\":\"0\",\"children\":{\"gpu\":\"0]\"}}", "\"te1\""),
          "'0]' is not a set of numbers" },
        { R("{\"rank\":\"0\",\"children\":{\"core\":\"0\"}}", "\"-x\""),
          "-H:1: a host name cannot begin with '-'; to leave a host out write --exclude=HOST" },
    };
    size_t i;
    char  *found;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        found = show(cases[i].r);
        if (strcmp(found, cases[i].expected) != 0)
            fail_msg("%s: %s", cases[i].r, found);
        free(found);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slurm_and_pbs_are_read),
        cmocka_unit_test(others_are_read),
        cmocka_unit_test(each_node_may_start_its_own),
        cmocka_unit_test(cores_are_no_gpus),
        cmocka_unit_test(torque_lists_gpus),
        cmocka_unit_test(flux_says_what_each_host_has),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
