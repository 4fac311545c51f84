/* name_lock.c - see name_lock.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cleanup/name_lock.h"

#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "xalloc.h"
#include "xevent.h"

#define LOCK    "muster-name-"
#define REPLACE "muster-replace-"

#define ANSWER_MS 300 /* an agent that does not answer is stopped, or has an older version */

struct name_lock {
    struct event *event;
    char         *run_id, *launcher; /* launcher may be NULL */
    name_lock_f  *replaced;
    void         *arg;
};

static int       plain_socket(void);
static int       bound_socket(const char *prefix, const char *run_id);
static socklen_t address_of(const char *name, struct sockaddr_un *address);
static void      connection_cb(evutil_socket_t fd, short what, void *arg);
static void      answer(struct name_lock *lock, int caller, const struct sockaddr_un *from,
                        socklen_t size);
static bool      read_line(char *line, struct namesake *other);
static int       call(const struct namesake *other, int fd);
static bool      run_of(const char *name, const char *prefix, char run[RUNID_MAX + 1]);
static bool      is_ours(int fd);

struct name_lock *name_lock_take(struct event_base *base, const char *run_id,
                                 const char *launcher, name_lock_f *replaced, void *arg)
{
    struct name_lock *lock;
    int               fd;

    if (!runid_is(run_id) || run_id[RUNID_BARE] == '\0' || (fd = bound_socket(LOCK, run_id)) < 0)
        return NULL;
    if (listen(fd, 16) < 0) {
        close(fd);
        return NULL;
    }
    lock = xcalloc(1, sizeof *lock);
    *lock = (struct name_lock){ xevent_new(base, fd, connection_cb, lock), xstrdup(run_id),
                                launcher != NULL ? xstrdup(launcher) : NULL, replaced, arg };
    xevent_watch(lock->event, EV_READ);
    return lock;
}

void name_lock_release(struct name_lock *lock)
{
    int fd;

    if (lock == NULL)
        return;
    fd = event_get_fd(lock->event);
    event_free(lock->event);
    close(fd);
    free(lock->run_id);
    free(lock->launcher);
    free(lock);
}

bool name_lock_holder(const char *run_id, struct namesake *other)
{
    FILE *sockets = fopen("/proc/net/unix", "re");
    char  line[512];
    bool  found = false;
    int   fd;

    while (sockets != NULL && !found && fgets(line, sizeof line, sockets) != NULL) {
        if (!read_line(line, other) || !runid_is_namesake(run_id, other->run))
            continue;
        fd = call(other, plain_socket());
        found = fd >= 0;
        if (found)
            close(fd);
    }
    if (sockets != NULL)
        fclose(sockets);
    return found;
}

bool name_lock_is_held(const struct namesake *other)
{
    FILE           *sockets = fopen("/proc/net/unix", "re");
    struct namesake its;
    char            line[512];
    bool            found = sockets == NULL; /* if that is unknown, it is held */

    while (!found && fgets(line, sizeof line, sockets) != NULL)
        found = read_line(line, &its) && strcmp(its.socket, other->socket) == 0;
    if (sockets != NULL)
        fclose(sockets);
    return found;
}

void name_lock_ask(const struct namesake *other, char words[NAME_LOCK_WORDS_MAX])
{
    int           fd = call(other, plain_socket());
    struct pollfd answer = { .fd = fd, .events = POLLIN };
    ssize_t       size = -1;

    if (fd >= 0 && poll(&answer, 1, ANSWER_MS) > 0)
        size = recv(fd, words, NAME_LOCK_WORDS_MAX - 1, MSG_DONTWAIT);
    words[size > 0 ? size : 0] = '\0';
    if (fd >= 0)
        close(fd);
}

void name_lock_replace(const struct namesake *other, const char *run_id)
{
    int fd = call(other, bound_socket(REPLACE, run_id));

    if (fd >= 0)
        close(fd);
}

static int plain_socket(void)
{
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

static int bound_socket(const char *prefix, const char *run_id)
{
    struct sockaddr_un address;
    char               name[NAME_LOCK_SOCKET_MAX];
    socklen_t          size;
    int                fd = plain_socket();

    snprintf(name, sizeof name, "%s%s-%d", prefix, run_id, (int)getpid());
    size = address_of(name, &address);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) == 0)
        return fd;
    close(fd);
    return -1;
}

/* The address begins with NUL: it is not a file. */
static socklen_t address_of(const char *name, struct sockaddr_un *address)
{
    size_t length = strlen(name);

    *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
    memcpy(address->sun_path + 1, name, length);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
}

/* ---- for the holder ---- */

/* Accepts all connections: otherwise they would fill the queue, and the next caller would
 * take this for a dead socket. */
static void connection_cb(evutil_socket_t fd, short what, void *arg)
{
    struct sockaddr_un from;
    socklen_t          size = sizeof from;
    int                caller;

    (void)what;
    while ((caller = accept4(fd, (struct sockaddr *)&from, &size, SOCK_CLOEXEC)) >= 0) {
        if (is_ours(caller))
            answer(arg, caller, &from, size);
        close(caller);
        size = sizeof from;
    }
}

static void answer(struct name_lock *lock, int caller, const struct sockaddr_un *from,
                   socklen_t size)
{
    const size_t head = offsetof(struct sockaddr_un, sun_path) + 1;
    char         name[sizeof from->sun_path], run[RUNID_MAX + 1];

    if (lock->launcher != NULL)
        (void)!send(caller, lock->launcher, strnlen(lock->launcher, NAME_LOCK_WORDS_MAX - 1),
                    MSG_DONTWAIT | MSG_NOSIGNAL);
    if (size <= head)
        return; /* the caller has no name: it only looks */
    snprintf(name, sizeof name, "%.*s", (int)(size - head), from->sun_path + 1);
    if (run_of(name, REPLACE, run) && runid_is_namesake(run, lock->run_id))
        lock->replaced(run, lock->arg);
}

/* ---- for the run that wants the name ---- */

/* Parses a line of /proc/net/unix. False: it is not a name lock. */
static bool read_line(char *line, struct namesake *other)
{
    const char *name = strstr(line, "@" LOCK);

    line[strcspn(line, "\n")] = '\0';
    if (name == NULL || strlen(++name) >= sizeof other->socket)
        return false;
    memcpy(other->socket, name, strlen(name) + 1);
    return run_of(name, LOCK, other->run);
}

/* Connects fd to the other run's agent, if it belongs to our user. -1: fd is closed. */
static int call(const struct namesake *other, int fd)
{
    struct sockaddr_un address;
    socklen_t          size = address_of(other->socket, &address);

    if (fd < 0 || (connect(fd, (struct sockaddr *)&address, size) == 0 && is_ours(fd)))
        return fd;
    close(fd);
    return -1;
}

/* Copies the part between the prefix and the pid. */
static bool run_of(const char *name, const char *prefix, char run[RUNID_MAX + 1])
{
    const char *id = name + strlen(prefix), *pid = strrchr(name, '-');

    if (strncmp(name, prefix, strlen(prefix)) != 0 || pid < id || pid - id > RUNID_MAX)
        return false;
    snprintf(run, RUNID_MAX + 1, "%.*s", (int)(pid - id), id);
    return true;
}

static bool is_ours(int fd)
{
    struct ucred who;
    socklen_t    size = sizeof who;

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && who.uid == geteuid();
}
