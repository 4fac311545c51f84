/* clean.c - see clean.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cleanup/clean.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup/orphans.h"
#include "cleanup/stale_files.h"
#include "clock.h"
#include "frame.h"
#include "guard/containment.h"
#include "node/gpu_holders.h"
#include "node/shm.h"
#include "xalloc.h"
#include "xevent.h"

#define LOOK_MS     20.0
#define STUCK_S     10.0 /* what survives KILL so long is reported as left */
#define STUCK_LOST_S 5.0 /* the same of orphans, for which a run waits: see SWEEP_S */
#define GRACE_MAX_S 86400.0
#define MORE_BYTES  64 /* of the answer, for "more" */

struct clean {
    struct strays  strays;
    bool           kill;
    bool           orphans; /* only what no agent looks after any more */
    bool           has_more; /* than the answer will tell of */
    char          *run;     /* NULL: all that is stale */
    double         grace_s;
    int64_t        kill_at_ns, give_up_at_ns;
    struct event  *again;
    void         (*done)(json_t *body, void *arg);
    void          *arg;
};

static void    again_cb(evutil_socket_t fd, short what, void *arg);
static bool    all_gone(struct clean *clean);
static void    ask_to_end(struct clean *clean);
static void    kill_targets(struct clean *clean);
static void    signal_targets(struct clean *clean, int signal);
static void    finish(struct clean *clean);
static bool    shorten(json_t *body);
static bool    is_told(const struct clean *clean, const struct stray *stray);
static bool    is_awaited(const struct clean *clean, const struct stray *stray);
static bool    is_target(const struct clean *clean, const struct stray *stray);
static bool    is_of_run(const struct clean *clean, const struct stray *stray);
static json_t *list_shm(const struct clean *clean);
static json_t *json_of(const struct stray *stray);

struct clean *clean_begin(struct event_base *base, const json_t *body,
                          void (*done)(json_t *body, void *arg), void *arg, struct error *err)
{
    const json_t        *run = json_object_get(body, "run");
    const json_t        *agent = json_object_get(body, "agent");
    double               grace_s = json_number_value(json_object_get(body, "grace_s")), stuck_s;
    const struct timeval at_once = { 0 };
    struct clean        *clean;

    if ((run != NULL && !json_is_string(run)) || grace_s < 0 || grace_s > GRACE_MAX_S) {
        err_set(err, "CLEAN frame: \"run\" or \"grace_s\" makes no sense");
        return NULL;
    }
    clean = xcalloc(1, sizeof *clean);
    clean->kill = json_is_true(json_object_get(body, "kill"));
    clean->orphans = json_is_true(json_object_get(body, "orphans"));
    clean->run = run != NULL ? xstrdup(json_string_value(run)) : NULL;
    clean->grace_s = grace_s;
    clean->done = done;
    clean->arg = arg;
    clean->again = evtimer_new(base, again_cb, clean);
    if (clean->again == NULL)
        xalloc_die();
    clean->strays.given_up = (struct process){
        .pid = (pid_t)json_integer_value(json_object_get(agent, "pid")),
        .start = (uint64_t)json_integer_value(json_object_get(agent, "start")),
    };
    strays_look(&clean->strays);
    clean->kill_at_ns = clock_now_ns() + (int64_t)(grace_s * NS_PER_S);
    stuck_s = clean->orphans ? STUCK_LOST_S : STUCK_S;
    clean->give_up_at_ns = clean->kill_at_ns + (int64_t)(stuck_s * NS_PER_S);
    ask_to_end(clean);
    xevent_add(clean->again, &at_once);
    return clean;
}

void clean_free(struct clean *clean)
{
    if (clean == NULL)
        return;
    strays_clear(&clean->strays);
    free(clean->run);
    event_free(clean->again);
    free(clean);
}

/* --- ending it -------------------------------------------------------------- */

static void again_cb(evutil_socket_t fd, short what, void *arg)
{
    struct clean        *clean = arg;
    const struct timeval pause = clock_interval(LOOK_MS / 1000);
    int64_t              now_ns = clock_now_ns();
    bool                 is_over = !clean->kill;

    (void)fd, (void)what;
    if (clean->kill && all_gone(clean)) {
        if (strays_are_full(&clean->strays)) {
            clean->has_more = true;
            strays_forget_gone(&clean->strays);
        }
        strays_look(&clean->strays); /* what they have started meanwhile */
        is_over = all_gone(clean);
        ask_to_end(clean);
    }
    if (is_over || now_ns >= clean->give_up_at_ns) {
        finish(clean);
        return;
    }
    if (now_ns >= clean->kill_at_ns)
        kill_targets(clean);
    xevent_add(clean->again, &pause);
}

/* Those that are known. */
static bool all_gone(struct clean *clean)
{
    size_t i;

    strays_refresh(&clean->strays);
    for (i = 0; i < clean->strays.count; i++)
        if (is_awaited(clean, &clean->strays.item[i]) && !clean->strays.item[i].is_gone)
            return false;
    return true;
}

/* Orphans are not asked: the kernel may be about to end them, as it does with all that had
 * the guard for the first process of their namespace. */
static void ask_to_end(struct clean *clean)
{
    if (!clean->kill || clean->orphans)
        return;
    signal_targets(clean, SIGCONT);
    signal_targets(clean, SIGTERM);
}

/* Stopped first, they start nothing more; and with an agent goes all that is below it, also
 * what does not tell whose it is. */
static void kill_targets(struct clean *clean)
{
    const struct containment none = { 0 };
    size_t                   i;

    signal_targets(clean, SIGSTOP);
    for (i = 0; i < clean->strays.count; i++)
        if (clean->strays.item[i].what == STRAY_AGENT && !clean->strays.item[i].is_gone &&
            is_target(clean, &clean->strays.item[i]))
            contain_kill(&none, clean->strays.item[i].process.pid);
    signal_targets(clean, SIGKILL);
}

static void signal_targets(struct clean *clean, int signal)
{
    size_t i;

    for (i = 0; i < clean->strays.count; i++)
        if (is_target(clean, &clean->strays.item[i]))
            stray_signal(&clean->strays.item[i], signal);
}

/* --- what came of it -------------------------------------------------------- */

static void finish(struct clean *clean)
{
    json_t *processes = json_array(), *litter, *body;
    size_t  i;

    for (i = 0; i < clean->strays.count; i++)
        if (is_told(clean, &clean->strays.item[i]))
            json_array_append_new(processes, json_of(&clean->strays.item[i]));
    if (clean->orphans)
        litter_remove_groups(); /* they were in one */
    litter = clean->run != NULL ? json_array() : litter_list(clean->kill);
    clean->has_more = clean->has_more || strays_are_full(&clean->strays) ||
                      json_array_size(litter) == LITTER_MAX;
    body = json_pack("{s:o, s:o, s:o, s:o}", "processes", processes, "shm", list_shm(clean),
                     "litter", litter, "gpu_holders",
                     clean->orphans ? json_array() : gpu_holders(NULL));
    clean->has_more = shorten(body) || clean->has_more;
    json_object_set_new(body, "more", json_boolean(clean->has_more));
    clean->done(body, clean->arg);
}

/* To what a frame holds: a name of control characters takes six times its size in JSON. */
static bool shorten(json_t *body)
{
    static const char *const lists[] = { "processes", "shm", "litter", "gpu_holders" };
    json_t *longest, *list;
    size_t  i, left;
    bool    is_cut = false;

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

/* The agent of a run stands for it; a healthy one without is just starting. */
static bool is_told(const struct clean *clean, const struct stray *stray)
{
    if (stray->is_spared || !is_of_run(clean, stray) ||
        (stray->what == STRAY_AGENT && stray->is_running && stray->run[0] == '\0') ||
        (stray->is_gone && !stray->is_signalled))
        return false;
    return !clean->orphans || is_awaited(clean, stray);
}

/* Nothing of ours to end, since its guard does that, but we say when it is done. */
static bool is_awaited(const struct clean *clean, const struct stray *stray)
{
    return is_target(clean, stray) || (clean->kill && clean->orphans && stray->is_leaving &&
                                       !stray->is_spared && is_of_run(clean, stray));
}

static bool is_target(const struct clean *clean, const struct stray *stray)
{
    if (!clean->kill || stray->is_spared || !is_of_run(clean, stray))
        return false;
    return clean->orphans ? !stray->has_agent || stray->is_given_up
                          : clean->run != NULL || !stray->is_running;
}

static bool is_of_run(const struct clean *clean, const struct stray *stray)
{
    return clean->run == NULL || stray->is_given_up || strcmp(stray->run, clean->run) == 0;
}

/* Files do not tell whose run they are of. */
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

static json_t *json_of(const struct stray *stray)
{
    json_t *body = json_incref(stray->about);

    json_object_set_new(body, "agent", json_boolean(stray->what == STRAY_AGENT));
    json_object_set_new(body, "run", json_text(stray->run, strlen(stray->run)));
    json_object_set_new(body, "running", json_boolean(stray->is_running));
    json_object_set_new(body, "gone", json_boolean(stray->is_signalled && stray->is_gone));
    return body;
}
