/* name_lock.c - see name_lock.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cleanup/name_lock.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "fd.h"
#include "link/reconnect_socket.h"
#include "node/process.h"
#include "runid.h"
#include "xalloc.h"
#include "xevent.h"

#define PREFIX "muster-name-"

static void connection_cb(evutil_socket_t fd, short what, void *arg);
static bool run_of(const char *plate, char run[RUNID_MAX + 1]);
static bool is_of_this_user(const char *plate);
static char *describe(const char *run, pid_t agent);
static void  client_of(pid_t agent, char *address, size_t size);

struct event *name_lock_take(struct event_base *base, const char *run_id)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX }; /* the name begins with NUL */
    struct event      *name_lock;
    int                fd, length;

    if (!runid_is(run_id) || run_id[RUNID_BARE] == '\0')
        return NULL;
    length = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, PREFIX "%s-%d", run_id,
                      (int)getpid());
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return NULL;
    if (bind(fd, (struct sockaddr *)&address,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1) + (socklen_t)length) < 0 ||
        listen(fd, 16) < 0) {
        close(fd);
        return NULL;
    }
    name_lock = xevent_new(base, fd, connection_cb, NULL);
    xevent_watch(name_lock, EV_READ);
    return name_lock;
}

void name_lock_release(struct event *name_lock)
{
    int fd;

    if (name_lock == NULL)
        return;
    fd = event_get_fd(name_lock);
    event_free(name_lock);
    close(fd);
}

/* Connections that nobody accepts would fill the queue, and the next caller would take this
 * for a dead socket. */
static void connection_cb(evutil_socket_t fd, short what, void *arg)
{
    int caller;

    (void)what, (void)arg;
    while ((caller = accept4(fd, NULL, NULL, SOCK_CLOEXEC)) >= 0)
        close(caller);
}

char *name_lock_holder(const char *run_id)
{
    FILE *sockets = fopen("/proc/net/unix", "re");
    char  line[512], run[RUNID_MAX + 1], *found = NULL, *plate;

    while (sockets != NULL && found == NULL && fgets(line, sizeof line, sockets) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        plate = strstr(line, "@" PREFIX);
        if (plate != NULL && run_of(++plate, run) && runid_is_namesake(run_id, run) &&
            is_of_this_user(plate))
            found = describe(run, (pid_t)strtol(strrchr(plate, '-') + 1, NULL, 10));
    }
    if (sockets != NULL)
        fclose(sockets);
    return found;
}

/* The part between the prefix and the pid. */
static bool run_of(const char *plate, char run[RUNID_MAX + 1])
{
    const char *id = plate + strlen(PREFIX), *pid = strrchr(id, '-');

    if (pid == NULL || pid - id > RUNID_MAX)
        return false;
    snprintf(run, RUNID_MAX + 1, "%.*s", (int)(pid - id), id);
    return true;
}

static bool is_of_this_user(const char *plate)
{
    struct error err;
    int          fd = reconnect_socket_connect(plate, &err);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static char *describe(const char *run, pid_t agent)
{
    struct process process;
    json_t        *about = process_read(agent, &process) ? process_about(&process) : NULL;
    char           address[64], *text;

    if (about == NULL)
        return xstrdup(run);
    client_of(agent, address, sizeof address);
    text = xasprintf("%s (agent %d, for %" PRId64 " s, started %s%s)", run, (int)agent,
                     (int64_t)json_integer_value(json_object_get(about, "age_s")),
                     address[0] != '\0' ? "from " : "on that node", address);
    json_decref(about);
    return text;
}

/* The machine with muster, as sshd knows it; "" without SSH. */
static void client_of(pid_t agent, char *address, size_t size)
{
    static const char name[] = "SSH_CONNECTION=";
    char              path[64], environment[16384], *at, *end;
    ssize_t           length;

    snprintf(path, sizeof path, "/proc/%d/environ", (int)agent);
    length = fd_read_file(path, environment, sizeof environment);
    end = environment + (length > 0 ? length : 0);
    for (at = environment; at < end && strncmp(at, name, strlen(name)) != 0; at += strlen(at) + 1)
        ;
    at += at < end ? strlen(name) : 0;
    snprintf(address, size, "%.*s", at < end ? (int)strcspn(at, " ") : 0, at);
}
