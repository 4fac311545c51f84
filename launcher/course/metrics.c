/* metrics.c - see metrics.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "course/metrics.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "course/page.h"
#include "course/run_figures.h"
#include "log.h"
#include "metrics/http_server.h"
#include "metrics/listen_socket.h"
#include "metrics/metrics_file.h"
#include "metrics/metrics_text.h"
#include "run/run.h"
#include "xalloc.h"
#include "xevent.h"

#define TICK_S 0.2 /* between two looks whether the file must be written */

struct metrics {
    struct run_figures   figures;
    struct metrics_file *file; /* NULL: no --metrics */
    struct event        *tick;
    int64_t              written_ns; /* when the file was last written, in that phase */
    enum phase_now       phase;
    int                  generation;

    struct listen_socket socket; /* name NULL: no --metrics-listen */
    struct http_server  *server;
    struct shared_text {
        char   *text;
        size_t  users; /* answers that are being sent, and this module */
        int64_t made_ns;
    } *shared[METRICS_PROMETHEUS + 1]; /* by format; NULL: none yet */
};

static int  open_socket(struct run *run, struct error *err);
static void tick_cb(evutil_socket_t fd, short what, void *arg);
static bool is_due(const struct run *run);
static void answer_metrics(struct evhttp_request *request, void *arg);
static struct shared_text *text_of(struct run *run, enum metrics_format format);
static void sent_cb(const void *bytes, size_t size, void *arg);
static void let_go(struct shared_text *shared);

static const struct http_path paths[] = {
    { "/", page_answer_html },        { "/page.css", page_answer_css },
    { "/page.js", page_answer_js },   { "/run.json", page_answer_run },
    { "/rank", page_answer_rank },    { "/events", page_answer_events },
    { "/metrics", answer_metrics },   { 0 }
};

int metrics_open(struct run *run, struct error *err)
{
    const struct options *options = run->options;

    if ((options->metrics == NULL && options->metrics_listen == NULL) ||
        run->plan->command != COMMAND_RUN || run_is_exec(run))
        return 0;
    run->metrics = xcalloc(1, sizeof *run->metrics);
    run_figures_init(&run->metrics->figures, run);
    run->metrics->socket.fd = -1;
    if (options->metrics != NULL &&
        (run->metrics->file = metrics_file_open(options->metrics, err)) == NULL)
        return -1;
    return options->metrics_listen != NULL ? open_socket(run, err) : 0;
}

static int open_socket(struct run *run, struct error *err)
{
    struct listen_socket *made = &run->metrics->socket;
    struct listen_place   place;
    char                 *at;
    int                   rc;

    if (listen_place_read(&place, run->options->metrics_listen, err) < 0)
        return -1; /* not reached: the options were checked */
    rc = listen_socket_open(made, &place, err);
    if (rc < 0)
        err_set(err, "--metrics-listen: %s", err->text);
    else if (place.path == NULL && place.port == 0)
        log_note("metrics are at http://%s/metrics, a page of the run at http://%s/", made->name,
                 made->name);
    listen_place_clear(&place);
    if (rc < 0)
        return -1;
    at = xasprintf(made->path != NULL ? "unix:%s" : "http://%s/metrics", made->name);
    free(made->name);
    run->metrics_at = made->name = at;
    return 0;
}

void metrics_begin(struct run *run)
{
    const struct timeval tick = clock_interval(TICK_S);
    struct metrics      *metrics = run->metrics;

    if (metrics == NULL)
        return;
    if (metrics->socket.fd >= 0) {
        page_open(run);
        metrics->server = http_server_new(run->base, metrics->socket.fd, paths, run);
        metrics->socket.fd = -1;
    }
    if (metrics->file == NULL)
        return;
    metrics->tick = event_new(run->base, -1, EV_PERSIST, tick_cb, run);
    if (metrics->tick == NULL)
        xalloc_die();
    xevent_add(metrics->tick, &tick);
    tick_cb(-1, 0, run);
}

void metrics_end(struct run *run, int status)
{
    struct metrics *metrics = run->metrics;
    char           *text;

    if (metrics == NULL)
        return;
    metrics->figures.is_over = true;
    metrics->figures.status = status;
    if (metrics->file != NULL) {
        text = run_figures_text(&metrics->figures, run, METRICS_PROMETHEUS);
        metrics_file_close(metrics->file, text);
        metrics->file = NULL;
    }
    page_end(run, status);
    metrics_free(run);
}

void metrics_free(struct run *run)
{
    struct metrics *metrics = run->metrics;
    size_t          i;

    if (metrics == NULL)
        return;
    run->metrics = NULL;
    run->metrics_at = NULL;
    metrics_file_close(metrics->file, NULL);
    if (metrics->tick != NULL)
        event_free(metrics->tick);
    page_free(run);
    http_server_free(metrics->server);
    listen_socket_close(&metrics->socket);
    for (i = 0; i <= METRICS_PROMETHEUS; i++)
        let_go(metrics->shared[i]);
    run_figures_clear(&metrics->figures);
    free(metrics);
}

void metrics_restart(struct run *run, const struct plan *world, enum policy_end end)
{
    if (run->metrics != NULL)
        run_figures_restart(&run->metrics->figures, run, world, end);
}

/* --- the file ------------------------------------------------------------------------ */

static void tick_cb(evutil_socket_t fd, short what, void *arg)
{
    struct run     *run = arg;
    struct metrics *metrics = run->metrics;

    (void)fd, (void)what;
    if (metrics_file_is_busy(metrics->file) || !is_due(run))
        return;
    metrics->written_ns = clock_now_ns();
    metrics->phase = run->phase.now;
    metrics->generation = run->plan->generation;
    metrics_file_put(metrics->file, run_figures_text(&metrics->figures, run, METRICS_PROMETHEUS));
}

static bool is_due(const struct run *run)
{
    const struct metrics *metrics = run->metrics;
    double                age_s = (double)(clock_now_ns() - metrics->written_ns) / NS_PER_S;

    return metrics->written_ns == 0 || age_s >= METRICS_EACH_S ||
           metrics->phase != run->phase.now || metrics->generation != run->plan->generation;
}

/* --- the server ---------------------------------------------------------------------- */

static void answer_metrics(struct evhttp_request *request, void *arg)
{
    enum metrics_format format = metrics_text_accepted(http_server_header(request, "Accept"));
    struct shared_text *shared = text_of(arg, format);

    shared->users++;
    http_server_reply(request, metrics_text_type(format), shared->text, strlen(shared->text),
                      sent_cb, shared);
}

/* Returns a text that is fresh enough. */
static struct shared_text *text_of(struct run *run, enum metrics_format format)
{
    struct metrics      *metrics = run->metrics;
    struct shared_text **shared = &metrics->shared[format];
    int64_t              now_ns = clock_now_ns();

    if (*shared != NULL && (double)(now_ns - (*shared)->made_ns) / NS_PER_S < METRICS_FRESH_S)
        return *shared;
    let_go(*shared);
    *shared = xcalloc(1, sizeof **shared);
    (*shared)->text = run_figures_text(&metrics->figures, run, format);
    (*shared)->users = 1;
    (*shared)->made_ns = now_ns;
    return *shared;
}

static void sent_cb(const void *bytes, size_t size, void *arg)
{
    (void)bytes, (void)size;
    let_go(arg);
}

static void let_go(struct shared_text *shared)
{
    if (shared == NULL || --shared->users > 0)
        return;
    free(shared->text);
    free(shared);
}
