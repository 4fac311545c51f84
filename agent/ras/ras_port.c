/* ras_port.c - see ras_port.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "ras/ras_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

/* With SO_REUSEADDR as well, any program that sets it could bind the port before NCCL listens. The
 * kernel chooses a port that no socket has, SO_REUSEPORT or not. What remains: a process of our
 * user that is not of this run binds this very port with SO_REUSEPORT. None does so by chance, for
 * the kernel no longer offers it. */
int ras_port_hold(int *port)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t          size = sizeof at;
    int                on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) < 0 ||
        bind(fd, (struct sockaddr *)&at, size) < 0 ||
        getsockname(fd, (struct sockaddr *)&at, &size) < 0) {
        close(fd);
        return -1;
    }
    *port = ntohs(at.sin_port);
    return fd;
}
