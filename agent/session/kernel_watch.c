/* kernel_watch.c - follows the kernel's log while ranks run
 *
 * The log is read every second, with a limit, and once more before each EXIT and before DONE: a
 * rank fails a moment after its GPU, and the launcher must know why when it reports that. A log
 * that grows faster is read more often, but other events go first; what the kernel overwrites
 * meanwhile is lost. The launcher gets a frame per second at most.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "session/agent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "evidence/evidence_list.h"
#include "evidence/kernel_log.h"
#include "node/test_switch.h"
#include "rank/oom.h"
#include "xalloc.h"
#include "xevent.h"

#define LOOK_S 1.0              /* between two looks */
#define BEHIND_S 0.05           /* the same if there is more than a look reads */
#define LOOK_BYTES (256u << 10) /* that a look reads */

struct kernel_watch {
    struct kernel_log    log;
    struct error         why;  /* the log cannot be read; text "": it can */
    struct evidence_list list; /* of this generation */
    struct event        *again;
    int64_t              looked_ns, sent_ns;
};

static struct kernel_watch *watch_new(struct agent *agent);
static void                 again_cb(evutil_socket_t fd, short what, void *arg);
static bool                 look(struct agent *agent);
static void                 take(const struct kernel_message *message, void *arg);
static bool                 is_of_others(struct agent *agent, const struct evidence *evidence);
static void                 ask_again(struct kernel_watch *watch, double after_s);
static void                 send_changed(struct agent *agent);

void kernel_watch_begin(struct agent *agent)
{
    if (agent->plan.is_exec)
        return;
    if (agent->kernel_watch == NULL)
        agent->kernel_watch = watch_new(agent);
    evidence_list_clear(&agent->kernel_watch->list);
    if (agent->kernel_watch->why.text[0] != '\0') {
        const char *why = agent->kernel_watch->why.text;

        agent_send(agent, FRAME_EVIDENCE, 0,
                   json_pack("{s:o}", "unread", json_text(why, strlen(why))));
        return;
    }
    kernel_log_skip(&agent->kernel_watch->log);
    ask_again(agent->kernel_watch, LOOK_S);
}

static struct kernel_watch *watch_new(struct agent *agent)
{
    struct kernel_watch *watch = xcalloc(1, sizeof *watch);
    const char          *other = test_switch(TEST_SWITCH_KMSG);
    char                *path = xstrdup(KERNEL_LOG_PATH);

    if (other != NULL) {
        free(path);
        path = xasprintf("%s.%d", other, agent->plan.node_rank);
    }
    kernel_log_open(&watch->log, path, true, &watch->why);
    free(path);
    watch->again = evtimer_new(agent->base, again_cb, agent);
    if (watch->again == NULL)
        xalloc_die();
    event_priority_set(watch->again, 3); /* everything else goes first */
    return watch;
}

static void again_cb(evutil_socket_t fd, short what, void *arg)
{
    struct agent        *agent = arg;
    struct kernel_watch *watch = agent->kernel_watch;

    (void)fd, (void)what;
    ask_again(watch, look(agent) ? BEHIND_S : LOOK_S);
    if (watch->list.is_changed &&
        (double)(clock_now_ns() - watch->sent_ns) / NS_PER_S >= LOOK_S) {
        send_changed(agent);
        link_flush(&agent->link);
    }
}

void kernel_watch_look(struct agent *agent, int64_t ended_ns)
{
    struct kernel_watch *watch = agent->kernel_watch;

    if (watch == NULL || watch->looked_ns > ended_ns)
        return;
    look(agent);
    if (watch->list.is_new)
        send_changed(agent);
}

void kernel_watch_end(struct agent *agent)
{
    if (agent->kernel_watch == NULL)
        return;
    event_del(agent->kernel_watch->again);
    look(agent);
    if (agent->kernel_watch->list.is_changed)
        send_changed(agent);
}

void kernel_watch_close(struct agent *agent)
{
    struct kernel_watch *watch = agent->kernel_watch;

    if (watch == NULL)
        return;
    event_free(watch->again);
    kernel_log_close(&watch->log);
    evidence_list_clear(&watch->list);
    free(watch);
    agent->kernel_watch = NULL;
}

/* True: there may be more. */
static bool look(struct agent *agent)
{
    struct kernel_watch *watch = agent->kernel_watch;

    watch->looked_ns = clock_now_ns();
    return kernel_log_read(&watch->log, LOOK_BYTES, take, agent);
}

static void take(const struct kernel_message *message, void *arg)
{
    struct agent   *agent = arg;
    struct evidence evidence;

    if (evidence_read(message->text, &evidence) && !is_of_others(agent, &evidence))
        evidence_list_add(&agent->kernel_watch->list, &evidence, message->text);
}

/* Has the limit of another control group killed the process? Then none has died in that of our
 * ranks. */
static bool is_of_others(struct agent *agent, const struct evidence *evidence)
{
    char text[128];

    return strcmp(evidence->kind, "oom cgroup") == 0 && agent->ranks.memory.kills >= 0 &&
           !oom_evidence(&agent->ranks.memory, text, sizeof text);
}

static void ask_again(struct kernel_watch *watch, double after_s)
{
    const struct timeval after = clock_interval(after_s);

    xevent_add(watch->again, &after);
}

static void send_changed(struct agent *agent)
{
    agent->kernel_watch->sent_ns = clock_now_ns();
    agent_send(agent, FRAME_EVIDENCE, 0, evidence_list_changed(&agent->kernel_watch->list));
}
