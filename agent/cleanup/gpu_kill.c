/* gpu_kill.c - see gpu_kill.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cleanup/gpu_kill.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "frame.h"
#include "node/gpu_holders.h"
#include "xalloc.h"

struct gpu_target {
    struct process process;
    json_t        *about;
    char           why[96];    /* it is left alone; "": it is not */
    bool           is_spared;  /* ... since we would not end it even if we could */
    bool           is_denied;  /* ... since we may not */
    bool           is_callers; /* the caller ends it: we only wait for it */
    bool           is_asked;   /* TERM was sent */
    bool           is_forced;  /* KILL was sent */
    bool           has_let_go; /* it has no GPU open any more, and continues */
    bool           is_gone;
};

static bool        is_wanted(const struct gpu_kill *kill, const struct process *process);
static bool        is_known(const struct gpu_kill *kill, const struct process *process);
static void        add(struct gpu_kill *kill, const struct gpu_holder *holder,
                       const struct orphans *orphans, bool ends_orphans);
static void        explain(struct gpu_kill *kill);
static void        explain_pid(struct gpu_kill *kill);
static void        explain_user(struct gpu_kill *kill);
static bool        is_hidden(pid_t pid);
static const char *why_hidden(struct gpu_kill *kill, pid_t pid);
static bool        may_signal(pid_t pid);
static json_t     *about_of(const struct gpu_holder *holder, const struct orphans *orphans);
static bool        is_running(const json_t *about);
static bool        is_awaited(const struct gpu_target *target);
static void        send_to(struct gpu_target *target, int signal);
static void        refresh(struct gpu_kill *kill);

int gpu_kill_init(struct gpu_kill *kill, const json_t *what, struct error *err)
{
    const char *name = json_string_value(what);

    *kill = (struct gpu_kill){ 0 };
    if (what == NULL)
        return 0;
    if (json_is_integer(what) && json_integer_value(what) > 0 &&
        json_integer_value(what) <= INT_MAX) {
        kill->whose = GPU_KILL_PID;
        kill->pid = (pid_t)json_integer_value(what);
        return 0;
    }
    if (name == NULL || name[0] == '\0' || strlen(name) >= sizeof kill->name)
        return err_set(err, "CLEAN frame: \"kill_gpu\" is invalid");
    kill->whose = strcmp(name, "mine") == 0 ? GPU_KILL_MINE : GPU_KILL_USER;
    memcpy(kill->name, name, strlen(name) + 1);
    return 0;
}

void gpu_kill_clear(struct gpu_kill *kill)
{
    size_t i;

    for (i = 0; i < kill->count; i++)
        json_decref(kill->item[i].about);
    free(kill->item);
    free(kill->problem);
    *kill = (struct gpu_kill){ 0 };
}

/* --- who is meant ----------------------------------------------------------- */

void gpu_kill_look(struct gpu_kill *kill, const struct orphans *orphans, bool ends_orphans)
{
    struct gpu_holders holders;
    size_t             i;

    if (kill->whose == GPU_KILL_NONE)
        return;
    gpu_holders_find(&holders, NULL);
    for (i = 0; i < holders.count && !kill->is_full; i++)
        if (is_wanted(kill, &holders.item[i].process) &&
            !is_known(kill, &holders.item[i].process))
            add(kill, &holders.item[i], orphans, ends_orphans);
    gpu_holders_clear(&holders);
    if (kill->problem == NULL)
        explain(kill);
}

static bool is_wanted(const struct gpu_kill *kill, const struct process *process)
{
    uid_t wanted = user_login(), uid;

    if (process->state == 'Z')
        return false;
    if (kill->whose == GPU_KILL_PID) /* at the second look the PID may be another process's */
        return process->pid == kill->pid && kill->count == 0;
    return (kill->whose == GPU_KILL_MINE || user_find(kill->name, &wanted)) &&
           process_uid(process->pid, &uid) && uid == wanted;
}

static bool is_known(const struct gpu_kill *kill, const struct process *process)
{
    size_t i;

    for (i = 0; i < kill->count; i++)
        if (kill->item[i].process.pid == process->pid &&
            kill->item[i].process.start == process->start)
            return true;
    return false;
}

static void add(struct gpu_kill *kill, const struct gpu_holder *holder,
                const struct orphans *orphans, bool ends_orphans)
{
    struct gpu_target target = { .process = holder->process };
    size_t            i;

    target.about = about_of(holder, orphans);
    if (target.about == NULL)
        return;
    if (process_is_below(getpid(), target.process.pid))
        snprintf(target.why, sizeof target.why, "it has called this muster clean");
    else if (is_running(target.about))
        snprintf(target.why, sizeof target.why, "its run is running");
    target.is_spared = target.why[0] != '\0';
    for (i = 0; i < orphans->count && ends_orphans && target.why[0] == '\0'; i++)
        target.is_callers =
            target.is_callers || (orphans->item[i].process.pid == target.process.pid &&
                                  orphans->item[i].process.start == target.process.start);
    kill->item = xreallocarray(kill->item, kill->count + 1, sizeof *kill->item);
    kill->item[kill->count++] = target;
    kill->is_full = kill->count == GPU_KILL_MAX;
}

/* Notes why something that was asked for is not among the targets. */
static void explain(struct gpu_kill *kill)
{
    if (kill->whose == GPU_KILL_PID && kill->count == 0)
        explain_pid(kill);
    else if (kill->whose == GPU_KILL_USER)
        explain_user(kill);
}

static void explain_pid(struct gpu_kill *kill)
{
    struct process process;
    json_t        *about = process_read(kill->pid, &process) && process.state != 'Z'
                               ? process_about(&process)
                               : NULL;

    if (about == NULL) {
        kill->problem = xasprintf("there is no process %d", (int)kill->pid);
        return;
    }
    kill->problem =
        xasprintf("pid %d of %s (%.100s)%s", (int)kill->pid,
                  json_string_value(json_object_get(about, "user")),
                  json_string_value(json_object_get(about, "command")),
                  is_hidden(kill->pid) ? why_hidden(kill, kill->pid) : " has no GPU open");
    json_decref(about);
}

static void explain_user(struct gpu_kill *kill)
{
    struct processes all;
    size_t           i, hidden = 0;
    uid_t            wanted, uid;
    pid_t            first = 0;

    if (!user_find(kill->name, &wanted)) {
        kill->problem = xasprintf("/etc/passwd has no user %s", kill->name);
        return;
    }
    if (wanted == user_login())
        return; /* of our own only what has changed its rights is hidden, as ssh-agent */
    processes_wanted(&all, is_hidden);
    for (i = 0; i < all.count; i++) {
        if (all.item[i].state == 'Z' || !process_uid(all.item[i].pid, &uid) || uid != wanted)
            continue;
        first = hidden++ == 0 ? all.item[i].pid : first;
    }
    processes_clear(&all);
    if (hidden > 0)
        kill->problem = xasprintf("%zu %s of %s, such as pid %d%s", hidden,
                                  hidden == 1 ? "process" : "processes", kill->name, (int)first,
                                  why_hidden(kill, first));
}

/* True: we may not see which files the process has open. The kernel asks for the same right as
 * for its executable. */
static bool is_hidden(pid_t pid)
{
    char path[64], exe[PATH_MAX];

    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    return readlink(path, exe, sizeof exe) < 0 && (errno == EACCES || errno == EPERM);
}

static const char *why_hidden(struct gpu_kill *kill, pid_t pid)
{
    kill->is_denied = !may_signal(pid);
    return kill->is_denied
               ? ": Operation not permitted: only root can see whether a GPU is open "
                 "there, and end it"
               : ": muster may not see whether a GPU is open there";
}

static bool may_signal(pid_t pid)
{
    return kill(pid, 0) == 0 || errno != EPERM;
}

/* Adds who it belongs to; NULL: it is gone. */
static json_t *about_of(const struct gpu_holder *holder, const struct orphans *orphans)
{
    json_t *about = gpu_holder_about(holder);
    char    run[ORPHAN_RUN_ID_MAX];
    bool    runs;

    if (about == NULL)
        return NULL;
    json_object_set_new(
        about, "mine",
        json_boolean((uid_t)json_integer_value(json_object_get(about, "uid")) == user_login()));
    if (orphans_run_of(orphans, &holder->process, run, &runs)) {
        json_object_set_new(about, "run", json_text(run, strlen(run)));
        json_object_set_new(about, "running", json_boolean(runs));
    }
    return about;
}

static bool is_running(const json_t *about)
{
    return json_is_true(json_object_get(about, "running"));
}

/* --- ending them ------------------------------------------------------------ */

void gpu_kill_ask(struct gpu_kill *kill)
{
    size_t i;

    for (i = 0; i < kill->count; i++) {
        if (kill->item[i].is_asked || kill->item[i].is_callers || !is_awaited(&kill->item[i]))
            continue;
        kill->item[i].is_asked = true;
        send_to(&kill->item[i], SIGTERM);
        send_to(&kill->item[i], SIGCONT); /* if it is stopped, TERM waits for this */
    }
}

void gpu_kill_force(struct gpu_kill *kill)
{
    size_t i;

    refresh(kill);
    for (i = 0; i < kill->count; i++) {
        struct gpu_target *target = &kill->item[i];

        if (!is_awaited(target) || target->is_callers || target->is_forced)
            continue;
        target->has_let_go = !gpu_is_held_by(target->process.pid);
        if (target->has_let_go)
            continue;
        target->is_forced = true;
        send_to(target, SIGKILL);
    }
}

bool gpu_kill_is_over(struct gpu_kill *kill)
{
    size_t i;

    refresh(kill);
    for (i = 0; i < kill->count; i++)
        if (is_awaited(&kill->item[i]))
            return false;
    return true;
}

static bool is_awaited(const struct gpu_target *target)
{
    return target->why[0] == '\0' && !target->is_gone && !target->has_let_go;
}

static void send_to(struct gpu_target *target, int signal)
{
    int error = target->why[0] == '\0' ? process_signal(&target->process, signal) : 0;

    if (error != 0)
        snprintf(target->why, sizeof target->why, "%s", strerror(error));
    target->is_denied = target->is_denied || error == EPERM;
}

static void refresh(struct gpu_kill *kill)
{
    struct process now;
    size_t         i;

    for (i = 0; i < kill->count; i++)
        kill->item[i].is_gone = !process_read(kill->item[i].process.pid, &now) ||
                                now.start != kill->item[i].process.start || now.state == 'Z';
}

/* --- the answer ------------------------------------------------------------- */

json_t *gpu_kill_list(const struct gpu_kill *kill, const struct orphans *orphans)
{
    json_t            *list = json_array(), *about;
    struct gpu_holders holders;
    size_t             i, others = 0;

    for (i = 0; i < kill->count; i++) {
        const struct gpu_target *target = &kill->item[i];

        about = json_incref(target->about);
        json_object_set_new(about, "asked", json_true());
        json_object_set_new(about, "gone", json_boolean(target->is_gone));
        json_object_set_new(about, "free",
                            json_boolean(target->has_let_go && !target->is_gone));
        json_object_set_new(about, "spared", json_boolean(target->is_spared));
        json_object_set_new(about, "denied", json_boolean(target->is_denied));
        if (target->why[0] != '\0')
            json_object_set_new(about, "why", json_string(target->why));
        json_array_append_new(list, about);
    }
    gpu_holders_find(&holders, NULL);
    for (i = 0; i < holders.count && others < GPU_HOLDERS_MAX; i++) {
        about = is_known(kill, &holders.item[i].process) ? NULL
                                                         : about_of(&holders.item[i], orphans);
        others += about != NULL;
        if (about != NULL)
            json_array_append_new(list, about);
    }
    gpu_holders_clear(&holders);
    return list;
}
