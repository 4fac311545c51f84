/* sample_watch.c - see sample_watch.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "samples/sample_watch.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "clock.h"
#include "evidence/evidence_list.h"
#include "node/gpu.h"
#include "node/test_switch.h"
#include "plan/gpus.h"
#include "samples/gpu_counters.h"
#include "samples/port_counters.h"
#include "samples/sample_changes.h"
#include "task/task.h"
#include "xalloc.h"
#include "xevent.h"

#define EVERY_S          10.0
#define UNANSWERED_TIMES 6.0     /* that without a sample: the driver hangs */
#define PAUSED_S         5.0     /* if the timer is later than this, we have hung */
#define LAST_S           4.0     /* for the sample after the last rank has ended */
#define CHILD_LOOKS      200     /* that a child does; then comes another one */
#define CHILD_S          43200.0 /* its limit, if it hangs */

struct sample_watch {
    struct event_base             *base;
    const struct node_plan        *plan;
    const struct sample_watch_ops *ops;
    void                          *arg;
    struct task                   *task; /* NULL: it could not be forked */
    struct event                  *late;
    struct sample                  first, before; /* valid if has_sample */
    struct evidence_list           list;
    double                         every_s, last_s;
    int64_t                        heard_ns; /* the last line of the child, or its start */
    bool                           wanted[GPU_MAX];
    bool                           has_sample;
    bool                           is_ready; /* the child has said something: it takes signals */
    bool                           is_last, is_over; /* the last sample: asked for; no more */
    bool                           is_told; /* the launcher knows that the driver hangs */
};

static void    read_times(struct sample_watch *watch);
static char   *root_of(const struct node_plan *plan);
static void    look(struct sample_watch *watch);
static void    line_cb(json_t *body, void *arg);
static void    take(struct sample_watch *watch, const struct sample *now);
static void    add_evidence(const struct evidence *evidence, const char *text, void *arg);
static void    send_evidence(struct sample_watch *watch);
static void    end_cb(json_t *body, void *arg);
static void    late_cb(evutil_socket_t fd, short what, void *arg);
static void    last_is_over(struct sample_watch *watch);
static double  silent_s(const struct sample_watch *watch);
static void    wait_for_line(struct sample_watch *watch, double seconds);
static int     run(const json_t *request, struct task_output *out);
static void    take_sample(const char *root, bool has_gpus, struct sample *sample);

struct sample_watch *sample_watch_begin(struct event_base *base, const struct node_plan *plan,
                                        const struct sample_watch_ops *ops, void *arg)
{
    struct sample_watch *watch;
    char                *root = root_of(plan);
    const bool           is_any = gpu_count() > 0 || port_counters_exist(root);
    int                  i;

    free(root);
    if (!is_any)
        return NULL;
    watch = xcalloc(1, sizeof *watch);
    *watch = (struct sample_watch){
        .base = base, .plan = plan, .ops = ops, .arg = arg, .every_s = EVERY_S, .last_s = LAST_S
    };
    read_times(watch);
    if (!plan_gpus(plan, watch->wanted))
        for (i = 0; i < GPU_MAX; i++)
            watch->wanted[i] = true;
    watch->late = xevent_new(base, -1, late_cb, watch);
    look(watch);
    return watch;
}

static void read_times(struct sample_watch *watch)
{
    const char *other = test_switch(TEST_SWITCH_SAMPLES_S);
    char       *end;

    if (other == NULL)
        return;
    watch->every_s = strtod(other, &end);
    if (*end == ',')
        watch->last_s = strtod(end + 1, NULL);
}

/* Caller frees. */
static char *root_of(const struct node_plan *plan)
{
    const char *other = test_switch(TEST_SWITCH_SAMPLES);

    return other != NULL ? xasprintf("%s.%d", other, plan->node_rank) : xstrdup("");
}

bool sample_watch_look_last(struct sample_watch *watch)
{
    if (watch == NULL || watch->is_over)
        return true;
    if (watch->is_last)
        return false;
    if (watch->task == NULL || task_is_over(watch->task) || !watch->is_ready ||
        silent_s(watch) > 2 * watch->every_s + watch->last_s) {
        watch->is_over = true;
        return true;
    }
    watch->is_last = true;
    task_signal(watch->task, SIGUSR1);
    wait_for_line(watch, watch->last_s);
    return false;
}

void sample_watch_end(struct sample_watch *watch)
{
    if (watch == NULL)
        return;
    task_free(watch->task);
    event_free(watch->late);
    evidence_list_clear(&watch->list);
    free(watch);
}

static void look(struct sample_watch *watch)
{
    static const struct task_row row = { "samples", run };
    static const struct task_ops ops = { line_cb, end_cb };
    struct task_request          request = { &row, 0, CHILD_S };
    char                        *root = root_of(watch->plan);
    struct error                 err;
    json_t                      *body = json_pack("{s:o, s:f, s:b}", "root",
                                                  json_string_nocheck(root), "every_s",
                                                  watch->every_s, "gpus", (int)(gpu_count() > 0));

    watch->heard_ns = clock_now_ns();
    watch->is_ready = false;
    watch->task = task_begin(watch->base, &request, body, &ops, watch, &err);
    wait_for_line(watch, UNANSWERED_TIMES * watch->every_s);
    json_decref(body);
    free(root);
}

/* --- a sample ------------------------------------------------------------------ */

static void line_cb(json_t *body, void *arg)
{
    struct sample_watch *watch = arg;
    struct sample        now;

    watch->heard_ns = clock_now_ns();
    watch->is_ready = true;
    if (sample_read(&now, json_object_get(body, "line")))
        take(watch, &now);
    json_decref(body);
    if (watch->is_last)
        last_is_over(watch);
    else
        wait_for_line(watch, UNANSWERED_TIMES * watch->every_s);
}

static void take(struct sample_watch *watch, const struct sample *now)
{
    if (!watch->has_sample)
        watch->first = watch->before = *now;
    watch->has_sample = true;
    sample_changes(&watch->first, &watch->before, now, watch->wanted, add_evidence, watch);
    if (watch->list.is_changed)
        send_evidence(watch);
    watch->ops->send(FRAME_SAMPLES,
                     sample_report(&watch->before, now, watch->wanted, watch->every_s),
                     watch->arg);
    watch->before = *now;
}

static void add_evidence(const struct evidence *evidence, const char *text, void *arg)
{
    struct sample_watch *watch = arg;

    evidence_list_add(&watch->list, evidence, text);
}

static void send_evidence(struct sample_watch *watch)
{
    json_t *body = evidence_list_changed(&watch->list), *item;
    size_t  i;

    json_array_foreach(json_object_get(body, "items"), i, item)
        json_object_set_new(item, "source", json_string("counters"));
    watch->ops->send(FRAME_EVIDENCE, body, watch->arg);
}

/* --- none comes ---------------------------------------------------------------- */

/* A task must not be freed here. */
static void end_cb(json_t *body, void *arg)
{
    struct sample_watch *watch = arg;

    json_decref(body);
    if (watch->is_last)
        last_is_over(watch);
    else
        wait_for_line(watch, watch->every_s);
}

static void late_cb(evutil_socket_t fd, short what, void *arg)
{
    struct sample_watch *watch = arg;
    const double         limit_s = UNANSWERED_TIMES * watch->every_s;

    (void)fd, (void)what;
    if (watch->is_last) {
        last_is_over(watch);
    } else if (watch->task == NULL || task_is_over(watch->task)) {
        task_free(watch->task);
        look(watch);
    } else if (silent_s(watch) > limit_s + PAUSED_S) {
        watch->heard_ns = clock_now_ns();
        wait_for_line(watch, limit_s);
    } else if (!watch->is_told) {
        watch->is_told = true;
        watch->ops->send(FRAME_SAMPLES, json_pack("{s:f}", "unanswered_s", silent_s(watch)),
                         watch->arg);
    }
}

static void last_is_over(struct sample_watch *watch)
{
    if (watch->is_over)
        return;
    watch->is_over = true;
    event_del(watch->late);
    watch->ops->looked(watch->arg);
}

static double silent_s(const struct sample_watch *watch)
{
    return (double)(clock_now_ns() - watch->heard_ns) / NS_PER_S;
}

static void wait_for_line(struct sample_watch *watch, double seconds)
{
    const struct timeval limit = clock_interval(seconds);

    xevent_add(watch->late, &limit);
}

/* --- the child ----------------------------------------------------------------- */

/* SIGUSR1 asks for a sample now. */
static int run(const json_t *request, struct task_output *out)
{
    const char    *root = json_string_value(json_object_get(request, "root"));
    const double   pause_s = json_number_value(json_object_get(request, "every_s"));
    const bool     has_gpus = json_is_true(json_object_get(request, "gpus"));
    struct timeval every = clock_interval(pause_s);
    const struct timespec pause = { .tv_sec = every.tv_sec, .tv_nsec = every.tv_usec * 1000 };
    struct sample         sample;
    sigset_t              now;
    int                   i;

    sigemptyset(&now);
    sigaddset(&now, SIGUSR1);
    sigprocmask(SIG_BLOCK, &now, NULL);
    if (root == NULL)
        return EXIT_FAILURE;
    for (i = 0; i < CHILD_LOOKS; i++) {
        if (i > 0)
            sigtimedwait(&now, NULL, &pause);
        take_sample(root, has_gpus, &sample);
        task_output_line(out, sample_json(&sample));
    }
    return EXIT_SUCCESS;
}

/* Without NVML, or if it does not work, there are no GPUs in the sample. */
static void take_sample(const char *root, bool has_gpus, struct sample *sample)
{
    static struct nvml nvml;
    static bool        is_tried, is_loaded;
    char              *file;

    *sample = (struct sample){ 0 };
    port_counters_read(root, sample);
    if (!is_tried && has_gpus) {
        if (root[0] != '\0') { /* a test: its library reads the file */
            file = xasprintf("%s/gpu", root);
            setenv("NVML_NODE", file, 1);
            free(file);
        }
        is_loaded = nvml_load(&nvml) && nvml.init() == 0;
    }
    is_tried = true;
    if (is_loaded)
        gpu_counters_read(&nvml, sample);
}
