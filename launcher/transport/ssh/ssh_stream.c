/* ssh_stream.c - see ssh_stream.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "transport/ssh/ssh_stream.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <event2/event.h>

#include "transport/ssh/ssh_exit.h"
#include "xalloc.h"

#define TURN_BYTES   (512 * 1024) /* in and out together */
#define WRITE_BYTES  (64 * 1024)  /* given to libssh at a time: two packets of OpenSSH */
#define STDERR_MAX 4096

static struct evbuffer *new_buffer(void);
static int              data_cb(ssh_session session, ssh_channel channel, void *data,
                                uint32_t size, int is_stderr, void *arg);
static void             close_cb(ssh_session session, ssh_channel channel, void *arg);
static void             exit_status_cb(ssh_session session, ssh_channel channel,
                                       int status, void *arg);
static void             exit_signal_cb(ssh_session session, ssh_channel channel,
                                       const char *signal, int core, const char *text,
                                       const char *language, void *arg);
static int              process_packets(struct ssh_stream *s);
static int              send_some(struct ssh_stream *s);

void ssh_stream_init(struct ssh_stream *s, ssh_session session, ssh_channel channel)
{
    *s = (struct ssh_stream){ .session = session, .channel = channel, .exit_status = -1 };
    s->in = new_buffer();
    s->out = new_buffer();
    s->stderr_text = new_buffer();
    s->callbacks = (struct ssh_channel_callbacks_struct){
        .userdata = s,
        .channel_data_function = data_cb,
        .channel_close_function = close_cb,
        .channel_exit_status_function = exit_status_cb,
        .channel_exit_signal_function = exit_signal_cb,
    };
    ssh_callbacks_init(&s->callbacks);
    ssh_set_channel_callbacks(channel, &s->callbacks);
    ssh_set_counters(session, &s->traffic, NULL);
}

void ssh_stream_clear(struct ssh_stream *s)
{
    if (s->channel == NULL)
        return;
    ssh_set_counters(s->session, NULL, NULL);
    ssh_remove_channel_callbacks(s->channel, &s->callbacks);
    ssh_channel_free(s->channel);
    evbuffer_free(s->in);
    evbuffer_free(s->out);
    evbuffer_free(s->stderr_text);
    *s = (struct ssh_stream){ 0 };
}

int ssh_stream_turn(struct ssh_stream *s)
{
    uint64_t begin = s->traffic.in_bytes + s->traffic.out_bytes, before, now = begin;

    do {
        before = now;
        if (process_packets(s) < 0 || send_some(s) < 0)
            return -1;
        now = s->traffic.in_bytes + s->traffic.out_bytes;
    } while (now != before && now - begin < TURN_BYTES);
    return 0;
}

short ssh_stream_wants(const struct ssh_stream *s)
{
    bool can_send = evbuffer_get_length(s->out) > 0 && ssh_channel_window_size(s->channel) > 0;

    return EV_READ |
           (can_send || ssh_get_poll_flags(s->session) & SSH_WRITE_PENDING ? EV_WRITE : 0);
}

bool ssh_stream_is_eof(const struct ssh_stream *s)
{
    return ssh_channel_is_eof(s->channel) != 0;
}

/* The exit status and the end of file may come in either order. A close comes last and may come
 * alone. ssh_stream_is_eof() is false while libssh holds bytes for us. */
bool ssh_stream_has_ended(const struct ssh_stream *s)
{
    return ssh_stream_is_eof(s) &&
           (s->is_closed || s->exit_status >= 0 || s->exit_signal[0] != '\0');
}

static struct evbuffer *new_buffer(void)
{
    struct evbuffer *buffer = evbuffer_new();

    if (buffer == NULL)
        xalloc_die();
    return buffer;
}

static int data_cb(ssh_session session, ssh_channel channel, void *data, uint32_t size,
                   int is_stderr, void *arg)
{
    struct ssh_stream *s = arg;
    size_t             kept;

    (void)session;
    (void)channel;
    if (!is_stderr) {
        if (evbuffer_add(s->in, data, size) < 0)
            xalloc_die();
        return (int)size;
    }
    evbuffer_add(s->stderr_text, data, size);
    kept = evbuffer_get_length(s->stderr_text);
    if (kept > STDERR_MAX)
        evbuffer_drain(s->stderr_text, kept - STDERR_MAX);
    return (int)size;
}

static void close_cb(ssh_session session, ssh_channel channel, void *arg)
{
    (void)session;
    (void)channel;
    ((struct ssh_stream *)arg)->is_closed = true;
}

static void exit_status_cb(ssh_session session, ssh_channel channel, int status, void *arg)
{
    (void)session;
    (void)channel;
    ((struct ssh_stream *)arg)->exit_status = status;
}

static void exit_signal_cb(ssh_session session, ssh_channel channel, const char *signal,
                           int core, const char *text, const char *language, void *arg)
{
    struct ssh_stream *s = arg;

    (void)session;
    (void)channel;
    (void)core;
    (void)text;
    (void)language;
    snprintf(s->exit_signal, sizeof s->exit_signal, "%s", signal);
}

/* Polls the socket once, and reads at most 4 KiB. ssh_channel_poll() always does that, because
 * data_cb() leaves no bytes behind. */
static int process_packets(struct ssh_stream *s)
{
    if (ssh_stream_is_eof(s))
        ssh_exit_status(s->channel); /* -1 may also mean "not yet" */
    else if (ssh_channel_poll(s->channel, 1) == SSH_ERROR)
        return -1;
    return s->is_closed || ssh_is_connected(s->session) ? 0 : -1;
}

static int send_some(struct ssh_stream *s)
{
    size_t   size = evbuffer_get_length(s->out);
    uint32_t window = ssh_channel_window_size(s->channel);
    int      n;

    if (size == 0 || window == 0 || s->is_closed ||
        ssh_get_poll_flags(s->session) & SSH_WRITE_PENDING)
        return 0;
    size = size > WRITE_BYTES ? WRITE_BYTES : size;
    size = size > window ? window : size;
    n = ssh_channel_write(s->channel, evbuffer_pullup(s->out, (ev_ssize_t)size), (uint32_t)size);
    if (n < 0)
        return -1;
    evbuffer_drain(s->out, (size_t)n);
    return 0;
}
