/* batch_flux.c - see batch.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "ask/answer.h"
#include "hostrange.h"
#include "hosts/batch.h"
#include "log.h"
#include "number.h"
#include "plan/cuda_devices.h"
#include "plan/environ.h"
#include "strlist.h"
#include "xalloc.h"

#define FLUX_S     20
#define FLUX_R_MAX (16 << 20)

/* The resources of one rank of Flux */
struct part {
    int64_t     rank;
    size_t      cores;
    const char *gpus; /* "0-3", borrowed; NULL: none */
};

struct parts {
    struct part *part;
    size_t       count;
};

static int  ask(const char *id, char **text, size_t *size, struct error *err);
static int  read_names(json_t *list, struct strlist *names, struct error *err);
static int  read_entry(json_t *entry, struct parts *parts, struct error *err);
static int  read_ids(const char *text, struct strlist *ids, struct error *err);
static int  by_rank(const void *a, const void *b);
static int  take(const struct parts *parts, const struct strlist *names, struct batch_job *job,
                 struct error *err);
static int  take_gpus(const char *gpus, const char *name, struct batch_job *job,
                      struct error *err);

int batch_flux(char *const *here, bool no_ssh, struct batch_job *job, struct error *err)
{
    const char *uri = environ_value(here, "FLUX_URI"), *id = environ_value(here, "FLUX_JOB_ID");
    const char *tasks = environ_value(here, "FLUX_JOB_SIZE");
    const char *nodes = environ_value(here, "FLUX_JOB_NNODES");
    char       *text;
    size_t      size;
    int64_t     count;
    int         rc;

    if (uri == NULL || uri[0] == '\0')
        return 0;
    job->system = "Flux";
    job->id = id != NULL ? id : environ_value(here, "FLUX_ENCLOSING_ID");
    if (id != NULL && tasks != NULL && parse_number(tasks, 2, INT64_MAX, &count, NULL) == 0) {
        if (!no_ssh)
            return batch_refuse_tasks("flux run", tasks, "FLUX_JOB_SIZE", err);
        if (nodes != NULL && strcmp(nodes, tasks) != 0)
            return err_set(err, "flux run starts muster %s times on %s nodes (FLUX_JOB_SIZE); with "
                                "--no_ssh one must start on each: flux run --tasks-per-node=1",
                           tasks, nodes);
    }
    if (ask(id, &text, &size, err) < 0)
        return -1;
    rc = batch_flux_parse(text, size, job, err);
    free(text);
    return rc < 0 ? -1 : 1;
}

/* The second question is for Flux before 0.52. */
static int ask(const char *id, char **text, size_t *size, struct error *err)
{
    const char *const ours[] = { "flux", "resource", "R", "-s", "up", NULL };
    const char *const old[] = { "flux", "kvs", "get", "--namespace=primary", "resource.R", NULL };
    const char *const of_job[] = { "flux", "job", "info", id, "R", NULL };
    struct error      why;

    if (id != NULL)
        return answer_ask(of_job, FLUX_S, FLUX_R_MAX, text, size, err) == 0
                   ? 0 : err_set(err, "FLUX_JOB_ID=%s: %s", id, err->text);
    if (answer_ask(ours, FLUX_S, FLUX_R_MAX, text, size, &why) == 0 ||
        answer_ask(old, FLUX_S, FLUX_R_MAX, text, size, err) == 0)
        return 0;
    return err_set(err, "FLUX_URI is set, but %s; name the hosts with -H", why.text);
}

int batch_flux_parse(const char *text, size_t size, struct batch_job *job, struct error *err)
{
    json_error_t   why;
    json_t        *r = json_loadb(text, size, 0, &why), *execution, *entries, *entry;
    struct strlist names = { 0 };
    struct parts   parts = { 0 };
    size_t         i;
    int            rc = -1;

    execution = json_object_get(r, "execution");
    entries = json_object_get(execution, "R_lite");
    if (!json_is_array(entries)) {
        err_set(err, "Flux's R has no execution.R_lite%s%s", r == NULL ? ": " : "",
                r == NULL ? why.text : "");
        goto out;
    }
    if (read_names(json_object_get(execution, "nodelist"), &names, err) < 0)
        goto out;
    json_array_foreach(entries, i, entry)
        if (read_entry(entry, &parts, err) < 0)
            goto out;
    rc = take(&parts, &names, job, err);
out:
    json_decref(r);
    strlist_clear(&names);
    free(parts.part);
    return rc;
}

/* Reads ["te[1-2]", "te4"]; names may repeat. */
static int read_names(json_t *list, struct strlist *names, struct error *err)
{
    json_t *item;
    size_t  i;

    json_array_foreach(list, i, item)
        if (!json_is_string(item) || names->count > HOSTFILE_HOSTS_MAX ||
            hostrange_expand_list(json_string_value(item), names, err) < 0)
            return err_set(err, "Flux's R: nodelist is not a list of hosts");
    return names->count > 0 ? 0 : err_set(err, "Flux's R names no host");
}

/* Reads {"rank": "0-1", "children": {"gpu": "0-3", "core": "0-7"}}. */
static int read_entry(json_t *entry, struct parts *parts, struct error *err)
{
    json_t        *children = json_object_get(entry, "children");
    const char    *ranks = json_string_value(json_object_get(entry, "rank"));
    const char    *cores = json_string_value(json_object_get(children, "core"));
    struct strlist rank = { 0 }, core = { 0 };
    struct part    part = { .gpus = json_string_value(json_object_get(children, "gpu")) };
    size_t         i;
    int            rc = -1;

    if (ranks == NULL || read_ids(ranks, &rank, err) < 0 ||
        (cores != NULL && read_ids(cores, &core, err) < 0) ||
        rank.count + parts->count > HOSTFILE_HOSTS_MAX) {
        err_set(err, "Flux's R: '%.64s' is not a set of ranks with cores",
                ranks != NULL ? ranks : "");
        goto out;
    }
    part.cores = core.count;
    parts->part = xreallocarray(parts->part, parts->count + rank.count, sizeof part);
    for (i = 0; i < rank.count; i++) {
        part.rank = strtoll(rank.item[i], NULL, 10);
        parts->part[parts->count++] = part;
    }
    rc = 0;
out:
    strlist_clear(&rank);
    strlist_clear(&core);
    return rc;
}

/* Reads "0-3,7" into numbers. */
static int read_ids(const char *text, struct strlist *ids, struct error *err)
{
    struct strlist words = { 0 };
    char          *range = xasprintf("x[%s]", text);
    size_t         i;
    int            rc = strspn(text, "0123456789,-") == strlen(text)
                            ? hostrange_expand(range, &words, err)
                            : err_set(err, "'%.64s' is not a set of numbers", text);

    for (i = 0; i < words.count; i++)
        strlist_add(ids, words.item[i] + 1);
    free(range);
    strlist_clear(&words);
    return rc;
}

/* The names belong to the ranks in ascending order. Two ranks of Flux may be on one host. */
static int take(const struct parts *parts, const struct strlist *names, struct batch_job *job,
                struct error *err)
{
    size_t i;
    int    rc = 0;

    if (parts->count != names->count)
        return err_set(err, "Flux's R has %zu ranks, but %zu hosts", parts->count, names->count);
    qsort(parts->part, parts->count, sizeof *parts->part, by_rank);
    for (i = 0; i < parts->count; i++)
        job->gives_gpus = job->gives_gpus || parts->part[i].gpus != NULL;
    job->slots_by = job->gives_gpus ? "GPUs that Flux gives" : "cores that Flux gives";
    job->counts_cores = !job->gives_gpus;
    for (i = 0; i < parts->count && rc == 0; i++)
        rc = job->gives_gpus ? take_gpus(parts->part[i].gpus, names->item[i], job, err)
             : batch_add(names->item[i], parts->part[i].cores, &job->hosts, err) == NULL ? -1
                                                                                         : 0;
    return rc;
}

/* gpus: NULL: none */
static int take_gpus(const char *gpus, const char *name, struct batch_job *job,
                     struct error *err)
{
    struct strlist ids = { 0 };
    struct host   *host = NULL;
    char          *variable;
    int            rc = -1;

    if (gpus == NULL) {
        log_warn("%s has no GPU in this job: it is left out", name);
        return 0;
    }
    if (read_ids(gpus, &ids, err) == 0)
        host = batch_add(name, ids.count, &job->hosts, err);
    if (host != NULL && host->env.count > 0) {
        err_set(err, "Flux has %s twice: name the hosts and their slots with -H", name);
    } else if (host != NULL) {
        variable = cuda_devices_variable(&ids);
        strlist_add(&host->env, variable);
        free(variable);
        rc = 0;
    }
    strlist_clear(&ids);
    return rc;
}

static int by_rank(const void *a, const void *b)
{
    const struct part *one = a, *other = b;

    return one->rank < other->rank ? -1 : one->rank > other->rank;
}
