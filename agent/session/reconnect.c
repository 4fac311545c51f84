/* reconnect.c - the launcher's connection breaks and is made again: see reconnect_socket.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "session/agent.h"

#include "clock.h"
#include "exit_code.h"
#include "xalloc.h"
#include "xevent.h"

static int  reconnect_cb(int fd, uint64_t received, void *arg, struct error *err);
static void window_cb(evutil_socket_t fd, short what, void *arg);

void reconnect_open(struct agent *agent)
{
    struct reconnect *reconnect = &agent->reconnect;
    struct error      err;

    agent->link.resend.keeps = true; /* the launcher does, too, and waits for our ACKs */
    reconnect->window_s = agent->plan.reconnect_s;
    reconnect->socket = reconnect_socket_open(agent->base, agent->plan.socket, agent->plan.token,
                                              reconnect_cb, agent, &err);
    if (reconnect->socket == NULL)
        return; /* then the run ends here when the connection breaks */
    reconnect->window = evtimer_new(agent->base, window_cb, agent);
    if (reconnect->window == NULL)
        xalloc_die();
}

void reconnect_extend(struct agent *agent, double seconds)
{
    if (agent->reconnect.window_s < seconds)
        agent->reconnect.window_s = seconds;
    if (agent->link.is_cut)
        reconnect_cut(agent);
}

void reconnect_refuse(struct agent *agent)
{
    reconnect_socket_close(agent->reconnect.socket);
    agent->reconnect.socket = NULL;
}

void reconnect_close(struct agent *agent)
{
    reconnect_refuse(agent);
    if (agent->reconnect.window != NULL)
        event_free(agent->reconnect.window);
}

/* The end of the stream looks the same whether the launcher was killed or the connection
 * broke. Wait for it to reconnect, but not long: no run may outlive its launcher by more than
 * this window and the grace. */
bool reconnect_cut(void *arg)
{
    struct agent        *agent = arg;
    const struct timeval window = clock_interval(agent->reconnect.window_s);

    if (agent->reconnect.socket == NULL)
        return false;
    xevent_add(agent->reconnect.window, &window);
    return true;
}

static void window_cb(evutil_socket_t fd, short what, void *arg)
{
    struct agent *agent = arg;

    (void)fd, (void)what;
    link_lose(&agent->link, "the launcher did not come back");
}

/* The launcher is back. The old connection may still look alive, but it is not. */
static int reconnect_cb(int fd, uint64_t received, void *arg, struct error *err)
{
    struct agent        *agent = arg;
    struct resend_queue *queue = &agent->link.resend;
    struct evbuffer     *out;
    size_t               again;

    if (resend_queue_rewind(queue, received, &again, err) < 0)
        return -1;
    out = evbuffer_new();
    if (out == NULL)
        xalloc_die();
    frame_put_json(out, FRAME_RESUMED, agent->generation, 0,
                   json_pack("{s:I, s:I}", "received", (json_int_t)queue->taken, "again",
                             (json_int_t)again));
    evbuffer_write(out, fd); /* the first bytes in an empty socket buffer: they fit */
    evbuffer_free(out);
    queue->told = queue->taken;
    event_del(agent->reconnect.window);
    link_attach(&agent->link, fd);
    heartbeat_send(agent); /* the lease has not become longer */
    return 0;
}

/* We are a second agent: the first one has lost its connection. Connects the launcher to the
 * first agent; from then on this process only relays. */
int reconnect_take(struct agent *agent, const struct frame *frame, const json_t *body,
                   struct error *err)
{
    struct failure   failure = { .code = EXIT_LOST };
    struct evbuffer *out;
    const char      *name, *token;
    uint64_t         received;

    if (reconnect_socket_request(body, &name, &token, &received, err) < 0)
        return -1;
    agent->reconnect.relay_fd = reconnect_socket_connect(name, &failure.why);
    if (agent->reconnect.relay_fd < 0) {
        agent_fail(agent, "reconnect", &failure);
        return 0;
    }
    reconnect_socket_wake(agent->reconnect.relay_fd);
    out = evbuffer_new();
    if (out == NULL)
        xalloc_die();
    frame_put(out, frame);
    evbuffer_write(out, agent->reconnect.relay_fd); /* an error shows when reading: the first
                                                       agent has closed */
    evbuffer_free(out);
    event_base_loopbreak(agent->base);
    return 0;
}
