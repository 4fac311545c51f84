/* job.c - see job.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "job/job.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job/fields.h"
#include "job/run_mode.h"
#include "job/template.h"
#include "job/views.h"
#include "xalloc.h"

const char *const job_launchers[] = { "pod", "worker0", NULL };
const char *const job_recoveries[] = { "elastic", "full", NULL };
const char *const job_cleanups[] = { "Unfinished", "None", "All", NULL };
const char *const job_restarts[] = { "Never", "OnFailure", "ExitCode", NULL };

static int check_name(const struct job *job, struct error *err);
static int check_space(const char *field, const char *space, struct error *err);

void job_clear(struct job *job)
{
    free(job->name);
    free(job->space);
    free(job->queue);
    free(job->logdir);
    free(job->board_image);
    free(job->scrape_space);
    strlist_clear(&job->command);
    strlist_clear(&job->warnings);
    run_mode_clear(job);
    json_decref(job->template);
    *job = (struct job){ 0 };
}

void job_read_metadata(struct job *job, struct fields *metadata)
{
    const char *text;

    if ((text = fields_text(metadata, "name")) != NULL)
        job->name = xstrdup(text);
    if ((text = fields_text(metadata, "namespace")) != NULL)
        job->space = xstrdup(text);
}

int job_check(const struct job *job, struct error *err)
{
    int64_t gpus;

    if (check_name(job, err) < 0 ||
        (job->space != NULL && check_space("namespace", job->space, err) < 0) ||
        (job->scrape_space != NULL &&
         check_space("metrics.namespace", job->scrape_space, err) < 0))
        return -1;
    if (job->workers < 1 || job->workers > JOB_WORKERS_MAX)
        return err_set(err, "workers: must be a number from 1 to %d", JOB_WORKERS_MAX);
    if (job_is_elastic(job) && (job->least < 1 || job->least > job->most ||
                                job->most > JOB_WORKERS_MAX))
        return err_set(err,
                       "elastic: minReplicas must be at least 1 and at most maxReplicas, and "
                       "maxReplicas at most %d",
                       JOB_WORKERS_MAX);
    if (job_is_elastic(job) && (job->workers < job->least || job->workers > job->most))
        return err_set(err,
                       "elastic: %" PRId64
                       " workers are not between minReplicas and maxReplicas, "
                       "%" PRId64 " and %" PRId64,
                       job->workers, job->least, job->most);
    if (job_is_elastic(job) && job->is_custom)
        return err_set(err, "elastic: an elastic run needs muster, not customCommand");
    if (job->slots < 0 || job->slots > JOB_SLOTS_MAX)
        return err_set(err, "slotsPerWorker: must be a number from 1 to %d", JOB_SLOTS_MAX);
    if (template_check(job->template, err) < 0 || views_check(job, err) < 0)
        return -1;
    gpus = job_gpus(job);
    if (gpus > JOB_SLOTS_MAX)
        return err_set(err, "resources.limits: a worker can have at most %d GPUs",
                       JOB_SLOTS_MAX);
    if (gpus > 0 && job->slots > gpus)
        return err_set(err, "slotsPerWorker: %" PRId64 " ranks would share %" PRId64 " GPUs; write "
                       "at most %" PRId64, job->slots, gpus, gpus);
    if (job->command.count == 0 && !job->is_debug)
        return err_set(err, "there is nothing to run; write for example -- train.py --epochs=3");
    return 0;
}

bool job_is_queued(const struct job *job)
{
    return job->queue != NULL && (job->gang == GANG_NONE || job->gang == GANG_PLUGINS);
}

void job_warn_board(struct job *job)
{
    if (job->logdir != NULL && !template_shares(job->template, job->logdir))
        strlist_addf(&job->warnings,
                     "TensorBoard will see no files: no volume that Pods share is mounted at "
                     "%.80s or above; write for example --data=CLAIM:%.80s",
                     job->logdir, job->logdir);
}

bool job_is_elastic(const struct job *job)
{
    return job->most > 0;
}

int64_t job_keys(const struct job *job)
{
    return job_is_elastic(job) ? job->most : job->workers;
}

bool job_has_board(const struct job *job)
{
    return job->logdir != NULL;
}

bool job_has_page(const struct job *job)
{
    return job->has_page || job->scrape != SCRAPE_NONE;
}

int64_t job_page_port(const struct job *job)
{
    return job->page_port != 0 ? job->page_port : JOB_PAGE_PORT;
}

int64_t job_slots(const struct job *job)
{
    int64_t gpus = job_gpus(job);

    return job->slots > 0 ? job->slots : gpus > 0 ? gpus : 1;
}

int64_t job_max_wait_s(const struct job *job)
{
    return job->max_wait_s > 0 ? job->max_wait_s : JOB_MAX_WAIT_S;
}

int64_t job_gpus(const struct job *job)
{
    return template_gpus(job->template);
}

/* The Service has the job's name, so it must be a DNS label (RFC 1035); and the longest Pod
 * name is a host name. */
static int check_name(const struct job *job, struct error *err)
{
    char   pod[256];
    size_t length;

    if (job->name == NULL || job->name[0] == '\0')
        return err_set(err, "name: is missing; write --name NAME, or metadata.name");
    length = strlen(job->name);
    if (strspn(job->name, "abcdefghijklmnopqrstuvwxyz0123456789-") != length ||
        strchr("0123456789-", job->name[0]) != NULL || job->name[length - 1] == '-')
        return err_set(
            err,
            "name: '%.80s' must consist of a-z, 0-9 and '-', begin with a letter and "
            "not end with '-'",
            job->name);
    snprintf(pod, sizeof pod, "%.200s-worker-%" PRId64, job->name, job_keys(job) - 1);
    if (strlen(pod) > JOB_NAME_MAX)
        return err_set(err, "name: '%.80s' is too long by %zu: %s is the name of a host, which has "
                       "at most %d letters", job->name, strlen(pod) - JOB_NAME_MAX, pod,
                       JOB_NAME_MAX);
    return 0;
}

static int check_space(const char *field, const char *space, struct error *err)
{
    size_t length = strlen(space);

    if (length == 0 || length > 63 || space[0] == '-' || space[length - 1] == '-' ||
        strspn(space, "abcdefghijklmnopqrstuvwxyz0123456789-") != length)
        return err_set(err, "%s: '%.80s' must consist of a-z, 0-9 and '-'", field, space);
    return 0;
}
