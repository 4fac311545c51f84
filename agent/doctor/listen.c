/* listen.c - see listen.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "doctor/listen.h"

#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

int listen_at(int port)
{
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };
    struct sockaddr_in  v4 = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    int                 fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int                 on = 1, off = 0, rc;

    if (fd >= 0) {
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        rc = bind(fd, (const struct sockaddr *)&v6, sizeof v6);
    } else {
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        rc = bind(fd, (const struct sockaddr *)&v4, sizeof v4);
    }
    if (fd >= 0 && (rc < 0 || listen(fd, SOMAXCONN) < 0)) {
        close(fd);
        fd = -1;
    }
    return fd;
}
