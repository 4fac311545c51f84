/* bcast_stream.c - see bcast_stream.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "copy/bcast_stream.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

bool stream_address(const char *text, int port, struct sockaddr_storage *address, socklen_t *size)
{
    struct sockaddr_in  v4 = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };

    memset(address, 0, sizeof *address);
    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1) {
        memcpy(address, &v4, *size = sizeof v4);
        return true;
    }
    if (inet_pton(AF_INET6, text, &v6.sin6_addr) != 1)
        return false;
    memcpy(address, &v6, *size = sizeof v6);
    return true;
}
