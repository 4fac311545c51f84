/* heartbeat.c - PING to the launcher, and the lease that ends without its answers
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "session/agent.h"

#include "clock.h"
#include "xalloc.h"
#include "xevent.h"

/* Before PLAN says otherwise. The launcher may wait long for other nodes. */
#define HEARTBEAT_FIRST_S 2.0
#define LEASE_FIRST_S     300.0
/* In which the launcher must be heard after we slept for longer than the lease. */
#define BEATS_LEFT 3.0

static void beat_cb(evutil_socket_t fd, short what, void *arg);
static void notice_sleep(struct agent *agent);

void heartbeat_open(struct agent *agent)
{
    agent->heartbeat.event = event_new(agent->base, -1, EV_PERSIST, beat_cb, agent);
    if (agent->heartbeat.event == NULL)
        xalloc_die();
    event_priority_set(agent->heartbeat.event, 0);
    heartbeat_set(agent, HEARTBEAT_FIRST_S, LEASE_FIRST_S);
}

void heartbeat_set(struct agent *agent, double every_s, double lease_s)
{
    struct timeval every = clock_interval(every_s);

    agent->heartbeat.every_s = every_s;
    agent->heartbeat.lease_s = lease_s;
    agent->heartbeat.beat_ns = clock_boot_ns();
    xevent_add(agent->heartbeat.event, &every);
}

void heartbeat_stop(struct agent *agent)
{
    event_del(agent->heartbeat.event);
}

void heartbeat_close(struct agent *agent)
{
    event_free(agent->heartbeat.event);
}

static void beat_cb(evutil_socket_t fd, short what, void *arg)
{
    struct agent *agent = arg;
    double        lease_s = agent->heartbeat.lease_s;
    unsigned char now[8];
    struct frame  ping = { .type = FRAME_PING, .generation = agent->generation,
                           .body = now, .size = sizeof now };
    struct error  why;

    (void)fd, (void)what;
    notice_sleep(agent);
    if (clock_now_ns() - agent->link.heard_ns > (int64_t)(lease_s * NS_PER_S)) {
        err_set(&why, "nothing came for %g s", lease_s);
        link_lose(&agent->link, why.text);
        return;
    }
    if (agent->link.is_cut || agent->state == AGENT_DONE)
        return; /* a frame behind DONE would have to be acknowledged too */
    if (agent->state == AGENT_RUNNING && agent->plan.hang_s > 0)
        agent_send(agent, FRAME_IDLE, 0, json_pack("{s:f}", "idle_s",
                                                   idle_seconds(&agent->idle, agent)));
    resend_queue_put_ack(&agent->link.resend, agent->generation);
    put_u64(now, (uint64_t)clock_now_ns());
    frame_put(agent->link.wire, &ping);
    link_flush(&agent->link);
}

/* If we did not run for longer than the lease (stopped, frozen, or the machine suspended,
 * when CLOCK_MONOTONIC does not count), the time when we last heard the launcher proves
 * nothing. A launcher that slept as well is heard soon; another one has given us up. */
static void notice_sleep(struct agent *agent)
{
    double  lease_s = agent->heartbeat.lease_s, beat_s = agent->heartbeat.every_s;
    double  silent_s = lease_s > BEATS_LEFT * beat_s ? lease_s - BEATS_LEFT * beat_s : 0;
    int64_t now = clock_boot_ns();

    if ((double)(now - agent->heartbeat.beat_ns) / NS_PER_S - beat_s > lease_s)
        link_heard(&agent->link, clock_now_ns() - (int64_t)(silent_s * NS_PER_S));
    agent->heartbeat.beat_ns = now;
}
