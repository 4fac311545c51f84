/* submit.c - muster k8s submit: create a job from options or a document
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "clock.h"
#include "commands/execute.h"
#include "commands/follow.h"
#include "commands/place.h"
#include "commands/subcommands.h"
#include "exit_code.h"
#include "file.h"
#include "job/job_argv.h"
#include "job/job_document.h"
#include "job/privileges.h"
#include "yaml/yaml.h"
#include "log.h"
#include "utf8.h"
#include "xalloc.h"

#define ANOTHER_S 30 /* within this time a live submit creates the launcher, or retries */

struct submit {
    struct job_argv argv; /* must be first: its rows get a pointer to it */
    struct job      job;
    struct place    place;
    const char     *file;
    bool            is_dry_run, does_wait, is_yaml;
    int64_t         until_ns; /* end of the wait for another submit of this job; 0: none */
};

static int  read_all(struct submit *submit, const struct subcommand *self, char *const *argv,
                     int *exit_code, struct error *err);
static int  check_utf8(char *const *argv, struct error *err);
static int  read_file(struct submit *submit, const struct strlist *words, int *exit_code,
                      struct error *err);
static int  dry_run(struct submit *submit);
static int  submit_job(struct submit *submit);
static int  find_same(struct submit *submit, struct observed *observed, struct error *err);
static bool is_another_at_work(struct submit *submit, struct observed *observed);
static int  begin(struct submit *submit, struct observed *observed, struct error *err);
static void take_back(const struct submit *submit, const struct observed *observed);

int command_submit(const struct subcommand *self, char *const *argv)
{
    struct submit submit = { .is_yaml = true };
    struct error  err;
    int           exit_code = EXIT_USAGE;
    size_t        i;
    int           rc = read_all(&submit, self, argv, &exit_code, &err);

    if (rc > 0)
        exit_code = SUBCOMMAND_HELP;
    else if (rc < 0)
        log_error("%s", err.text);
    else {
        privileges_warn(&submit.job);
        for (i = 0; i < submit.job.warnings.count; i++)
            log_warn("%s", submit.job.warnings.item[i]);
        exit_code = submit.is_dry_run ? dry_run(&submit) : submit_job(&submit);
    }
    place_close(&submit.place);
    job_clear(&submit.job);
    return exit_code;
}

static int set_file(void *to, const char *value, struct error *err)
{
    (void)err;
    ((struct submit *)to)->file = value;
    return 0;
}

static int set_dry_run(void *to, const char *value, struct error *err)
{
    (void)value, (void)err;
    ((struct submit *)to)->is_dry_run = true;
    return 0;
}

static int set_wait(void *to, const char *value, struct error *err)
{
    (void)value, (void)err;
    ((struct submit *)to)->does_wait = true;
    return 0;
}

static int set_output(void *to, const char *value, struct error *err)
{
    if (strcmp(value, "yaml") != 0 && strcmp(value, "json") != 0)
        return err_set(err, "must be yaml or json, not '%.60s'", value);
    ((struct submit *)to)->is_yaml = value[0] == 'y';
    return 0;
}

static int set_context(void *to, const char *value, struct error *err)
{
    return place_set_context(&((struct submit *)to)->place, value, err);
}

static const struct arg_row own_rows[] = {
    { "file", 'f', "FILE", "a document: DeepSpeedJob, MPIJob or TrainingJob", set_file },
    { "wait", 'w', NULL, "wait, show the log, exit with the run's status", set_wait },
    { "dry-run", 0, NULL, "print all objects, create none", set_dry_run },
    { "output", 'o', "FORMAT", "format of --dry-run: yaml or json", set_output },
    { "context", 0, "NAME", NULL, set_context },
};
#define OWN_ROWS (sizeof own_rows / sizeof own_rows[0])

/* 1: the user asked for help. */
static int read_all(struct submit *submit, const struct subcommand *self, char *const *argv,
                    int *exit_code, struct error *err)
{
    struct arg_row *rows = xcalloc(job_argv_row_count + OWN_ROWS + 1, sizeof *rows);
    struct strlist  words = { 0 };
    int             rc;

    memcpy(rows, own_rows, sizeof own_rows);
    memcpy(rows + OWN_ROWS, job_argv_rows, job_argv_row_count * sizeof *rows);
    job_argv_begin(&submit->argv, &submit->job);
    rc = check_utf8(argv, err);
    if (rc == 0)
        rc = args_read((const char *const *)argv, rows, true, submit, &words, err);
    if (rc > 0)
        args_help(self->name, self->usage, self->summary, rows, stdout);
    else if (rc == 0 && submit->file != NULL)
        rc = read_file(submit, &words, exit_code, err);
    else if (rc == 0)
        job_argv_end(&submit->argv, &words);
    if (rc == 0)
        rc = job_check(&submit->job, err);
    strlist_clear(&words);
    free(rows);
    return rc;
}

/* Checks all arguments, because they go into JSON. */
static int check_utf8(char *const *argv, struct error *err)
{
    const char *at;
    uint32_t    code;
    size_t      size;

    for (; *argv != NULL; argv++)
        for (at = *argv; *at != '\0'; at += size) {
            size = utf8_decode(at, strlen(at), &code);
            if (size == 0)
                return err_set(err, "'%.80s' is not UTF-8, which Kubernetes requires", *argv);
        }
    return 0;
}

static int read_file(struct submit *submit, const struct strlist *words, int *exit_code,
                     struct error *err)
{
    struct error why;
    json_t      *document;
    size_t       size;
    char        *bytes, *space = submit->job.space;
    int          rc;

    if (submit->argv.has_fields || words->count > 0)
        return err_set(
            err, "-f %s: the document describes the whole job; remove the other options%s",
            submit->file, words->count > 0 ? " and the command" : "");
    *exit_code = EXIT_DATA;
    bytes = file_read(submit->file, YAML_BYTES_MAX, &size, err);
    if (bytes == NULL)
        return -1;
    document = yaml_parse(submit->file, bytes, size, err);
    free(bytes);
    if (document == NULL)
        return -1;
    submit->job.space = NULL;
    job_clear(&submit->job);
    rc = job_from_document(&submit->job, document, &why);
    json_decref(document);
    if (rc < 0)
        err_set(err, "%s: %s", submit->file, why.text);
    else if (space != NULL) { /* -n must agree, as in kubectl */
        if (submit->job.space != NULL && strcmp(submit->job.space, space) != 0)
            rc = err_set(err, "%s: metadata.namespace is %.80s, but --namespace is %.80s",
                         submit->file, submit->job.space, space);
        free(submit->job.space);
        submit->job.space = xstrdup(space);
    }
    free(space);
    return rc;
}

/* Prints all objects, without connecting to a cluster. */
static int dry_run(struct submit *submit)
{
    const char *space = submit->job.space != NULL ? submit->job.space : "default";
    size_t      count = objects_count(&submit->job), i;
    json_t     *all = json_array(), *object;
    int         rc = 0;
    struct object_for what = { .space = space,
                               .attempt = 1,
                               .is_last = submit->job.backoff_limit == 0 };

    for (i = 0; i < count; i++) {
        if (!object_is_wanted(&submit->job, i))
            continue;
        object = object_make(&submit->job, i, &what);
        if (submit->is_yaml && yaml_print(object, stdout) < 0)
            rc = -1;
        json_array_append_new(all, object);
    }
    if (!submit->is_yaml) {
        object = json_pack("{sssssO}", "apiVersion", "v1", "kind", "List", "items", all);
        rc = json_dumpf(object, stdout, JSON_INDENT(2));
        putchar('\n');
        json_decref(object);
    }
    json_decref(all);
    return rc < 0 ? EXIT_OUTPUT : 0;
}

static int submit_job(struct submit *submit)
{
    struct observed observed = { 0 };
    struct error    err;
    const char     *name = submit->job.name;
    int             status = EXIT_UNREACHABLE;
    bool            is_first;

    if (submit->job.space != NULL)
        submit->place.space = xstrdup(submit->job.space);
    if (place_open(&submit->place, &err) < 0) {
        log_error("%s", err.text);
        return status;
    }
    if (submit->job.space == NULL)
        submit->job.space = xstrdup(submit->place.space);
    status = find_same(submit, &observed, &err);
    is_first = status == 0 && observed.uid[0] == '\0';
    if (is_first)
        status = begin(submit, &observed, &err);
    if (status != 0)
        log_error("%s", err.text);
    else if ((status = follow_settle(&submit->place, &submit->job, &observed)) != 0 && is_first)
        take_back(submit, &observed);
    if (status == 0) {
        printf("deepspeedjob.muster.dev/%s created\n", name);
        printf("The job %s has been submitted successfully\n", name);
        printf("You can run `muster k8s get %s` to check the job status\n", name);
        if (job_has_page(&submit->job) && !submit->job.is_debug)
            printf("and `muster k8s dashboard %s` to see its page\n", name);
        if (submit->job.is_debug)
            printf("and `muster k8s shell %s -- muster SCRIPT` to run something on its workers\n",
                   name);
        fflush(stdout);
        if (submit->does_wait)
            status = follow_wait(&submit->place, &submit->job, &observed, -1);
    }
    observed_clear(&observed);
    return status;
}

/* Looks for a job with that name. If it is the same job, only half created, submit completes
 * it; any other is an error. */
static int find_same(struct submit *submit, struct observed *observed, struct error *err)
{
    struct job old = { 0 };
    json_t    *wanted, *there;
    bool       is_same;
    int        rc = place_find(&submit->place, submit->job.name, &old, observed, err);

    if (rc < 0)
        return EXIT_CREATE;
    if (rc == 0) {
        observed_init(observed, &submit->job);
        return 0;
    }
    wanted = job_document(&submit->job);
    there = job_document(&old);
    is_same = json_equal(wanted, there);
    json_decref(wanted);
    json_decref(there);
    job_clear(&old);
    if (!is_same) {
        err_set(err,
                "a job %s already exists; run `muster k8s delete %s`, or choose another --name",
                submit->job.name, submit->job.name);
        return EXIT_CREATE;
    }
    do
        if (execute_observe(&submit->place, &submit->job, observed, err) < 0)
            return EXIT_UNREACHABLE;
    while (is_another_at_work(submit, observed));
    if (observed->outcome == OUTCOME_NONE && observed->object[OBJECT_ANCHOR].exists &&
        !observed->object[object_launcher(&submit->job)].exists)
        return 0;
    err_set(err, "the job %s was already submitted; `muster k8s get %s` shows it",
            submit->job.name, submit->job.name);
    return EXIT_CREATE;
}

/* Is another submit creating this job, or was its submission interrupted? Only time can tell.
 * Waits for a moment if another submit may be at work. */
static bool is_another_at_work(struct submit *submit, struct observed *observed)
{
    if (observed->outcome != OUTCOME_NONE || !observed->object[OBJECT_ANCHOR].exists ||
        observed->object[object_launcher(&submit->job)].exists ||
        api_now(submit->place.api) - observed->created_s >= ANOTHER_S ||
        (submit->until_ns != 0 && clock_now_ns() > submit->until_ns))
        return false;
    if (submit->until_ns == 0) {
        log_warn("the job %s has no launcher yet: waiting, because another submit may be "
                 "creating it",
                 submit->job.name);
        submit->until_ns = clock_now_ns() + ANOTHER_S * NS_PER_S;
    }
    api_wait(submit->place.api, 1, -1);
    return true;
}

/* Claims the job's name by creating the anchor. */
static int begin(struct submit *submit, struct observed *observed, struct error *err)
{
    int rc = execute_begin(&submit->place, &submit->job, observed, err);

    if (rc == 0)
        err_set(err,
                "another submit has just created a job %s; `muster k8s get %s` shows it, or "
                "choose another --name",
                submit->job.name, submit->job.name);
    return rc > 0 ? 0 : EXIT_CREATE;
}

/* Deletes a job whose submission failed, because its Pods would hold resources for nothing.
 * Keeps a job that has run, for get. */
static void take_back(const struct submit *submit, const struct observed *observed)
{
    const char  *name = submit->job.name;
    struct error err;

    if (observed->outcome == OUTCOME_FAILED || observed->outcome == OUTCOME_SUCCEEDED ||
        !observed->object[OBJECT_ANCHOR].exists)
        return;
    if (execute_delete(&submit->place, &submit->job, observed, &err) == 0)
        log_warn("the job %s was not submitted; muster deletes its objects", name);
    else
        log_error("%s; a part of job %s still exists: run `muster k8s delete %s`", err.text,
                  name, name);
}
