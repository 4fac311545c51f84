/* kernel_watch.c - follows the kernel's log while ranks run
 *
 * Where /dev/kmsg cannot be read, journald's copy of it is. The log is read every second, with a
 * limit, and once more before each EXIT and before DONE: a rank fails a moment after its GPU, and
 * the launcher must know why when it reports that. A log that grows faster is read more often, but
 * other events go first; what the kernel overwrites meanwhile is lost. The launcher gets a frame
 * per second at most.
 *
 * A message reaches the journal's readers up to a quarter of a second later (journald's
 * POST_CHANGE_TIMER_INTERVAL_USEC). So if the ranks have not ended well, DONE waits for the journal
 * a little longer than that; an EXIT does not wait.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "session/agent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "evidence/evidence_list.h"
#include "evidence/journal_watch.h"
#include "evidence/kernel_log.h"
#include "node/test_switch.h"
#include "rank/oom.h"
#include "rank/ranks.h"
#include "xalloc.h"
#include "xevent.h"

#define LOOK_S 1.0              /* between two looks */
#define BEHIND_S 0.05           /* the same if there is more than a look reads */
#define LOOK_BYTES (256u << 10) /* that a look reads */
#define LAST_S 0.5              /* from the end of the ranks to the last look into the journal */

struct kernel_watch {
    struct kernel_log     log;
    struct error          why;     /* the log cannot be read; text "": it can */
    struct journal_watch *journal; /* in its place; NULL: it can */
    struct evidence_list  list;    /* of this generation */
    struct event         *again;
    int64_t               looked_ns, sent_ns;
    bool                  is_told; /* the launcher knows that neither can be read */
    bool                  is_last, is_over; /* the last look: it is awaited; it was taken */
};

static struct kernel_watch *watch_new(struct agent *agent);
static char                *path_for(const struct agent *agent, const char *name);
static struct journal_watch *journal_new(const struct agent *agent);
static bool                 is_followed(const struct kernel_watch *watch);
static void                 again_cb(evutil_socket_t fd, short what, void *arg);
static bool                 look(struct agent *agent);
static void                 tell_unread(struct agent *agent, bool is_last);
static void                 take(const struct kernel_message *message, void *arg);
static bool                 is_of_others(struct agent *agent, const struct evidence *evidence);
static void                 ask_again(struct kernel_watch *watch, double after_s);
static void                 send_changed(struct agent *agent);

void kernel_watch_begin(struct agent *agent)
{
    struct kernel_watch *watch;

    if (agent->plan.is_exec)
        return;
    if (agent->kernel_watch == NULL)
        agent->kernel_watch = watch_new(agent);
    watch = agent->kernel_watch;
    evidence_list_clear(&watch->list);
    watch->is_told = watch->is_last = watch->is_over = false;
    if (watch->journal != NULL)
        journal_watch_skip(watch->journal);
    else
        kernel_log_skip(&watch->log);
    tell_unread(agent, false);
    if (is_followed(watch))
        ask_again(watch, LOOK_S);
}

static struct kernel_watch *watch_new(struct agent *agent)
{
    struct kernel_watch *watch = xcalloc(1, sizeof *watch);
    char                *path = path_for(agent, TEST_SWITCH_KMSG);

    if (kernel_log_open(&watch->log, path != NULL ? path : KERNEL_LOG_PATH, true, &watch->why) < 0)
        watch->journal = journal_new(agent);
    free(path);
    watch->again = evtimer_new(agent->base, again_cb, agent);
    if (watch->again == NULL)
        xalloc_die();
    event_priority_set(watch->again, 3); /* everything else goes first */
    return watch;
}

static struct journal_watch *journal_new(const struct agent *agent)
{
    struct journal_watch *journal = xcalloc(1, sizeof *journal);
    char                 *directory = path_for(agent, TEST_SWITCH_JOURNAL);

    journal_watch_begin(journal, directory);
    free(directory);
    return journal;
}

/* What a test has for this node; else NULL. Caller frees. */
static char *path_for(const struct agent *agent, const char *name)
{
    const char *other = test_switch(name);

    return other != NULL ? xasprintf("%s.%d", other, agent->plan.node_rank) : NULL;
}

static bool is_followed(const struct kernel_watch *watch)
{
    return watch->journal == NULL || !watch->journal->is_given_up;
}

static void again_cb(evutil_socket_t fd, short what, void *arg)
{
    struct agent        *agent = arg;
    struct kernel_watch *watch = agent->kernel_watch;
    bool                 was_told = watch->is_told, is_more;

    (void)fd, (void)what;
    is_more = look(agent);
    if (is_followed(watch))
        ask_again(watch, is_more ? BEHIND_S : LOOK_S);
    if (watch->list.is_changed &&
        (double)(clock_now_ns() - watch->sent_ns) / NS_PER_S >= LOOK_S) {
        send_changed(agent);
        link_flush(&agent->link);
    } else if (watch->is_told != was_told) {
        link_flush(&agent->link);
    }
    watch->is_over = watch->is_last;
    if (watch->is_over)
        ending_maybe_done(agent);
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

/* The journal of a node on which all is well is not awaited. */
bool kernel_watch_look_last(struct agent *agent)
{
    struct kernel_watch *watch = agent->kernel_watch;

    if (watch == NULL || watch->journal == NULL || !is_followed(watch) || watch->is_over ||
        agent->link.is_lost || ranks_have_ended_well(&agent->ranks))
        return true;
    if (!watch->is_last)
        ask_again(watch, LAST_S);
    watch->is_last = true;
    return false;
}

void kernel_watch_end(struct agent *agent)
{
    if (agent->kernel_watch == NULL)
        return;
    event_del(agent->kernel_watch->again);
    look(agent);
    tell_unread(agent, true);
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
    if (watch->journal != NULL)
        journal_watch_close(watch->journal);
    free(watch->journal);
    evidence_list_clear(&watch->list);
    free(watch);
    agent->kernel_watch = NULL;
}

/* True: there may be more. */
static bool look(struct agent *agent)
{
    struct kernel_watch *watch = agent->kernel_watch;
    bool                 is_more;

    watch->looked_ns = clock_now_ns();
    if (watch->journal == NULL)
        return kernel_log_read(&watch->log, LOOK_BYTES, take, agent);
    is_more = journal_watch_read(watch->journal, LOOK_BYTES, take, agent);
    tell_unread(agent, false);
    return is_more;
}

static void tell_unread(struct agent *agent, bool is_last)
{
    struct kernel_watch *watch = agent->kernel_watch;
    const char          *why = NULL;
    struct error         both;

    if (watch->journal != NULL && !watch->is_told)
        why = journal_watch_why(watch->journal, is_last);
    if (why == NULL)
        return;
    watch->is_told = true;
    err_set(&both, "%s; %s", watch->why.text, why);
    agent_send(agent, FRAME_EVIDENCE, 0,
               json_pack("{s:o}", "unread", json_text(both.text, strlen(both.text))));
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
