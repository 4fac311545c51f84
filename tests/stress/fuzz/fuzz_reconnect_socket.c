/* fuzz_reconnect_socket.c - who connects to an agent's reconnect socket, and what comes of it
 *
 * The link of an agent that runs ranks, and its reconnect socket, with strangers and a launcher
 * that comes back. The input is a list of events, one letter each: see play(). Real sockets of
 * this process.
 *
 * Nobody takes the link over but who has said the token, first and alone; the
 * agent's stream goes on with the byte that was asked for, the same as the first time; and half
 * a frame of the old connection is no part of the new one.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "session/agent.h"
#include "xalloc.h"

#define CALLERS    6 /* more than it hears */
#define EVENTS_MAX 100
#define TOKEN      "00112233445566778899aabbccddeeff"
#define NOT_TOKEN  "00112233445566778899aabbccddeefe"
#define GENERATION 3

struct caller {
    int  fd;         /* 0: none */
    bool has_spoken;
};

struct script {
    const uint8_t *at, *end;
};

static struct agent     agent;
static struct caller    callers[CALLERS];
static struct caller   *attaching;  /* has just said what lets it in */
static int              launcher;   /* our end of the link; -1: closed */
static bool             may_break;  /* what it has said on this connection may be wrong */
static uint64_t         position;   /* of it in the agent's stream */
static struct evbuffer *stream;     /* all that the agent has ever sent on the link */

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "fuzz_reconnect_socket: %s\n", what);
    abort();
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    signal(SIGPIPE, SIG_IGN); /* as the agent does */
    return 0;
}

/* ---- the agent ---- */

static int frame_cb(const struct frame *frame, void *arg, struct error *err)
{
    (void)arg;
    return frame->type == FRAME_ACK ? resend_queue_take_ack(&agent.link.resend, frame, err) : 0;
}

static void room_cb(void *arg)
{
    (void)arg;
}

static void lost_cb(const struct error *err, void *arg)
{
    (void)err, (void)arg;
}

static void agent_begin(void)
{
    static const struct link_ops ops = { frame_cb, room_cb, reconnect_cut, lost_cb };
    static char                  name[64];
    int                          pair[2];

    must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0, "no socket pair");
    snprintf(name, sizeof name, "muster-fuzz-%ld", (long)getpid());
    agent = (struct agent){ .base = event_base_new(), .generation = GENERATION };
    agent.plan.socket = name;
    agent.plan.token = (char *)TOKEN;
    agent.plan.reconnect_s = 1000;
    link_open(&agent.link, agent.base, pair[0], pair[0], &ops, &agent);
    reconnect_open(&agent);
    must(agent.reconnect.socket != NULL, "no socket");
    launcher = pair[1];
    may_break = false;
    position = 0;
    stream = evbuffer_new();
}

static void agent_end(void)
{
    size_t i;

    for (i = 0; i < CALLERS; i++)
        if (callers[i].fd > 0)
            close(callers[i].fd);
    memset(callers, 0, sizeof callers);
    if (launcher >= 0)
        close(launcher);
    reconnect_close(&agent);
    close(agent.link.in_fd);
    link_close(&agent.link);
    event_base_free(agent.base);
    evbuffer_free(stream);
}

/* ---- what comes out ---- */

static void check_stream(const unsigned char *bytes, size_t size)
{
    size_t said = evbuffer_get_length(stream), known;

    must(position <= said, "bytes of the stream were left out");
    known = said - position < size ? said - position : size;
    must(known == 0 || memcmp(evbuffer_pullup(stream, -1) + position, bytes, known) == 0,
         "another byte than the first time");
    evbuffer_add(stream, bytes + known, size - known);
    position += size;
}

static void read_stream(void)
{
    unsigned char bytes[4096];
    ssize_t       got = 0;

    while (launcher >= 0 && (got = recv(launcher, bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
        check_stream(bytes, (size_t)got);
    if (launcher >= 0 && (got == 0 || errno != EAGAIN)) {
        close(launcher);
        launcher = -1;
    }
}

/* The caller has become the launcher: RESUMED is not counted, the rest is. */
static void take_over(struct caller *caller)
{
    unsigned char head[FRAME_HEADER_BYTES], body[256];
    size_t        size;

    must(caller != NULL, "somebody was let in who should not have been");
    must(recv(caller->fd, head, sizeof head, MSG_DONTWAIT) == (ssize_t)sizeof head &&
         head[4] == FRAME_RESUMED, "another answer than RESUMED");
    size = get_u32(head);
    must(size <= sizeof body && recv(caller->fd, body, size, MSG_DONTWAIT) == (ssize_t)size,
         "a RESUMED frame in part");
    if (launcher >= 0)
        close(launcher);
    launcher = caller->fd;
    may_break = false;
    *caller = (struct caller){ 0 };
    position = agent.link.resend.begin;
}

static void settle(int link_fd)
{
    int i;

    for (i = 0; i < 4; i++)
        event_base_loop(agent.base, EVLOOP_NONBLOCK);
    if (agent.link.in_fd != link_fd)
        take_over(attaching);
    must(may_break || !agent.link.is_lost, "lost without a reason");
    read_stream();
}

/* ---- events ---- */

static unsigned take_byte(struct script *script)
{
    return script->at < script->end ? *script->at++ : 0;
}

static void say(int fd, const void *bytes, size_t size)
{
    if (fd > 0)
        (void)!send(fd, bytes, size, MSG_DONTWAIT);
}

static size_t say_bytes(int fd, struct script *script)
{
    size_t size = take_byte(script);

    size = size < (size_t)(script->end - script->at) ? size : (size_t)(script->end - script->at);
    say(fd, script->at, size);
    script->at += size;
    return size;
}

static void say_frame(int fd, const struct frame *frame)
{
    struct evbuffer *out = evbuffer_new();

    frame_put(out, frame);
    say(fd, evbuffer_pullup(out, -1), evbuffer_get_length(out));
    evbuffer_free(out);
}

/* RECONNECT, right in everything unless a bit of how says otherwise. Either end may be one
 * generation ahead. */
static void say_attach(struct caller *caller, struct script *script)
{
    unsigned      how = take_byte(script);
    int64_t       received = (int64_t)agent.link.resend.begin + (int)take_byte(script) - 1;
    char         *text = xasprintf("{\"socket\":\"%s\",\"token\":\"%s\",\"received\":%lld}",
                                   agent.plan.socket, how & 1 ? NOT_TOKEN : TOKEN,
                                   (long long)received);
    struct frame  frame = { .type = FRAME_RECONNECT, .generation = how & 2 ? 2 : GENERATION,
                            .body = (void *)text, .size = strlen(text) };

    if (caller->fd > 0 && !caller->has_spoken && (how & 1) == 0)
        attaching = caller;
    caller->has_spoken = true;
    say_frame(caller->fd, &frame);
    free(text);
}

static void say_ack(struct script *script)
{
    const struct resend_queue *queue = &agent.link.resend;
    unsigned             more = take_byte(script);
    unsigned char        body[8];
    struct frame         ack = { .type = FRAME_ACK, .generation = GENERATION, .body = body,
                                 .size = sizeof body };

    put_u64(body, queue->begin + more);
    may_break = may_break || more > queue->sent;
    say_frame(launcher, &ack);
}

static void agent_says(struct script *script)
{
    static const unsigned char body[255];
    struct frame               frame = { .type = FRAME_OUTPUT, .stream = STREAM_STDOUT,
                                         .generation = GENERATION, .body = body };

    frame.size = take_byte(script);
    frame_put(agent.link.wire, &frame);
    link_flush(&agent.link);
}

static void play(struct script *script)
{
    unsigned       letter = take_byte(script);
    struct caller *caller = &callers[take_byte(script) % CALLERS];
    struct error   err;

    attaching = NULL;
    switch (letter) {
    case 'K': /* somebody knocks */
        if (caller->fd == 0)
            *caller = (struct caller){ .fd = reconnect_socket_connect(agent.plan.socket, &err) };
        must(caller->fd > 0, "cannot knock");
        break;
    case 'A':
        say_attach(caller, script);
        break;
    case 'B': /* any bytes */
        caller->has_spoken = say_bytes(caller->fd, script) > 0 || caller->has_spoken;
        break;
    case 'X':
        if (caller->fd > 0)
            close(caller->fd);
        *caller = (struct caller){ 0 };
        break;
    case 'C': /* the launcher's connection ends */
        if (launcher >= 0)
            close(launcher);
        launcher = -1;
        break;
    case 'L':
        say_bytes(launcher, script);
        may_break = true;
        break;
    case 'R':
        say_ack(script);
        break;
    case 'S':
        agent_says(script);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct script script = { data, data + size };
    int          events = 0, link_fd;

    agent_begin();
    while (events++ < EVENTS_MAX && script.at < script.end && !agent.link.is_lost) {
        link_fd = agent.link.in_fd;
        play(&script);
        settle(link_fd);
    }
    agent_end();
    return 0;
}
