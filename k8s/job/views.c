/* views.c - see views.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "job/views.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "job/privileges.h"
#include "number.h"
#include "xalloc.h"

#define PORT_MIN 1024 /* muster in a Pod is not root */

const char *const job_scrapes[] = { "none", "annotation", "servicemonitor", NULL };

static int  set_text(struct job_argv *argv, char **text, const char *value);
static void end_board(struct job_argv *argv);
static void drop_useless(struct job *job, const char *space, const char *port);
static void read_board(struct job *job, struct fields *spec);
static int  check_ports(const struct job *job, struct error *err);
static bool has_own_place(const struct strlist *words);

int views_set_board(void *to, const char *value, struct error *err)
{
    struct job_argv *argv = to;

    (void)value, (void)err;
    argv->has_fields = argv->has_board = true;
    return 0;
}

int views_set_board_image(void *to, const char *value, struct error *err)
{
    struct job_argv *argv = to;

    (void)err;
    return set_text(argv, &argv->job->board_image, value);
}

int views_set_logdir(void *to, const char *value, struct error *err)
{
    struct job_argv *argv = to;

    (void)err;
    return set_text(argv, &argv->job->logdir, value);
}

int views_set_page(void *to, const char *value, struct error *err)
{
    struct job_argv *argv = to;

    (void)value, (void)err;
    argv->has_fields = argv->job->has_page = true;
    return 0;
}

int views_set_scrape(void *to, const char *value, struct error *err)
{
    struct job_argv *argv = to;
    int              i;

    argv->has_fields = true;
    for (i = SCRAPE_ANNOTATION; job_scrapes[i] != NULL; i++)
        if (strcasecmp(job_scrapes[i], value) == 0) {
            argv->job->scrape = (enum job_scrape)i;
            return 0;
        }
    return err_set(err, "must be annotation or servicemonitor, not '%.60s'", value);
}

int views_set_scrape_space(void *to, const char *value, struct error *err)
{
    struct job_argv *argv = to;

    (void)err;
    return set_text(argv, &argv->job->scrape_space, value);
}

int views_set_port(void *to, const char *value, struct error *err)
{
    struct job_argv *argv = to;

    argv->has_fields = true;
    return parse_number(value, PORT_MIN, UINT16_MAX, &argv->job->page_port, err);
}

void views_end(struct job_argv *argv)
{
    end_board(argv);
    drop_useless(argv->job, "--metrics-namespace is ignored without --metrics",
                 "--metrics-port is ignored without --dashboard or --metrics");
}

void views_read(struct job *job, struct fields *spec)
{
    struct fields metrics;
    const char   *space;

    read_board(job, spec);
    job->has_page = fields_bool(spec, "dashboard", false);
    fields_object(spec, "metrics", &metrics);
    job->scrape = (enum job_scrape)fields_choice(&metrics, "via", job_scrapes);
    space = fields_text(&metrics, "namespace");
    job->scrape_space = space != NULL ? xstrdup(space) : NULL;
    job->page_port = fields_number(&metrics, "port", PORT_MIN, UINT16_MAX, 0);
    fields_end(&metrics);
    drop_useless(job, "metrics.namespace is ignored without metrics.via",
                 "metrics.port is ignored without dashboard or metrics.via");
}

void views_add(const struct job *job, json_t *spec)
{
    json_t *metrics = json_object();

    if (job_has_board(job))
        json_object_set_new(spec, "tensorboard",
                            json_pack("{ssss*}", "logDir", job->logdir, "image", job->board_image));
    if (job->has_page)
        json_object_set_new(spec, "dashboard", json_true());
    if (job->scrape != SCRAPE_NONE)
        json_object_set_new(metrics, "via", json_string(job_scrapes[job->scrape]));
    if (job->scrape_space != NULL)
        json_object_set_new(metrics, "namespace", json_string(job->scrape_space));
    if (job->page_port != 0)
        json_object_set_new(metrics, "port", json_integer(job->page_port));
    if (json_object_size(metrics) > 0)
        json_object_set(spec, "metrics", metrics);
    json_decref(metrics);
}

int views_check(const struct job *job, struct error *err)
{
    const char *what = job->has_page ? "dashboard" : "metrics";

    if (job->logdir != NULL && job->logdir[0] != '/')
        return err_set(err, "logdir: '%.80s' must begin with /", job->logdir);
    if (!job_has_page(job))
        return 0;
    if (job->is_custom)
        return err_set(err, "%s: muster serves it, and customCommand runs in muster's place; leave "
                            "one of them out", what);
    if (job->launcher == LAUNCHER_WORKER0 && privileges_has_host_network(job->template))
        return err_set(err, "%s: with hostNetwork, worker 0 would serve it at its node, to every "
                            "user of that; let the launcher have a Pod of its own: write "
                            "--launcher=pod, or launcher: pod", what);
    if (has_own_place(&job->command) || has_own_place(&job->resumed.command) ||
        has_own_place(&job->resumed.args))
        return err_set(err, "%s: muster's --metrics-listen is in the command, too; leave one of "
                            "them out (--metrics-port sets the port)", what);
    return check_ports(job, err);
}

char *views_place(const struct job *job)
{
    if (!job_has_page(job))
        return NULL;
    return xasprintf("%s:%" PRId64, job->scrape != SCRAPE_NONE ? "0.0.0.0" : "127.0.0.1",
                     job_page_port(job));
}

static int set_text(struct job_argv *argv, char **text, const char *value)
{
    free(*text);
    *text = xstrdup(value);
    argv->has_fields = true;
    return 0;
}

static void end_board(struct job_argv *argv)
{
    struct job *job = argv->job;

    if (argv->has_board && job->logdir == NULL)
        job->logdir = xstrdup(JOB_LOGDIR);
    else if (!argv->has_board && (job->logdir != NULL || job->board_image != NULL)) {
        strlist_addf(&job->warnings, "--%s is ignored without --tensorboard",
                     job->logdir != NULL ? "logdir" : "tensorboard-image");
        free(job->logdir);
        free(job->board_image);
        job->logdir = job->board_image = NULL;
    }
    job_warn_board(job);
}

/* Drops what is ignored, so that the job is the same as one without it; and warns of it. */
static void drop_useless(struct job *job, const char *space, const char *port)
{
    if (job->scrape_space != NULL && job->scrape == SCRAPE_NONE) {
        strlist_add(&job->warnings, space);
        free(job->scrape_space);
        job->scrape_space = NULL;
    }
    if (job->page_port != 0 && !job_has_page(job)) {
        strlist_add(&job->warnings, port);
        job->page_port = 0;
    }
}

/* tensorboard is a field of muster's own, not of T9k's; so are the others. */
static void read_board(struct job *job, struct fields *spec)
{
    struct fields board;
    const char   *logdir, *image;

    fields_object(spec, "tensorboard", &board);
    logdir = fields_text(&board, "logDir");
    image = fields_text(&board, "image");
    fields_end(&board);
    if (board.object == NULL)
        return;
    job->logdir = xstrdup(logdir != NULL ? logdir : JOB_LOGDIR);
    job->board_image = image != NULL ? xstrdup(image) : NULL;
    if (job->template != NULL)
        job_warn_board(job);
}

/* The containers of a Pod share its ports, and the launcher has all that the template names. */
static int check_ports(const struct job *job, struct error *err)
{
    const json_t *boxes =
        json_object_get(json_object_get(job->template, "spec"), "containers");
    const json_t *ports;
    const char   *name;
    int64_t       port = job_page_port(job);
    size_t        i, k;

    if (port == SSH_PORT)
        return err_set(err, "metrics.port: %d is the port of the sshd; choose another one",
                       SSH_PORT);
    for (i = 0; i < json_array_size(boxes); i++) {
        ports = json_object_get(json_array_get(boxes, i), "ports");
        name = json_string_value(json_object_get(json_array_get(boxes, i), "name"));
        for (k = 0; k < json_array_size(ports); k++)
            if (json_integer_value(json_object_get(json_array_get(ports, k), "containerPort")) ==
                port)
                return err_set(err, "metrics.port: %" PRId64 " is a port of the container %.60s "
                                    "already; choose another one, by --metrics-port=PORT or "
                                    "metrics.port", port, name != NULL ? name : "without a name");
    }
    return 0;
}

/* Option names may have "_" for each "-". */
static bool has_own_place(const struct strlist *words)
{
    static const char option[] = "--metrics-listen";
    const char       *word;
    size_t            i, k;

    for (i = 0; i < words->count && strcmp(words->item[i], "--") != 0; i++) {
        word = words->item[i];
        for (k = 0; option[k] != '\0'; k++)
            if (word[k] != option[k] && !(k > 1 && option[k] == '-' && word[k] == '_'))
                break;
        if (option[k] == '\0' && (word[k] == '\0' || word[k] == '='))
            return true;
    }
    return false;
}
