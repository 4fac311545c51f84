/* listen_place.h - where a server of muster listens: a port of this machine, or a socket file
 *
 *     9464                 that port of 127.0.0.1; 0: a free one
 *     10.0.0.5:9464        of that address of this machine; 0.0.0.0: of all
 *     [fd00::5]:9464       the same with IPv6
 *     /run/user/7/a.sock   a socket in the file system; unix:a.sock if its name has no "/"
 *
 * Nothing here asks whether this machine has the address.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LISTEN_PLACE_H
#define MUSTER_LISTEN_PLACE_H

#include "err.h"

#define LISTEN_PLACE_HOST 80 /* holds the longest address, with its zone */

struct listen_place {
    char *path;                    /* of the socket file; NULL: a port */
    char  host[LISTEN_PLACE_HOST]; /* an address in numbers, without brackets */
    int   port;                    /* 0: the kernel chooses */
};

/* Reads text; the caller clears the place. -1 with err: it says what to write, and there is nothing
 * to clear. */
int  listen_place_read(struct listen_place *place, const char *text, struct error *err);
void listen_place_clear(struct listen_place *place);

#endif
