/* port.c - see port.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "node/port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "fd.h"
#include "node/open_files.h"
#include "node/process.h"

/* If the port is taken, this many ports after it are tried before the kernel chooses: they
 * are below the range for connections that the kernel opens, one of which could take the
 * port before rank 0 does. */
#define NEIGHBOURS 100

struct holder {
    unsigned long  inode;   /* of the socket */
    uid_t          uid;
    struct process process; /* pid 0: not visible to us */
};

static bool is_free(int port);
static void hold_fixed(struct held_port *held, int port);
static void hold_free(struct held_port *held, int port);
static int  claim(int port);
static int  bind_all(int port, bool reuse);
static int  bound_port(int fd);
static bool find_holder(int port, struct holder *holder);
static bool find_socket(const char *table, int port, struct holder *holder);
static void holder_words(const struct holder *holder, char *words, size_t size);

int port_hold(struct held_port *held, int port, bool fixed, char *holder, size_t holder_size,
              struct error *err)
{
    struct holder found;

    *held = (struct held_port){ .fd = -1, .claim_fd = -1 };
    holder[0] = '\0';
    if (fixed)
        hold_fixed(held, port);
    else
        hold_free(held, port);
    if (held->fd < 0) {
        err_set(err, "port %d: %s", port, strerror(errno));
        if (errno == EADDRINUSE && find_holder(port, &found))
            holder_words(&found, holder, holder_size);
        return -1;
    }
    held->port = bound_port(held->fd);
    if (held->claim_fd < 0)
        held->claim_fd = claim(held->port);
    return 0;
}

void port_let_go(struct held_port *held)
{
    if (held->fd >= 0)
        close(held->fd);
    held->fd = -1;
}

void port_forget(struct held_port *held)
{
    port_let_go(held);
    if (held->claim_fd >= 0)
        close(held->claim_fd);
    held->claim_fd = -1;
}

bool port_is_taken(int port, pid_t run, bool nobody_binds, char *holder, size_t holder_size)
{
    struct holder found;

    if (is_free(port))
        return false;
    snprintf(holder, holder_size, "a process that muster cannot see");
    if (!find_holder(port, &found))
        return nobody_binds && !is_free(port);
    holder_words(&found, holder, holder_size);
    if (found.process.pid != 0)
        return !process_is_below(found.process.pid, run);
    /* The holder may have exited just now. A process of our own user that we may not
     * examine could be the run's. */
    return (geteuid() == 0 || found.uid != geteuid()) && !is_free(port);
}

int port_listen(int *port, struct error *err)
{
    int fd = bind_all(0, false);

    if (fd < 0 || listen(fd, SOMAXCONN) < 0 || fd_set_nonblock(fd) < 0) {
        err_set(err, "cannot listen: %s", strerror(errno));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    *port = bound_port(fd);
    return fd;
}

static bool is_free(int port)
{
    int fd = bind_all(port, true);

    if (fd >= 0)
        close(fd);
    return fd >= 0 || errno != EADDRINUSE;
}

/* The user chose this port: take it even if another run has claimed it, since that run may
 * never bind it. Old connections in TIME_WAIT do not matter: a program that listens on
 * MASTER_PORT sets SO_REUSEADDR. */
static void hold_fixed(struct held_port *held, int port)
{
    held->fd = bind_all(port, false);
    if (held->fd < 0 && errno == EADDRINUSE)
        held->fd = bind_all(port, true);
}

static void hold_free(struct held_port *held, int port)
{
    int next;

    for (next = port; next <= port + NEIGHBOURS && next <= UINT16_MAX; next++) {
        held->claim_fd = claim(next);
        if (held->claim_fd < 0 && errno == EADDRINUSE)
            continue;
        held->fd = bind_all(next, false);
        if (held->fd >= 0)
            return;
        port_forget(held);
    }
    held->fd = bind_all(0, false);
}

/* Abstract names belong to a network namespace, as ports do, and all users see them. */
static int claim(int port)
{
    struct sockaddr_un name = { .sun_family = AF_UNIX };
    int                fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), length, why;

    if (fd < 0)
        return -1;
    length = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "muster-port-%d", port);
    if (bind(fd, (struct sockaddr *)&name,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) == 0)
        return fd;
    why = errno;
    close(fd);
    errno = why;
    return -1;
}

/* Binds the port on all addresses of both families; without IPv6, of IPv4. */
static int bind_all(int port, bool reuse)
{
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };
    struct sockaddr_in  v4 = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    int                 fd, on = 1, off = 0, rc, why;

    fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) < 0) {
        close(fd);
        fd = -1;
    }
    if (fd >= 0) {
        if (reuse)
            setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        rc = bind(fd, (struct sockaddr *)&v6, sizeof v6);
        if (rc == 0)
            return fd;
        why = errno;
        close(fd);
        errno = why;
        if (errno == EADDRINUSE || errno == EACCES)
            return -1;
    }
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (reuse)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&v4, sizeof v4) == 0)
        return fd;
    why = errno;
    close(fd);
    errno = why;
    return -1;
}

static int bound_port(int fd)
{
    struct sockaddr_storage own = { 0 };
    socklen_t               size = sizeof own;

    getsockname(fd, (struct sockaddr *)&own, &size);
    return own.ss_family == AF_INET6 ? ntohs(((struct sockaddr_in6 *)&own)->sin6_port)
                                     : ntohs(((struct sockaddr_in *)&own)->sin_port);
}

/* Finds the process that has the port, in the tables of sockets, where listening ones come
 * first. False if the port is not in them; sockets that are only bound are not. */
static bool find_holder(int port, struct holder *holder)
{
    struct processes all;
    size_t           i;

    *holder = (struct holder){ 0 };
    if (!find_socket("/proc/net/tcp", port, holder) &&
        !find_socket("/proc/net/tcp6", port, holder))
        return false;
    processes_all(&all);
    for (i = 0; i < all.count && holder->process.pid == 0; i++)
        if (open_files_socket(all.item[i].pid, holder->inode))
            holder->process = all.item[i];
    processes_clear(&all);
    return true;
}

/* Parses lines like "1: 0100007F:733C 00000000:0000 0A 0:0 00:0 0 uid timeout inode". A
 * connection that no process has open has inode 0. */
static bool find_socket(const char *table, int port, struct holder *holder)
{
    FILE    *file = fopen(table, "re");
    char     line[512];
    unsigned local, uid;

    while (file != NULL && holder->inode == 0 && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, " %*d: %*[0-9A-Fa-f]:%x %*s %*s %*s %*s %*s %u %*s %lu", &local, &uid,
                   &holder->inode) != 3 || local != (unsigned)port)
            holder->inode = 0;
        else
            holder->uid = (uid_t)uid;
    }
    if (file != NULL)
        fclose(file);
    return holder->inode != 0;
}

/* Writes "pid 123 (python3) of ann". For other users' processes, only root
 * sees more than the user. */
static void holder_words(const struct holder *holder, char *words, size_t size)
{
    char user[64], path[64], name[64];

    user_name(holder->uid, user, sizeof user);
    if (holder->process.pid == 0) {
        snprintf(words, size, "a process of %s", user);
        return;
    }
    snprintf(path, sizeof path, "/proc/%d/comm", (int)holder->process.pid);
    fd_read_file(path, name, sizeof name);
    name[strcspn(name, "\n")] = '\0';
    snprintf(words, size, "pid %d (%s) of %s", (int)holder->process.pid, name, user);
}
