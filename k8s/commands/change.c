/* change.c - muster k8s pause, resume and scale: change what a job asks for, and execute it
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "commands/execute.h"
#include "commands/follow.h"
#include "commands/query.h"
#include "commands/subcommands.h"
#include "exit_code.h"
#include "file.h"
#include "job/scaler.h"
#include "yaml/yaml.h"
#include "log.h"

#define TRIES_MAX 20 /* others may write into the anchor at the same time */

/* The job's new state; -1: no change. */
struct change {
    int     is_paused;
    int64_t workers;
    const struct scaler *scaler; /* NULL: none; else it decides workers */
};

static bool has_what_to_scale(const struct query *query, struct error *err);
static int  read_scaler(struct query *query, struct scaler *scaler, struct error *err);
static int change_job(const struct query *query, const struct change *asked, const char *done);
static int write_change(const struct query *query, const struct change *change, struct job *job,
                        struct observed *observed, struct error *err);
static bool apply(const struct change *change, struct job *job);

int command_pause(const struct subcommand *self, char *const *argv)
{
    const struct change change = { .is_paused = 1, .workers = -1 };
    struct query        query;
    int                 status = query_begin(&query, self, argv, 0, 1, 1);

    return status != 0 ? status : change_job(&query, &change, "paused");
}

int command_resume(const struct subcommand *self, char *const *argv)
{
    const struct change change = { .is_paused = 0, .workers = -1 };
    struct query        query;
    int                 status = query_begin(&query, self, argv, 0, 1, 1);

    return status != 0 ? status : change_job(&query, &change, "resumed");
}

int command_scale(const struct subcommand *self, char *const *argv)
{
    struct change change = { .is_paused = -1 };
    struct scaler scaler = { 0 };
    struct query  query;
    struct error  err;
    int           status = query_begin(&query, self, argv, QUERY_WORKERS | QUERY_FILE, 0, 1);

    if (status != 0)
        return status;
    if (!has_what_to_scale(&query, &err))
        status = EXIT_USAGE;
    else if (query.file != NULL && read_scaler(&query, &scaler, &err) < 0)
        status = EXIT_DATA;
    if (status != 0)
        log_error("%s", err.text);
    change.workers = query.workers;
    change.scaler = query.file != NULL ? &scaler : NULL;
    if (status == 0)
        status = change_job(&query, &change, "scaled");
    else
        query_end(&query);
    scaler_clear(&scaler);
    return status;
}

static bool has_what_to_scale(const struct query *query, struct error *err)
{
    if (query->file != NULL && (query->workers > 0 || query->names.count > 0))
        err_set(
            err,
            "-f %s: the document names the job and the number of workers; give nothing else",
            query->file);
    else if (query->file == NULL && query->names.count == 0)
        err_set(err, "the name of a job is missing; `muster k8s list` shows them");
    else if (query->file == NULL && query->workers == 0)
        err_set(err, "--workers=N is missing: the number of workers that the job should have");
    else
        return true;
    return false;
}

/* Reads a document of ET's, and sets the query to its job. */
static int read_scaler(struct query *query, struct scaler *scaler, struct error *err)
{
    struct error why;
    size_t       size, i;
    char        *bytes = file_read(query->file, YAML_BYTES_MAX, &size, err);
    json_t      *document = bytes != NULL ? yaml_parse(query->file, bytes, size, err) : NULL;
    int          rc = document != NULL ? scaler_read(scaler, document, &why) : -1;

    free(bytes);
    if (document != NULL && rc < 0)
        err_set(err, "%s: %s", query->file, why.text);
    json_decref(document);
    if (rc < 0)
        return -1;
    for (i = 0; i < scaler->warnings.count; i++)
        log_warn("%s: %s", query->file, scaler->warnings.item[i]);
    strlist_add(&query->names, scaler->name);
    if (scaler->space != NULL && place_set_space(&query->place, scaler->space, err) < 0)
        return -1;
    return 0;
}

/* Ends the query. */
static int change_job(const struct query *query, const struct change *asked, const char *done)
{
    const char     *name = query->names.item[0];
    struct change   change = *asked;
    struct job      job = { 0 };
    struct observed observed = { 0 };
    struct error    err;
    int             status = EXIT_UNREACHABLE, rc;

    rc = query_find(query, &job, &observed, &err);
    if (rc == 0 && observed.outcome != OUTCOME_NONE) {
        rc = err_set(&err, "the job %s has ended (%s); delete it and submit it again", name,
                     outcome_names[observed.outcome]);
        status = EXIT_DATA;
    } else if (rc == 0 && change.scaler != NULL &&
               (change.workers = scaler_workers(change.scaler, &job, &err)) < 0) {
        rc = -1;
        status = EXIT_DATA;
    } else if (rc == 0)
        rc = write_change(query, &change, &job, &observed, &err);
    if (rc == 0)
        rc = execute_observe(&query->place, &job, &observed, &err);
    if (rc < 0)
        log_error("%s", err.text);
    else
        status = follow_settle(&query->place, &job, &observed);
    if (status == 0)
        printf("deepspeedjob.muster.dev/%s %s\n", name, done);
    observed_clear(&observed);
    job_clear(&job);
    query_end((struct query *)query);
    return status;
}

/* Tries until the change is in the anchor. */
static int write_change(const struct query *query, const struct change *change, struct job *job,
                        struct observed *observed, struct error *err)
{
    size_t tries;

    for (tries = 0; tries < TRIES_MAX && apply(change, job); tries++) {
        if (job_check(job, err) < 0 || execute_change(&query->place, job, observed, err) < 0)
            return -1;
        observed->is_job_new = true; /* reread it, also if another client wrote it */
        if (!observed->object[OBJECT_ANCHOR].exists)
            return err_set(err, "the job %s was deleted", job->name);
        if (place_refresh(job, observed, err) < 0)
            return -1;
    }
    return tries < TRIES_MAX ? 0 : err_set(err, "the job %s is being changed by others", job->name);
}

/* Applies the change to *job. Returns whether that changes anything. */
static bool apply(const struct change *change, struct job *job)
{
    bool is_paused = change->is_paused >= 0 ? change->is_paused == 1 : job->is_paused;
    bool is_change = is_paused != job->is_paused ||
                     (change->workers > 0 && change->workers != job->workers);

    job->is_paused = is_paused;
    if (change->workers > 0)
        job->workers = change->workers;
    return is_change;
}
