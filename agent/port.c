/* port.c - see port.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "port.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fd.h"

static int  bind_all(int port, bool reuse);
static int  bound_port(int fd);
static void find_holder(int port, char *holder, size_t size);
static unsigned long socket_inode(const char *table, int port);
static bool has_socket(const char *pid, unsigned long inode);

int port_hold(int *port, bool fixed, char *holder, size_t holder_size, struct error *err)
{
    int fd = bind_all(*port, false);

    holder[0] = '\0';
    /* Only old connections in TIME_WAIT may be in the way, and whoever listens
     * on MASTER_PORT sets SO_REUSEADDR. */
    if (fd < 0 && errno == EADDRINUSE && fixed)
        fd = bind_all(*port, true);
    if (fd < 0 && !fixed)
        fd = bind_all(0, false);
    if (fd < 0) {
        err_set(err, "port %d: %s", *port, strerror(errno));
        if (errno == EADDRINUSE)
            find_holder(*port, holder, holder_size);
        return -1;
    }
    *port = bound_port(fd);
    return fd;
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

/* On all addresses of both families; without IPv6, of the one there is. */
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

/* The socket's inode from the table of sockets, then whoever has it open. Other
 * users' processes show nothing to us. */
static void find_holder(int port, char *holder, size_t size)
{
    unsigned long  inode = socket_inode("/proc/net/tcp", port);
    DIR           *proc;
    struct dirent *entry;
    char           path[300], name[64];

    if (inode == 0)
        inode = socket_inode("/proc/net/tcp6", port);
    proc = inode != 0 ? opendir("/proc") : NULL;
    while (proc != NULL && holder[0] == '\0' && (entry = readdir(proc)) != NULL) {
        if (entry->d_name[strspn(entry->d_name, "0123456789")] != '\0' ||
            !has_socket(entry->d_name, inode))
            continue;
        snprintf(path, sizeof path, "/proc/%s/comm", entry->d_name);
        fd_read_file(path, name, sizeof name);
        name[strcspn(name, "\n")] = '\0';
        snprintf(holder, size, "pid %s (%s)", entry->d_name, name);
    }
    if (proc != NULL)
        closedir(proc);
}

/* Lines such as "1: 0100007F:733C 00000000:0000 0A ... uid timeout inode". The
 * inode of a connection that nobody has open any more is 0. */
static unsigned long socket_inode(const char *table, int port)
{
    FILE         *file = fopen(table, "re");
    char          line[512];
    unsigned long inode, found = 0;
    unsigned      local;

    while (file != NULL && found == 0 && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, " %*d: %*[0-9A-Fa-f]:%x %*s %*s %*s %*s %*s %*s %*s %lu", &local,
                   &inode) == 2 && local == (unsigned)port)
            found = inode;
    if (file != NULL)
        fclose(file);
    return found;
}

static bool has_socket(const char *pid, unsigned long inode)
{
    char           path[600], want[64], target[64];
    DIR           *fds;
    struct dirent *entry;
    ssize_t        length;
    bool           found = false;

    snprintf(want, sizeof want, "socket:[%lu]", inode);
    snprintf(path, sizeof path, "/proc/%s/fd", pid);
    fds = opendir(path);
    while (fds != NULL && !found && (entry = readdir(fds)) != NULL) {
        snprintf(path, sizeof path, "/proc/%s/fd/%s", pid, entry->d_name);
        length = readlink(path, target, sizeof target - 1);
        target[length > 0 ? length : 0] = '\0';
        found = strcmp(target, want) == 0;
    }
    if (fds != NULL)
        closedir(fds);
    return found;
}
