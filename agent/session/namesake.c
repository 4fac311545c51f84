/* namesake.c - one run per --name on a machine: refuses the second run,
 * or lets the first one end
 *
 * With --replace the agent asks the agent of the first run to end its run, and waits for that.
 * If two runs replace each other at the same time, the later one stays, by their ids.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "session/agent.h"

#include <signal.h>
#include <string.h>

#include "cleanup/name_lock.h"
#include "clock.h"
#include "exit_code.h"
#include "xevent.h"

#define AGAIN_MS 100

static void refuse(struct agent *agent);
static void await(struct agent *agent);
static void again_cb(evutil_socket_t fd, short what, void *arg);
static void replaced(const char *run_id, void *arg);

void namesake_check(struct agent *agent)
{
    struct namesake_watch *watch = &agent->namesake;

    watch->lock = name_lock_take(agent->base, agent->plan.run_id, agent->plan.launcher, replaced,
                                 agent);
    if (watch->lock == NULL || !name_lock_holder(agent->plan.run_id, &watch->other)) {
        startup_has_name(agent);
        return;
    }
    if (agent->plan.replace_s <= 0) {
        refuse(agent);
        return;
    }
    watch->until_ns = clock_now_ns() + (int64_t)(agent->plan.replace_s * NS_PER_S);
    watch->again = xevent_new(agent->base, -1, again_cb, agent);
    await(agent);
}

void namesake_close(struct agent *agent)
{
    if (agent->namesake.again != NULL)
        event_free(agent->namesake.again);
    name_lock_release(agent->namesake.lock);
}

/* Starting the same job twice on the same GPUs is usually a mistake. The text is the same on
 * all nodes, so that the launcher prints it once. */
static void refuse(struct agent *agent)
{
    const struct namesake *other = &agent->namesake.other;
    char                   launcher[NAME_LOCK_WORDS_MAX];
    struct failure         failure;

    name_lock_ask(other, launcher);
    failure_set(&failure, EXIT_CREATE,
                "end it with muster stop where it was launched, or with --replace; or choose "
                "another --name",
                "a run with the same name is running there: %s%s%s", other->run,
                launcher[0] != '\0' ? ", launched " : "", launcher);
    agent_fail(agent, "plan", &failure);
}

static void await(struct agent *agent)
{
    const struct timeval   pause = { .tv_usec = AGAIN_MS * 1000 };
    struct namesake_watch *watch = &agent->namesake;

    name_lock_replace(&watch->other, agent->plan.run_id);
    xevent_add(watch->again, &pause);
}

static void again_cb(evutil_socket_t fd, short what, void *arg)
{
    const struct timeval   pause = { .tv_usec = AGAIN_MS * 1000 };
    struct agent          *agent = arg;
    struct namesake_watch *watch = &agent->namesake;
    struct failure         failure;

    (void)fd, (void)what;
    if (agent->state != AGENT_PREPARING)
        return;
    if (!name_lock_is_held(&watch->other)) {
        if (name_lock_holder(agent->plan.run_id, &watch->other)) {
            await(agent);
            return;
        }
        event_free(watch->again);
        watch->again = NULL;
        startup_has_name(agent);
        output_pump_run(agent);
    } else if (clock_now_ns() < watch->until_ns) {
        xevent_add(watch->again, &pause);
    } else {
        failure_set(
            &failure, EXIT_WAITED, "look for it with muster clean",
            "the run with the same name was asked to end but did not end within %g s: %s",
            agent->plan.replace_s, watch->other.run);
        agent_fail(agent, "plan", &failure);
    }
}

/* A run's id begins with its time, and the later run stays. On some nodes the
 * later run may come first and find no other run there. But on other nodes it
 * waits, so it is not RUNNING yet. */
static void replaced(const char *run_id, void *arg)
{
    struct agent  *agent = arg;
    struct failure failure;

    if (agent->state >= AGENT_ENDING ||
        (agent->state < AGENT_RUNNING && agent->plan.replace_s > 0 &&
         strcmp(agent->plan.run_id, run_id) > 0))
        return;
    failure_set(&failure, 128 + SIGTERM, "", "%s replaces this run (--replace)", run_id);
    agent_fail(agent, agent->state < AGENT_RUNNING ? "plan" : "run", &failure);
}
