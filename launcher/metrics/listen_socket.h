/* listen_socket.h - a socket that listens at a place of the user's (options/listen_place.h)
 *
 * The file of a socket is for its user alone (0600). One that a killed program has left is
 * replaced; anything else at its path is an error.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LISTEN_SOCKET_H
#define MUSTER_LISTEN_SOCKET_H

#include <sys/types.h>

#include "err.h"
#include "options/listen_place.h"

struct listen_socket {
    int   fd;   /* listens, and does not block; -1: the server has taken it */
    char *name; /* "127.0.0.1:9464", "[::1]:9464" or the path */
    char *path; /* of its file; NULL: a port */
    dev_t dev;  /* of the file that was made */
    ino_t ino;
};

/* Opens a socket at place. -1 with err, which says what to do. */
int listen_socket_open(struct listen_socket *socket, const struct listen_place *place,
                       struct error *err);
/* Closes it, and removes its file, unless another program has put its own there. */
void listen_socket_close(struct listen_socket *socket);

#endif
