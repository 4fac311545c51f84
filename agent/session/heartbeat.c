/* heartbeat.c - PING to the launcher, and the lease that expires without its answers
 *
 * The lease begins when the launcher certainly last heard us: when we sent the last PING that
 * it has answered, or at the time that it names in a PING of its own. The latter counts if our
 * PINGs wait behind much output on a slow connection. So the lease ends here before the
 * launcher counts this node as lost: by then its ranks are dead, whichever direction of the
 * connection was cut. Other frames from the launcher prove nothing.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "session/agent.h"

#include <stdlib.h>

#include "clock.h"
#include "exit_code.h"
#include "lease.h"
#include "node/test_switch.h"
#include "plan/open_mpi.h"
#include "session/step_report.h"
#include "xalloc.h"
#include "xevent.h"

/* Used until PLAN sets other values. The launcher may wait long for other nodes. */
#define HEARTBEAT_FIRST_S 2.0
#define LEASE_FIRST_S     300.0
/* After we slept for longer than the lease, a launcher on this machine
 * must answer within this. */
#define BEATS_LEFT 3.0

static void   ping_cb(evutil_socket_t fd, short what, void *arg);
static void   lease_cb(evutil_socket_t fd, short what, void *arg);
static void   begin_lease(struct heartbeat *heartbeat, int64_t since_ns);
static void   check_lease(struct agent *agent);
static void   notice_open_mpi(struct agent *agent);
static void   notice_sleep(struct agent *agent);

void heartbeat_open(struct agent *agent)
{
    struct heartbeat *heartbeat = &agent->heartbeat;
    const char       *lease_s = test_switch(TEST_SWITCH_FIRST_LEASE_S);

    heartbeat->event = event_new(agent->base, -1, EV_PERSIST, ping_cb, agent);
    heartbeat->lease = evtimer_new(agent->base, lease_cb, agent);
    if (heartbeat->event == NULL || heartbeat->lease == NULL)
        xalloc_die();
    event_priority_set(heartbeat->event, 0);
    event_priority_set(heartbeat->lease, 0);
    launcher_clock_init(&heartbeat->clock, clock_boot_ns());
    heartbeat_renew(agent);
    heartbeat_set(agent, HEARTBEAT_FIRST_S,
                  lease_s != NULL ? strtod(lease_s, NULL) : LEASE_FIRST_S);
}

void heartbeat_set(struct agent *agent, double every_s, double lease_s)
{
    struct timeval every = clock_interval(every_s);

    agent->heartbeat.every_s = every_s;
    agent->heartbeat.lease_s = lease_s;
    agent->heartbeat.ping_ns = clock_boot_ns();
    xevent_add(agent->heartbeat.event, &every);
    check_lease(agent);
}

void heartbeat_answered(struct agent *agent, int64_t sent_ns, int64_t theirs_ns)
{
    struct heartbeat *heartbeat = &agent->heartbeat;
    int64_t           now = clock_boot_ns();

    launcher_clock_hear(&heartbeat->clock, now, theirs_ns);
    launcher_clock_trip(&heartbeat->clock, now, sent_ns);
    begin_lease(heartbeat, sent_ns);
}

void heartbeat_heard(struct agent *agent, int64_t theirs_ns, int64_t silent_ns)
{
    struct heartbeat *heartbeat = &agent->heartbeat;

    launcher_clock_hear(&heartbeat->clock, clock_boot_ns(), theirs_ns);
    if (silent_ns >= 0 && silent_ns <= theirs_ns)
        begin_lease(heartbeat, launcher_clock_ours(&heartbeat->clock, theirs_ns - silent_ns));
}

void heartbeat_renew(struct agent *agent)
{
    begin_lease(&agent->heartbeat, clock_boot_ns());
}

static void begin_lease(struct heartbeat *heartbeat, int64_t since_ns)
{
    if (since_ns > heartbeat->since_ns && since_ns <= clock_boot_ns())
        heartbeat->since_ns = since_ns;
}

double heartbeat_left_s(const struct agent *agent)
{
    int64_t silent_ns = clock_boot_ns() - agent->heartbeat.since_ns;
    double  left_s = agent->heartbeat.lease_s - (double)silent_ns / NS_PER_S;

    return left_s > 0 ? left_s : 0;
}

void heartbeat_stop(struct agent *agent)
{
    event_del(agent->heartbeat.event);
    event_del(agent->heartbeat.lease);
}

void heartbeat_close(struct agent *agent)
{
    event_free(agent->heartbeat.event);
    event_free(agent->heartbeat.lease);
}

static void ping_cb(evutil_socket_t fd, short what, void *arg)
{
    struct agent *agent = arg;

    (void)fd, (void)what;
    notice_sleep(agent);
    check_lease(agent);
    notice_open_mpi(agent);
    heartbeat_send(agent);
}

/* A script has started Open MPI. Each rank computes everything alone, and may write the same
 * files as the others: the sooner it ends the better. A report from one node is enough. */
static void notice_open_mpi(struct agent *agent)
{
    struct failure failure;

    if (agent->state != AGENT_RUNNING || agent->plan.rank[0].rank != 0 ||
        ranks_open_mpi(&agent->ranks) == NULL)
        return;
    failure_set(&failure, EXIT_CANNOT_EXECUTE, OPEN_MPI_HINT,
                "the ranks use Open MPI (%s) and cannot find each other under muster: each is "
                "a world of its own",
                ranks_open_mpi(&agent->ranks));
    agent_fail(agent, "run", &failure);
}

static void lease_cb(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    notice_sleep(arg);
    check_lease(arg);
}

static void check_lease(struct agent *agent)
{
    double         term_s = lease_term_s(agent->heartbeat.lease_s);
    double         left_s = heartbeat_left_s(agent) - term_s;
    struct timeval left = clock_interval(left_s > 0 ? left_s : 0);
    struct error   why;

    if (agent->link.is_lost)
        return;
    if (left_s > 0) {
        xevent_add(agent->heartbeat.lease, &left);
        return;
    }
    agent->heartbeat.is_over = true;
    err_set(&why, "no answer for %g s", agent->heartbeat.lease_s - term_s);
    link_lose(&agent->link, why.text);
}

void heartbeat_send(struct agent *agent)
{
    unsigned char now[8];
    struct frame  ping = { .type = FRAME_PING, .generation = agent->generation,
                           .body = now, .size = sizeof now };

    if (agent->link.is_lost || agent->link.is_cut || agent->state == AGENT_DONE)
        return; /* the link would wait for the ACK of a frame after DONE */
    if (agent->state == AGENT_RUNNING && agent->plan.hang_s > 0)
        agent_send(agent, FRAME_IDLE, 0, json_pack("{s:f}", "idle_s",
                                                   idle_seconds(&agent->idle, agent)));
    if (agent->state == AGENT_RUNNING)
        heartbeat_tell_steps(agent);
    resend_queue_put_ack(&agent->link.resend, agent->generation);
    put_u64(now, (uint64_t)clock_boot_ns());
    frame_put(agent->link.wire, &ping);
    link_flush(&agent->link);
}

void heartbeat_tell_steps(struct agent *agent)
{
    json_t *steps;

    if (!agent->plan.is_exec && (steps = step_report(&agent->ranks)) != NULL)
        agent_send(agent, FRAME_STEPS, 0, steps);
}

/* If we did not run for longer than the lease (stopped, frozen, or the machine
 * suspended), a launcher elsewhere has given us up. A launcher on this machine may have
 * slept, too: then it answers soon. */
static void notice_sleep(struct agent *agent)
{
    struct heartbeat *heartbeat = &agent->heartbeat;
    double            left_s = BEATS_LEFT * heartbeat->every_s + lease_term_s(heartbeat->lease_s);
    int64_t           now = clock_boot_ns();
    double            slept_s = (double)(now - heartbeat->ping_ns) / NS_PER_S - heartbeat->every_s;

    heartbeat->ping_ns = now;
    if (slept_s <= heartbeat->lease_s || !agent->plan.is_local)
        return;
    if (left_s > heartbeat->lease_s)
        left_s = heartbeat->lease_s;
    heartbeat->since_ns = now - (int64_t)((heartbeat->lease_s - left_s) * NS_PER_S);
}
