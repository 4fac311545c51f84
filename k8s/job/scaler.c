/* scaler.c - see scaler.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "job/scaler.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "job/fields.h"
#include "xalloc.h"

static void read_head(struct scaler *scaler, struct fields *root, const char **kind);
static void read_spec(struct scaler *scaler, struct fields *spec, bool is_in);
static void read_amount(struct scaler *scaler, struct fields *spec, bool is_in);
static bool is_last(const char *pod, const struct job *job, int64_t count);

int scaler_read(struct scaler *scaler, const json_t *document, struct error *err)
{
    struct fields root, spec;
    const char   *kind;

    err->text[0] = '\0';
    fields_begin(&root, document, err);
    read_head(scaler, &root, &kind);
    if (!fields_has(&root, "spec"))
        fields_wrong(&root, "spec", "is missing");
    fields_object(&root, "spec", &spec);
    read_spec(scaler, &spec, kind != NULL && strcmp(kind, "ScaleIn") == 0);
    fields_any(&root, "status");
    fields_end(&root);
    if (err->text[0] == '\0')
        return 0;
    scaler_clear(scaler);
    return -1;
}

void scaler_clear(struct scaler *scaler)
{
    free(scaler->name);
    free(scaler->space);
    strlist_clear(&scaler->pods);
    strlist_clear(&scaler->warnings);
    *scaler = (struct scaler){ 0 };
}

int64_t scaler_workers(const struct scaler *scaler, const struct job *job, struct error *err)
{
    int64_t workers = job->workers + scaler->more;
    size_t  i;

    if (workers < 1)
        return err_set(err,
                       "spec.toDelete: the job %s has %" PRId64 " workers, of which at least "
                       "one must stay",
                       job->name, job->workers);
    for (i = 0; i < scaler->pods.count; i++)
        if (!is_last(scaler->pods.item[i], job, (int64_t)scaler->pods.count))
            return err_set(err,
                           "spec.toDelete.podNames: cannot remove %.80s: the workers with the "
                           "highest numbers leave first, beginning with %s-worker-%" PRId64,
                           scaler->pods.item[i], job->name, job->workers - 1);
    return workers;
}

static void read_head(struct scaler *scaler, struct fields *root, const char **kind)
{
    const char   *version = fields_text(root, "apiVersion"), *text;
    struct fields metadata;

    *kind = fields_text(root, "kind");
    if (version == NULL || strcmp(version, SCALER_VERSION) != 0)
        fields_wrong(root, "apiVersion", "must be " SCALER_VERSION);
    if (*kind == NULL || (strcmp(*kind, "ScaleIn") != 0 && strcmp(*kind, "ScaleOut") != 0))
        fields_wrong(root, "kind", "must be ScaleIn or ScaleOut");
    fields_object(root, "metadata", &metadata);
    if ((text = fields_text(&metadata, "namespace")) != NULL)
        scaler->space = xstrdup(text);
}

static void read_spec(struct scaler *scaler, struct fields *spec, bool is_in)
{
    static const char *const unused[] = { "timeout", "backoffLimit", "env" };
    struct fields            selector;
    const char              *name;
    size_t                   i;

    fields_object(spec, "selector", &selector);
    name = fields_text(&selector, "name");
    fields_end(&selector);
    if (name == NULL || name[0] == '\0')
        fields_wrong(spec, "selector.name", "is missing; it is the name of the job");
    else
        scaler->name = xstrdup(name);
    read_amount(scaler, spec, is_in);
    if (fields_text(spec, "script") != NULL)
        fields_wrong(spec, "script",
                     "is not supported: muster itself notifies the ranks; leave it out");
    for (i = 0; i < sizeof unused / sizeof unused[0]; i++)
        if (fields_any(spec, unused[i]) != NULL)
            strlist_addf(&scaler->warnings, "spec.%s is ignored", unused[i]);
    fields_end(spec);
}

static void read_amount(struct scaler *scaler, struct fields *spec, bool is_in)
{
    const char   *name = is_in ? "toDelete" : "toAdd";
    const json_t *pods = NULL;
    struct fields amount;
    int64_t       count;
    size_t        i;

    fields_object(spec, name, &amount);
    count = fields_number(&amount, "count", 1, JOB_WORKERS_MAX, 0);
    if (is_in)
        pods = fields_list(&amount, "podNames");
    for (i = 0; i < json_array_size(pods); i++)
        strlist_add(&scaler->pods, json_string_value(json_array_get(pods, i)));
    if ((count == 0) == (scaler->pods.count == 0))
        fields_wrong(spec, name, "must have %s", is_in ? "either count or podNames" : "count");
    fields_end(&amount);
    if (count == 0)
        count = (int64_t)scaler->pods.count;
    scaler->more = is_in ? -count : count;
}

/* Is pod among the count workers with the highest numbers? */
static bool is_last(const char *pod, const struct job *job, int64_t count)
{
    int64_t i;
    char   *name;
    bool    is_it = false;

    for (i = job->workers - count; i < job->workers && !is_it; i++) {
        name = xasprintf("%s-worker-%" PRId64, job->name, i);
        is_it = strcmp(name, pod) == 0;
        free(name);
    }
    return is_it;
}
