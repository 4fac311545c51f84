/* listen_socket.c - see listen_socket.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "metrics/listen_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "xalloc.h"

#define BACKLOG   32 /* connections that the kernel takes for us */
#define PORT_SIZE 8

static int   open_file(struct listen_socket *made, const char *path, struct error *err);
static int   remove_stale(const struct sockaddr_un *name, struct error *err);
static int   open_port(struct listen_socket *made, const struct listen_place *place,
                       struct error *err);
static int   bind_port(int fd, const struct addrinfo *at, const struct listen_place *place,
                       struct error *err);
static char *name_of(int fd, const char *host);

int listen_socket_open(struct listen_socket *made, const struct listen_place *place,
                       struct error *err)
{
    *made = (struct listen_socket){ .fd = -1 };
    return place->path != NULL ? open_file(made, place->path, err) : open_port(made, place, err);
}

/* --- a file --------------------------------------------------------------------- */

/* The mode of the descriptor becomes that of the file: at no time can others connect. */
static int open_file(struct listen_socket *made, const char *path, struct error *err)
{
    struct sockaddr_un name = { .sun_family = AF_UNIX };
    struct stat        about;
    int                fd;

    memcpy(name.sun_path, path, strlen(path)); /* listen_place_read() has measured it */
    if (remove_stale(&name, err) < 0)
        return -1;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || fchmod(fd, 0600) < 0 || bind(fd, (struct sockaddr *)&name, sizeof name) < 0 ||
        listen(fd, BACKLOG) < 0 || lstat(path, &about) < 0) {
        err_set(err, "%s: cannot listen there: %s; the socket needs a directory that you may "
                     "write to", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    *made = (struct listen_socket){ .fd = fd, .name = xstrdup(path), .path = xstrdup(path),
                                    .dev = about.st_dev, .ino = about.st_ino };
    return 0;
}

/* A program that lives answers at once, or its queue is full (EAGAIN). */
static int remove_stale(const struct sockaddr_un *name, struct error *err)
{
    struct stat about;
    int         fd, rc, error;

    if (lstat(name->sun_path, &about) < 0)
        return 0; /* bind() says what is wrong */
    if (!S_ISSOCK(about.st_mode))
        return err_set(err, "%s: is there, and no socket: name another path", name->sun_path);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_set(err, "%s: %s", name->sun_path, strerror(errno));
    rc = connect(fd, (const struct sockaddr *)name, sizeof *name);
    error = errno;
    close(fd);
    if (rc == 0 || error != ECONNREFUSED)
        return err_set(err, "%s: %s: name another path", name->sun_path,
                       rc == 0 || error == EAGAIN ? "another program listens there"
                                                  : strerror(error));
    if (unlink(name->sun_path) < 0)
        return err_set(err, "%s: a program that is gone has left it: %s", name->sun_path,
                       strerror(errno));
    return 0;
}

/* --- a port ---------------------------------------------------------------------- */

static int open_port(struct listen_socket *made, const struct listen_place *place,
                     struct error *err)
{
    const struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
                                    .ai_socktype = SOCK_STREAM };
    struct addrinfo      *at;
    char                  port[PORT_SIZE];
    int                   fd, rc;

    snprintf(port, sizeof port, "%u", (unsigned)place->port & UINT16_MAX);
    rc = getaddrinfo(place->host, port, &hints, &at);
    if (rc != 0)
        return err_set(err, "%s: %s", place->host, gai_strerror(rc));
    fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        rc = err_set(err, "%s: %s", place->host, strerror(errno));
    else
        rc = bind_port(fd, at, place, err);
    freeaddrinfo(at);
    if (rc < 0) {
        if (fd >= 0)
            close(fd);
        return -1;
    }
    *made = (struct listen_socket){ .fd = fd, .name = name_of(fd, place->host) };
    return 0;
}

static int bind_port(int fd, const struct addrinfo *at, const struct listen_place *place,
                     struct error *err)
{
    int yes = 1;

    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (at->ai_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
    if (bind(fd, at->ai_addr, at->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return 0;
    if (errno == EADDRINUSE)
        return err_set(err, "port %d of %s is taken by another program: take another one, or 0 for "
                            "a free one", place->port, place->host);
    if (errno == EADDRNOTAVAIL)
        return err_set(err, "this machine has no address %s", place->host);
    if (errno == EACCES)
        return err_set(err, "port %d is for root: take one above 1023, or 0 for a free one",
                       place->port);
    return err_set(err, "port %d of %s: %s", place->port, place->host, strerror(errno));
}

/* The kernel may have chosen the port. */
static char *name_of(int fd, const char *host)
{
    struct sockaddr_storage at = { 0 };
    socklen_t               size = sizeof at;
    unsigned                port;

    getsockname(fd, (struct sockaddr *)&at, &size);
    port = ntohs(at.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&at)->sin6_port
                                          : ((struct sockaddr_in *)&at)->sin_port);
    return xasprintf(strchr(host, ':') != NULL ? "[%s]:%u" : "%s:%u", host, port);
}

void listen_socket_close(struct listen_socket *made)
{
    struct stat about;

    if (made->fd >= 0)
        close(made->fd);
    if (made->path != NULL && lstat(made->path, &about) == 0 && about.st_dev == made->dev &&
        about.st_ino == made->ino)
        unlink(made->path);
    free(made->name);
    free(made->path);
    *made = (struct listen_socket){ .fd = -1 };
}
