/* control.c - see control.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "history/control.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>

#include "clock.h"
#include "log.h"
#include "sanitize.h"
#include "xalloc.h"
#include "xevent.h"

#define BACKLOG  8
#define CALLS    8   /* open at a time; more wait in the kernel's queue */
#define CALL_S   5.0 /* to receive the line, and to send the answer */
#define AGAIN_S  0.5 /* pause after accept() failed: no descriptor is left */

struct control {
    struct event_base         *base;
    const struct control_verb *verbs;
    void                      *arg;
    int                        fd, dir_fd;
    struct event              *listening;
    struct event              *again; /* listen again, when there may be descriptors */
    struct call {
        struct control     *control;
        struct bufferevent *bev; /* NULL: free */
        const struct control_verb *awaits; /* the request that is answered later; or NULL */
    } call[CALLS];
};

static int          open_socket(int dir_fd, struct error *err);
static void         connected_cb(evutil_socket_t fd, short what, void *arg);
static void         again_cb(evutil_socket_t fd, short what, void *arg);
static struct call *find_free(struct control *control);
static bool         is_allowed(int fd);
static void         begin(struct control *control, struct call *call, int fd);
static void         read_cb(struct bufferevent *bev, void *arg);
static void         take_line(struct call *call, const char *line);
static int          obey(struct call *call, const char *line, char *text, size_t size,
                         struct error *err);
static const struct control_verb *find_verb(const struct control *control, const char *name);
static void         answer(struct call *call, int rc, const char *text);
static void         written_cb(struct bufferevent *bev, void *arg);
static void         ended_cb(struct bufferevent *bev, short what, void *arg);
static void         end(struct call *call);

struct control *control_new(struct event_base *base, const struct run_dir *dir,
                            const struct control_verb *verbs, void *arg)
{
    struct control *control;
    struct error    err;
    int             fd;

    if (dir->path == NULL)
        return NULL;
    fd = open_socket(dir->fd, &err);
    if (fd < 0) {
        log_info("muster drain and stacks cannot reach this run: %s", err.text);
        return NULL;
    }
    control = xcalloc(1, sizeof *control);
    *control = (struct control){ .base = base, .verbs = verbs, .arg = arg, .fd = fd,
                                 .dir_fd = dir->fd };
    control->listening = event_new(base, fd, EV_READ | EV_PERSIST, connected_cb, control);
    control->again = evtimer_new(base, again_cb, control);
    if (control->listening == NULL || control->again == NULL)
        xalloc_die();
    xevent_add(control->listening, NULL);
    return control;
}

void control_free(struct control *control)
{
    size_t i;

    if (control == NULL)
        return;
    for (i = 0; i < CALLS; i++)
        end(&control->call[i]);
    event_free(control->listening);
    event_free(control->again);
    close(control->fd);
    unlinkat(control->dir_fd, RUN_DIR_CONTROL, 0);
    free(control);
}

/* Binds the socket by descriptor, since its name may have at most 108 bytes, and the directory
 * may be deep. An old socket belongs to a killed launcher, since we hold the lock of the
 * directory. */
static int open_socket(int dir_fd, struct error *err)
{
    struct sockaddr_un name;
    int                fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    run_dir_control(dir_fd, &name);
    unlinkat(dir_fd, RUN_DIR_CONTROL, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&name, sizeof name) == 0 &&
        fchmodat(dir_fd, RUN_DIR_CONTROL, 0600, 0) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    err_set(err, "%s: %s", RUN_DIR_CONTROL, strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

static void connected_cb(evutil_socket_t fd, short what, void *arg)
{
    struct control *control = arg;
    struct call    *call = find_free(control);
    struct timeval  pause = clock_interval(AGAIN_S);
    int             other;

    (void)what;
    other = call != NULL ? accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK) : -1;
    if (call == NULL) {
        event_del(control->listening); /* until a call ends */
    } else if (other < 0 && errno != EAGAIN && errno != ECONNABORTED) {
        event_del(control->listening);
        xevent_add(control->again, &pause);
    }
    if (other < 0)
        return;
    if (is_allowed(other))
        begin(control, call, other);
    else
        close(other);
}

static void again_cb(evutil_socket_t fd, short what, void *arg)
{
    struct control *control = arg;

    (void)fd, (void)what;
    xevent_add(control->listening, NULL);
}

static struct call *find_free(struct control *control)
{
    size_t i;

    for (i = 0; i < CALLS; i++)
        if (control->call[i].bev == NULL)
            return &control->call[i];
    return NULL;
}

static bool is_allowed(int fd)
{
    struct ucred peer = { 0 };
    socklen_t    size = sizeof peer;

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == geteuid() || peer.uid == 0);
}

static void begin(struct control *control, struct call *call, int fd)
{
    const struct timeval limit = clock_interval(CALL_S);

    *call = (struct call){ .control = control,
                           .bev = bufferevent_socket_new(control->base, fd,
                                                         BEV_OPT_CLOSE_ON_FREE) };
    if (call->bev == NULL)
        xalloc_die();
    bufferevent_setcb(call->bev, read_cb, NULL, ended_cb, call);
    bufferevent_setwatermark(call->bev, EV_READ, 0, RUN_DIR_LINE_MAX);
    bufferevent_set_timeouts(call->bev, &limit, &limit);
    if (bufferevent_enable(call->bev, EV_READ) < 0)
        xalloc_die();
}

static void read_cb(struct bufferevent *bev, void *arg)
{
    struct call     *call = arg;
    struct evbuffer *in = bufferevent_get_input(bev);
    char            *line = evbuffer_readln(in, NULL, EVBUFFER_EOL_LF);

    if (line != NULL)
        take_line(call, line);
    else if (evbuffer_get_length(in) >= RUN_DIR_LINE_MAX)
        end(call);
    free(line);
}

/* Executing the line may end the run, but not before the next turn of the event loop. */
static void take_line(struct call *call, const char *line)
{
    char         text[RUN_DIR_ANSWER_MAX];
    struct error err;
    int          rc;

    rc = obey(call, line, text, sizeof text, &err);
    bufferevent_disable(call->bev, EV_READ);
    if (rc != CONTROL_LATER)
        answer(call, rc, rc < 0 ? err.text : text);
}

static int obey(struct call *call, const char *line, char *text, size_t size, struct error *err)
{
    const struct control      *control = call->control;
    const struct control_verb *verb;
    struct strlist             words = { 0 };
    char                      *shown = sanitize_text(line, strlen(line)), *word, *rest;
    int                        rc;

    log_info("control: %.200s", shown);
    word = strtok_r(shown, " ", &rest);
    verb = find_verb(control, word != NULL ? word : "");
    while (word != NULL && (word = strtok_r(NULL, " ", &rest)) != NULL)
        strlist_add(&words, word);
    if (verb->name == NULL)
        rc = err_set(
            err,
            "this run does not know '%.100s'; was it started by another version of muster?",
            shown);
    else if (words.count < verb->words)
        rc = err_set(err, "usage: %s", verb->usage);
    else
        rc = verb->take(&words, text, size, control->arg, err);
    call->awaits = rc == CONTROL_LATER ? verb : NULL;
    strlist_clear(&words);
    free(shown);
    return rc;
}

static const struct control_verb *find_verb(const struct control *control, const char *name)
{
    const struct control_verb *verb = control->verbs;

    while (verb->name != NULL && strcmp(verb->name, name) != 0)
        verb++;
    return verb;
}

void control_answer(struct control *control, const char *name, int rc, const char *text)
{
    size_t i;

    for (i = 0; control != NULL && i < CALLS; i++)
        if (control->call[i].bev != NULL && control->call[i].awaits != NULL &&
            strcmp(control->call[i].awaits->name, name) == 0)
            answer(&control->call[i], rc, text);
}

static void answer(struct call *call, int rc, const char *text)
{
    call->awaits = NULL;
    bufferevent_setcb(call->bev, NULL, written_cb, ended_cb, call);
    evbuffer_add_printf(bufferevent_get_output(call->bev), "%s %s\n", rc < 0 ? "error" : "ok",
                        text);
}

static void written_cb(struct bufferevent *bev, void *arg)
{
    (void)bev;
    end(arg);
}

static void ended_cb(struct bufferevent *bev, short what, void *arg)
{
    (void)bev, (void)what;
    end(arg);
}

static void end(struct call *call)
{
    if (call->bev == NULL)
        return;
    bufferevent_free(call->bev);
    call->bev = NULL;
    xevent_add(call->control->listening, NULL);
}
