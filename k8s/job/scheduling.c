/* scheduling.c - see scheduling.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "job/scheduling.h"

#include <stdlib.h>
#include <string.h>

#include "number.h"
#include "xalloc.h"

#define PRIORITY_MAX 100 /* T9k's limit */

const char *const job_gangs[] = { "none", "volcano", "scheduler-plugins", "t9k", NULL };

static void set_default_scheduler(struct job *job, const char *name);
static void read_t9k(struct job *job, struct fields *scheduler);
static void keep_text(char **to, const char *text);

void scheduling_end(struct job *job, bool wants_gang)
{
    json_t      *spec = json_object_get(job->template, "spec");
    const char  *scheduler = json_string_value(json_object_get(spec, "schedulerName"));
    const char  *priority = json_string_value(json_object_get(spec, "priorityClassName"));
    struct error harmless;

    if (scheduler != NULL && strcmp(scheduler, SCHEDULING_T9K) == 0) {
        job->gang = GANG_T9K; /* T9k gives queues and priorities to groups */
        if (priority != NULL &&
            parse_number(priority, 0, PRIORITY_MAX, &job->queue_priority, &harmless) == 0)
            json_object_del(spec, "priorityClassName");
    } else if (scheduler != NULL && strcmp(scheduler, SCHEDULING_VOLCANO) == 0)
        job->gang = wants_gang || job->queue != NULL ? GANG_VOLCANO : GANG_NONE;
    else if (wants_gang && scheduler != NULL)
        job->gang = GANG_PLUGINS;
    else if (wants_gang) {
        job->gang = GANG_VOLCANO;
        set_default_scheduler(job, SCHEDULING_VOLCANO);
    }
    if (job->gang == GANG_PLUGINS && job->queue != NULL)
        strlist_addf(&job->warnings,
                     "--queue: the PodGroups of scheduler-plugins have no queue, so the job is "
                     "held back by an annotation, as kube-queue does");
}

void scheduling_read(struct job *job, struct fields *spec)
{
    struct fields scheduler;

    fields_object(spec, "scheduler", &scheduler);
    job->gang = (enum job_gang)fields_choice(&scheduler, "gang", job_gangs);
    keep_text(&job->queue, fields_text(&scheduler, "queue"));
    job->queue_priority = fields_number(&scheduler, "priority", 0, PRIORITY_MAX, 0);
    read_t9k(job, &scheduler);
    fields_end(&scheduler);
    if (job->template == NULL)
        return;
    if (job->gang == GANG_T9K)
        set_default_scheduler(job, SCHEDULING_T9K);
    else if (job->gang == GANG_VOLCANO)
        set_default_scheduler(job, SCHEDULING_VOLCANO);
}

json_t *scheduling_document(const struct job *job)
{
    json_t *scheduler;

    if (job->gang == GANG_NONE && job->queue == NULL)
        return NULL;
    scheduler = json_pack("{ssss*}", "gang", job_gangs[job->gang], "queue", job->queue);
    if (job->queue_priority > 0)
        json_object_set_new(scheduler, "priority", json_integer(job->queue_priority));
    return scheduler;
}

static void read_t9k(struct job *job, struct fields *scheduler)
{
    struct fields t9k;

    fields_object(scheduler, "t9kScheduler", &t9k);
    if (t9k.object == NULL)
        return;
    if (job->gang != GANG_NONE)
        fields_wrong(scheduler, "t9kScheduler",
                     "cannot be combined with gang; leave one of them out");
    job->gang = GANG_T9K;
    keep_text(&job->queue, fields_text(&t9k, "queue"));
    job->queue_priority = fields_number(&t9k, "priority", 0, PRIORITY_MAX, 0);
    fields_end(&t9k);
}

static void set_default_scheduler(struct job *job, const char *name)
{
    json_t *spec = json_object_get(job->template, "spec");

    if (json_object_get(spec, "schedulerName") == NULL)
        json_object_set_new(spec, "schedulerName", json_string(name));
}

static void keep_text(char **to, const char *text)
{
    if (text == NULL)
        return;
    free(*to);
    *to = xstrdup(text);
}
