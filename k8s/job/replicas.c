/* replicas.c - see replicas.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "job/replicas.h"

#include <inttypes.h>
#include <string.h>

#include "buffer.h"
#include "job/mpirun_line.h"
#include "job/template.h"

static void    choose_container(struct fields *worker, json_t *template, const char *name);
static json_t *find_container(const json_t *template, const char *name);
static json_t *find_named(const json_t *list, const char *name);
static void    take_line(struct job *job, struct fields *launcher, const struct mpirun_line *line);
static void    take_ranks(struct job *job, struct fields *launcher, const struct mpirun_line *line);
static void    take_directory(struct job *job, const char *where, const json_t *box,
                              const struct mpirun_line *line);
static void    take_env(struct job *job, const char *where, const json_t *box);
static bool    is_of_its_pod(const char *name, const json_t *row);
static void    name_the_rest(struct job *job, const char *where, const json_t *template,
                             const json_t *box);
static void    name_others(struct buffer *names, const json_t *launcher, const json_t *worker,
                           const char *const *known);
static void    add_name(struct buffer *names, const char *name);
static void    warn_names(struct job *job, const char *where, struct buffer *names,
                          const char *what, const char *why);

void replicas_read_worker(struct job *job, struct fields *worker, const char *container)
{
    json_t *box;

    job->workers = fields_number(worker, "replicas", 1, JOB_WORKERS_MAX, 1);
    job->template = json_deep_copy(fields_any(worker, "template"));
    template_drop_nulls(job->template);
    if (job->template == NULL)
        fields_wrong(worker, "template", "is missing; it is the template of the workers' Pods");
    if (container != NULL)
        choose_container(worker, job->template, container);
    box = template_container(job->template);
    if (json_object_get(box, "command") != NULL || json_object_get(box, "args") != NULL)
        strlist_addf(&job->warnings, "%s: its command is ignored: a worker runs muster-init, which "
                     "starts sshd", worker->path);
    json_object_del(box, "command");
    json_object_del(box, "args");
}

void replicas_read_launcher(struct job *job, struct fields *launcher, const char *container)
{
    struct mpirun_line line = { 0 };
    struct error       err;
    const json_t      *template, *box;

    if (launcher->object == NULL)
        fields_wrong(launcher, "template", "is missing; it has the command");
    fields_number(launcher, "replicas", 1, 1, 1);
    template = fields_any(launcher, "template");
    box = container != NULL ? find_container(template, container) : NULL;
    if (box == NULL)
        box = template_container(template);
    if (box == NULL)
        fields_wrong(launcher, "template", "must have spec.containers, with the command");
    else if (mpirun_line_read(&line, box, &err) < 0)
        fields_wrong(launcher, "template", "%s", err.text);
    else if (template_container(job->template) != NULL) { /* else job_check() says so */
        take_line(job, launcher, &line);
        take_directory(job, launcher->path, box, &line);
        take_env(job, launcher->path, box);
        name_the_rest(job, launcher->path, template, box);
    }
    mpirun_line_clear(&line);
}

void replicas_warn_labels(struct job *job, const struct fields *metadata)
{
    const json_t *labels = json_object_get(metadata->object, "labels");
    struct buffer names = { 0 };
    const char   *name;
    json_t       *value;

    json_object_foreach((json_t *)labels, name, value)
        add_name(&names, name);
    warn_names(job, "metadata", &names, "labels",
               "are ignored; a Pod's belong into the workers' template");
}

/* Makes the named container the one that template_container() returns. */
static void choose_container(struct fields *worker, json_t *template, const char *name)
{
    json_t *list = json_object_get(json_object_get(template, "spec"), "containers");
    json_t *box = find_container(template, name);
    size_t  i;

    if (box == NULL || box == template_container(template)) {
        if (box == NULL)
            fields_wrong(worker, "template", "has no container %.60s, which mainContainer names",
                         name);
        return;
    }
    json_incref(box);
    for (i = 0; json_array_get(list, i) != box; i++)
        ;
    json_array_remove(list, i);
    json_array_insert_new(list, 0, box);
    if (box != template_container(template))
        fields_wrong(worker, "template", "has a container worker, but mainContainer is %.60s; "
                     "rename that to worker, and the other one", name);
}

static json_t *find_container(const json_t *template, const char *name)
{
    return find_named(json_object_get(json_object_get(template, "spec"), "containers"), name);
}

static json_t *find_named(const json_t *list, const char *name)
{
    const char *its;
    size_t      i;

    for (i = 0; i < json_array_size(list); i++) {
        its = json_string_value(json_object_get(json_array_get(list, i), "name"));
        if (its != NULL && strcmp(its, name) == 0)
            return json_array_get(list, i);
    }
    return NULL;
}

static void take_line(struct job *job, struct fields *launcher, const struct mpirun_line *line)
{
    size_t i;

    take_ranks(job, launcher, line);
    strlist_append(&job->command, &line->words);
    for (i = 0; i < line->changes.count; i++)
        strlist_addf(&job->warnings, "%s: %s", launcher->path, line->changes.item[i]);
}

/* An elastic run counts workers, horovodrun ranks. */
static void take_ranks(struct job *job, struct fields *launcher, const struct mpirun_line *line)
{
    int64_t slots = job_slots(job);

    if (!job_is_elastic(job) && (line->least > 0 || line->most > 0)) {
        job->least = line->least > 0 ? (line->least + slots - 1) / slots : job->workers;
        job->most = line->most > 0 ? line->most / slots : job->workers;
        if (job->most == 0)
            fields_wrong(launcher, "template", "--max-np %" PRId64 " is less than the %" PRId64
                         " ranks of one worker", line->most, slots);
        strlist_addf(&job->warnings, "%s: --min-np and --max-np are read as %" PRId64 " to %" PRId64
                     " workers", launcher->path, job->least, job->most);
    }
    if (line->ranks == 0)
        return;
    if (!job_is_elastic(job))
        strlist_addf(&job->command, "--np=%" PRId64, line->ranks);
    else
        strlist_addf(&job->warnings, "%s: -np %" PRId64 " is left out: an elastic run has as many "
                     "ranks as its workers have slots", launcher->path, line->ranks);
}

/* mpirun starts ranks in its own directory. */
static void take_directory(struct job *job, const char *where, const json_t *box,
                           const struct mpirun_line *line)
{
    json_t     *worker = template_container(job->template);
    const char *here = json_string_value(json_object_get(box, "workingDir"));
    const char *there = json_string_value(json_object_get(worker, "workingDir"));

    if (line->directory != NULL)
        here = line->directory; /* the line says so itself */
    if (here == NULL || (there != NULL && strcmp(here, there) == 0))
        return;
    if (here != line->directory)
        strlist_addf(&job->warnings, "%s: its workingDir %.100s is that of the workers, too", where,
                     here);
    json_object_set_new(worker, "workingDir", json_string(here));
}

/* The launcher's line may rely on its variables, and horovodrun gives all of them to the ranks. */
static void take_env(struct job *job, const char *where, const json_t *box)
{
    json_t       *worker = template_container(job->template);
    json_t       *env = json_object_get(worker, "env"), *row;
    json_t       *list = json_deep_copy(json_object_get(box, "env"));
    const json_t *its;
    struct buffer given = { 0 }, lost = { 0 };
    const char   *name;
    size_t        i;

    template_drop_nulls(list);
    if (list != NULL && env == NULL) {
        env = json_array();
        json_object_set_new(worker, "env", env);
    }
    json_array_foreach(list, i, row) {
        name = json_string_value(json_object_get(row, "name"));
        its = name != NULL ? find_named(env, name) : NULL;
        if (name == NULL || json_equal(its, row))
            continue;
        if (its != NULL || is_of_its_pod(name, row))
            add_name(&lost, name);
        else {
            add_name(&given, name);
            json_array_append(env, row);
        }
    }
    json_decref(list);
    warn_names(job, where, &given, "env", "is given to the workers, too");
    warn_names(job, where, &lost, "env", "is ignored: ranks have the workers' env");
}

/* Is a variable about the Pod in which it is, or does it hide that Pod's GPUs? */
static bool is_of_its_pod(const char *name, const json_t *row)
{
    return strncmp(name, "NVIDIA_", 7) == 0 || strcmp(name, "CUDA_VISIBLE_DEVICES") == 0 ||
           json_object_get(json_object_get(row, "valueFrom"), "fieldRef") != NULL ||
           json_object_get(json_object_get(row, "valueFrom"), "resourceFieldRef") != NULL;
}

/* Names what the launcher's template has that the workers' has not. */
static void name_the_rest(struct job *job, const char *where, const json_t *template,
                          const json_t *box)
{
    static const char *const of_pod[] = { "containers", "restartPolicy", NULL };
    static const char *const of_box[] = { "name", "command", "args", "env", "workingDir",
                                          "image", "imagePullPolicy", NULL };
    const json_t *worker = template_container(job->template);
    const char   *image = json_string_value(json_object_get(box, "image"));
    struct buffer names = { 0 };

    if (image != NULL && !json_equal(json_object_get(box, "image"),
                                     json_object_get(worker, "image")))
        strlist_addf(&job->warnings,
                     "%s: image %.100s is ignored: the launcher runs in the workers' image", where,
                     image);
    name_others(&names, json_object_get(template, "spec"), json_object_get(job->template, "spec"),
                of_pod);
    name_others(&names, box, worker, of_box);
    warn_names(job, where, &names, "fields",
               "are ignored: the launcher's Pod is made from the workers' template");
}

static void name_others(struct buffer *names, const json_t *launcher, const json_t *worker,
                        const char *const *known)
{
    const char *name;
    json_t     *value;
    size_t      i;

    json_object_foreach((json_t *)launcher, name, value) {
        for (i = 0; known[i] != NULL && strcmp(known[i], name) != 0; i++)
            ;
        if (known[i] == NULL && !json_equal(value, json_object_get(worker, name)))
            add_name(names, name);
    }
}

static void add_name(struct buffer *names, const char *name)
{
    buffer_add_text(names, names->size > 0 ? ", " : "");
    buffer_add(names, name, strnlen(name, 60));
}

static void warn_names(struct job *job, const char *where, struct buffer *names, const char *what,
                       const char *why)
{
    if (names->size > 0)
        strlist_addf(&job->warnings, "%s: its %s (%.*s) %s", where, what, (int)names->size,
                     names->bytes, why);
    buffer_clear(names);
}
