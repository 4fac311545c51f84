/* checkpoints.c - see checkpoints.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "course/checkpoints.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "hook/event.h"
#include "log.h"
#include "node/body.h"
#include "run/costs.h"
#include "run/events.h"
#include "run/run.h"
#include "run/steps.h"
#include "sanitize.h"
#include "xalloc.h"
#include "xevent.h"

#define LOOK_S    5.0 /* between two looks whether a checkpoint is late */
#define AGE_MAX_S 1e9

static bool   is_seconds(const json_t *value);
static void   take_new(struct run *run, const struct plan *world, const json_t *body);
static void   tell_slow(struct run *run, const struct plan *world,
                        const struct checkpoint_log *log);
static char  *safe_text(const json_t *body, const char *key);
static void   tell_unanswered(struct run *run, const struct node *node, const json_t *body);
static void   look_cb(evutil_socket_t fd, short what, void *arg);
static void   tell_late(struct run *run, size_t index, double now_s);
static void   tell(struct run *run, const struct plan *world, json_t *own, char *text);
static void   add_progress(const struct run *run, size_t index, struct policy_event *event);

void checkpoints_open(struct run *run)
{
    const struct timeval every = clock_interval(LOOK_S);

    run->checkpoints = xcalloc(plan_worlds(run->plan), sizeof *run->checkpoints);
    run->checkpoints_look = event_new(run->base, -1, EV_PERSIST, look_cb, run);
    if (run->checkpoints_look == NULL)
        xalloc_die();
    xevent_add(run->checkpoints_look, &every);
}

void checkpoints_close(struct run *run)
{
    size_t i;

    if (run->checkpoints == NULL)
        return;
    for (i = 0; i < plan_worlds(run->plan); i++)
        checkpoint_log_clear(&run->checkpoints[i]);
    free(run->checkpoints);
    event_free(run->checkpoints_look);
    run->checkpoints = NULL;
}

void checkpoints_again(struct run *run, const struct plan *world)
{
    size_t i;

    for (i = 0; i < plan_worlds(run->plan); i++)
        if (world == run->plan || world == plan_world_at(run->plan, i))
            checkpoint_log_again(&run->checkpoints[i], clock_now_s());
}

/* --- what an agent has seen --------------------------------------------------- */

int checkpoints_take(struct run *run, const struct node *node, const json_t *body,
                     struct error *err)
{
    const struct plan *world = plan_world(run->plan, node->index);
    const json_t      *save_s = json_object_get(body, "save_s");

    if (world->ckpt_marker == NULL || node->index != world->first_node)
        return err_set(err, "CHECKPOINT frame: this node does not look for checkpoints");
    if (json_string_length(json_object_get(body, "path")) == 0)
        return err_set(err, "CHECKPOINT frame: it names no file");
    if (json_object_get(body, "unanswered_s") != NULL) {
        if (!is_seconds(json_object_get(body, "unanswered_s")))
            return err_set(err, "CHECKPOINT frame: \"unanswered_s\" is not a number of seconds");
        tell_unanswered(run, node, body);
        return 0;
    }
    if (body_int(body, "file_ns", 0) <= 0 || !is_seconds(json_object_get(body, "age_s")) ||
        (save_s != NULL && !is_seconds(save_s)))
        return err_set(err, "CHECKPOINT frame: it does not say when the file was written");
    take_new(run, world, body);
    return 0;
}

static bool is_seconds(const json_t *value)
{
    return json_is_number(value) && json_number_value(value) >= 0 &&
           json_number_value(value) <= AGE_MAX_S;
}

static void take_new(struct run *run, const struct plan *world, const json_t *body)
{
    struct checkpoint_log *log = &run->checkpoints[plan_world_index(run->plan, world)];
    const double           age_s = json_number_value(json_object_get(body, "age_s"));
    const json_t          *save_s = json_object_get(body, "save_s");
    char                  *path = safe_text(body, "path"), *says = safe_text(body, "says");
    const struct checkpoint checkpoint = {
        .path = path,
        .says = says,
        .file_ns = body_int(body, "file_ns", 0),
        .at_s = clock_now_s() - age_s,
        .save_s = save_s != NULL ? json_number_value(save_s) : -1,
    };

    if (checkpoint_log_add(log, &checkpoint)) {
        costs_checkpoint(run, age_s);
        log_info("checkpoint %zu: %s%s%s%s", log->count, path, says[0] != '\0' ? " (" : "", says,
                 says[0] != '\0' ? ")" : "");
        if (checkpoint_log_is_slow(log))
            tell_slow(run, world, log);
    }
    free(path);
    free(says);
}

static void tell_slow(struct run *run, const struct plan *world, const struct checkpoint_log *log)
{
    char   *text = xasprintf("checkpoint %zu%s%s was written %.1f s after a step, though a save "
                             "usually takes %.1f s (%s)", log->count,
                             world->role_name != NULL ? " of " : "",
                             world->role_name != NULL ? world->role_name : "", log->save_s,
                             log->usual_save_s, log->path);
    json_t *own = json_pack("{s:o, s:f, s:f}", "path", event_string(log->path, EVENT_TEXT_MAX),
                            "save_s", log->save_s, "usual_s", log->usual_save_s);

    tell(run, world, own, text);
}

/* Caller frees. */
static char *safe_text(const json_t *body, const char *key)
{
    const char *text = body_text(body, key);

    return sanitize_text(text, strlen(text));
}

/* Once: what hangs, hangs for long. */
static void tell_unanswered(struct run *run, const struct node *node, const json_t *body)
{
    char *path;

    if (run->is_storage_told)
        return;
    run->is_storage_told = true;
    path = safe_text(body, "path");
    log_warn("%s: the storage does not answer: a look at %s has not come back for %.0f s",
             plan_label(node->plan), path,
             json_number_value(json_object_get(body, "unanswered_s")));
    free(path);
}

/* --- one that does not come --------------------------------------------------- */

static void look_cb(evutil_socket_t fd, short what, void *arg)
{
    struct run  *run = arg;
    const double now_s = clock_now_s();
    size_t       i;

    (void)fd, (void)what;
    for (i = 0; run->phase.now == PHASE_RUNNING && i < plan_worlds(run->plan); i++)
        if (checkpoint_log_is_late(&run->checkpoints[i], now_s))
            tell_late(run, i, now_s);
}

static void tell_late(struct run *run, size_t index, double now_s)
{
    const struct checkpoint_log *log = &run->checkpoints[index];
    const char                  *role = plan_world_at(run->plan, index)->role_name;
    const double median_s = checkpoint_log_median_s(log), since_s = now_s - log->since_s;
    char        *text = xasprintf("no checkpoint for %.0f s%s%s, though one is usually written "
                                  "every %.0f s (%s)", since_s, role != NULL ? " from " : "",
                                  role != NULL ? role : "", median_s, log->path);
    json_t      *own = json_pack("{s:o, s:f, s:f}", "path",
                                 event_string(log->path, EVENT_TEXT_MAX), "since_s", since_s,
                                 "usual_s", median_s);

    tell(run, plan_world_at(run->plan, index), own, text);
}

/* Releases own and text. */
static void tell(struct run *run, const struct plan *world, json_t *own, char *text)
{
    if (world->role_name != NULL)
        json_object_set_new(own, "role", json_string(world->role_name));
    log_warn("%s", text);
    events_tell(run, "checkpoint_late", own, "%s", text);
    free(text);
}

/* --- progress ------------------------------------------------------------------- */

const char *checkpoints_last(const struct run *run, const struct plan *world)
{
    return run->checkpoints[plan_world_index(run->plan, world)].path;
}

void checkpoints_progress(const struct run *run, const struct plan *world,
                          struct policy_event *event)
{
    size_t i;

    for (i = 0; i < plan_worlds(run->plan); i++)
        if (world == run->plan || world == plan_world_at(run->plan, i))
            add_progress(run, i, event);
}

static void add_progress(const struct run *run, size_t index, struct policy_event *event)
{
    const struct checkpoint_log *log = &run->checkpoints[index];
    const struct step_reach     *reach = steps_reach(run, plan_world_at(run->plan, index));

    event->is_progress_known =
        event->is_progress_known || log->count > 0 || step_reach_is_known(reach);
    event->has_progressed = event->has_progressed || log->is_new || step_reach_is_new(reach);
}
