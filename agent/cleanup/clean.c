/* clean.c - see clean.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cleanup/clean.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup/gpu_kill.h"
#include "cleanup/orphans.h"
#include "cleanup/stale_files.h"
#include "clock.h"
#include "frame.h"
#include "guard/containment.h"
#include "node/shm.h"
#include "xalloc.h"
#include "xevent.h"

#define LOOK_MS     20.0
#define STUCK_S     10.0 /* processes that survive KILL for this long are reported as left */
#define STUCK_LOST_S 5.0 /* the same for orphans; a run waits for this: see ORPHAN_CLEANUP_S */
#define GROUPS_S    1.0 /* its control group may outlive the last process by this */
#define GROUPS_LOOKS 10 /* at least this many looks, if one takes as long */
#define GRACE_MAX_S 86400.0
#define MORE_BYTES  64 /* that the answer needs for "more" */

struct clean {
    struct orphans orphans;
    struct gpu_kill gpus;
    bool           kill;
    bool           only_orphans; /* targets are only processes without an agent */
    bool           has_more;     /* there is more than the answer contains */
    char          *run;          /* NULL: any run */
    double         grace_s;
    int64_t        kill_at_ns, give_up_at_ns;
    int64_t        groups_until_ns; /* 0: the last process is not gone */
    int            groups_looks;    /* since the last process is gone */
    struct event  *again;
    void (*done)(json_t *body, void *arg);
    void *arg;
};

static void    again_cb(evutil_socket_t fd, short what, void *arg);
static bool    ends_any(const struct clean *clean);
static bool    all_gone(struct clean *clean);
static bool    await_groups(struct clean *clean);
static void    ask_to_end(struct clean *clean);
static void    kill_targets(struct clean *clean);
static void    signal_targets(struct clean *clean, int signal);
static void    finish(struct clean *clean);
static bool    shorten(json_t *body);
static bool    is_told(const struct clean *clean, const struct orphan *orphan);
static bool    is_awaited(const struct clean *clean, const struct orphan *orphan);
static bool    is_target(const struct clean *clean, const struct orphan *orphan);
static bool    is_of_run(const struct clean *clean, const struct orphan *orphan);
static json_t *list_shm(const struct clean *clean);
static json_t *json_of(const struct orphan *orphan);

struct clean *clean_begin(struct event_base *base, const json_t *body,
                          void (*done)(json_t *body, void *arg), void *arg, struct error *err)
{
    const json_t        *run = json_object_get(body, "run");
    const json_t        *agent = json_object_get(body, "agent");
    double               grace_s = json_number_value(json_object_get(body, "grace_s")), stuck_s;
    const struct timeval at_once = { 0 };
    struct gpu_kill      gpus;
    struct clean        *clean;

    if (gpu_kill_init(&gpus, json_object_get(body, "kill_gpu"), err) < 0)
        return NULL;
    if ((run != NULL && !json_is_string(run)) || grace_s < 0 || grace_s > GRACE_MAX_S) {
        err_set(err, "CLEAN frame: \"run\" or \"grace_s\" is invalid");
        return NULL;
    }
    clean = xcalloc(1, sizeof *clean);
    clean->gpus = gpus;
    clean->kill = json_is_true(json_object_get(body, "kill"));
    clean->only_orphans = json_is_true(json_object_get(body, "orphans"));
    clean->run = run != NULL ? xstrdup(json_string_value(run)) : NULL;
    clean->grace_s = grace_s;
    clean->done = done;
    clean->arg = arg;
    clean->again = evtimer_new(base, again_cb, clean);
    if (clean->again == NULL)
        xalloc_die();
    clean->orphans.with_shells = !clean->only_orphans;
    clean->orphans.given_up = (struct process){
        .pid = (pid_t)json_integer_value(json_object_get(agent, "pid")),
        .start = (uint64_t)json_integer_value(json_object_get(agent, "start")),
    };
    orphans_look(&clean->orphans);
    gpu_kill_look(&clean->gpus, &clean->orphans, clean->kill);
    clean->kill_at_ns = clock_now_ns() + (int64_t)(grace_s * NS_PER_S);
    stuck_s = clean->only_orphans ? STUCK_LOST_S : STUCK_S;
    clean->give_up_at_ns = clean->kill_at_ns + (int64_t)(stuck_s * NS_PER_S);
    ask_to_end(clean);
    xevent_add(clean->again, &at_once);
    return clean;
}

void clean_free(struct clean *clean)
{
    if (clean == NULL)
        return;
    gpu_kill_clear(&clean->gpus);
    orphans_clear(&clean->orphans);
    free(clean->run);
    event_free(clean->again);
    free(clean);
}

/* --- ending processes ------------------------------------------------------- */

static void again_cb(evutil_socket_t fd, short what, void *arg)
{
    struct clean        *clean = arg;
    const struct timeval pause = clock_interval(LOOK_MS / 1000);
    int64_t              now_ns = clock_now_ns();
    bool                 is_over = !ends_any(clean);

    (void)fd, (void)what;
    if (ends_any(clean) && all_gone(clean)) {
        if (orphans_are_full(&clean->orphans)) {
            clean->has_more = true;
            orphans_forget_gone(&clean->orphans);
        }
        orphans_look(&clean->orphans); /* processes that were started in between */
        gpu_kill_look(&clean->gpus, &clean->orphans, clean->kill);
        is_over = all_gone(clean);
        ask_to_end(clean);
    }
    is_over = is_over || now_ns >= clean->give_up_at_ns;
    if (is_over && !await_groups(clean)) {
        finish(clean);
        return;
    }
    if (!is_over && now_ns >= clean->kill_at_ns)
        kill_targets(clean);
    xevent_add(clean->again, &pause);
}

static bool ends_any(const struct clean *clean)
{
    return clean->kill || clean->gpus.whose != GPU_KILL_NONE;
}

/* Are all known targets gone? */
static bool all_gone(struct clean *clean)
{
    size_t i;

    orphans_refresh(&clean->orphans);
    for (i = 0; i < clean->orphans.count; i++)
        if (is_awaited(clean, &clean->orphans.item[i]) && !clean->orphans.item[i].is_gone)
            return false;
    return gpu_kill_is_over(&clean->gpus);
}

/* Waits for control groups of the processes. A process that exits stops being one of the run's
 * before it leaves its group, and before its guard releases the group. True: look again. */
static bool await_groups(struct clean *clean)
{
    int64_t now_ns = clock_now_ns();

    if (clean->groups_until_ns == 0)
        clean->groups_until_ns = now_ns + (int64_t)(GROUPS_S * NS_PER_S);
    return clean->only_orphans && stale_files_remove_groups(clean->run) &&
           (++clean->groups_looks < GROUPS_LOOKS || now_ns < clean->groups_until_ns);
}

/* Orphans get no TERM: if the guard was the first process of their namespace, the kernel is
 * about to kill them anyway. */
static void ask_to_end(struct clean *clean)
{
    gpu_kill_ask(&clean->gpus);
    if (!clean->kill || clean->only_orphans)
        return;
    signal_targets(clean, SIGCONT);
    signal_targets(clean, SIGTERM);
}

/* Sends SIGSTOP first, so that they start no more processes. If a target is an agent, kills
 * everything below it, also processes that do not carry the run's id. */
static void kill_targets(struct clean *clean)
{
    size_t i;

    signal_targets(clean, SIGSTOP);
    for (i = 0; i < clean->orphans.count; i++)
        if (clean->orphans.item[i].what == ORPHAN_AGENT && !clean->orphans.item[i].is_gone &&
            is_target(clean, &clean->orphans.item[i]))
            containment_kill_below(&clean->orphans.item[i].process);
    signal_targets(clean, SIGKILL);
    gpu_kill_force(&clean->gpus);
}

static void signal_targets(struct clean *clean, int signal)
{
    size_t i;

    for (i = 0; i < clean->orphans.count; i++)
        if (is_target(clean, &clean->orphans.item[i]))
            orphan_signal(&clean->orphans.item[i], signal);
}

/* --- the answer ------------------------------------------------------------- */

static void finish(struct clean *clean)
{
    json_t *processes = json_array(), *stale, *body;
    size_t  i;

    for (i = 0; i < clean->orphans.count; i++)
        if (is_told(clean, &clean->orphans.item[i]))
            json_array_append_new(processes, json_of(&clean->orphans.item[i]));
    stale = clean->run != NULL ? json_array() : stale_files_list(clean->kill);
    clean->has_more = clean->has_more || orphans_are_full(&clean->orphans) ||
                      clean->gpus.is_full ||
                      json_array_size(stale) == STALE_FILES_MAX;
    body = json_pack("{s:o, s:o, s:o, s:o}", "processes", processes, "shm", list_shm(clean),
                     "stale_files", stale, "gpu_holders",
                     clean->only_orphans ? json_array()
                                         : gpu_kill_list(&clean->gpus, &clean->orphans));
    if (clean->gpus.problem != NULL)
        json_object_set_new(body, "gpu_problem",
                            json_pack("{s:o, s:b}", "why", json_text(clean->gpus.problem,
                                                                     strlen(clean->gpus.problem)),
                                      "denied", clean->gpus.is_denied));
    clean->has_more = shorten(body) || clean->has_more;
    json_object_set_new(body, "more", json_boolean(clean->has_more));
    clean->done(body, clean->arg);
}

/* Shortens the answer to the size of a frame: in JSON, a name of control characters
 * takes six times its size. */
static bool shorten(json_t *body)
{
    static const char *const lists[] = { "processes", "shm", "stale_files", "gpu_holders" };
    json_t                  *longest, *list;
    size_t                   i, left;
    bool                     is_cut = false;

    while (json_dumpb(body, NULL, 0, JSON_COMPACT) > FRAME_BODY_MAX - MORE_BYTES) {
        longest = json_object_get(body, lists[0]);
        for (i = 1; i < sizeof lists / sizeof *lists; i++) {
            list = json_object_get(body, lists[i]);
            longest = json_array_size(list) > json_array_size(longest) ? list : longest;
        }
        for (left = json_array_size(longest) * 3 / 4; json_array_size(longest) > left;)
            json_array_remove(longest, json_array_size(longest) - 1);
        is_cut = true;
    }
    return is_cut;
}

/* A run's agent is listed for its run. A healthy agent without ranks is just starting. */
static bool is_told(const struct clean *clean, const struct orphan *orphan)
{
    if (orphan->is_spared || !is_of_run(clean, orphan) ||
        (orphan->what == ORPHAN_AGENT && orphan->is_running && orphan->run[0] == '\0') ||
        (orphan->is_gone && !orphan->is_signalled))
        return false;
    return !clean->only_orphans || is_awaited(clean, orphan);
}

/* Includes processes that their guard is ending: we do not signal them, but
 * report when they are gone. */
static bool is_awaited(const struct clean *clean, const struct orphan *orphan)
{
    return is_target(clean, orphan) || (clean->kill && clean->only_orphans && orphan->is_draining &&
                                       !orphan->is_spared && is_of_run(clean, orphan));
}

static bool is_target(const struct clean *clean, const struct orphan *orphan)
{
    if (!clean->kill || orphan->is_spared || !is_of_run(clean, orphan))
        return false;
    return clean->only_orphans ? !orphan->has_agent || orphan->is_given_up
                          : clean->run != NULL || !orphan->is_running;
}

static bool is_of_run(const struct clean *clean, const struct orphan *orphan)
{
    return clean->run == NULL || orphan->is_given_up || strcmp(orphan->run, clean->run) == 0;
}

/* With a run's id the list is empty: files do not show which run they belong to. */
static json_t *list_shm(const struct clean *clean)
{
    json_t *list, *file;
    size_t  i;

    if (clean->run != NULL)
        return json_array();
    list = shm_stale(true);
    json_array_foreach(list, i, file)
        json_object_set_new(file, "gone", json_boolean(clean->kill && shm_remove(file)));
    return list;
}

static json_t *json_of(const struct orphan *orphan)
{
    json_t *body = json_incref(orphan->about);

    json_object_set_new(body, "agent", json_boolean(orphan->what == ORPHAN_AGENT));
    json_object_set_new(body, "run", json_text(orphan->run, strlen(orphan->run)));
    json_object_set_new(body, "running", json_boolean(orphan->is_running));
    json_object_set_new(body, "gone", json_boolean(orphan->is_signalled && orphan->is_gone));
    return body;
}
