/* remote_agent.c - see remote_agent.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "transport/ssh/remote_agent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include <linux/sockios.h>

#include "exit_code.h"
#include "log.h"
#include "sanitize.h"
#include "xalloc.h"

static void end_shell(struct remote *r);
static uint64_t bytes_left(const struct remote *r);
static void begin_again(struct remote *r, enum agent_push push);
static int  open_channel(struct remote *r, struct conn_failure *why);
static int  run_command(struct remote *r, struct conn_failure *why);
static int  talk(struct remote *r, struct conn_failure *why);
static int  result_of(struct remote *r, int rc, const char *what,
                      struct conn_failure *why);
static int  ended_early(struct remote *r, struct conn_failure *why);
static void hint(const struct remote *r, int status, struct conn_failure *why);
static void describe_shell(struct remote *r, char *text, size_t size);
static void describe_end(const struct ssh_stream *stream, char *text, size_t size);

void remote_init(struct remote *r, ssh_session session, const struct ssh_config *config,
                 const struct agent_file *agent, const char *host, double connect_timeout_s)
{
    *r = (struct remote){ .session = session, .config = config, .agent = agent, .host = host,
                          .connect_timeout_s = connect_timeout_s,
                          .timeout_s = AGENT_START_TIMES * connect_timeout_s };
}

void remote_clear(struct remote *r)
{
    end_shell(r);
    *r = (struct remote){ 0 };
}

/* A login shell that hangs would stay forever. sshd (since OpenSSH 7.9) passes signals on to
 * the shell's process group. TERM lets the start script remove an incomplete copy. */
static void end_shell(struct remote *r)
{
    bool is_starting = r->is_running && r->start.tail != NULL;

    if (is_starting && !ssh_stream_has_ended(&r->stream) && ssh_is_connected(r->session))
        ssh_channel_request_send_signal(r->stream.channel, r->start.pushes > 0 ? "TERM" : "KILL");
    agent_start_clear(&r->start);
    ssh_stream_clear(&r->stream);
}

int remote_step(struct remote *r, struct conn_failure *why)
{
    int rc;

    if (!r->is_channel_open && (rc = open_channel(r, why)) <= 0)
        return rc;
    if (!r->is_running && (rc = run_command(r, why)) <= 0)
        return rc;
    return talk(r, why);
}

bool remote_close_input(struct remote *r)
{
    if (!r->is_asked)
        return false;
    evbuffer_drain(r->stream.out, evbuffer_get_length(r->stream.out));
    r->is_ending = ssh_channel_send_eof(r->stream.channel) != SSH_ERROR;
    return r->is_ending;
}

bool remote_push_goes_on(struct remote *r)
{
    return !r->is_ending && agent_start_goes_on(&r->start, bytes_left(r));
}

/* Counts the bytes that we have not given to libssh, and those of its socket that the node has not
 * confirmed; a proxy command: that it has not read. */
static uint64_t bytes_left(const struct remote *r)
{
    int queued = 0;

    ioctl(ssh_get_fd(r->session), SIOCOUTQ, &queued);
    return evbuffer_get_length(r->stream.out) + (uint64_t)queued;
}

bool remote_try_elsewhere(struct remote *r)
{
    if (!r->is_running || r->is_ending || r->start.pushes > 0 || r->push != PUSH_IF_MISSING)
        return false;
    log_info("%s: the shell or the agent in its cache does not answer, trying another place",
             r->host);
    begin_again(r, PUSH_ELSEWHERE);
    r->timeout_s = r->connect_timeout_s;
    return true;
}

static void begin_again(struct remote *r, enum agent_push push)
{
    end_shell(r);
    r->is_channel_open = r->is_asked = r->is_running = false;
    r->push = push;
}

void remote_late(struct remote *r, struct conn_failure *why)
{
    char shell[768];

    if (!r->is_asked) {
        conn_failure_set(why, EXIT_WAITED, "sshd did not open a session within %g s",
                         r->timeout_s);
        return;
    }
    if (r->start.pushes > 0 && bytes_left(r) > 0) {
        conn_failure_set(why, EXIT_UNREACHABLE, "the node took no more of the agent for %g s",
                         r->timeout_s);
        return;
    }
    describe_shell(r, shell, sizeof shell);
    conn_failure_set(why, EXIT_WAITED, "%sdid not start the agent within %g s", shell,
                     r->timeout_s);
    conn_failure_hint(why, "muster clean --kill -H %s ends what is left of that shell", r->host);
    hint(r, -1, why);
}

int remote_ended(struct remote *r, struct conn_failure *why)
{
    const struct ssh_stream *s = &r->stream;
    size_t                   count = evbuffer_get_length(s->stderr_text);
    char                     said[640] = "", end[AGENT_END_MAX];

    if (s->exit_status == 0 && s->exit_signal[0] == '\0')
        return 0;
    describe_end(s, end, sizeof end);
    why->is_cut = s->exit_status < 0 && s->exit_signal[0] == '\0';
    if (count > 0)
        sanitize_tail((const char *)evbuffer_pullup(s->stderr_text, -1), count, said, sizeof said);
    return conn_failure_set(why, EXIT_LOST, "muster-agent %s%s%s", end,
                            said[0] != '\0' ? ": " : "", said);
}

static int open_channel(struct remote *r, struct conn_failure *why)
{
    ssh_channel channel;
    int         rc;

    if (r->stream.channel == NULL) {
        channel = ssh_channel_new(r->session);
        if (channel == NULL)
            xalloc_die();
        ssh_stream_init(&r->stream, r->session, channel);
    }
    rc = result_of(r, ssh_channel_open_session(r->stream.channel),
                   "sshd refused to open a session", why);
    r->is_channel_open = rc > 0;
    return rc;
}

/* The opening line is sent with the request, without waiting for the answer: this saves a round
 * trip. */
static int run_command(struct remote *r, struct conn_failure *why)
{
    char *command = agent_start_command(r->agent, r->push);
    int   rc = result_of(r, ssh_channel_request_exec(r->stream.channel, command),
                         "sshd refused to run a command", why);

    free(command);
    if (rc >= 0 && !r->is_asked) {
        r->is_asked = true;
        if (agent_start_begin(&r->start, r->agent, r->push, r->stream.out) < 0)
            return conn_failure_set(why, EXIT_INTERNAL,
                                    "OpenSSL could not generate random numbers");
        if (ssh_stream_turn(&r->stream) < 0)
            return result_of(r, SSH_ERROR, "connection lost", why);
    }
    r->is_running = rc > 0;
    return rc;
}

static int talk(struct remote *r, struct conn_failure *why)
{
    enum agent_start_result result;

    do {
        if (ssh_stream_turn(&r->stream) < 0)
            return result_of(r, SSH_ERROR, "connection lost", why);
        if (r->is_ending)
            return ssh_stream_has_ended(&r->stream) ? -1 : 0;
        result = agent_start_feed(&r->start, r->stream.in, why);
        if (result == AGENT_START_PUSH) {
            log_info("%s: pushing the agent (%zu bytes)", r->host, r->agent->size);
            r->timeout_s = AGENT_START_TIMES * r->connect_timeout_s;
        }
    } while (result == AGENT_START_PUSH);
    if (result == AGENT_START_FAILED)
        return -1;
    if (result == AGENT_START_MORE)
        return ssh_stream_has_ended(&r->stream) ? ended_early(r, why) : 0;
    if (r->start.noise > 0)
        log_info("%s: skipped %zu bytes printed by the login shell", r->host,
                 r->start.noise);
    r->noise = r->start.noise;
    agent_start_clear(&r->start);
    return 1;
}

static int result_of(struct remote *r, int rc, const char *what, struct conn_failure *why)
{
    if (rc == SSH_OK)
        return 1;
    if (rc == SSH_AGAIN && ssh_is_connected(r->session))
        return 0;
    return conn_failure_set(why, EXIT_PROTOCOL, "%s: %s", what, ssh_get_error(r->session));
}

/* The command exited before it sent the nonce. The first time we blame the agent in the node's
 * cache, and replace it over a new channel. */
static int ended_early(struct remote *r, struct conn_failure *why)
{
    char shell[768], end[AGENT_END_MAX];

    describe_end(&r->stream, end, sizeof end);
    if (r->start.pushes == 0 && r->push == PUSH_IF_MISSING) {
        log_info("%s: the shell or the agent in its cache %s, pushing it again", r->host, end);
        begin_again(r, PUSH_AGAIN);
        return remote_step(r, why);
    }
    describe_shell(r, shell, sizeof shell);
    conn_failure_set(why, EXIT_PROTOCOL, "%s%s", shell, end);
    if (r->start.pushes > 0)
        return conn_failure_hint(why, "the agent was pushed but does not start: is %s built for "
                                      "this node's processor?", r->agent->path);
    hint(r, r->stream.exit_status >= 0 ? r->stream.exit_status : 1, why);
    return -1;
}

static void hint(const struct remote *r, int status, struct conn_failure *why)
{
    char to[512];

    snprintf(to, sizeof to, "-p %d %s@%s", r->config->port, r->config->user, r->config->hostname);
    agent_start_hint(&r->start, status, to, why);
}

/* Writes "the login shell printed "..." and ", with the shell's stderr if there is any. */
static void describe_shell(struct remote *r, char *text, size_t size)
{
    size_t count = evbuffer_get_length(r->stream.stderr_text);
    char   said[640] = "";

    if (count > 0)
        sanitize_tail((const char *)evbuffer_pullup(r->stream.stderr_text, -1), count, said,
                       sizeof said);
    agent_start_end(&r->start, r->stream.in);
    if (said[0] == '\0')
        agent_start_noise(&r->start, said, sizeof said);
    if (said[0] != '\0')
        snprintf(text, size, "the login shell printed \"%s\" and ", said);
    else
        snprintf(text, size, "the login shell ");
}

static void describe_end(const struct ssh_stream *s, char *text, size_t size)
{
    if (strncmp(s->exit_signal, "SIG@", 4) == 0) /* sshd has no name for it */
        snprintf(text, size, "was killed by a signal");
    else if (s->exit_signal[0] != '\0')
        snprintf(text, size, "was killed by SIG%s", s->exit_signal);
    else if (s->exit_status >= 0)
        agent_end_text(s->exit_status, text, size);
    else
        snprintf(text, size, "was cut off by sshd");
}
