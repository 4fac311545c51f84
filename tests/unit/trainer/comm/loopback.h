/* loopback.h - the address of this machine that no other one has
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_TEST_LOOPBACK_H
#define MUSTER_TEST_LOOPBACK_H

#include <netinet/in.h>
#include <sys/socket.h>

static inline struct sockaddr_storage loopback(void)
{
    struct sockaddr_storage storage = { 0 };
    struct sockaddr_in     *in = (struct sockaddr_in *)&storage;

    in->sin_family = AF_INET;
    in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return storage;
}

#endif
