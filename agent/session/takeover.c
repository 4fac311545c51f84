/* takeover.c - the agent takes the place of a guard that died: it kills, reaps, repeats
 *
 * The agent is a subreaper too, so all remaining processes of the guard are its descendants.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "session/agent.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exit_code.h"
#include "xalloc.h"
#include "xevent.h"

static const char *what_happened(char silent_as);
static void        again_cb(evutil_socket_t fd, short what, void *arg);
static bool        reap_all(void);

/* The ranks died with the guard (PDEATHSIG, or the namespace). */
void takeover_begin(struct agent *agent)
{
    struct takeover *takeover = &agent->takeover;
    struct failure   failure;

    guard_events_stop_reading(agent);
    takeover->is_on = true;
    failure_set(
        &failure, EXIT_LOST, "",
        "muster's guard process %s; muster kills everything that it started on this node",
        what_happened(agent->guard.silent_as));
    stop_init(&takeover->stop, &agent->guard.contain, getpid());
    takeover->again = evtimer_new(agent->base, again_cb, agent);
    if (takeover->again == NULL)
        xalloc_die();
    agent_fail(agent, "guard", &failure);
    again_cb(-1, EV_TIMEOUT, agent);
}

void takeover_stop(struct agent *agent)
{
    stop_begin(&agent->takeover.stop, 0, NULL, 0);
}

void takeover_close(struct agent *agent)
{
    if (agent->takeover.again != NULL)
        event_free(agent->takeover.again);
}

static const char *what_happened(char silent_as)
{
    switch (silent_as) {
    case 0:
        return "was killed";
    case 'T':
        return "was stopped again and again";
    case 't':
        return "was stopped by a debugger";
    case 'R':
        return "could not kill processes that kept forking";
    case 'D':
        return "hung in the kernel (does a file system or device hang?)";
    default:
        return "did not answer";
    }
}

static void again_cb(evutil_socket_t fd, short what, void *arg)
{
    struct agent  *agent = arg;
    struct cgroup *cgroup = &agent->guard.contain.cgroup;
    struct timeval pause = { 0 };
    int            wait_ms;

    (void)fd, (void)what;
    if (reap_all() && cgroup_is_empty(cgroup)) {
        cgroup_remove(cgroup);
        ending_empty(agent, 0, 0);
        return;
    }
    wait_ms = stop_step(&agent->takeover.stop);
    if (wait_ms == STOP_STUCK) {
        ending_empty(agent, stop_left(&agent->takeover.stop), 0);
        return;
    }
    pause.tv_usec = wait_ms * 1000;
    xevent_add(agent->takeover.again, &pause);
}

/* True if there is no child, not even the guard, whose namespace may take a moment to die. */
static bool reap_all(void)
{
    pid_t pid;

    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
        ;
    return pid < 0 && errno == ECHILD;
}
