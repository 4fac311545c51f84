/* clean.c - see clean.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "clean.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "fd.h"
#include "frame.h"
#include "gpu_holders.h"
#include "process.h"
#include "shm.h"
#include "xalloc.h"
#include "xevent.h"

#define RUN_VARIABLE  "MUSTER_RUN_ID="
#define RUN_ID_MAX    64
#define ENVIRON_MAX   (4u << 20) /* read of one process */
#define ANCESTORS_MAX 64
#define LOOK_MS       20.0
#define STUCK_S       10.0 /* what survives KILL so long is reported as left */
#define GRACE_MAX_S   86400.0

enum find_what { FIND_NONE, FIND_RANK, FIND_AGENT };

struct find {
    struct process process;
    enum find_what what;
    char           run[RUN_ID_MAX]; /* "": not known */
    bool           is_running;      /* of a run that goes on */
    bool           is_target;       /* to be ended */
    bool           is_gone;
    json_t        *about;
};

struct clean {
    struct find     *find;
    size_t           finds;
    bool             kill;
    char            *run; /* NULL: all that is stale */
    double           grace_s;
    int64_t          kill_at_ns, give_up_at_ns;
    struct event    *again;
    void           (*done)(json_t *body, void *arg);
    void            *arg;
};

static void look(struct clean *clean);
static void judge(struct clean *clean, size_t first, const struct processes *all);
static void signal_targets(struct clean *clean, int signal);
static void again_cb(evutil_socket_t fd, short what, void *arg);
static void finish(struct clean *clean);
static json_t *list_shm(const struct clean *clean);
static json_t *json_of(const struct find *find);

struct clean *clean_begin(struct event_base *base, const json_t *body,
                          void (*done)(json_t *body, void *arg), void *arg, struct error *err)
{
    const json_t        *run = json_object_get(body, "run");
    double               grace_s = json_number_value(json_object_get(body, "grace_s"));
    const struct timeval at_once = { 0 };
    struct clean        *clean;

    if ((run != NULL && !json_is_string(run)) || grace_s < 0 || grace_s > GRACE_MAX_S) {
        err_set(err, "CLEAN frame: \"run\" or \"grace_s\" makes no sense");
        return NULL;
    }
    clean = xcalloc(1, sizeof *clean);
    clean->kill = json_is_true(json_object_get(body, "kill"));
    clean->run = run != NULL ? xstrdup(json_string_value(run)) : NULL;
    clean->grace_s = grace_s;
    clean->done = done;
    clean->arg = arg;
    clean->again = evtimer_new(base, again_cb, clean);
    if (clean->again == NULL)
        xalloc_die();
    look(clean);
    if (clean->kill) {
        clean->kill_at_ns = clock_now_ns() + (int64_t)(grace_s * NS_PER_S);
        clean->give_up_at_ns = clean->kill_at_ns + (int64_t)(STUCK_S * NS_PER_S);
        signal_targets(clean, SIGCONT);
        signal_targets(clean, SIGTERM);
    }
    xevent_add(clean->again, &at_once);
    return clean;
}

void clean_free(struct clean *clean)
{
    size_t i;

    if (clean == NULL)
        return;
    for (i = 0; i < clean->finds; i++)
        json_decref(clean->find[i].about);
    free(clean->find);
    free(clean->run);
    event_free(clean->again);
    free(clean);
}

/* --- what there is ---------------------------------------------------------- */

/* The run that its environment names, into run; false when there is none. */
static bool run_of(pid_t pid, char *run)
{
    const size_t length = strlen(RUN_VARIABLE);
    char         path[64], *environment, *at, *end;
    ssize_t      size;

    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    environment = xmalloc(ENVIRON_MAX);
    size = fd_read_file(path, environment, ENVIRON_MAX);
    end = environment + (size > 0 ? size : 0);
    for (at = environment; at < end && strncmp(at, RUN_VARIABLE, length) != 0; at += strlen(at) + 1)
        ;
    snprintf(run, RUN_ID_MAX, "%s", at < end ? at + length : "");
    free(environment);
    return run[0] != '\0';
}

/* The executable says what it is, wherever it was copied to: the same file as ours,
 * or one in a directory that is named by a hash, started the way the launcher does. */
static bool is_agent(pid_t pid)
{
    char        path[64], line[128], exe[4096], *folder;
    struct stat its, ours;
    ssize_t     size;

    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    size = fd_read_file(path, line, sizeof line);
    if (size < (ssize_t)(strlen(line) + 1 + sizeof "--nonce") ||
        strcmp(line + strlen(line) + 1, "--nonce") != 0)
        return false;
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    if (stat(path, &its) == 0 && stat("/proc/self/exe", &ours) == 0 &&
        its.st_dev == ours.st_dev && its.st_ino == ours.st_ino)
        return true;
    size = readlink(path, exe, sizeof exe - 1);
    exe[size > 0 ? size : 0] = '\0';
    folder = strrchr(exe, '/');
    if (folder == NULL || strncmp(folder, "/muster-agent", strlen("/muster-agent")) != 0)
        return false;
    *folder = '\0';
    folder = strrchr(exe, '/');
    return folder != NULL && strspn(folder + 1, "0123456789abcdef") == 64;
}

/* What this process is to us; run is filled for a rank. */
static enum find_what what_is(pid_t pid, char *run)
{
    uid_t uid;

    run[0] = '\0';
    if (!process_uid(pid, &uid) || uid != getuid())
        return FIND_NONE;
    if (is_agent(pid))
        return FIND_AGENT;
    return run_of(pid, run) ? FIND_RANK : FIND_NONE;
}

static const struct process *process_of(const struct processes *all, pid_t pid)
{
    size_t i;

    for (i = 0; i < all->count; i++)
        if (all->item[i].pid == pid)
            return &all->item[i];
    return NULL;
}

static bool descends_from(const struct processes *all, pid_t pid, pid_t ancestor)
{
    const struct process *process;
    int                   steps = 0;

    for (; pid > 1 && pid != ancestor && steps < ANCESTORS_MAX; steps++) {
        process = process_of(all, pid);
        pid = process != NULL ? process->parent : 0;
    }
    return pid == ancestor;
}

/* The launcher of this cleaning, this agent, and whoever called them are spared: they
 * may themselves carry the variable, when cleaning is what a rank does. */
static bool is_ourselves(const struct processes *all, pid_t pid)
{
    return descends_from(all, getpid(), pid) || descends_from(all, pid, getpid());
}

static bool is_known(const struct clean *clean, const struct process *process)
{
    size_t i;

    for (i = 0; i < clean->finds; i++)
        if (clean->find[i].process.pid == process->pid &&
            clean->find[i].process.start == process->start)
            return true;
    return false;
}

/* Add what was not there the last time. */
static void look(struct clean *clean)
{
    struct processes all;
    struct find      one;
    size_t           i, known = clean->finds;

    processes_all(&all);
    for (i = 0; i < all.count && clean->finds < CLEAN_LISTED_MAX; i++) {
        one = (struct find){ .process = all.item[i] };
        if (one.process.state == 'Z' || is_known(clean, &one.process) ||
            is_ourselves(&all, one.process.pid))
            continue;
        one.what = what_is(one.process.pid, one.run);
        if (one.what == FIND_NONE || (one.about = process_about(&one.process)) == NULL)
            continue;
        clean->find = xreallocarray(clean->find, clean->finds + 1, sizeof *clean->find);
        clean->find[clean->finds++] = one;
    }
    judge(clean, known, &all);
    processes_clear(&all);
}

/* An agent that runs has a launcher, or is about to end. In a container the launcher
 * may be process 1 itself. */
static bool is_healthy(const struct find *agent)
{
    char    exe[4096], *name;
    ssize_t size;

    if (agent->process.state == 'T')
        return false;
    if (agent->process.parent > 1)
        return true;
    size = readlink("/proc/1/exe", exe, sizeof exe - 1);
    exe[size > 0 ? size : 0] = '\0';
    name = strrchr(exe, '/');
    return name != NULL && strcmp(name, "/muster") == 0;
}

/* Which run goes on: the ranks know its name, the agent above them whether it does.
 * The guard is an agent to the eye, but below another one: where that is stopped, it
 * is no sign of life. */
static void judge(struct clean *clean, size_t first, const struct processes *all)
{
    struct find *end = clean->find + clean->finds, *one, *agent;
    bool         has_sick;

    for (one = clean->find + first; one < end; one++) {
        has_sick = false;
        for (agent = clean->find; agent < end; agent++) {
            if (agent->what != FIND_AGENT ||
                !descends_from(all, one->process.pid, agent->process.pid))
                continue;
            has_sick = has_sick || !is_healthy(agent);
            one->is_running = true;
            if (one->what == FIND_RANK)
                memcpy(agent->run, one->run, sizeof agent->run);
        }
        one->is_running = one->is_running && !has_sick;
    }
    for (one = clean->find + first; one < end; one++)
        one->is_target = clean->kill && (clean->run != NULL ? strcmp(one->run, clean->run) == 0
                                                            : !one->is_running);
}

/* --- ending it -------------------------------------------------------------- */

/* Number and start time make it the same process (process_signal holds it while it
 * looks); what it is to us is asked again, since it may have become another
 * program. */
static void signal_targets(struct clean *clean, int signal)
{
    struct find *find;
    char         run[RUN_ID_MAX];

    for (find = clean->find; find < clean->find + clean->finds; find++)
        if (find->is_target && !find->is_gone && what_is(find->process.pid, run) == find->what)
            process_signal(&find->process, signal);
}

/* Those that are known. */
static bool all_gone(struct clean *clean)
{
    struct processes      all;
    const struct process *now;
    struct find          *find;
    bool                  gone = true;

    processes_all(&all);
    for (find = clean->find; find < clean->find + clean->finds; find++) {
        now = process_of(&all, find->process.pid);
        find->is_gone = now == NULL || now->start != find->process.start || now->state == 'Z';
        gone = gone && (find->is_gone || !find->is_target);
    }
    processes_clear(&all);
    return gone;
}

static void again_cb(evutil_socket_t fd, short what, void *arg)
{
    struct clean        *clean = arg;
    const struct timeval pause = clock_interval(LOOK_MS / 1000);
    int64_t              now_ns = clock_now_ns();

    (void)fd, (void)what;
    if (clean->kill && all_gone(clean)) {
        look(clean); /* what they have started meanwhile */
        signal_targets(clean, SIGTERM);
    }
    if (!clean->kill || all_gone(clean) || now_ns >= clean->give_up_at_ns) {
        finish(clean);
        return;
    }
    if (now_ns >= clean->kill_at_ns)
        signal_targets(clean, SIGKILL);
    xevent_add(clean->again, &pause);
}

static void finish(struct clean *clean)
{
    json_t *processes = json_array();
    size_t  i;

    for (i = 0; i < clean->finds; i++) {
        const struct find *find = &clean->find[i];

        /* The agent of a run stands for it; a healthy one without is just starting. */
        if ((find->what == FIND_AGENT && find->is_running && find->run[0] == '\0') ||
            (clean->run != NULL && strcmp(find->run, clean->run) != 0))
            continue;
        json_array_append_new(processes, json_of(find));
    }
    clean->done(json_pack("{s:o, s:o, s:o}", "processes", processes, "shm", list_shm(clean),
                          "gpu_holders", gpu_holders(NULL)), clean->arg);
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

static json_t *json_of(const struct find *find)
{
    json_t *body = json_incref(find->about);

    json_object_set_new(body, "agent", json_boolean(find->what == FIND_AGENT));
    json_object_set_new(body, "run", json_text(find->run, strlen(find->run)));
    json_object_set_new(body, "running", json_boolean(find->is_running));
    json_object_set_new(body, "gone", json_boolean(find->is_target && find->is_gone));
    return body;
}
